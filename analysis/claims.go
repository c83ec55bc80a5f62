package analysis

import (
	"cmp"
	"slices"
	"sort"

	"github.com/kdupscan/kdupscan/pcap"
)

// claim is a range of the log that a batch holds by a Fetch sighting or an answer.
type claim struct {
	from, to  int64  // to is behind the last offset
	batch     *batch // nil: dropped from the history
	fetched   bool
	uncertain bool // by error 6 or 7 with an offset: another claim may refute it
	at        pcap.Timestamp
	stay
}

// claims are sorted by their first offset; furthest[i] is the highest end of claims 0…i, newest[i] when the newest of their
// batches was first sent.
type claims struct {
	all      []claim
	furthest []int64
	newest   []pcap.Timestamp
	holes    []hole // between the claims
	standing []hole // between those that still stand
	bounds   bounds
	rewinds  []rewind
}

// known returns the claims on the partition's log. Partitions in which nothing went wrong do not need them.
func (p *partition) known() *claims {
	if p.log == nil {
		c := p.claims()
		c.rewinds = c.joined(slices.Concat(p.findRewinds(&c), c.conflicts(), p.findFalls(&c)))
		c.bounds, c.standing = c.findBounds(p.marks), c.holes
		if len(c.rewinds) > 0 {
			c.standing = c.holesWithout(func(one *claim) bool { return c.rewound(one.base, one.last, one.epoch) != nil })
		}
		p.log = &c
	}
	return p.log
}

func (p *partition) claims() claims {
	var c claims
	for _, b := range p.batches {
		places := b.places()
		if len(places) > 1 {
			places = slices.Clone(places)
			sortPlaces(places)
		}
		for len(places) > 0 {
			n := slices.IndexFunc(places, func(pl place) bool { return pl.offset != places[0].offset })
			if n < 0 {
				n = len(places)
			}
			c.add(b, places[:n])
			places = places[n:]
		}
	}
	for _, f := range p.forgotten {
		c.all = append(c.all, claim{from: f.from, to: f.to, at: f.at})
	}
	slices.SortStableFunc(c.all, func(a, b claim) int { return cmp.Compare(a.from, b.from) })
	end, newest := int64(-1), pcap.Timestamp(0)
	for i := range c.all {
		end, newest = max(end, c.all[i].to), max(newest, c.all[i].sent())
		c.furthest, c.newest = append(c.furthest, end), append(c.newest, newest)
	}
	c.holes = c.holesWithout(func(*claim) bool { return false })
	return c
}

// add takes in what holds a batch at one offset.
func (c *claims) add(b *batch, places []place) {
	stay := stayOf(places)
	for _, pl := range places {
		from, to := pl.offset, pl.offset+int64(b.count())
		if pl.sighting != nil {
			from, to = pl.sighting.batch.BaseOffset, pl.sighting.batch.LastOffset()+1
		}
		uncertain := pl.source == OffsetFromErrorAnswer && pl.grade != stored
		c.all = append(c.all, claim{from, to, b, pl.sighting != nil, uncertain, pl.at, stay})
	}
}

// holesWithout returns the holes between the claims, some left out.
func (c *claims) holesWithout(out func(*claim) bool) []hole {
	var holes []hole
	end := int64(-1)
	for i := range c.all {
		one := &c.all[i]
		if out(one) {
			continue
		}
		if end >= 0 && one.from > end {
			holes = append(holes, hole{end, one.from})
		}
		end = max(end, one.to)
	}
	return holes
}

// sent returns when what holds the claim was first sent.
func (c *claim) sent() pcap.Timestamp {
	if c.batch == nil {
		return c.at
	}
	return c.batch.first.Time
}

// overlapping calls f for each claim that shares an offset with [from, to) until f returns false.
func (c *claims) overlapping(from, to int64, f func(claim) bool) {
	last := sort.Search(len(c.all), func(i int) bool { return c.all[i].from >= to }) - 1
	for i := last; i >= 0 && i > last-maxRivals && c.furthest[i] > from; i-- {
		if c.all[i].to > from && !f(c.all[i]) {
			return
		}
	}
}
