package analysis

import (
	"iter"
	"math/bits"

	"github.com/kdupscan/kdupscan/kafka"
)

// filter is a hash table of 16 bits of each fingerprint: what it has not seen is new, and of new ones about one in a hundred
// thousand is taken for known.
type filter struct {
	tags  []uint16 // 0: free
	shift int
}

// newFilter returns a filter for at most n fingerprints.
func newFilter(n int) *filter {
	size := bits.Len(uint(2*n + 8)) // of which half are used, or less: whether a place is free is guessed right more often
	tags := make([]uint16, 1<<size)
	clear(tags) // a page that is read before it is written costs two faults
	return &filter{tags, 64 - size}
}

// add reports whether the fingerprint may have been added before, and adds it.
func (f *filter) add(p kafka.Fingerprint) bool {
	hash := (p.Lo ^ p.Hi) * golden
	tag := max(1, uint16(hash>>8))
	at := hash >> f.shift
	for ; f.tags[at] != 0; at = (at + 1) & uint64(len(f.tags)-1) {
		if f.tags[at] == tag {
			return true
		}
	}
	f.tags[at] = tag
	return false
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
