package analysis

// doubled is a batch that stands at two places under one identity.
type doubled struct {
	b             *batch
	first, second place
}

// dedupFailures finds batches that a broker stored twice under one producer id, epoch and sequence. Both places must be
// certain: an error 6 with an offset and then an OK at a higher one is a truncation and a new append.
func (c *chains) dedupFailures() {
	for _, b := range c.p.batches {
		if !b.idempotent() || b.info.Control() || len(b.sends)+len(b.views) < 2 {
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
		for i := range places[1:] {
			c.doubles = append(c.doubles, doubled{b, places[i], places[i+1]})
		}
	}
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
