package analysis

import (
	"hash/maphash"
	"math/bits"
	"slices"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
)

// watch tells which partitions have to be judged for alerts: those that show an echo, and those that share a batch. An echo is a
// record that comes again, in another batch, after its batch was refused, lost its connection, waited for answerTime, or was
// still waiting when its producer came with another identity; and a batch or content that stands at a second offset.
//
// It looks at what is new only when alerts are asked for, so a scan pays nothing for it.
type watch struct {
	memory  traces
	seed    maphash.Seed
	now     pcap.Timestamp // the newest that was looked at
	seen    map[*history]*looked
	keys    []historyKey // of histories with a number
	numbers map[historyKey]uint64
	shared  []*sharedBatch
	pairs   map[[2]historyKey]int // how many of shared each pair has
	echoing map[partitionKey]*echoing
}

// looked is how far a history has been looked at.
type looked struct {
	of        *history
	where     uint64 // hash of the partition's identity
	sends     int64  // arrival of the last one
	sightings int64
	mark      int64 // the last high watermark
	leader    pcap.Ref
	waiting   []*send // for an answer that reaches the client
	fresh     int     // so many of them are new
	echoed    bool    // since the last call
	producers map[producerEpoch]bool
}

const (
	// maxWaiting and maxIdentities bound what is remembered of one history. So many in flight, or so many producers, are not
	// met; beyond it some trouble shows only by the end of the connection.
	maxWaiting    = 4096
	maxIdentities = 4096
)

// look takes in what is new of all histories.
func (w *watch) look(c *Correlator) {
	if w.seen == nil {
		w.seed, w.seen, w.pairs, w.numbers, w.echoing = maphash.MakeSeed(), map[*history]*looked{}, map[[2]historyKey]int{}, map[historyKey]uint64{}, map[partitionKey]*echoing{}
		w.memory = newTraces(c.options.Memory / tracesShare)
	}
	if len(w.seen) > 2*len(c.inOrder)+maxShared {
		w.seen = map[*history]*looked{} // most of these were let go of; the others are looked at once more
	}
	for _, h := range c.inOrder {
		w.now = max(w.now, h.seen)
	}
	var changed []*looked
	for _, h := range c.inOrder {
		at := w.seen[h]
		if h.changed {
			at = w.known(c, h)
			changed = append(changed, at)
			w.sends(c, h, at)
		}
		if at != nil {
			w.wait(h, at)
			w.marked(h, at)
		}
	}
	for _, at := range changed { // all that has failed is known now
		w.echoes(at)
	}
}

// known returns how far a history has been looked at: not at all if it is new, or if what was seen of it stands under another name.
func (w *watch) known(c *Correlator, h *history) *looked {
	at := w.seen[h]
	if where := maphash.Comparable(w.seed, c.topics.key(h.key, forever)); at == nil || at.where != where {
		at = &looked{of: h, where: where, producers: map[producerEpoch]bool{}}
		w.seen[h] = at
	}
	return at
}

// sends looks at the new sends of a history.
func (w *watch) sends(c *Correlator, h *history, at *looked) {
	first := len(h.sends)
	for first > 0 && h.sends[first-1].order > at.sends {
		first--
	}
	at.fresh = len(h.sends) - first
	for i, s := range h.sends[first:] {
		at.sends = s.order
		b := s.sent.Batch
		if s.sent.Acks != 0 {
			if len(at.waiting) == maxWaiting { // half of them at once, or each would cost a copy
				at.waiting = newest(at.waiting, maxWaiting/2)
			}
			at.waiting = append(at.waiting, s)
		}
		if !b.Idempotent() || b.Control() {
			continue
		}
		if id := (producerEpoch{b.ProducerID, b.ProducerEpoch}); !at.producers[id] {
			if len(at.producers) == maxIdentities {
				clear(at.producers)
			}
			if len(at.producers) > 0 {
				w.overlapped(at, h.sends[:first+i], s)
			}
			at.producers[id] = true
		}
		if evidence(b) {
			w.share(h, s)
		}
	}
}

// overlapped takes the sends before s that had no OK yet when it came for failed. Those that have waited for long are anyway.
func (w *watch) overlapped(at *looked, sends []*send, s *send) {
	from := s.sent.First.Time
	for i := len(sends) - 1; i >= max(0, len(sends)-maxWaiting) && sends[i].sent.First.Time >= from-answerTime; i-- {
		if seen, ok := sends[i].seenOK(); !ok || seen > from {
			w.failed(at, sends[i])
		}
	}
}

