package analysis

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/kdupscan/kdupscan/pcap"
)

// group is one fault on one partition: the records that one bump, or one retried batch, wrote there again, with
// one verdict.
type group struct {
	cause   Cause
	verdict Verdict
	records []duplicate
	misfit  *send // misrouted batches: shows where the sequences of the wrong partition stood
	stray   int   // and which copy went there
}

// later returns the batch of the last copy of the group's first record.
func (g *group) later() *batch { return g.copy(len(g.records[0].copies) - 1) }

// first returns the batch of the first copy of the group's first record.
func (g *group) first() *batch { return g.copy(0) }

func (g *group) copy(i int) *batch { return g.records[0].copies[i].b }

// carried yields the copies' batches, the first copy's first, each once for a run of records, with the index of the copy.
func (g *group) carried() iter.Seq2[int, copyOf] {
	return func(yield func(int, copyOf) bool) {
		for i := range g.records[0].copies {
			var last *batch
			for _, d := range g.records {
				if one := d.copies[i]; one.b != last {
					if !yield(i, one) {
						return
					}
					last = one.b
				}
			}
		}
	}
}

// doubts returns the doubts of all records of the group, in the order of their first mention.
func (g *group) doubts() []pcap.Code {
	var all []pcap.Code
	for _, d := range g.records {
		for _, code := range d.doubts {
			if !slices.Contains(all, code) {
				all = append(all, code)
			}
		}
	}
	return all
}

// groups makes faults of the partition's duplicates.
func (c *chains) groups() []group {
	all := c.duplicates()
	if len(all) == 0 {
		return nil
	}
	byFault := map[string]int{}
	faults := newFaults()
	for _, d := range all {
		faults.join(d)
	}
	var groups []group
	for _, d := range all {
		key := fmt.Sprint(faults.key(d), d.cause, d.verdict, len(d.copies))
		i, known := byFault[key]
		if !known {
			i = len(groups)
			byFault[key] = i
			groups = append(groups, group{cause: d.cause, verdict: d.verdict})
		}
		groups[i].records = append(groups[i].records, d)
	}
	for _, g := range groups {
		slices.SortStableFunc(g.records, compareLater)
	}
	return groups
}

// compareLater orders records by their place in the later copy.
func compareLater(a, b duplicate) int {
	x, y := a.copies[len(a.copies)-1], b.copies[len(b.copies)-1]
	if x.b == y.b {
		return cmp.Compare(x.delta, y.delta)
	}
	if x.fate.offset != NoOffset && y.fate.offset != NoOffset {
		return cmp.Compare(x.offset(), y.offset())
	}
	if before(x.b, y.b) {
		return -1
	}
	return 1
}

// faults tells which duplicates come from one fault: the same change of a producer's identity, or else batches that share a
// first or a later copy.
type faults struct {
	parent map[*batch]*batch
	number map[*batch]int
}

func newFaults() *faults { return &faults{map[*batch]*batch{}, map[*batch]int{}} }

func (f *faults) find(b *batch) *batch {
	for f.parent[b] != nil && f.parent[b] != b {
		b = f.parent[b]
	}
	return b
}

func (f *faults) join(d duplicate) {
	if byIdentity(d.cause) {
		return
	}
	root := f.find(d.copies[0].b)
	if f.parent[root] == nil {
		f.parent[root] = root
		f.number[root] = len(f.number)
	}
	for _, c := range d.copies[1:] {
		if other := f.find(c.b); other != root {
			f.parent[other] = root
		}
	}
}

func byIdentity(c Cause) bool { return c == EpochBump || c == NewProducerID || c == UnknownCause }

func (f *faults) key(d duplicate) string {
	if !byIdentity(d.cause) {
		return fmt.Sprint(f.number[f.find(d.copies[0].b)])
	}
	key := ""
	for _, c := range d.copies {
		key += fmt.Sprint(c.b.id.producer, c.b.id.epoch, ";")
	}
	return key
}
