package analysis

import (
	"iter"
	"math/bits"
	"slices"

	"github.com/kdupscan/kdupscan/kafka"
)

// occurrences lists the contents that several logical records of a partition have. All others occur once.
type occurrences struct {
	all       []*occurrence // in the order of first sight
	byContent map[kafka.Fingerprint]*occurrence
}

// occurrence is one content: how many logical records have it, and the first few of them.
type occurrence struct {
	count   int
	entries []entry
}

// maxOccurrences is how many records of one content are told apart; from three on it is not distinctive anyway.
const maxOccurrences = 8

// repeated finds the contents that occur more than once. Records are told apart by a few bits first, so that traffic without
// repeats costs two looks at a bitmap per record and no map.
func (c *chains) repeated() *occurrences {
	if c.p.occurs != nil {
		return c.p.occurs
	}
	n := 0
	c.eachBatch(func(b *batch) { n += len(b.records) })
	seen := newFilter(n)
	maybe := map[uint64]bool{}
	c.eachBatch(func(b *batch) {
		for i := range b.records {
			if content := &b.records[i].Content; seen.add(*content) {
				maybe[content.Lo] = true
			}
		}
	})
	o := &occurrences{byContent: map[kafka.Fingerprint]*occurrence{}}
	if len(maybe) > 0 {
		c.eachBatch(func(b *batch) {
			for i := range b.records {
				if r := &b.records[i]; maybe[r.Content.Lo] {
					o.add(c, r.Content, entry{b, r.Delta})
				}
			}
		})
	}
	c.p.occurs = o
	return o
}

func (c *chains) eachBatch(f func(*batch)) {
	for _, b := range c.p.batches {
		if !b.info.Control() {
			f(b)
		}
	}
}

func (o *occurrences) add(c *chains, content kafka.Fingerprint, e entry) {
	have := o.byContent[content]
	if have == nil {
		have = &occurrence{}
		o.byContent[content] = have
		o.all = append(o.all, have)
	}
	key := c.key(e)
	if slices.ContainsFunc(have.entries, func(other entry) bool { return c.key(other) == key }) {
		return // another cut of the same batch
	}
	have.count++
	if len(have.entries) < maxOccurrences {
		have.entries = append(have.entries, e)
	}
}

// contentCount returns how many logical records of the partition have the content.
func (c *chains) contentCount(content kafka.Fingerprint) int {
	if o := c.repeated().byContent[content]; o != nil {
		return o.count
	}
	return 1
}

// filter is a bitmap of fingerprints (a Bloom filter of two functions): what it has not seen is new.
type filter struct {
	words []uint64
	mask  uint64
}

func newFilter(n int) *filter {
	const bitsPerRecord = 16 // under 2 % of new records are taken for known ones
	size := uint64(1) << bits.Len(uint(max(n*bitsPerRecord, 64)-1))
	words := make([]uint64, size/64)
	clear(words) // a page that is read before it is written costs two faults
	return &filter{words, size - 1}
}

// golden is 2⁶⁴ over the golden ratio: it spreads what differs in low bits over the high ones.
const golden = 0x9e3779b97f4a7c15

// mixed makes a fingerprint of two numbers, for a filter.
func mixed(a, b uint64) kafka.Fingerprint {
	return kafka.Fingerprint{Lo: a * golden >> 16, Hi: (a ^ b) * 0xc2b2ae3d27d4eb4f >> 16}
}

// metAgain returns those of n keys that may come more than once: in traffic without faults next to none.
func metAgain[K comparable](n int, keys iter.Seq[K], fingerprint func(K) kafka.Fingerprint) map[K]bool {
	seen := newFilter(n)
	var again map[K]bool
	for key := range keys {
		if !seen.add(fingerprint(key)) {
			continue
		}
		if again == nil {
			again = map[K]bool{}
		}
		again[key] = true
	}
	return again
}

// add reports whether the fingerprint may have been added before, and adds it.
func (f *filter) add(p kafka.Fingerprint) bool {
	a, b := p.Lo&f.mask, p.Hi&f.mask
	known := f.words[a/64]>>(a%64)&1 == 1 && f.words[b/64]>>(b%64)&1 == 1
	f.words[a/64] |= 1 << (a % 64)
	f.words[b/64] |= 1 << (b % 64)
	return known
}
