package analysis

import (
	"cmp"
	"slices"
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

// mergeSightings sorts the sightings by offset and takes those of several servers as one.
func (p *partition) mergeSightings() {
	slices.SortStableFunc(p.sightings, func(a, b *sighting) int {
		return cmp.Or(cmp.Compare(a.batch.BaseOffset, b.batch.BaseOffset), cmp.Compare(b.batch.Magic, a.batch.Magic),
			cmp.Compare(b.leaderEpoch, a.leaderEpoch), cmp.Compare(a.order, b.order))
	})
	kept := p.sightings[:0:0]
next:
	for _, s := range p.sightings {
		for i := len(kept) - 1; i >= 0 && i >= len(kept)-maxRivals && kept[i].batch.LastOffset() >= s.batch.BaseOffset; i-- {
			k := kept[i]
			switch {
			case k.convertedInto(s):
				kept[i] = k.alsoSeen(s)
				continue next
			case k.batch.BaseOffset == s.batch.BaseOffset && sameStored(k.batch, s.batch):
				kept[i] = k.with(s)
				continue next
			}
		}
		kept = append(kept, s)
	}
	p.sightings = kept
}

// convertedInto reports whether the other sighting shows records of the batch as a reader of an old version is given them.
func (s *sighting) convertedInto(o *sighting) bool {
	if s.batch.Magic < 2 || o.batch.Magic >= 2 || len(o.batch.Records) == 0 {
		return false
	}
	return sameRun(s.batch.Records, int32(o.batch.BaseOffset-s.batch.BaseOffset), o.batch.Records, true)
}

// alsoSeen returns a sighting that was seen as the other one, too, which shows less of it.
func (s *sighting) alsoSeen(o *sighting) *sighting {
	both := *s
	both.lastSeen = max(s.lastSeen, o.lastSeen)
	both.twins = append(slices.Clip(s.twins), o.order)
	return &both
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
