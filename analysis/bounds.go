package analysis

import (
	"cmp"
	"slices"
	"sort"

	"github.com/kdupscan/kdupscan/pcap"
)

// lowerBound returns the offset before which f cannot stand: behind what was acknowledged or seen before it was first sent,
// what its producer sent before it under the same epoch or, without an id, over the same connection, and the high watermark of that time.
func (p *partition) lowerBound(f *batch) (int64, bool) {
	log := p.known()
	lower := log.bounds.known.before(f.first.Time)
	if f.idempotent() {
		lower = max(lower, log.bounds.own[producerEpoch{f.id.producer, f.id.epoch}].before(f.first.Time))
	} else if len(f.sends) > 0 {
		lower = max(lower, log.bounds.ahead[f.sends[0].link].before(f.first.Time))
	}
	lower = max(lower, log.bounds.marks.before(f.first.Time))
	return lower, lower >= 0
}

// bounds are the ends of known ranges of a partition's log over time.
type bounds struct {
	known *ends                   // by when they were known
	marks *ends                   // the high watermarks
	own   map[producerEpoch]*ends // by when their batches were first sent
	ahead map[*link]*ends         // likewise of batches without a producer id: a broker takes the requests of a connection in turn
}

type producerEpoch struct {
	producer int64
	epoch    int16
}

// ends are offsets over time: all[i] is the highest up to its time, since the log was last cut back.
type ends struct{ all []end }

type end struct {
	at     pcap.Timestamp
	offset int64
	cut    bool
}

// newEnds returns ends to which offsets may be added, of a log that was cut back at times.
func newEnds(cuts []rewind) *ends {
	e := new(ends)
	for _, r := range cuts {
		e.all = append(e.all, end{r.at, r.offset, true})
	}
	return e
}

func (e *ends) add(at pcap.Timestamp, offset int64) { e.all = append(e.all, end{at, offset, false}) }

func (e *ends) sort() { e.replay(func(end, int64) {}) }

// replay goes through all in order of time, cuts first, and tells of each what the highest offset before it was.
func (e *ends) replay(tell func(e end, before int64)) {
	slices.SortStableFunc(e.all, func(a, b end) int { return cmp.Compare(a.at, b.at) })
	last := int64(-1)
	for i := range e.all {
		one := &e.all[i]
		tell(*one, last)
		if one.cut {
			last = min(last, one.offset)
		} else {
			last = max(last, one.offset)
		}
		one.offset = last
	}
}

// before returns the highest offset of before a time, -1 for none.
func (e *ends) before(t pcap.Timestamp) int64 {
	if e == nil {
		return -1
	}
	n := sort.Search(len(e.all), func(i int) bool { return e.all[i].at >= t })
	if n == 0 {
		return -1
	}
	return e.all[n-1].offset
}

// findBounds finds them for a log that was cut back as far as is known by now.
func (c *claims) findBounds(marks []highWatermark) bounds {
	b := bounds{known: newEnds(c.rewinds), marks: newEnds(c.rewinds), own: map[producerEpoch]*ends{}, ahead: map[*link]*ends{}}
	for i := range c.all {
		one := &c.all[i]
		if !one.uncertain {
			b.known.add(one.at, one.to)
		}
		switch {
		case one.batch == nil || len(one.batch.sends) == 0:
		case one.batch.idempotent():
			addEnd(c, b.own, producerEpoch{one.batch.id.producer, one.batch.id.epoch}, one)
		default:
			addEnd(c, b.ahead, one.batch.sends[0].link, one)
		}
	}
	for _, m := range marks {
		b.marks.add(m.at.Time, m.offset)
	}
	b.known.sort()
	b.marks.sort()
	for _, e := range b.own {
		e.sort()
	}
	for _, e := range b.ahead {
		e.sort()
	}
	return b
}

// addEnd adds where a claim ends, by when its batch was first sent, to the ends of what sent it.
func addEnd[K comparable](c *claims, all map[K]*ends, key K, one *claim) {
	if all[key] == nil {
		all[key] = newEnds(c.rewinds)
	}
	all[key].add(one.batch.first.Time, one.to)
}
