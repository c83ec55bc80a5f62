package analysis

import (
	"slices"

	"github.com/kdupscan/kdupscan/pcap"
)

// evict judges the history and drops the oldest part of it. Findings all of whose batches are in that part are settled. What
// may still become a finding stays: batches whose fate is open, and the batches of findings with a newer copy, unless even
// those alone are too many.
func (c *Correlator) evict() {
	j := c.judged(nil, nil)
	cutoff, last := c.cutoff()
	open := map[int64]bool{} // arrivals that stay
	for _, f := range j.found {
		if f.newest() < cutoff {
			c.window.settle(f)
			f.eachBatch(func(b *batch) { b.settled = true })
		} else {
			f.eachBatch(func(b *batch) { b.keep(open) })
		}
	}
	j.each(func(p *partition) {
		for _, b := range p.batches {
			if b.mayHaveCopies() || b.spans(cutoff) {
				p.kept = append(p.kept, b)
			}
		}
	})
	for _, p := range j.partitions {
		for _, b := range p.kept {
			b.keep(open)
		}
	}
	if c.costOf(open, cutoff) > c.window.budget/4 {
		clear(open) // so much that waits for an answer for ever
	}
	j.countDropped(&c.window, cutoff, open)
	dropped := c.drop(cutoff, open)
	c.producers.prune(cutoff)
	for l, state := range c.links {
		if !state.closed.IsZero() && state.closed.Time < cutoff {
			delete(c.links, l)
		}
	}
	c.gapped = slices.DeleteFunc(c.gapped, func(l *link) bool { return c.links[l.Link] != l })
	c.dropEmpty(cutoff)
	c.window.used = c.cost()
	c.window.left = c.window.used
	c.options.Note(pcap.Note{Code: LimitWindowEvicted, At: pcap.Ref{Time: last}, Count: int64(dropped)})
}

// mayHaveCopies reports whether a batch waits for an OK that may still turn into a resend.
func (b *batch) mayHaveCopies() bool {
	return len(b.sends) > 0 && !b.hasSeenOK && !b.settled && b.fate().grade != gone
}

// spans reports whether something of the batch was seen before a time and something behind it.
func (b *batch) spans(t pcap.Timestamp) bool { return b.first.Time < t && b.last() >= t }

// last returns when anything of the batch was last seen for the first time.
func (b *batch) last() pcap.Timestamp {
	at := b.first.Time
	for _, s := range b.sends {
		for _, leg := range s.all() {
			at = max(at, leg.at)
		}
	}
	for _, v := range b.views {
		at = max(at, v.at)
	}
	return at
}

// keep marks all that a batch was made of.
func (b *batch) keep(open map[int64]bool) {
	for _, s := range b.sends {
		for _, leg := range s.all() {
			open[leg.order] = true
		}
	}
	for _, v := range b.views {
		open[v.order] = true
		for _, twin := range v.twins {
			open[twin] = true
		}
	}
}

// costOf returns what of the kept arrivals is older than the cutoff.
func (c *Correlator) costOf(kept map[int64]bool, cutoff pcap.Timestamp) int64 {
	var sum int64
	for _, h := range c.inOrder {
		for _, s := range h.sends {
			if s.at < cutoff && kept[s.order] {
				sum += s.cost
			}
		}
		for _, s := range h.sightings {
			if s.at < cutoff && kept[s.order] {
				sum += s.cost
			}
		}
	}
	return sum
}

// countDropped adds to the window's counts what the dropped history would have counted.
func (j *judgement) countDropped(w *window, cutoff pcap.Timestamp, open map[int64]bool) {
	goes := func(b *batch) bool {
		return len(b.sends) > 0 && b.last() < cutoff && !open[b.sends[0].order]
	}
	j.each(func(p *partition) { p.count(goes) })
	counts, repeats := j.counted()
	w.counts.add(counts)
	w.repeats = append(w.repeats, repeats...)
}

func (c *Correlator) drop(cutoff pcap.Timestamp, open map[int64]bool) int {
	dropped := make([]int, len(c.inOrder))
	c.options.Each(len(c.inOrder), func(i int) { dropped[i] = c.inOrder[i].drop(cutoff, open) })
	sum := 0
	for _, n := range dropped {
		sum += n
	}
	return sum
}

// drop forgets what is older than the cutoff and not to be kept, and returns how many batches that were.
func (h *history) drop(cutoff pcap.Timestamp, open map[int64]bool) int {
	before := len(h.sends) + len(h.sightings)
	h.cost = 0
	h.answered = nil
	h.sends = slices.DeleteFunc(h.sends, func(s *send) bool {
		a, stays := s.answer, s.at >= cutoff || open[s.order]
		switch {
		case stays:
			h.cost += s.cost
		case s.placed():
			h.forget(a.BaseOffset, a.BaseOffset+int64(s.sent.Batch.LastOffsetDelta)+1, a.At.Time)
		}
		return !stays
	})
	h.torn = slices.DeleteFunc(h.torn, func(s *send) bool { return s.at < cutoff })
	h.troubled = h.troubled && slices.ContainsFunc(h.sends, func(s *send) bool { return open[s.order] })
	clear(h.stored)
	h.sightings = slices.DeleteFunc(h.sightings, func(s *sighting) bool {
		base := s.batch.BaseOffset
		if s.at < cutoff && !open[s.order] {
			h.forget(base, s.batch.LastOffset()+1, s.at)
			return true
		}
		h.cost += s.cost
		s.rival, h.stored[base] = h.stored[base], s
		return false
	})
	return before - len(h.sends) - len(h.sightings)
}

// maxHistories is from how many histories on those are let go of that hold no batch any more. Until then they still know of leaders
// and high watermarks.
const maxHistories = 1 << 16

// dropEmpty lets go of histories of which nothing is left.
func (c *Correlator) dropEmpty(cutoff pcap.Timestamp) {
	if len(c.inOrder) < maxHistories {
		return
	}
	c.inOrder = slices.DeleteFunc(c.inOrder, func(h *history) bool {
		if len(h.sends)+len(h.torn)+len(h.sightings)+len(h.forgotten) > 0 || h.seen >= cutoff {
			return false
		}
		delete(c.histories, h.key)
		c.parts = parts{}
		return true
	})
}
