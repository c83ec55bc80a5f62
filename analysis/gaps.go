package analysis

import (
	"cmp"
	"slices"
	"sort"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
)

// A batch that nobody answered may still have a place: where the offsets known around it leave exactly its room.

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
	log := p.known()
	cut := lower > upper && log.cutSince(f, upper)
	if lower > upper && !cut || !ok && !f.idempotent() {
		return roomUnknown, NoOffset
	}
	known, standing := log.standing, l.fate().void == nil
	if !standing {
		known = log.holes
	}
	holes := p.holes(known, max(lower, 0), upper) // none where f stood behind what was cut off
	if !f.idempotent() && f.sentInVain() {
		holes = append(holes, p.holes(known, upper, p.knownEnd())...) // it may have been appended late; what was answered was not
	}
	var total int64
	for _, h := range holes {
		total += h.to - h.from
	}
	if total < int64(f.count()) {
		return noRoom, NoOffset
	}
	if !ok || cut || len(holes) != 1 || standing && log.cutSince(f, holes[0].from) || p.othersWithin(holes[0], f, l, max(lower, 0), upper) {
		return roomUnknown, NoOffset
	}
	at := holes[0].from
	place, found := NoOffset, false
	open := p.unresolvedBefore(l, lower)
	if records(open) > total && slices.ContainsFunc(open, (*batch).answerMayBeHidden) || severalWriters(open) {
		return roomUnknown, NoOffset // one of them may have been acknowledged, or they may have come in another order
	}
	for _, u := range open {
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

// othersWithin reports whether a hole may be, or have been, another batch's than f or what was sent before l: the lower and the upper bound
// are those of f's place. Where f was appended late, what was sent after l competes with it too.
func (p *partition) othersWithin(own hole, f, l *batch, lower, upper int64) bool {
	until := l.first.Time
	if own.from >= upper {
		until = p.known().behind(own)
		open := p.unresolved()
		if i := sort.Search(len(open), func(i int) bool { return before(l, open[i]) }); i < len(open) && open[i].first.Time < until {
			return true
		}
	}
	return p.otherHoles(own) || p.writersHidden(f) || p.sendsHidden(f, l, own, until) || p.unaskedWithin(lower, max(upper, own.to)) || p.readOver(own)
}

// severalWriters reports whether batches came from several clients, or under several producer ids: a leader may have taken them in
// another order than they were sent in.
func severalWriters(all []*batch) bool {
	return slices.ContainsFunc(all, func(b *batch) bool {
		x, _ := all[0].client()
		y, _ := b.client()
		return b.id.producer != all[0].id.producer || !b.idempotent() && x != y
	})
}

func records(all []*batch) int64 {
	var n int64
	for _, b := range all {
		n += int64(b.count())
	}
	return n
}

// readOver reports whether one answer to a reader goes on behind a hole without a record in it: the log was compacted there, and what stood
// in the hole before may have been anybody's.
func (p *partition) readOver(h hole) bool {
	i, _ := slices.BinarySearchFunc(p.sightings, h.to, func(s *sighting, at int64) int { return cmp.Compare(s.batch.BaseOffset, at) })
	if i == 0 || i == len(p.sightings) {
		return false
	}
	before, behind := p.sightings[i-1], p.sightings[i]
	if before.batch.LastOffset() >= h.from {
		return false // of a log that was cut back
	}
	return before.consumer != nil && before.consumer == behind.consumer || before.replica != nil && before.replica == behind.replica
}

// cutSince reports whether the log was cut back to an offset or below after f had been sent: a leader may have had f before that.
func (c *claims) cutSince(f *batch, offset int64) bool {
	return slices.ContainsFunc(c.rewinds, func(r rewind) bool { return r.at > f.first.Time && r.offset <= offset })
}

// take gives a hole to a batch; false if another batch has it already.
func (p *partition) take(at int64, b *batch) bool {
	if owner := p.placed[at]; owner != nil {
		return owner == b
	}
	if p.placed == nil {
		p.placed = map[int64]*batch{}
	}
	p.placed[at] = b
	return true
}

// writersHidden reports whether the capture has gaps that may hide what clients other than f's sent to the partition.
func (p *partition) writersHidden(f *batch) bool {
	if !p.hiddenKnown {
		p.hiddenKnown = true
		for _, s := range p.sends {
			cl := s.link.client()
			if !slices.Contains(p.hidden, cl) && slices.ContainsFunc(s.link.gaps, func(g gap) bool { return g.hidden && g.fromClient }) {
				p.hidden = append(p.hidden, cl)
			}
			if len(p.hidden) == 2 {
				break // one of them is not f's, whichever that is
			}
		}
	}
	own, _ := f.client()
	return slices.ContainsFunc(p.hidden, func(cl client) bool { return cl != own })
}

// sendsHidden reports whether f's own client may have sent more to the hole until a time than the capture shows.
func (p *partition) sendsHidden(f, l *batch, own hole, until pcap.Timestamp) bool {
	if sequencesSeen(f, l) {
		return false
	}
	cl, _ := f.client()
	return within(p.j.gaps[cl].requests, p.known().sentBefore(own.from), until)
}

// behind returns by when something was known to stand behind a hole. What stands in the hole had been sent by then.
func (c *claims) behind(h hole) pcap.Timestamp {
	at := forever
	i := sort.Search(len(c.all), func(i int) bool { return c.all[i].from >= h.to })
	for ; i < len(c.all) && c.all[i].from == h.to; i++ {
		at = min(at, c.all[i].at)
	}
	return at
}

// sequencesSeen reports whether the sequences of two batches go on where others ended, those of f up to it and those of l, which may be of
// a later epoch, up to l: their producer has sent nothing else before them.
func sequencesSeen(f, l *batch) bool {
	return f.idempotent() && l.idempotent() && f.anchor().batch != nil && l.anchor().batch != nil
}

// holes returns the unknown ranges of [from, to), by the holes between what is known.
func (p *partition) holes(inner []hole, from, to int64) []hole {
	var holes []hole
	add := func(h hole) {
		if h.from, h.to = max(h.from, from), min(h.to, to); h.from < h.to {
			holes = append(holes, h)
		}
	}
	log := p.known()
	if len(log.all) == 0 {
		add(hole{from, to})
		return holes
	}
	add(hole{0, log.all[0].from})
	first := sort.Search(len(inner), func(i int) bool { return inner[i].to > from })
	for _, h := range inner[first:] {
		if h.from >= to || len(holes) == maxRivals {
			break
		}
		add(h)
	}
	add(hole{p.knownEnd(), to})
	return holes
}

func (p *partition) knownEnd() int64 {
	if n := len(p.known().furthest); n > 0 {
		return p.known().furthest[n-1]
	}
	return 0
}

// otherHoles reports whether the known offsets of the partition have a hole that no unanswered batch explains: another
// writer may be at work.
func (p *partition) otherHoles(own hole) bool {
	if !p.holesKnown {
		p.holesKnown = true
		p.unexplained = slices.DeleteFunc(slices.Clone(p.known().holes), p.explained)
	}
	return slices.ContainsFunc(p.unexplained, func(h hole) bool { return h.to <= own.from || h.from >= own.to })
}

// explained reports whether unanswered batches, in send order, fill the hole exactly.
func (p *partition) explained(h hole) bool {
	open := p.unresolved()
	before := p.known().sentBefore(h.from)
	var sum int64
	for _, b := range open[sort.Search(len(open), func(i int) bool { return open[i].first.Time >= before }):] {
		if sum += int64(b.count()); sum >= h.to-h.from {
			break
		}
	}
	return sum == h.to-h.from
}

// sentBefore returns when the newest of the batches that stand before an offset was first sent.
func (c *claims) sentBefore(offset int64) pcap.Timestamp {
	n := sort.Search(len(c.all), func(i int) bool { return c.all[i].from >= offset })
	if n == 0 {
		return 0
	}
	return c.newest[n-1]
}

// unresolved returns the batches whose place nothing tells, in the order of their first sends.
func (p *partition) unresolved() []*batch {
	if !p.openKnown {
		p.openKnown = true
		for _, b := range p.batches {
			if b.unresolved() {
				p.open = append(p.open, b)
			}
		}
	}
	return p.open
}

// answersHidden returns those of them of which the capture may hide an answer: in a gap, or at the end of a connection that was not lost, where
// no later packet shows one.
func (p *partition) answersHidden() []*batch {
	if !p.unheardKnown {
		p.unheardKnown = true
		for _, b := range p.unresolved() {
			if b.answerMayBeHidden() || slices.ContainsFunc(b.sends, (*send).awaitsAnswer) {
				p.unheard = append(p.unheard, b)
			}
		}
	}
	return p.unheard
}

// unresolvedBefore returns the batches without a known place that may stand between lower and l, in the order in which a
// leader took them: by sequence within a producer, else by first send.
func (p *partition) unresolvedBefore(l *batch, lower int64) []*batch {
	var all []*batch
	open := p.unresolved()
	for i := len(open) - 1; i >= 0; i-- {
		b := open[i]
		if b == l || !before(b, l) {
			continue
		}
		if bound, ok := p.lowerBound(b); !ok || bound < lower {
			break // so has every earlier one
		}
		all = append(all, b)
	}
	slices.Reverse(all)
	sortSequences(all)
	return all
}

// sortSequences puts the batches of each producer epoch in the order of their sequences, in the places that they have among the
// others.
func sortSequences(all []*batch) {
	places := map[producerEpoch][]int{}
	for i, b := range all {
		if b.idempotent() {
			key := producerEpoch{b.id.producer, b.id.epoch}
			places[key] = append(places[key], i)
		}
	}
	for _, at := range places {
		own := make([]*batch, len(at))
		for i, place := range at {
			own[i] = all[place]
		}
		slices.SortStableFunc(own, func(a, b *batch) int {
			return cmp.Compare(0, kafka.SequenceDistance(a.id.base, b.id.base))
		})
		for i, place := range at {
			all[place] = own[i]
		}
	}
}

// unresolved reports whether the batch was sent and nothing tells whether it was stored.
func (b *batch) unresolved() bool {
	if len(b.sends) == 0 || b.sends[0].sent.Acks == 0 {
		return false
	}
	f := b.fate()
	return f.offset == NoOffset && (f.grade == unknown || f.grade == refused && !b.refusalCertain())
}
