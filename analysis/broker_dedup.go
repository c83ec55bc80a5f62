package analysis

import "slices"

// doubled is a batch that stands at two places under one identity.
type doubled struct {
	b             *batch
	first, second place
}

// dedupFailures finds batches that a broker stored twice under one producer id, epoch and sequence. Both places must be
// certain: an error 6 with an offset and then an OK at a higher one is a truncation and a new append.
func (c *chains) dedupFailures() {
	for _, b := range c.p.batches {
		if !b.idempotent() || b.info.Control() || !b.atTwoOffsets() {
			continue
		}
		var places []place
		for _, pl := range b.places() {
			if pl.grade == stored && !b.refuted(pl) && !samePlace(places, pl) {
				places = append(places, pl)
			}
		}
		if len(places) < 2 {
			continue
		}
		sortPlaces(places)
		for i, second := range places {
			for j := i - 1; j >= 0; j-- {
				if sameCreation(places[j], second) {
					c.doubles = append(c.doubles, doubled{b, places[j], second})
					break
				}
			}
		}
	}
}

// sameCreation reports whether two places may hold one batch: records created at another time are other records, however alike,
// of a client that counts its sequences from the start again.
func sameCreation(a, b place) bool { return a.created == b.created || a.created < 0 || b.created < 0 }

// atTwoOffsets reports whether answers and sightings name more than one offset for the batch.
func (b *batch) atTwoOffsets() bool {
	at := NoOffset
	differs := func(offset int64) bool {
		if at == NoOffset {
			at = offset
		}
		return offset != at
	}
	for _, s := range b.sends {
		if a := s.reply(); a != nil && a.BaseOffset >= 0 && differs(a.BaseOffset) {
			return true
		}
	}
	return slices.ContainsFunc(b.views, func(v view) bool { return differs(v.base) })
}

func samePlace(all []place, pl place) bool {
	for i := range all {
		if all[i].offset == pl.offset {
			if pl.source == OffsetFromFetch {
				all[i] = pl
			}
			return true
		}
	}
	return false
}
