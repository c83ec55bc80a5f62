package analysis

import (
	"cmp"
	"slices"
	"sort"

	"github.com/kdupscan/kdupscan/pcap"
)

// lowerBound returns the offset before which f cannot stand: behind what was acknowledged or seen before it was first sent,
// what its producer sent before it under the same epoch, and the high watermark of that time.
func (p *partition) lowerBound(f *batch) (int64, bool) {
	log := p.known()
	lower := log.bounds.known.before(f.first.Time)
	if f.idempotent() {
		lower = max(lower, log.bounds.own[producerEpoch{f.id.producer, f.id.epoch}].before(f.first.Time))
	}
	if n := sort.Search(len(p.marks), func(i int) bool { return p.marks[i].at.Time >= f.first.Time }); n > 0 {
		lower = max(lower, p.marks[n-1].offset)
	}
	return lower, lower >= 0
}

// bounds are the ends of known ranges of a partition's log over time.
type bounds struct {
	known *ends                   // by when they were known
	own   map[producerEpoch]*ends // by when their batches were first sent
}

type producerEpoch struct {
	producer int64
	epoch    int16
}

// ends are offsets over time: all[i] is the highest up to its time.
type ends struct{ all []highWatermark }

func (e *ends) add(at pcap.Ref, offset int64) { e.all = append(e.all, highWatermark{at, offset}) }

func (e *ends) sort() {
	slices.SortStableFunc(e.all, func(a, b highWatermark) int { return cmp.Compare(a.at.Time, b.at.Time) })
	for i := 1; i < len(e.all); i++ {
		e.all[i].offset = max(e.all[i].offset, e.all[i-1].offset)
	}
}

// before returns the highest offset of before a time, -1 for none.
func (e *ends) before(t pcap.Timestamp) int64 {
	if e == nil {
		return -1
	}
	n := sort.Search(len(e.all), func(i int) bool { return e.all[i].at.Time >= t })
	if n == 0 {
		return -1
	}
	return e.all[n-1].offset
}

func (c *claims) findBounds() bounds {
	b := bounds{known: &ends{}, own: map[producerEpoch]*ends{}}
	for _, one := range c.all {
		if !one.uncertain {
			b.known.add(pcap.Ref{Time: one.at}, one.to)
		}
		if one.batch == nil || !one.batch.idempotent() || len(one.batch.sends) == 0 {
			continue
		}
		key := producerEpoch{one.batch.id.producer, one.batch.id.epoch}
		if b.own[key] == nil {
			b.own[key] = &ends{}
		}
		b.own[key].add(one.batch.first, one.to)
	}
	b.known.sort()
	for _, e := range b.own {
		e.sort()
	}
	return b
}
