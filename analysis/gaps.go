package analysis

import (
	"cmp"
	"slices"

	"github.com/kdupscan/kdupscan/pcap"
)

// A batch that nobody answered may still have a place: where the offsets known around it leave exactly its room
// (VERDICTS section 3, offset gap).

// room is what the offsets known around a batch leave for it.
type room uint8

const (
	roomUnknown room = iota // nothing is known, or the hole does not fit exactly
	noRoom                  // fewer places than the batch has records
	exactRoom
)

// hole is a range of offsets of which nothing is known.
type hole struct{ from, to int64 }

// room looks for the place of f, whose records came again in l.
func (p *partition) room(f, l *batch) (room, int64) {
	upper := l.fate().offset
	if upper == NoOffset {
		return roomUnknown, NoOffset
	}
	lower, ok := p.lowerBound(f)
	if !ok || lower > upper {
		return roomUnknown, NoOffset
	}
	holes := p.holes(lower, upper)
	if !f.idempotent() {
		holes = append(holes, p.holes(upper, p.knownEnd())...) // it may have been appended late
	}
	var total int64
	for _, h := range holes {
		total += h.to - h.from
	}
	if total < int64(f.count()) {
		return noRoom, NoOffset
	}
	if len(holes) != 1 || p.otherHoles(holes[0]) {
		return roomUnknown, NoOffset
	}
	at := holes[0].from
	place, found := NoOffset, false
	for _, u := range p.unresolvedBefore(l, lower) {
		if u == f {
			place, found = at, true
		}
		at += int64(u.count())
		if at == holes[0].to {
			if !found {
				return noRoom, NoOffset
			}
			return exactRoom, place
		}
	}
	return roomUnknown, NoOffset
}

// lowerBound returns the offset before which f cannot stand: behind what was acknowledged or seen before it was first sent,
// what its producer sent under lower sequences, and the high watermark of that time.
func (p *partition) lowerBound(f *batch) (int64, bool) {
	lower := int64(-1)
	for _, c := range p.log.all {
		b := c.batch
		earlier := c.at < f.first.Time
		ordered := f.idempotent() && b.id.producer == f.id.producer && b.id.epoch == f.id.epoch && sequenceBefore(b.id.last, f.id.base)
		if b != f && (earlier && !c.uncertain || ordered) {
			lower = max(lower, c.to)
		}
	}
	for _, m := range p.marks {
		if m.at.Time < f.first.Time {
			lower = max(lower, m.offset)
		}
	}
	return lower, lower >= 0
}

func sequenceBefore(a, b int32) bool { return a != b && uint32(b-a)&0x7fffffff < 1<<30 }

// holes returns the unknown ranges of [from, to).
func (p *partition) holes(from, to int64) []hole {
	var holes []hole
	at := from
	for _, c := range p.log.all {
		if c.from >= to {
			break
		}
		if c.from > at {
			holes = append(holes, hole{at, c.from})
		}
		at = max(at, c.to)
	}
	if at < to {
		holes = append(holes, hole{at, to})
	}
	return holes
}

func (p *partition) knownEnd() int64 {
	if n := len(p.log.furthest); n > 0 {
		return p.log.furthest[n-1]
	}
	return 0
}

// otherHoles reports whether the known offsets of the partition have a hole that no unanswered batch explains: another
// writer may be at work.
func (p *partition) otherHoles(own hole) bool {
	if len(p.log.all) == 0 {
		return false
	}
	for _, h := range p.holes(p.log.all[0].from, p.knownEnd()) {
		if h.to <= own.from || h.from >= own.to {
			if !p.explained(h) {
				return true
			}
		}
	}
	return false
}

