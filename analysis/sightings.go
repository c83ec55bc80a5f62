package analysis

import (
	"cmp"
	"slices"

	"github.com/kdupscan/kdupscan/pcap"
)

// dropForgotten leaves out what was judged before, dropped from the history and then fetched again.
func (p *partition) dropForgotten() {
	if len(p.forgotten) == 0 {
		return
	}
	p.forgotten = merged(p.forgotten)
	p.sightings = slices.DeleteFunc(p.sightings, func(s *sighting) bool {
		i, exact := slices.BinarySearchFunc(p.forgotten, s.batch.BaseOffset, func(f forgotten, at int64) int { return cmp.Compare(f.from, at) })
		if !exact {
			i--
		}
		return i >= 0 && s.batch.LastOffset() < p.forgotten[i].to
	})
}

// merged returns the ranges in order, neighbours joined.
func merged(all []forgotten) []forgotten {
	slices.SortFunc(all, func(a, b forgotten) int { return cmp.Compare(a.from, b.from) })
	joined := all[:0]
	for _, f := range all {
		if n := len(joined); n > 0 && f.from <= joined[n-1].to {
			joined[n-1].to, joined[n-1].at = max(joined[n-1].to, f.to), max(joined[n-1].at, f.at)
			continue
		}
		joined = append(joined, f)
	}
	return joined
}

// mergeSightings sorts the sightings by offset, takes those of several servers as one, and drops what a later leader has
// overwritten: of rival contents at one offset the one with the highest leader epoch stands.
func (p *partition) mergeSightings() {
	slices.SortStableFunc(p.sightings, func(a, b *sighting) int {
		return cmp.Or(cmp.Compare(a.batch.BaseOffset, b.batch.BaseOffset), cmp.Compare(b.leaderEpoch, a.leaderEpoch), cmp.Compare(a.order, b.order))
	})
	kept := p.sightings[:0:0]
next:
	for _, s := range p.sightings {
		for i := len(kept) - 1; i >= 0 && i >= len(kept)-maxRivals && kept[i].batch.LastOffset() >= s.batch.BaseOffset; i-- {
			k := kept[i]
			if k.batch.BaseOffset == s.batch.BaseOffset && sameStored(k.batch, s.batch) {
				kept[i] = k.with(s)
				continue next
			}
		}
		kept = append(kept, s)
	}
	p.sightings = dropOverwritten(kept)
}

// with returns a sighting that has the views of both.
func (s *sighting) with(o *sighting) *sighting {
	both := *s
	if len(both.batch.Records) == 0 {
		both.batch = o.batch
	}
	if both.consumer == nil || o.consumer != nil && o.consumer.At.Time < both.consumer.At.Time {
		both.consumer = cmp.Or(o.consumer, both.consumer)
	}
	if both.replica == nil || o.replica != nil && o.replica.At.Time < both.replica.At.Time {
		both.replica = cmp.Or(o.replica, both.replica)
	}
	both.at = both.bestSight().At.Time
	both.leaderEpoch = max(s.leaderEpoch, o.leaderEpoch)
	both.lastSeen = max(s.lastSeen, o.lastSeen)
	both.twins = append(slices.Clip(s.twins), o.order)
	return &both
}

// overwrite is a sighting that took the place of another one.
type overwrite struct {
	offset int64
	epoch  int32
	at     pcap.Timestamp // its first sight
}

// dropOverwritten leaves out what stands no longer where it was seen, and what stood behind that.
func dropOverwritten(all []*sighting) []*sighting {
	if len(all) == 0 {
		return nil
	}
	lost := map[*sighting]bool{}
	var overwrites []overwrite
	note := func(by, over *sighting) {
		lost[over] = true
		if len(overwrites) == maxRivals {
			return
		}
		overwrites = append(overwrites, overwrite{max(by.batch.BaseOffset, over.batch.BaseOffset), by.leaderEpoch, by.firstSight()})
	}
	for i, s := range all {
		for _, o := range all[i+1 : min(len(all), i+1+maxRivals)] {
			if o.batch.BaseOffset > s.batch.LastOffset() {
				break
			}
			switch {
			case s.leaderEpoch > o.leaderEpoch:
				note(s, o)
			case s.leaderEpoch < o.leaderEpoch:
				note(o, s)
			case len(s.batch.Records) == 0 || len(o.batch.Records) == 0:
			case s.lastSeen < o.firstSight(): // one log has one content under one epoch: this is another log of the same name
				note(o, s)
			case o.lastSeen < s.firstSight():
				note(s, o)
			}
		}
	}
	if len(lost) == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(s *sighting) bool { return lost[s] || s.behind(overwrites) })
}

// behind reports whether a sighting stood behind one that was overwritten, under no later leader, and was not seen since.
func (s *sighting) behind(all []overwrite) bool {
	return slices.ContainsFunc(all, func(o overwrite) bool {
		return s.batch.BaseOffset >= o.offset && s.lastSeen < o.at && (s.leaderEpoch == o.epoch || s.leaderEpoch >= 0 && s.leaderEpoch < o.epoch)
	})
}
