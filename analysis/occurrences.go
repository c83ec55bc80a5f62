package analysis

import (
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
// repeats costs one look at a small table per record and no map.
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
	o := new(occurrences)
	if len(maybe) > 0 {
		o.byContent = map[kafka.Fingerprint]*occurrence{}
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