// explained reports whether unanswered batches, in send order, fill the hole exactly.
func (p *partition) explained(h hole) bool {
	var before pcap.Timestamp
	for _, c := range p.log.all {
		if c.to <= h.from {
			before = max(before, c.batch.first.Time)
		}
	}
	var sum int64
	for _, b := range p.batches {
		if b.unresolved() && b.first.Time >= before {
			if sum += int64(b.count()); sum == h.to-h.from {
				return true
			}
		}
	}
	return false
}

// unresolvedBefore returns the batches without a known place that may stand between lower and l, in the order in which a
// leader took them: by sequence within a producer, else by first send.
func (p *partition) unresolvedBefore(l *batch, lower int64) []*batch {
	var all []*batch
	for _, b := range p.batches {
		if b == l || !before(b, l) || !b.unresolved() {
			continue
		}
		if bound, ok := p.lowerBound(b); ok && bound >= lower {
			all = append(all, b)
		}
	}
	slices.SortStableFunc(all, func(a, b *batch) int {
		if a.idempotent() && a.id.producer == b.id.producer && a.id.epoch == b.id.epoch {
			return cmp.Compare(a.id.base, b.id.base)
		}
		return cmp.Compare(a.first.Time, b.first.Time)
	})
	return all
}

// unresolved reports whether the batch was sent and nothing tells whether it was stored.
func (b *batch) unresolved() bool {
	if len(b.sends) == 0 || b.sends[0].sent.Acks == 0 {
		return false
	}
	f := b.fate()
	return f.offset == NoOffset && (f.grade == unknown || f.grade == refused && !b.refusalCertain())
}

// refusalCertain reports whether a batch that was refused at every send seen cannot have an earlier send that the capture
// lacks: the run of sequences that it belongs to is seen from a batch on that was acknowledged, or from the start of its
// epoch, and no stream of its client has a gap since.
func (b *batch) refusalCertain() bool {
	if !b.idempotent() {
		// Without sequences nothing tells what came before. A late start alone is no reason to suspect a hidden send.
		return !b.p.j.gapOf(b, b.previousOK())
	}
	since := b.first.Time
	run := b
	for steps := 0; run.id.base != 0; steps++ {
		run = run.predecessor()
		if run == nil || steps > len(b.p.batches) { // hostile sequences can run in a ring
			return false
		}
		since = min(since, run.first.Time)
		if run.answeredOK(b.lastSent()) {
			break
		}
	}
	return !b.p.j.gapOf(b, since)
}

// predecessor returns the batch sent with the sequences just before b's, nil if none was seen.
func (b *batch) predecessor() *batch {
	end := identity{b.id.producer, b.id.epoch, 0, int32((int64(b.id.base) - 1) & 0x7fffffff)}
	for _, o := range b.p.byEnd[end] {
		if o != b && len(o.sends) > 0 {
			return o
		}
	}
	return nil
}

// answeredOK reports whether an OK for the batch was seen by t.
func (b *batch) answeredOK(t pcap.Timestamp) bool {
	return slices.ContainsFunc(b.sends, func(s *send) bool {
		a := s.reply()
		return a != nil && a.ErrorCode == 0 && a.At.Time <= t
	})
}

func (b *batch) lastSent() pcap.Timestamp { return b.sends[len(b.sends)-1].sent.At.Time }

// previousOK returns when the client last sent a batch to the partition that was acknowledged before b, 0 if none was seen.
func (b *batch) previousOK() pcap.Timestamp {
	var at pcap.Timestamp
	for _, o := range b.p.batches {
		if o != b && !o.idempotent() && len(o.sends) > 0 && before(o, b) && sameClient(o, b) && o.answeredOK(b.lastSent()) {
			at = max(at, o.first.Time)
		}
	}
	return at
}

// gapOf reports whether a stream of the batch's client has a gap between since and the batch's last send.
func (j *judgement) gapOf(b *batch, since pcap.Timestamp) bool {
	cl, _ := b.client()
	until := b.lastSent()
	for _, l := range j.c.links {
		if l.client() == cl && l.gapBetween(since, until) {
			return true
		}
	}
	return false
}