// wait looks at what has been answered, and at what has waited for too long.
func (w *watch) wait(h *history, at *looked) {
	at.waiting = slices.DeleteFunc(at.waiting, func(s *send) bool {
		a, b := s.answer, s.sent.Batch
		if a != nil && a.BaseOffset >= 0 && evidence(b) {
			w.stands(at, b, a.BaseOffset)
		}
		seen, ok := s.seenOK()
		switch {
		case ok && seen-s.sent.First.Time < answerTime:
			return true
		case ok, a != nil && a.ErrorCode != 0, !s.link.closed.IsZero():
			w.failed(at, s)
			return true
		case w.now-s.sent.First.Time >= answerTime:
			w.failed(at, s)
			return a != nil || w.now-s.sent.First.Time > maxWait
		}
		return false
	})
}

// maxWait is how long an answer is waited for: longer than clients do (request.timeout.ms, delivery.timeout.ms: two minutes).
const maxWait = pcap.Timestamp(300e9)

// failed takes note of the records of a send that may be sent again.
func (w *watch) failed(at *looked, s *send) {
	own := w.identity(s.sent.Batch, s.order)
	for i := range s.sent.Batch.Records {
		w.memory.first(w.failedHash(at, &s.sent.Batch.Records[i]), own)
	}
}

// failedHash is where it is noted that a record's batch has failed.
func (w *watch) failedHash(at *looked, r *kafka.Record) uint64 {
	return bits.RotateLeft64(r.Content.Lo, 32) ^ ^at.where
}

// identity tells batches apart whose records may be copies of each other: exact retries are not. It is never 0.
func (w *watch) identity(b *kafka.Batch, order int64) uint64 {
	if !b.Idempotent() {
		return uint64(order)<<1&valueMask | 1
	}
	return maphash.Comparable(w.seed, identityOf(b))&valueMask | 1
}

// echoes looks for what is new of a history and was there before.
func (w *watch) echoes(at *looked) {
	h := at.of
	for _, s := range h.sends[max(0, len(h.sends)-at.fresh):] {
		w.again(at, s.sent.Batch, s.order)
	}
	first := len(h.sightings)
	for first > 0 && h.sightings[first-1].order > at.sightings {
		first--
	}
	for _, s := range h.sightings[first:] {
		at.sightings = s.order
		w.again(at, s.batch, s.order)
		w.stands(at, s.batch, s.batch.BaseOffset)
	}
}

// again finds records of a batch in another that has failed.
func (w *watch) again(at *looked, b *kafka.Batch, order int64) {
	own := w.identity(b, order)
	for i := range b.Records {
		if s := w.memory.find(w.failedHash(at, &b.Records[i])); s != 0 && s != own {
			w.echo(at)
			return
		}
	}
}

func (w *watch) echo(at *looked) {
	at.echoed = true
	at.of.troubled, at.of.changed = true, true
}

// marked looks for what can raise a verdict and is no batch: a higher watermark, and a leader.
func (w *watch) marked(h *history, at *looked) {
	if !h.troubled {
		return
	}
	if n := len(h.marks); n > 0 && h.marks[n-1].offset != at.mark {
		at.mark, h.changed = h.marks[n-1].offset, true
	}
	if n := len(h.leaders); n > 0 && h.leaders[n-1].at.Ref != at.leader {
		at.leader, h.changed = h.leaders[n-1].at.Ref, true
	}
}

// stands takes note of where a batch stands. It is trouble if that, or one of its records, is known to stand elsewhere.
func (w *watch) stands(at *looked, b *kafka.Batch, offset int64) {
	if b.Control() {
		return
	}
	twice := false
	if b.Idempotent() {
		twice = w.memory.at(maphash.Comparable(w.seed, identityOf(b))^at.where, offset, stampOf(int64(b.CRC)))
	}
	for _, r := range b.Records {
		stamp := uint64(0) // the broker's own
		if !b.LogAppendTime() {
			stamp = stampOf(r.Timestamp)
		}
		if w.memory.at(r.Content.Lo^at.where, offset+int64(r.Delta), stamp) {
			twice = true
		}
	}
	if twice {
		w.echo(at)
	}
}

// touched notes that something was sent.
func (h *history) touched() { h.changed, h.batches = true, true }
