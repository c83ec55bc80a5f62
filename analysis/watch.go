package analysis

import (
	"cmp"
	"hash/maphash"
	"slices"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
)

// watch tells which partitions have to be judged for alerts. A partition is in trouble once a batch was refused, was not answered
// within answerTime or lost its connection; once a producer appears with another identity while a batch waits for its OK; and
// once a batch or a content stands there at a second offset. Two partitions are judged together once they share a batch.
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
}

// looked is how far a history has been looked at.
type looked struct {
	where     uint64 // hash of the partition's identity
	sends     int64  // arrival of the last one
	sightings int64
	mark      int64 // the last high watermark
	leader    pcap.Ref
	waiting   []*send // for an answer
	producers map[producerEpoch]bool
}

// sharedBatch is one batch that was sent to several histories.
type sharedBatch struct {
	hash  uint64
	keys  []historyKey
	order int64 // arrival of the last send of it
}

const (
	// maxWaiting and maxIdentities bound what is remembered of one history. So many in flight, or so many producers, are not
	// met; beyond it some trouble shows only by the end of the connection.
	maxWaiting    = 4096
	maxIdentities = 4096
	// maxShared bounds the batches that several partitions have: each is a fault, or one of the first of a broadcast.
	maxShared = 1024
	// sharedPerPair tells a broadcast to two partitions from one batch gone astray; sharedKeys one to many.
	sharedPerPair = 2
	sharedKeys    = 8
	// maxNumbered bounds the histories that are told apart: as many as there are before empty ones are let go of, and more.
	maxNumbered = 4 * maxHistories
)

// look takes in what is new of all histories.
func (w *watch) look(c *Correlator) {
	if w.seen == nil {
		w.seed, w.seen, w.pairs, w.numbers = maphash.MakeSeed(), map[*history]*looked{}, map[[2]historyKey]int{}, map[historyKey]uint64{}
		w.memory = newTraces(c.options.Memory / tracesShare)
	}
	for _, h := range c.inOrder {
		if h.changed {
			w.now = max(w.now, h.seen)
			w.history(c, h)
		}
		if at := w.seen[h]; at != nil && h.troubled {
			w.marked(h, at)
		}
	}
	for _, h := range c.inOrder {
		if at := w.seen[h]; at != nil && len(at.waiting) > 0 {
			w.wait(h, at)
		}
	}
	if len(w.seen) > 2*len(c.inOrder)+maxShared {
		w.seen = map[*history]*looked{} // most of these were let go of; the others are looked at once more
	}
}

func (w *watch) history(c *Correlator, h *history) {
	at := w.seen[h]
	where := maphash.Comparable(w.seed, c.topics.key(h.key, forever))
	if at == nil || at.where != where { // new, or what it was seen of stands under another name
		at = &looked{where: where, producers: map[producerEpoch]bool{}}
		w.seen[h] = at
	}
	sent := len(h.sends)
	for sent > 0 && h.sends[sent-1].order > at.sends {
		sent--
	}
	for i, s := range h.sends[sent:] {
		w.sent(c, h, at, sent+i)
		at.sends = s.order
	}
	sighted := len(h.sightings)
	for sighted > 0 && h.sightings[sighted-1].order > at.sightings {
		sighted--
	}
	for _, s := range h.sightings[sighted:] {
		w.stands(h, at, s.batch, s.batch.BaseOffset)
		at.sightings = s.order
	}
}

// sent looks at the i-th send of a history.
func (w *watch) sent(c *Correlator, h *history, at *looked, i int) {
	s := h.sends[i]
	b := s.sent.Batch
	if s.sent.Acks != 0 {
		at.waiting = append(newest(at.waiting, maxWaiting-1), s)
	}
	if !b.Idempotent() || b.Control() {
		return
	}
	if id := (producerEpoch{b.ProducerID, b.ProducerEpoch}); !at.producers[id] {
		if len(at.producers) == maxIdentities {
			clear(at.producers)
		}
		h.troubled = h.troubled || len(at.producers) > 0 && overlaps(h.sends[:i], s)
		at.producers[id] = true
	}
	if evidence(b) {
		w.share(c, h, s)
	}
}

// overlaps reports whether one of the sends before s had no OK yet when s came. Those that have waited for long are trouble
// anyway.
func overlaps(sends []*send, s *send) bool {
	at := s.sent.First.Time
	for i := len(sends) - 1; i >= max(0, len(sends)-maxWaiting); i-- {
		if sends[i].sent.First.Time < at-answerTime {
			return false
		}
		if seen, ok := sends[i].seenOK(); !ok || seen > at {
			return true
		}
	}
	return false
}

// wait looks at what has been answered, and at what has waited for too long.
func (w *watch) wait(h *history, at *looked) {
	at.waiting = slices.DeleteFunc(at.waiting, func(s *send) bool {
		if a := s.answer; a != nil {
			if a.BaseOffset >= 0 && evidence(s.sent.Batch) {
				w.stands(h, at, s.sent.Batch, a.BaseOffset)
			}
			return true
		}
		late := w.now-s.sent.First.Time >= answerTime
		if late && !h.troubled {
			h.troubled, h.changed = true, true
		}
		return late && (!s.link.closed.IsZero() || w.now-s.sent.First.Time > maxWait)
	})
}

