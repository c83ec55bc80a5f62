package kafka

import "github.com/kdupscan/kdupscan/pcap"

// acksUnknown stands for the acks of a request that is cut short before them.
const acksUnknown int16 = -2

// produceRequest walks over the partitions of a Produce request, versions 0 to 13.
type produceRequest struct {
	topicWalk
	acks            int16
	transactionalID []byte // nil: null
	records         []byte // of the partition, as far as it is there; nil: null
	recordsSize     int
	open            bool // the tags of a partition are still to be read
}

func newProduceRequest(version int16, body []byte, size int) produceRequest {
	w := produceRequest{acks: acksUnknown}
	w.walk = walk{reader: reader{data: body}, size: size, flexible: flexible(keyProduce, version)}
	w.byID, w.least = version >= 13, 5
	if version >= 3 {
		w.transactionalID = w.text("transactional_id")
	}
	acks := w.int16("acks")
	if w.ok() {
		w.acks = acks
	}
	w.int32("timeout_ms")
	w.begin()
	return w
}

// next goes to the next partition. It returns false after the last one and where bytes are missing.
func (w *produceRequest) next() bool {
	if w.open {
		w.open = false
		w.cut(w.records, w.recordsSize)
		w.tags()
	}
	if !w.nextPartition() {
		w.tags()
		return false
	}
	w.records, w.recordsSize = w.walk.records()
	w.open = w.ok()
	if w.open {
		w.seen++
	}
	return w.open
}

// readProduceRequest emits the batches of a Produce request.
func (c *conn) readProduceRequest(m *message, p *pending) reading {
	w := newProduceRequest(p.APIVersion, m.body(), m.bodySize())
	s := &c.d.sent
	*s = BatchSent{Seen: m.seen(c), Request: p.Request, Acks: w.acks, Torn: m.torn}
	if w.transactionalID != nil {
		id := c.d.intern(w.transactionalID)
		s.TransactionalID = &id
	}
	for w.next() {
		s.Topic, s.Partition = c.d.topic(&w.topicWalk), w.partition
		if w.records != nil {
			c.d.current, c.d.currentAt = c, m.at
			c.d.batches.ReadProduced(w.records, w.recordsSize, c.d.emitSent, c.d.noteBatch)
		}
	}
	p.silent = w.acks == 0
	m.fault = w.err()
	return w.reading()
}

// batchSent emits one batch of the partition that d.sent describes.
func (d *Decoder) batchSent(b *Batch) {
	o := d.sent
	o.Batch = b
	d.stats.ProducedBatches++
	d.countRecords(b)
	d.emit(&o)
}

// produceAnswer walks over the partitions of a Produce response, versions 0 to 13.
type produceAnswer struct {
	topicWalk
	version       int16
	errorCode     int16
	baseOffset    int64
	logAppendTime int64
	leader        leaderHint
	brokers       []Broker // once the walk is complete
}

func newProduceAnswer(version int16, body []byte, size int) produceAnswer {
	w := produceAnswer{version: version}
	w.walk = walk{reader: reader{data: body}, size: size, flexible: flexible(keyProduce, version)}
	w.byID, w.least = version >= 13, 14
	w.begin()
	return w
}

func (w *produceAnswer) next() bool {
	if !w.nextPartition() {
		w.end()
		return false
	}
	w.errorCode = w.int16("error_code")
	w.baseOffset = w.int64("base_offset")
	w.logAppendTime, w.leader = -1, noHint
	if w.version >= 2 {
		w.logAppendTime = w.int64("log_append_time_ms")
	}
	if w.version >= 5 {
		w.int64("log_start_offset")
	}
	if w.version >= 8 {
		for n := w.count(6, "record_errors"); n > 0 && w.ok(); n-- {
			w.int32("batch_index")
			w.text("batch_index_error_message")
			w.tags()
		}
		w.text("error_message")
	}
	if w.flexible {
		for n := w.uvarint("tags"); n > 0 && w.ok(); n-- {
			if tag, data := w.tag(); tag == 0 && w.version >= 10 {
				w.leader = data.leaderTag()
			}
		}
	}
	if w.ok() {
		w.seen++
	}
	return w.ok()
}

func (w *produceAnswer) end() {
	if w.version >= 1 {
		w.int32("throttle_time_ms")
	}
	if w.flexible {
		for n := w.uvarint("tags"); n > 0 && w.ok(); n-- {
			if tag, data := w.tag(); tag == 0 && w.version >= 10 {
				w.brokers = data.endpointsTag()
			}
		}
	}
}

// readProduceAnswer emits what a Produce response says of each partition.
func (c *conn) readProduceAnswer(m *message, p *pending) reading {
	w := newProduceAnswer(p.APIVersion, m.body(), m.bodySize())
	for w.next() {
		topic := c.d.topic(&w.topicWalk)
		c.d.emit(&BatchAnswered{
			Seen: m.seen(c), Request: p.request(), CorrelationID: p.CorrelationID, Topic: topic, Partition: w.partition,
			ErrorCode: w.errorCode, BaseOffset: w.baseOffset, LogAppendTime: w.logAppendTime,
		})
		c.leaderNamed(m, topic, w.partition, w.leader, FromProduceAnswer)
	}
	c.endpointsNamed(m, w.brokers)
	m.fault = w.err()
	return w.reading()
}

// leaderNamed emits a leader hint, if there is one.
func (c *conn) leaderNamed(m *message, topic Topic, partition int32, h leaderHint, source LeaderSource) {
	if h != noHint {
		c.d.emit(&LeaderNamed{Seen: m.seen(c), Topic: topic, Partition: partition, LeaderID: h.id, LeaderEpoch: h.epoch, Source: source})
	}
}

// endpointsNamed emits the brokers that leader hints name.
func (c *conn) endpointsNamed(m *message, brokers []Broker) {
	if len(brokers) > 0 {
		c.d.emit(&ClusterDescribed{Seen: m.seen(c), Brokers: brokers})
	}
}

// batchNote passes on what the batch reader found odd.
func (d *Decoder) batchNote(code pcap.Code, detail string) {
	d.current.note(code, d.currentAt, detail, 1)
}
