package analysis

import (
	"slices"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
)

// DefaultMemory is the history kept when Options name no bound: about two million records with their batches.
const DefaultMemory = 192 << 20

// What one item of history takes, in bytes: its structs, and its share of what judging builds for a moment.
const (
	sendCost     = 640
	sightingCost = 640
	recordCost   = 64
	linkCost     = 400 // with what the kafka layer shares with it
	producerCost = 512
)

// keptShare is the part of the budget, in percent, that is left after history was dropped. The smaller it is, the less often
// all of it has to be judged; the larger, the farther back a first copy is remembered.
const keptShare = 40

const (
	maxMarks   = 4096    // high watermarks per history: a coarser series says less, nothing wrong
	maxLeaders = 1024    // leader sightings per history
	maxLinks   = 64      // connections per producer: those that a bump can have come from are the last ones
	maxSettled = 1 << 14 // findings of dropped history: a report of more is read by nobody
	// maxSettledRecords bounds the records listed in them; findings behind it list the first few.
	maxSettledRecords = 1 << 18
	listedBehind      = 10
	maxEnds           = 4096 // transaction ends, markers and grants per producer
	maxEpochs         = 4096 // epochs listed per producer
	// maxListedProducers bounds the producers of a report that were let go of.
	maxListedProducers = 10000
)

// window bounds the history.
type window struct {
	budget  int64
	used    int64
	next    int64               // used at which history is dropped again: the budget, but for what cannot be dropped
	settled []Finding           // found in history that has been dropped
	keys    map[string]bool     // theirs
	records int                 // listed in them
	counts  Counts              // of dropped history
	repeats []ApplicationRepeat // of dropped history
}

// settle keeps a finding whose history goes. A batch of it may stay for another finding's sake, and would give it again.
func (w *window) settle(f judged) {
	if w.keys == nil {
		w.keys = map[string]bool{}
	}
	if key := f.key(); !w.keys[key] && len(w.settled) < maxSettled {
		w.keys[key] = true
		if w.records > maxSettledRecords {
			f.Finding.Records = slices.Clone(f.Finding.Records[:min(len(f.Finding.Records), listedBehind)])
		}
		w.records += len(f.Finding.Records)
		w.settled = append(w.settled, f.Finding)
	}
}

// grew accounts for new history, and drops the oldest when there is too much.
func (c *Correlator) grew(h *history, cost int64) {
	h.cost += cost
	c.used(cost)
}

func (c *Correlator) used(cost int64) {
	c.window.used += cost
	if c.window.used > c.window.next {
		c.evict()
	}
}

// evict judges the history and drops the oldest part of it. Findings all of whose batches are in that part are settled. What
// may still become a finding stays: batches whose fate is open, and the batches of findings with a newer copy, unless even
// those alone are too many.
func (c *Correlator) evict() {
	j := newJudgement(c)
	j.run()
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
	for _, p := range j.partitions {
		for _, b := range p.batches {
			if b.mayHaveCopies() || b.spans(cutoff) {
				b.keep(open)
			}
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
	c.dropEmpty(cutoff)
	c.window.used = c.cost()
	c.window.next = max(c.window.budget, c.window.used+c.window.budget/4)
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

// cutoff returns the time before which history has to go, and that of the newest history. It looks at a histogram of the costs
// over time.
func (c *Correlator) cutoff() (cutoff, last pcap.Timestamp) {
	first := forever
	c.eachItem(func(at pcap.Timestamp, _ int64) { first, last = min(first, at), max(last, at) })
	const slots = 256
	width := (last-first)/slots + 1
	var costs [slots]int64
	c.eachItem(func(at pcap.Timestamp, cost int64) { costs[(at-first)/width] += cost })
	excess := c.cost() - c.window.budget*keptShare/100
	cutoff = first
	for _, cost := range costs {
		if excess <= 0 {
			break
		}
		excess -= cost
		cutoff += width
	}
	return cutoff, last
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

func (c *Correlator) cost() int64 {
	var sum int64
	for _, h := range c.inOrder {
		sum += h.cost
	}
	return sum + int64(len(c.links))*linkCost + int64(len(c.producers.byID))*producerCost
}

func (c *Correlator) eachItem(f func(at pcap.Timestamp, cost int64)) {
	for _, h := range c.inOrder {
		for _, s := range h.sends {
			f(s.at, s.cost)
		}
		for _, s := range h.sightings {
			f(s.at, s.cost)
		}
	}
	for _, l := range c.links {
		if !l.closed.IsZero() {
			f(l.closed.Time, linkCost)
		}
	}
	for _, pr := range c.producers.byID {
		f(pr.used, producerCost)
	}
}

func (c *Correlator) drop(cutoff pcap.Timestamp, open map[int64]bool) int {
	dropped := 0
	for _, h := range c.inOrder {
		dropped += h.drop(cutoff, open)
	}
	return dropped
}

// drop forgets what is older than the cutoff and not to be kept, and returns how many batches that were.
func (h *history) drop(cutoff pcap.Timestamp, open map[int64]bool) int {
	before := len(h.sends) + len(h.sightings)
	h.cost = 0
	clear(h.answered)
	h.sends = slices.DeleteFunc(h.sends, func(s *send) bool {
		a := s.answer
		placed := a != nil && a.ErrorCode == 0 && a.BaseOffset >= 0
		stays := s.at >= cutoff || open[s.order]
		switch {
		case stays:
			h.cost += s.cost
			if placed {
				h.answered[a.BaseOffset] = s
			}
		case placed:
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
		return true
	})
}

// newest returns the last n elements, in memory of their own when that is less than there were.
func newest[T any](all []T, n int) []T {
	if len(all) <= n {
		return all
	}
	return slices.Clone(all[len(all)-n:])
}

// countDropped adds to the window's counts what the dropped history would have counted.
func (j *judgement) countDropped(w *window, cutoff pcap.Timestamp, open map[int64]bool) {
	goes := func(b *batch) bool {
		return len(b.sends) > 0 && b.last() < cutoff && !open[b.sends[0].order]
	}
	for _, p := range j.partitions {
		if p.internal() {
			continue
		}
		for _, b := range p.batches {
			if goes(b) {
				j.countAnswers(b)
			}
		}
		n := p.chains.repeatsAmong(goes)
		j.counts.ApplicationRepeats += n
		if n > 0 {
			w.repeats = append(w.repeats, ApplicationRepeat{p.topic, p.number, n})
		}
	}
	w.counts.add(j.counts)
}

func (c *Counts) add(o Counts) {
	c.Appended += o.Appended
	c.Deduplicated += o.Deduplicated
	c.Rejected += o.Rejected
	c.Unacknowledged += o.Unacknowledged
	c.ApplicationRepeats += o.ApplicationRepeats
	c.EpochBumps += o.EpochBumps
	c.LeaderChanges += o.LeaderChanges
}

// addRepeats adds the repeats of dropped history to those of the rest.
func addRepeats(all, dropped []ApplicationRepeat) []ApplicationRepeat {
	type at struct {
		topic     kafka.Topic
		partition int32
	}
	index := map[at]int{}
	var sum []ApplicationRepeat
	for _, r := range slices.Concat(all, dropped) {
		i, known := index[at{r.Topic, r.Partition}]
		if !known {
			i = len(sum)
			index[at{r.Topic, r.Partition}] = i
			sum = append(sum, ApplicationRepeat{r.Topic, r.Partition, 0})
		}
		sum[i].Records += r.Records
	}
	return sum
}
