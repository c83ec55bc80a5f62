package kafka

// fetchRequest walks over the partitions of a Fetch request, versions 0 to 18.
type fetchRequest struct {
	topicWalk
	version            int16
	replicaID          int32 // final when the walk is complete
	isolation          int8
	sessionID          int32
	sessionEpoch       int32 // -1: no session
	currentLeaderEpoch int32 // -1: none
	fetchOffset        int64
	lastFetchedEpoch   int32 // -1: none; only followers name one
	atForgotten        bool
}

func newFetchRequest(version int16, body []byte, size int) fetchRequest {
	w := fetchRequest{version: version, replicaID: -1, sessionEpoch: -1}
	w.walk = walk{reader: reader{data: body}, size: size, flexible: flexible(keyFetch, version)}
	w.byID, w.least = version >= 13, 16
	if version <= 14 {
		w.replicaID = w.int32("replica_id")
	}
	w.int32("max_wait_ms")
	w.int32("min_bytes")
	if version >= 3 {
		w.int32("max_bytes")
	}
	if version >= 4 {
		w.isolation = w.int8("isolation_level")
	}
	if version >= 7 {
		w.sessionID = w.int32("session_id")
		w.sessionEpoch = w.int32("session_epoch")
	}
	w.begin()
	return w
}

// next goes to the next partition that is asked for; after the last one, forgotten (true) for each that leaves the session.
func (w *fetchRequest) next() bool {
	if w.atForgotten {
		return w.nextForgotten()
	}
	if !w.nextPartition() {
		return w.beginForgotten()
	}
	w.currentLeaderEpoch, w.lastFetchedEpoch = -1, -1
	if w.version >= 9 {
		w.currentLeaderEpoch = w.int32("current_leader_epoch")
	}
	w.fetchOffset = w.int64("fetch_offset")
	if w.version >= 12 {
		w.lastFetchedEpoch = w.int32("last_fetched_epoch")
	}
	if w.version >= 5 {
		w.int64("log_start_offset")
	}
	w.int32("partition_max_bytes")
	w.tags()
	if w.ok() {
		w.seen++
	}
	return w.ok()
}

func (w *fetchRequest) beginForgotten() bool {
	w.atForgotten = true
	if w.version < 7 {
		return w.end()
	}
	w.least = 4
	w.begin()
	return w.nextForgotten()
}

func (w *fetchRequest) nextForgotten() bool {
	return w.nextPartition() || w.end()
}

// end reads what follows the topics and returns false.
func (w *fetchRequest) end() bool {
	if w.version >= 11 {
		w.text("rack_id")
	}
	if !w.flexible {
		return false
	}
	for n := w.uvarint("tags"); n > 0 && w.ok(); n-- {
		if tag, data := w.tag(); tag == 1 && w.version >= 15 { // ReplicaState (KIP-903)
			w.replicaID = data.int32("replica_id")
		}
	}
	return false
}

// readFetchRequest keeps what the answer does not repeat: who asks, and from which offsets.
func (c *conn) readFetchRequest(m *message, p *pending) reading {
	w := newFetchRequest(p.APIVersion, m.body(), m.bodySize())
	asked := &fetchAsked{replicaID: -2}
	p.asked = asked
	asked.readCommitted = w.isolation == 1
	var s *fetchSession
	if w.ok() {
		s = c.sessions().start(w.sessionID, w.sessionEpoch)
	}
	for w.next() {
		key := fetchKey{c.d.topic(&w.topicWalk), w.partition}
		if w.atForgotten {
			s.forget(key)
			continue
		}
		if !s.ask(key, w.fetchOffset) {
			c.note(CodeFetchSessionFull, m.at, "", 1)
		}
		asked.lastFetched(key, w.lastFetchedEpoch)
		if c.sessions().newEpoch(key, w.currentLeaderEpoch) {
			c.leaderNamed(m, key.topic, key.partition, leaderHint{-1, w.currentLeaderEpoch}, FromFetchRequest)
		}
	}
	asked.session = s
	if w.complete() {
		asked.replicaID = w.replicaID
	} else if w.version <= 14 && w.at >= 4 {
		asked.replicaID = w.replicaID
	}
	m.fault = w.err()
	return w.reading()
}

// fetchAnswer walks over the partitions of a Fetch response, versions 0 to 18.
type fetchAnswer struct {
	topicWalk
	version          int16
	errorCode        int16
	sessionError     int16
	sessionID        int32
	highWatermark    int64
	lastStableOffset int64
	logStartOffset   int64
	abortedCount     int    // of the partition; read by readAborted
	aborted          walk   // at the aborted transactions
	records          []byte // as far as it is there; nil: null
	recordsSize      int
	open             bool
	leader           leaderHint // of the partition before, once next has gone on
	diverging        epochEnd   // likewise
	brokers          []Broker   // once the walk is complete
}

func newFetchAnswer(version int16, body []byte, size int) fetchAnswer {
	w := fetchAnswer{version: version}
	w.walk = walk{reader: reader{data: body}, size: size, flexible: flexible(keyFetch, version)}
	w.byID, w.least = version >= 13, 18
	if version >= 1 {
		w.int32("throttle_time_ms")
	}
	if version >= 7 {
		w.sessionError = w.int16("error_code")
		w.sessionID = w.int32("session_id")
	}
	w.begin()
	return w
}

