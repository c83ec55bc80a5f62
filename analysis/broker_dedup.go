package analysis

import (
	"slices"

	"github.com/kdupscan/kdupscan/kafka"
)

// doubled is a batch that stands at two places under one identity; the second time perhaps cut anew.
type doubled struct {
	b             *batch
	first, second place
	again         *batch // that stands at the second place
	shift         int32  // from the offset delta of a record in b to that in again
}

// recutFailures finds records that a broker stored twice under one producer id, epoch and sequence, in batches of different borders.
func (c *chains) recutFailures() {
	top := map[producerEpoch]int32{} // the highest sequence so far
	for i, b := range c.p.batches {
		if !b.idempotent() || b.info.Control() || len(b.records) == 0 {
			continue
		}
		own := producerEpoch{b.id.producer, b.id.epoch}
		last, known := top[own]
		if !known || kafka.SequenceDistance(last, b.id.last) >= 0 {
			top[own] = b.id.last
		}
		if !known || kafka.SequenceDistance(b.id.base, last) < 0 {
			continue // its sequences go on where others ended
		}
		for _, o := range c.p.batches[max(0, i-maxRivals):i] {
			if o.id != b.id && o.id.producer == b.id.producer && o.id.epoch == b.id.epoch && len(o.records) > 0 {
				c.recut(o, b)
			}
		}
	}
}

// recut notes two batches that share a record where both places are certain and differ.
func (c *chains) recut(first, again *batch) {
	shift := kafka.SequenceDistance(again.id.base, first.id.base)
	for _, r := range first.records {
		at := entry{again, r.Delta + shift}
		same, ok := at.record()
		if !ok || same.Content != r.Content || same.Timestamp != r.Timestamp {
			continue
		}
		ones, twos := first.certainPlaces(), again.certainPlaces()
		if len(ones) == 0 || len(twos) == 0 {
			return
		}
		one, two := ones[0], twos[0]
		x, y := one.offset+int64(r.Delta), two.offset+int64(at.delta)
		switch {
		case x == y || !one.beside(two.fate):
		case x < y:
			c.doubles = append(c.doubles, doubled{b: first, first: one, second: two, again: again, shift: shift})
		default:
			c.doubles = append(c.doubles, doubled{b: again, first: two, second: one, again: first, shift: -shift})
		}
		return
	}
}

// certainPlaces returns where the batch surely stands, or stood until the log was cut back.
func (b *batch) certainPlaces() []place {
	var certain []place
	for _, pl := range b.places() {
		pl.void = b.p.known().rewound(pl.offset, pl.last, pl.leaderEpoch)
		if pl.grade == stored && !b.refuted(pl) {
			certain = append(certain, pl)
		}
	}
	return certain
}

// dedupFailures finds batches that a broker stored twice under one producer id, epoch and sequence. Both places must be
// certain: an error 6 with an offset and then an OK at a higher one is a truncation and a new append.
func (c *chains) dedupFailures() {
	c.recutFailures()
	for _, b := range c.p.batches {
		if !b.idempotent() || b.info.Control() || !b.atTwoOffsets() {
			continue
		}
		var places []place
		for _, pl := range b.certainPlaces() {
			if !samePlace(places, pl) {
				places = append(places, pl)
			}
		}
		if len(places) < 2 {
			continue
		}
		sortPlaces(places)
		for i, second := range places {
			for j := i - 1; j >= 0; j-- {
				if sameCreation(places[j], second) && places[j].beside(second.fate) && !c.p.writtenElsewhere(places[j], second) {
					c.doubles = append(c.doubles, doubled{b: b, first: places[j], second: second, again: b})
					break
				}
			}
		}
	}
}

// sameCreation reports whether two places may hold one batch: records created at another time are other records, however alike,
// of a client that counts its sequences from the start again.
func sameCreation(a, b place) bool { return a.created == b.created || a.created < 0 || b.created < 0 }

// writtenElsewhere reports whether a batch was sent to another server after its client had seen the OK of the first, as one does that writes to
// two clusters; they may be, as far as is known. Where the capture lost packets, that TCP acknowledged the OK may be among them: a client that
// went on without it would have given up the connection.
func (p *partition) writtenElsewhere(a, b place) bool {
	if a.by == nil || b.by == nil || p.inOneCluster(a.by.link.Server, b.by.link.Server) {
		return false
	}
	if b.sent < a.sent {
		a, b = b, a
	}
	if heard, ok := a.by.seenOK(); ok && heard <= b.sent {
		return true
	}
	answer := a.by.reply()
	return answer != nil && answer.ErrorCode == 0 && answer.At.Time <= b.sent && !a.by.link.lostBy(b.sent) && p.messagesHidden()
}

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
