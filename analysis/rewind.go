package analysis

import (
	"cmp"
	"slices"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
)

// rewind is a log that was cut back, by an unclean leader election or by a follower that became like its leader, or one that was
// begun anew, when the topic had been deleted and created again under its name. What stood at its offset and behind it is gone.
type rewind struct {
	offset int64
	epoch  int32          // of the leader that appended there next, over what an older one had; -1 unknown
	from   pcap.Timestamp // until when the log was surely whole
	whole  pcap.Timestamp // until when it was, if what may be one cut is one
	at     pcap.Timestamp // what was known of the log before this time is void
}

func rewindAt(offset int64, from, at pcap.Timestamp) rewind {
	return rewind{offset, -1, from, from, at}
}

// findRewinds finds the OK answers to new batches without a producer id below what was known before they were sent. With an id it
// may be the answer to a retry of a batch that the capture lacks.
func (p *partition) findRewinds(c *claims) []rewind {
	var log ends
	for _, b := range p.batches {
		if b.idempotent() {
			continue
		}
		for _, pl := range b.places() {
			if pl.source == OffsetFromAnswer {
				log.all = append(log.all, end{pl.sent, pl.offset, true})
			}
		}
	}
	if len(log.all) == 0 {
		return nil
	}
	for i := range c.all {
		if one := &c.all[i]; !one.uncertain {
			log.add(one.at, one.to)
		}
	}
	var all []rewind
	log.replay(func(e end, before int64) {
		if e.cut && e.offset < before {
			all = append(all, rewindAt(e.offset, e.at, e.at))
		}
	})
	return all
}

// stay is from when to when a batch was known to stand at an offset.
type stay struct {
	first pcap.Timestamp // it was not appended before its request or, where that was not seen, had been by then; 0: not known
	last  pcap.Timestamp // when its answer came, or when it was last fetched
	base  int64          // of its first record
	epoch int32          // of the leader that appended it, -1 unknown
}

// stayOf joins what the answers and sightings say of a batch at one offset. An error answer came long after the append, and a
// retry's is about an earlier one.
func stayOf(places []place) stay {
	s := stay{base: places[0].offset, epoch: -1}
	known := false
	for i := range places {
		pl := &places[i]
		first := pl.sent
		switch {
		case pl.sighting != nil:
			first, known = pl.known, true
			s.epoch = max(s.epoch, pl.leaderEpoch)
		case pl.source == OffsetFromErrorAnswer:
		case pl.retry:
			first = pl.at
		default:
			known = true
		}
		if s.first == 0 || first < s.first {
			s.first = first
		}
		s.last = max(s.last, pl.last)
	}
	if !known {
		s.first = 0
	}
	return s
}

// conflicts finds the offsets at which the log held one content and then another one.
func (c *claims) conflicts() []rewind {
	var all []rewind
	for i := range c.all {
		a := &c.all[i]
		for j := i + 1; j < min(len(c.all), i+1+maxRivals) && c.all[j].from < a.to; j++ {
			if b := &c.all[j]; a.differs(b) {
				if r, ok := overwritten(a, b); ok {
					all = append(all, r)
				}
			}
		}
	}
	return all
}

// overwritten tells which of two contents at one offset came later. Leader epochs say it within one log: a broker that does not know
// yet that it leads no more goes on showing the older one. Of logs that have been begun anew, times say it. Two that were seen by turns are
// of two logs under one name.
func overwritten(a, b *claim) (rewind, bool) {
	if a.epoch > b.epoch || a.epoch == b.epoch && a.first > b.first {
		a, b = b, a
	}
	offset := max(a.from, b.from)
	older := a.epoch >= 0 && a.epoch < b.epoch
	switch {
	case a.first > b.last && older: // begun anew, unless a broker that leads no more was read
		return rewindAt(offset, b.last, max(a.first, b.last+fallAfter)), true
	case a.first > b.last:
		return rewindAt(offset, b.last, a.first), true
	case older:
		r := rewindAt(offset, min(a.last, b.first), b.first)
		r.epoch = b.epoch
		return r, true
	}
	return rewindAt(offset, a.last, b.first), b.first > a.last
}

// differs reports whether two claims are known to be of different records, whatever brokers make of a batch.
func (c *claim) differs(o *claim) bool {
	a, b := c.batch, o.batch
	if a == b || a == nil || b == nil {
		return false
	}
	if a.info.Control() != b.info.Control() || a.idempotent() && b.idempotent() && a.id != b.id {
		return true
	}
	converted := a.convertedIn(b.info) || b.convertedIn(a.info)
	x, y := a.records, b.records
	for len(x) > 0 && len(y) > 0 {
		switch at := c.base + int64(x[0].Delta) - o.base - int64(y[0].Delta); {
		case at < 0:
			x = x[1:]
		case at > 0:
			y = y[1:]
		case !sameRecord(&x[0], &y[0], converted):
			return true
		default:
			x, y = x[1:], y[1:]
		}
	}
	return false
}