// next goes to the next partition, up to and with its records. Its leader hint stands behind them: closePartition.
func (w *fetchAnswer) next() bool {
	w.closePartition()
	if !w.nextPartition() {
		w.end()
		return false
	}
	w.errorCode = w.int16("error_code")
	w.highWatermark = w.int64("high_watermark")
	w.lastStableOffset, w.logStartOffset, w.leader, w.diverging, w.abortedCount = -1, -1, noHint, noEnd, 0
	if w.version >= 4 {
		w.lastStableOffset = w.int64("last_stable_offset")
	}
	if w.version >= 5 {
		w.logStartOffset = w.int64("log_start_offset")
	}
	if w.version >= 4 {
		w.skipAborted()
	}
	if w.version >= 11 {
		w.int32("preferred_read_replica")
	}
	w.records, w.recordsSize = w.walk.records()
	w.open = w.ok()
	if w.open {
		w.seen++
	}
	return w.open
}

func (w *fetchAnswer) skipAborted() {
	w.abortedCount = w.count(16, "aborted_transactions")
	w.aborted = w.walk
	if !w.flexible {
		w.take(16*w.abortedCount, "aborted_transactions")
		return
	}
	for n := w.abortedCount; n > 0 && w.ok(); n-- {
		w.take(16, "aborted_transactions")
		w.tags()
	}
}

// readAborted returns the aborted transactions of the partition.
func (w *fetchAnswer) readAborted() []AbortedTransaction {
	if w.abortedCount == 0 {
		return nil
	}
	list := make([]AbortedTransaction, w.abortedCount)
	for i := range list {
		list[i] = AbortedTransaction{w.aborted.int64("producer_id"), w.aborted.int64("first_offset")}
		w.aborted.tags()
	}
	return list
}

func (w *fetchAnswer) closePartition() {
	if !w.open {
		return
	}
	w.open = false
	w.cut(w.records, w.recordsSize)
	if !w.flexible {
		return
	}
	for n := w.uvarint("tags"); n > 0 && w.ok(); n-- {
		switch tag, data := w.tag(); tag {
		case 0:
			w.diverging = data.divergingTag()
		case 1:
			w.leader = data.leaderTag()
		}
	}
}

// epochEnd says where the records of a leader epoch end.
type epochEnd struct {
	leaderEpoch int32
	offset      int64
}

var noEnd = epochEnd{-1, -1}

// divergingTag reads a DivergingEpoch (KIP-595): the log of who fetches goes on behind the end of that epoch in the leader's.
func (w *walk) divergingTag() epochEnd {
	e := epochEnd{w.int32("epoch"), w.int64("end_offset")}
	w.tags()
	if !w.ok() {
		return noEnd
	}
	return e
}

func (w *fetchAnswer) end() {
	if !w.flexible {
		return
	}
	for n := w.uvarint("tags"); n > 0 && w.ok(); n-- {
		if tag, data := w.tag(); tag == 0 && w.version >= 16 {
			w.brokers = data.endpointsTag()
		}
	}
}

// readFetchAnswer emits each partition of a Fetch response, its batches, and leader hints.
func (c *conn) readFetchAnswer(m *message, p *pending) reading {
	w := newFetchAnswer(p.APIVersion, m.body(), m.bodySize())
	asked, _ := p.asked.(*fetchAsked)
	if asked == nil {
		asked = &fetchAsked{replicaID: -2}
	}
	for w.next() {
		topic := c.d.topic(&w.topicWalk)
		o := &PartitionFetched{
			Seen: m.seen(c), Request: p.request(), CorrelationID: p.CorrelationID, Topic: topic, Partition: w.partition,
			ReplicaID: asked.replicaID, ReadCommitted: asked.readCommitted,
			FetchOffset: asked.session.offset(fetchKey{topic, w.partition}),
			ErrorCode:   w.errorCode, HighWatermark: w.highWatermark, LastStableOffset: w.lastStableOffset,
			LogStartOffset: w.logStartOffset, Aborted: w.readAborted(),
		}
		c.d.emit(o)
		if w.records != nil {
			c.d.fetched, c.d.current, c.d.currentAt = o, c, m.at
			c.d.batches.ReadFetched(w.records, w.recordsSize, c.d.emitFetched, c.d.noteBatch)
		}
		w.closePartition()
		c.leaderNamed(m, topic, w.partition, w.leader, FromFetchAnswer)
		if w.diverging.offset >= 0 && w.errorCode == 0 {
			c.d.emit(&EpochEnd{
				Seen: m.seen(c), Topic: topic, Partition: w.partition, AskedEpoch: asked.lastEpoch(fetchKey{topic, w.partition}),
				LeaderEpoch: w.diverging.leaderEpoch, EndOffset: w.diverging.offset,
			})
		}
	}
	c.endpointsNamed(m, w.brokers)
	if w.sessionError != 0 {
		c.sessions().end(asked.session)
	} else if !c.sessions().grant(asked.session, w.sessionID) {
		c.note(CodeFetchSessionFull, m.at, "", 1)
	}
	m.fault = w.err()
	return w.reading()
}

// batchFetched emits one batch of the partition that d.fetched describes.
func (d *Decoder) batchFetched(b *Batch) {
	d.stats.FetchedBatches++
	d.countRecords(b)
	d.emit(&BatchFetched{PartitionFetched: d.fetched, Batch: b})
}