// maxWait is how long an answer is waited for: longer than clients do (request.timeout.ms, delivery.timeout.ms: two minutes).
const maxWait = pcap.Timestamp(300e9)

// marked looks for what can raise a verdict and is no batch: a higher watermark, and a leader.
func (w *watch) marked(h *history, at *looked) {
	if n := len(h.marks); n > 0 && h.marks[n-1].offset != at.mark {
		at.mark, h.changed = h.marks[n-1].offset, true
	}
	if n := len(h.leaders); n > 0 && h.leaders[n-1].at.Ref != at.leader {
		at.leader, h.changed = h.leaders[n-1].at.Ref, true
	}
}

// stands takes note of where a batch stands. It is trouble if that, or one of its records, is known to stand elsewhere.
func (w *watch) stands(h *history, at *looked, b *kafka.Batch, offset int64) {
	if b.Control() {
		return
	}
	twice := false
	if b.Idempotent() {
		twice = w.memory.at(maphash.Comparable(w.seed, identityOf(b))^at.where, offset, stampOf(int64(b.CRC)))
	}
	for _, r := range b.Records {
		if b.Transactional() {
			break // only under one identity can that be a fault which nothing else shows
		}
		stamp := uint64(0) // the broker's own
		if !b.LogAppendTime() {
			stamp = stampOf(r.Timestamp)
		}
		if w.memory.at(r.Content.Lo^at.where, offset+int64(r.Delta), stamp) {
			twice = true
		}
	}
	if twice {
		h.troubled, h.changed = true, true
	}
}

// share takes note of a send, and of whether the same batch was sent to another history.
func (w *watch) share(c *Correlator, h *history, s *send) {
	n, known := w.numbers[h.key]
	if !known {
		if len(w.keys) == maxNumbered {
			w.keys = nil
			clear(w.numbers)
			w.memory.clear()
		}
		w.keys = append(w.keys, h.key)
		n = uint64(len(w.keys))
		w.numbers[h.key] = n
	}
	b := s.sent.Batch
	hash := maphash.Comparable(w.seed, sentBatch{identity: identityOf(b), crc: b.CRC})
	first := w.memory.first(hash, n)
	if first == n {
		return
	}
	i := slices.IndexFunc(w.shared, func(one *sharedBatch) bool { return one.hash == hash })
	if i < 0 {
		pair := [2]historyKey{w.keys[first-1], h.key}
		if w.pairs[pair] == sharedPerPair {
			return
		}
		w.pairs[pair]++
		if len(w.shared) == maxShared {
			w.unshare(0)
		}
		w.shared = append(w.shared, &sharedBatch{hash: hash, keys: []historyKey{pair[0]}})
		i = len(w.shared) - 1
	}
	one := w.shared[i]
	one.order = s.order
	if !slices.Contains(one.keys, h.key) && len(one.keys) < sharedKeys {
		one.keys = append(one.keys, h.key)
	}
}

func (w *watch) unshare(i int) {
	pair := [2]historyKey(w.shared[i].keys[:2])
	if w.pairs[pair]--; w.pairs[pair] == 0 {
		delete(w.pairs, pair)
	}
	w.shared = slices.Delete(w.shared, i, i+1)
}

// strayed returns the pairs of partitions that have just one batch in common, which no other partition has.
func (w *watch) strayed(c *Correlator) [][2]partitionKey {
	common := map[[2]partitionKey]int{}
	var order [][2]partitionKey
	for i := len(w.shared) - 1; i >= 0; i-- {
		one := w.shared[i]
		if !slices.ContainsFunc(one.keys, func(key historyKey) bool { return c.histories[key].reaches(one.order) }) {
			w.unshare(i)
			continue
		}
		var distinct []partitionKey
		for _, key := range one.keys {
			if at := c.topics.key(key, forever); !slices.Contains(distinct, at) {
				distinct = append(distinct, at)
			}
		}
		if len(distinct) != 2 {
			continue
		}
		slices.SortFunc(distinct, comparePartitions)
		pair := [2]partitionKey(distinct)
		if common[pair]++; common[pair] == 1 {
			order = append(order, pair)
		}
	}
	return slices.DeleteFunc(order, func(pair [2]partitionKey) bool { return common[pair] > 1 })
}

// reaches reports whether a history goes back to an arrival.
func (h *history) reaches(order int64) bool {
	return h != nil && len(h.sends) > 0 && h.sends[0].order <= order
}

func comparePartitions(a, b partitionKey) int {
	return cmp.Or(cmp.Compare(a.cluster, b.cluster), cmp.Compare(a.name, b.name), cmp.Compare(a.era, b.era),
		slices.Compare(a.id[:], b.id[:]), cmp.Compare(a.partition, b.partition))
}

// watch notes that something was sent.
func (h *history) watch(*kafka.Batch) { h.changed = true }