// sameRecord compares two records; converted: as far as an old format keeps them.
func sameRecord(a, b *kafka.Record, converted bool) bool {
	return a.Content == b.Content || converted && a.Key == b.Key && a.Value == b.Value
}

// lastAbove returns when the log was last known to reach beyond an offset, up to a time.
func (c *claims) lastAbove(offset int64, by pcap.Timestamp) pcap.Timestamp {
	var last pcap.Timestamp
	for i := range c.all {
		if one := &c.all[i]; one.to > offset && one.at < by {
			last = max(last, one.at)
		}
	}
	return last
}

// joined takes for one cut what may have been one: what one leader epoch wrote over older ones, and what happened within one time.
func (c *claims) joined(all []rewind) []rewind {
	slices.SortStableFunc(all, func(a, b rewind) int { return cmp.Compare(a.at, b.at) })
	kept := all[:0]
	for _, r := range all {
		i := slices.IndexFunc(kept, func(k rewind) bool { return k.epoch == r.epoch && (k.epoch >= 0 || r.from <= k.at) })
		switch {
		case i >= 0:
			k := &kept[i]
			k.offset, k.from, k.whole = min(k.offset, r.offset), min(k.from, r.from), max(k.whole, r.whole)
		case len(kept) < maxRivals:
			kept = append(kept, r)
		}
	}
	for i := range kept {
		if r := &kept[i]; r.epoch >= 0 {
			r.whole = max(r.whole, c.lastOlder(r))
		}
	}
	return kept
}

// lastOlder returns when what older leaders had at the offset of a cut and behind it was last seen.
func (c *claims) lastOlder(r *rewind) pcap.Timestamp {
	var last pcap.Timestamp
	for i := range c.all {
		if one := &c.all[i]; one.from >= r.offset && one.epoch >= 0 && one.epoch < r.epoch {
			last = max(last, one.last)
		}
	}
	return last
}

// rewound returns the first time that the log was cut back behind a place since that was last known, nil for none.
func (c *claims) rewound(offset int64, last pcap.Timestamp, leaderEpoch int32) *rewind {
	var first *rewind
	for i := range c.rewinds {
		r := &c.rewinds[i]
		gone := r.at > last
		if leaderEpoch >= 0 && r.epoch >= 0 {
			gone = leaderEpoch < r.epoch // behind an epoch stand later ones only
		}
		if gone && r.offset <= offset && (first == nil || r.at < first.at) {
			first = r
		}
	}
	return first
}

// beside reports whether two places were in one log at one time. Leader epochs rise along a log: where they fall, it was begun anew.
func (f fate) beside(o fate) bool {
	if f.log != o.log && f.log != 0 && o.log != 0 {
		return false
	}
	if f.leaderEpoch >= 0 && o.leaderEpoch >= 0 && cmp.Compare(f.offset, o.offset)*cmp.Compare(f.leaderEpoch, o.leaderEpoch) < 0 {
		return false
	}
	if f.underCut(o) || o.underCut(f) {
		return false
	}
	if f.void != nil && f.void == o.void && min(f.grade, o.grade) == stored && max(f.known, o.known) <= f.void.whole {
		return true
	}
	return o.known <= f.until() && f.known <= o.until()
}

// underCut reports whether a place was cut off before the other one was written, as a later leader epoch shows however long a broker that
// leads no more goes on showing it.
func (f fate) underCut(o fate) bool {
	return f.void != nil && f.leaderEpoch >= 0 && f.void.epoch >= 0 && o.leaderEpoch >= f.void.epoch
}

// until returns until when the place surely was in the log.
func (f fate) until() pcap.Timestamp {
	if f.void == nil {
		return forever
	}
	return max(min(f.last, f.void.at), f.void.from)
}

// beside keeps the copies that stood in the log together with the last one for which there are any.
func beside(copies []copyOf) []copyOf {
	for i := len(copies) - 1; i > 0 && i >= len(copies)-maxRivals; i-- {
		last := copies[i].fate
		kept := slices.DeleteFunc(slices.Clone(copies[:i+1]), func(c copyOf) bool { return !c.fate.beside(last) })
		if len(kept) > 1 {
			return kept
		}
	}
	return nil
}
