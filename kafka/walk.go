package kafka

import "unicode/utf8"

// walk reads a message of which perhaps only the front is there. A read that fails for lack of bytes is no fault of the
// message as long as the message goes on; malformed tells the two apart.
type walk struct {
	reader
	size     int  // bytes of the whole, >= len(data)
	flexible bool // compact lengths and tagged fields
	bad      bool // a length that exceeds the whole
}

// malformed reports whether no further bytes could make the message right.
func (w *walk) malformed() bool { return w.bad || !w.ok() && len(w.data) >= w.size }

// complete reports whether the message was read to its end and ends there.
func (w *walk) complete() bool { return w.ok() && w.at == w.size }

// length checks a length against what is left of the whole; null gives -1.
func (w *walk) length(n int, field string) int {
	if w.ok() && (n < -1 || n > w.size-w.at) {
		w.bad = true
		w.fail(field)
	}
	return n
}

// text reads a string; nil is null. It is a part of the message.
func (w *walk) text(field string) []byte {
	var n int
	if w.flexible {
		n = w.compactLength(field)
	} else {
		n = int(w.int16(field))
	}
	return w.nullable(w.length(n, field), field)
}

// count reads the length of an array whose elements have at least least bytes; null counts as empty.
func (w *walk) count(least int, field string) int {
	var n int
	if w.flexible {
		n = w.compactLength(field)
	} else {
		n = int(w.int32(field))
	}
	if w.ok() && int64(max(n, 0))*int64(least) > int64(w.size-w.at) {
		n = w.size + 1
	}
	n = w.length(n, field)
	if !w.ok() {
		return 0
	}
	return max(n, 0)
}

// records reads a records field. data is what is there of it, total its length; data is nil where the field is null.
func (w *walk) records() (data []byte, total int) {
	if w.flexible {
		total = w.compactLength("records")
	} else {
		total = int(w.int32("records"))
	}
	total = w.length(total, "records")
	if !w.ok() || total < 0 {
		return nil, 0
	}
	return w.take(min(total, w.remaining()), "records"), total
}

// cut fails the walk if a records field of that length goes on behind the bytes that are there.
func (w *walk) cut(data []byte, total int) {
	if len(data) < total {
		w.fail("records")
	}
}

// tags skips tagged fields in a flexible message.
func (w *walk) tags() {
	if w.flexible {
		w.skipTags("tags")
	}
}

// tag reads one tagged field.
func (w *walk) tag() (tag uint32, data walk) {
	tag = w.uvarint("tag")
	b := w.take(w.length(int(w.uvarint("tag_size")), "tag_size"), "tag")
	return tag, walk{reader: reader{data: b}, size: len(b), flexible: true}
}

// topicWalk walks over the topics and their partitions, which Produce and Fetch have in common.
type topicWalk struct {
	walk
	byID               bool
	least              int // bytes that a partition has at least
	topics, partitions int // left
	seen               int // partitions read
	inTopic            bool
	odd                bool // a topic name that Kafka does not allow, or no topic id
	name               []byte
	id                 [16]byte
	partition          int32
}

// begin reads the number of topics.
func (w *topicWalk) begin() { w.topics = w.count(2, "topics") }

// nextPartition goes to the next partition and reads its index.
func (w *topicWalk) nextPartition() bool {
	for w.ok() && w.partitions == 0 {
		if w.inTopic {
			w.inTopic = false
			w.tags()
		}
		if w.topics == 0 || !w.ok() {
			return false
		}
		w.topics--
		w.inTopic = true
		w.readTopic()
		w.partitions = w.count(w.least, "partitions")
	}
	if !w.ok() {
		return false
	}
	w.partitions--
	w.partition = w.int32("partition")
	return w.ok()
}

func (w *topicWalk) readTopic() {
	if w.byID {
		copy(w.id[:], w.take(len(w.id), "topic_id"))
		w.odd = w.odd || w.ok() && w.id == [16]byte{}
		return
	}
	w.name = w.text("topic")
	w.odd = w.odd || w.ok() && !topicName(w.name)
}

// reading says how far the walk came.
func (w *topicWalk) reading() reading {
	switch {
	case w.complete():
		return fully
	case w.seen > 0:
		return partly
	}
	return unread
}

// leaderHint is what tagged fields of an answer say of a partition's new leader (KIP-951).
type leaderHint struct{ id, epoch int32 }

var noHint = leaderHint{-1, -1}

// leaderTag reads a CurrentLeader.
func (w *walk) leaderTag() leaderHint {
	h := leaderHint{w.int32("leader_id"), w.int32("leader_epoch")}
	w.tags()
	if !w.ok() {
		return noHint
	}
	return h
}

// endpointsTag reads NodeEndpoints.
func (w *walk) endpointsTag() []Broker {
	n := w.count(11, "node_endpoints")
	brokers := make([]Broker, 0, n)
	for ; n > 0 && w.ok(); n-- {
		b := Broker{NodeID: w.int32("node_id")}
		b.Host = string(w.text("host"))
		b.Port = w.int32("port")
		w.text("rack")
		w.tags()
		if w.ok() {
			brokers = append(brokers, b)
		}
	}
	return brokers
}

// topicName reports whether b is a name that Kafka allows for a topic.
func topicName(b []byte) bool {
	if len(b) == 0 || len(b) > 249 {
		return false
	}
	for _, ch := range b {
		switch {
		case ch >= 'a' && ch <= 'z', ch >= 'A' && ch <= 'Z', ch >= '0' && ch <= '9', ch == '.', ch == '_', ch == '-':
		default:
			return false
		}
	}
	return true
}

// printable reports whether b is text without control characters.
func printable(b []byte) bool {
	for _, ch := range b {
		if ch < 0x20 || ch == 0x7f {
			return false
		}
	}
	return utf8.Valid(b)
}
