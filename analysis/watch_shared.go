package analysis

import (
	"cmp"
	"hash/maphash"
	"maps"
	"slices"
)

// sharedBatch is one batch that was sent to several histories.
type sharedBatch struct {
	hash  uint64
	keys  []historyKey
	order int64 // arrival of the last send of it
	echoing
}

const (
	// maxShared bounds the batches that several partitions have: each is a fault, or one of the first of a broadcast.
	maxShared = 1024
	// sharedPerPair tells a broadcast to two partitions from one batch gone astray; sharedKeys one to many.
	sharedPerPair = 2
	sharedKeys    = 8
	// maxNumbered bounds the histories that are told apart: as many as there are before empty ones are let go of, and more.
	maxNumbered = 4 * maxHistories
)

// share takes note of a send, and of whether the same batch was sent to another history.
func (w *watch) share(h *history, s *send) {
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
	if first == n || first > uint64(len(w.keys)) { // not there before, or the trace of something else
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
	one.order, one.at, one.news = s.order, w.now, true
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
func (w *watch) strayed(c *Correlator) map[[2]partitionKey]*sharedBatch {
	common := map[[2]partitionKey]int{}
	only := map[[2]partitionKey]*sharedBatch{}
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
		common[pair]++
		only[pair] = one
	}
	maps.DeleteFunc(only, func(pair [2]partitionKey, _ *sharedBatch) bool { return common[pair] > 1 })
	return only
}

// reaches reports whether a history goes back to an arrival.
func (h *history) reaches(order int64) bool {
	return h != nil && len(h.sends) > 0 && h.sends[0].order <= order
}

func comparePartitions(a, b partitionKey) int {
	return cmp.Or(cmp.Compare(a.cluster, b.cluster), cmp.Compare(a.name, b.name), cmp.Compare(a.era, b.era),
		slices.Compare(a.id[:], b.id[:]), cmp.Compare(a.partition, b.partition))
}
