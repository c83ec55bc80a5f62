package analysis

import "github.com/kdupscan/kdupscan/kafka"

// unclaimed are sightings that nothing but their content can give to a batch.
type unclaimed struct {
	p         *partition
	all       []*sighting
	taken     []bool
	byContent map[kafka.Fingerprint][]int // by first record, indices into all
	byCRC     map[uint32][]int
}

// joinByContent gives unclaimed places to batches whose place no answer names, in send order. They are without a producer id, or the broker
// hands out all batches so.
func (p *partition) joinByContent(all []*sighting) []*sighting {
	u := p.unclaimed(all)
	if len(u.byCRC) == 0 {
		return all
	}
	u.taken = make([]bool, len(all))
	var refused, again []*batch
	for _, b := range p.batches {
		switch {
		case len(b.views) > 0 || b.named():
			if p.anonymous && b.idempotent() && b.sentInVain() {
				again = append(again, b)
			}
		case b.allRefused():
			refused = append(refused, b)
		default:
			u.claim(b)
		}
	}
	for _, b := range refused {
		u.claim(b) // some brokers answer an error without an offset to what they store in the end
	}
	for _, b := range again {
		u.claim(b) // the other place of what the broker did not recognise
	}
	return u.rest()
}

func (p *partition) unclaimed(all []*sighting) *unclaimed {
	u := &unclaimed{p: p, all: all, byContent: map[kafka.Fingerprint][]int{}, byCRC: map[uint32][]int{}}
	for i, s := range all {
		if s.batch.Idempotent() || s.batch.Control() {
			continue
		}
		if len(s.batch.Records) > 0 {
			key := s.batch.Records[0].Content
			u.byContent[key] = append(u.byContent[key], i)
		}
		u.byCRC[s.batch.CRC] = append(u.byCRC[s.batch.CRC], i)
	}
	return u
}

// claim gives b the first place that shows it, by its bytes or else by its records.
func (u *unclaimed) claim(b *batch) {
	if i := u.sameBytes(b); i >= 0 {
		u.take(b, i, 1)
		return
	}
	if len(b.records) == 0 {
		return
	}
	for _, first := range u.byContent[b.records[0].Content] {
		if run := u.run(first, b); run > 0 {
			u.take(b, first, run)
			return
		}
	}
}

func (u *unclaimed) take(b *batch, first, n int) {
	for i := first; i < first+n; i++ {
		u.taken[i] = true
		b.see(u.all[i], u.all[first].batch.BaseOffset)
	}
}

// sameBytes returns the first free sighting of exactly the batch's bytes, by CRC and size; -1 for none.
func (u *unclaimed) sameBytes(b *batch) int {
	for _, i := range u.byCRC[b.info.CRC] {
		s := u.all[i].batch
		if !u.taken[i] && u.all[i].firstSight() >= b.first.Time && s.Size == b.info.Size && s.Magic == b.info.Magic &&
			s.LastOffsetDelta == b.info.LastOffsetDelta && s.BaseTimestamp == b.info.BaseTimestamp &&
			(len(s.Records) == 0 || len(b.records) == 0 || sameRecords(b.records, s.Records, true)) {
			return i
		}
	}
	return -1
}

// run returns how many free sightings from index first on are, in order, the records of the batch; 0 if they are not.
func (u *unclaimed) run(first int, b *batch) int {
	timestamps := u.p.timestamps != logAppendTime
	delta, base := int32(0), u.all[first].batch.BaseOffset
	for i := first; i < len(u.all); i++ {
		s := u.all[i]
		converted := b.convertedIn(s.batch)
		if u.taken[i] || b.idempotent() && !converted && !u.p.anonymous || s.firstSight() < b.first.Time || len(s.batch.Records) == 0 || s.batch.BaseOffset-base != int64(delta) ||
			!sameRun(b.records, delta, s.batch.Records, converted) {
			return 0
		}
		if timestamps && s.batch.Records[0].Timestamp != b.timestampAt(delta) {
			return 0
		}
		if delta += s.batch.LastOffsetDelta + 1; delta >= b.count() {
			return i - first + 1
		}
	}
	return 0
}

// rest returns what no batch has taken.
func (u *unclaimed) rest() []*sighting {
	var rest []*sighting
	for i, s := range u.all {
		if !u.taken[i] {
			rest = append(rest, s)
		}
	}
	return rest
}

func (b *batch) timestampAt(delta int32) int64 {
	for _, r := range b.records {
		if r.Delta == delta {
			return r.Timestamp
		}
	}
	return -1
}
