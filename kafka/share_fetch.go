package kafka

// shareFetchAnswer walks over the partitions of a ShareFetch response (KIP-932), versions 0 to 2.
type shareFetchAnswer struct {
	topicWalk
	version     int16
	errorCode   int16 // of the partition
	leader      leaderHint
	records     []byte // as far as it is there; nil: null
	recordsSize int
	open        bool
	brokers     []Broker // once the walk is complete
}

func newShareFetchAnswer(version int16, body []byte, size int) shareFetchAnswer {
	w := shareFetchAnswer{version: version}
	w.walk = walk{reader: reader{data: body}, size: size, flexible: flexible(keyShareFetch, version)}
	w.byID, w.least = true, 22
	w.int32("throttle_time_ms")
	w.int16("error_code")
	w.text("error_message")
	if version >= 1 {
		w.int32("acquisition_lock_timeout_ms")
	}
	w.begin()
	return w
}

// next goes to the next partition, up to and with its records.
func (w *shareFetchAnswer) next() bool {
	w.closePartition()
	if !w.nextPartition() {
		w.brokers = w.endpointsTag()
		w.tags()
		return false
	}
	w.errorCode = w.int16("error_code")
	w.text("error_message")
	w.int16("acknowledge_error_code")
	w.text("acknowledge_error_message")
	w.leader = w.leaderTag()
	w.records, w.recordsSize = w.walk.records()
	w.open = w.ok()
	if w.open {
		w.seen++
	}
	return w.open
}

func (w *shareFetchAnswer) closePartition() {
	if !w.open {
		return
	}
	w.open = false
	w.cut(w.records, w.recordsSize)
	for n := w.count(19, "acquired_records"); n > 0 && w.ok(); n-- {
		w.int64("first_offset")
		w.int64("last_offset")
		w.int16("delivery_count")
		w.tags()
	}
	w.tags()
}

// readShareFetchAnswer emits the batches that the members of a share group are shown, as a consumer's Fetch shows them. Nothing is said of
// where the log ends, and several members, or one after a release, are shown the same offsets.
func (c *conn) readShareFetchAnswer(m *message, p *pending) reading {
	w := newShareFetchAnswer(p.APIVersion, m.body(), m.bodySize())
	for w.next() {
		topic := c.d.topic(&w.topicWalk)
		o := &PartitionFetched{
			Seen: m.seen(c), Request: p.request(), CorrelationID: p.CorrelationID, Topic: topic, Partition: w.partition,
			ReplicaID: -1, Shared: true, FetchOffset: -1, ErrorCode: w.errorCode, HighWatermark: -1, LastStableOffset: -1, LogStartOffset: -1,
		}
		c.d.emit(o)
		if w.records != nil {
			c.d.fetched, c.d.current, c.d.currentAt = o, c, m.at
			c.d.batches.ReadFetched(w.records, w.recordsSize, c.d.emitFetched, c.d.noteBatch)
		}
		if w.namesLeader() {
			c.leaderNamed(m, topic, w.partition, w.leader, FromFetchAnswer)
		}
	}
	c.endpointsNamed(m, w.brokers)
	m.fault = w.err()
	return w.reading()
}

// namesLeader reports whether the leader of the partition is filled in; it is zero otherwise.
func (w *shareFetchAnswer) namesLeader() bool {
	const notLeader, fencedLeaderEpoch = 6, 74
	return w.errorCode == notLeader || w.errorCode == fencedLeaderEpoch
}
