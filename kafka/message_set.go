package kafka

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
)

// A message of magic 0 or 1 (KIP-32), integers big-endian: offset int64, length int32 of what follows, CRC-32 uint32 of all
// behind it, magic int8, attributes int8 (bits 0–2 codec, bit 3 LogAppendTime), with magic 1 timestamp int64, then key and value
// (int32 length, -1 null). The value of a message with a codec is a compressed set. In it the offsets of magic 0 are
// absolute; those of magic 1 count from any number, and the last of them has the offset of the message around it (KIP-31).
const (
	messageHeader0 = 26 // size with null key and value
	messageHeader1 = 34
	messageCRCAt   = 12
)

// setMessage is one message of a set; key and value are borrowed.
type setMessage struct {
	offset     int64
	crc        uint32
	magic      int8
	attributes int8
	timestamp  int64 // -1 with magic 0
	key, value []byte
}

// setReader reads the messages of one set into a Batch.
type setReader struct {
	*BatchReader
	b      *Batch
	budget int // bytes that may still be decompressed
	detail string
}

// readMessageSet reads the set that takes all of data and begins with a message that fits: in a Fetch answer just that. The detail
// says why its records are not compared. A produced set has its records numbered from 0: the offsets in it mean nothing.
func (r *BatchReader) readMessageSet(data []byte, produced bool) (*Batch, string) {
	r.offsets = r.offsets[:0]
	s := setReader{BatchReader: r, budget: r.limits.MaxDecompressed, b: &Batch{
		BaseOffset:           int64(binary.BigEndian.Uint64(data)),
		Magic:                int8(data[magicAt]),
		PartitionLeaderEpoch: -1,
		Attributes:           int16(data[magicAt+1]),
		BaseTimestamp:        -1,
		MaxTimestamp:         -1,
		ProducerID:           -1,
		ProducerEpoch:        -1,
		BaseSequence:         -1,
		Size:                 int32(len(data)),
		InternalKeys:         true,
	}}
	if s.checkCRCs(data) && s.read(data, 0) {
		s.finish(produced)
	}
	if b := s.b; b.NotCompared != Compared {
		b.Records, b.Previews, b.InternalKeys = nil, nil, false
	}
	return s.b, s.detail
}

// fail notes why the records are not compared, and returns false.
func (s *setReader) fail(why NotCompared, format string, args ...any) bool {
	s.b.NotCompared, s.detail = why, fmt.Sprintf(format, args...)
	s.b.CRCChecked = s.b.CRCChecked && why != BadCRC
	return false
}

// checkCRCs checks and combines the CRCs of the messages, and counts them: of a set that is not read that is all there is to count.
func (s *setReader) checkCRCs(data []byte) bool {
	combined := uint32(0)
	right := true
	for len(data) > 0 {
		e := nextExtent(data, len(data))
		if e.state != whole || e.magic < 0 || e.magic > 1 {
			return s.fail(Undecodable, "message %d does not fit", s.b.RecordCount)
		}
		field := data[messageCRCAt:magicAt]
		crc := binary.BigEndian.Uint32(field)
		if combined = crc32.Update(combined, crc32.IEEETable, field); s.b.RecordCount == 0 && e.size == len(data) {
			combined = crc
		}
		right = right && crc == crc32.ChecksumIEEE(data[magicAt:e.size])
		s.b.RecordCount++
		data = data[e.size:]
	}
	if s.b.CRC = combined; !right {
		return s.fail(BadCRC, "of %d messages", s.b.RecordCount)
	}
	s.b.CRCChecked = true
	return true
}

// read reads the messages of a set, at level 0 the outer one, and appends their records.
func (s *setReader) read(data []byte, level int) bool {
	n := countMessages(data)
	if n > s.limits.MaxRecords-len(s.b.Records) {
		return s.fail(TooLarge, "%d records", n+len(s.b.Records))
	}
	s.b.Records = slices.Grow(s.b.Records, n)
	for len(data) > 0 {
		e := nextExtent(data, len(data))
		if e.state != whole || e.magic < 0 || e.magic > 1 {
			return s.fail(Undecodable, "message %d at level %d does not fit", len(s.b.Records), level)
		}
		m, err := readSetMessage(data[:e.size])
		if err != nil {
			return s.fail(Undecodable, "message %d at level %d: %v", len(s.b.Records), level, err)
		}
		if level > 0 && m.crc != crc32.ChecksumIEEE(data[magicAt:e.size]) {
			return s.fail(BadCRC, "message %d at level %d", len(s.b.Records), level)
		}
		if Codec(m.attributes&7) == None {
			s.add(&m)
		} else if !s.unwrap(&m, level) {
			return false
		}
		data = data[e.size:]
	}
	return true
}

// countMessages returns how many messages data begins with.
func countMessages(data []byte) int {
	n := 0
	for len(data) > 0 {
		e := nextExtent(data, len(data))
		if e.state != whole {
			break
		}
		data = data[e.size:]
		n++
	}
	return n
}

// readSetMessage reads the message that takes all of data.
func readSetMessage(data []byte) (setMessage, error) {
	in := reader{data: data}
	m := setMessage{offset: in.int64("offset"), timestamp: -1}
	in.int32("length")
	m.crc, m.magic, m.attributes = in.uint32("crc"), in.int8("magic"), in.int8("attributes")
	if m.magic == 1 {
		m.timestamp = in.int64("timestamp")
	}
	m.key, m.value = in.bytes("key"), in.bytes("value")
	if in.remaining() > 0 {
		in.fail("end of message")
	}
	return m, in.err()
}

// unwrap reads the set in a compressed message.
func (s *setReader) unwrap(m *setMessage, level int) bool {
	if level >= s.limits.MaxNesting {
		return s.fail(TooLarge, "sets nested more than %d deep", s.limits.MaxNesting)
	}
	data, why, detail := s.decompress(Codec(m.attributes&7), m.value, level, &s.budget)
	if why != Compared {
		return s.fail(why, "%s", detail)
	}
	first := len(s.b.Records)
	if !s.read(data, level+1) {
		return false
	}
	if len(s.b.Records) == first {
		return s.fail(Undecodable, "compressed set without messages")
	}
	if m.magic == 0 {
		return true
	}
	shift := m.offset - s.offsets[len(s.offsets)-1]
	for i := first; i < len(s.b.Records); i++ {
		s.offsets[i] += shift
		if m.attributes&8 != 0 {
			s.b.Records[i].Timestamp = m.timestamp
		}
	}
	return true
}

// add appends the record of a message that is not compressed.
func (s *setReader) add(m *setMessage) {
	rec := Record{Timestamp: m.timestamp}
	rec.setContent(m.key, m.value, nil)
	s.b.Records = append(s.b.Records, rec)
	s.offsets = append(s.offsets, m.offset)
	s.examine(s.b, m.key, m.value)
}

// finish derives the fields of the batch from its records, of which there is at least one.
func (s *setReader) finish(produced bool) {
	b := s.b
	if !produced {
		b.BaseOffset = s.offsets[0]
	}
	b.RecordCount = int32(len(b.Records))
	b.BaseTimestamp = b.Records[0].Timestamp
	last := int64(-1)
	for i := range b.Records {
		delta := int64(i)
		if !produced {
			delta = s.offsets[i] - b.BaseOffset
		}
		if delta <= last || delta > math.MaxInt32 {
			s.fail(Undecodable, "record %d: offset %d after %d", i, s.offsets[i], b.BaseOffset+last)
			return
		}
		b.Records[i].Delta = int32(delta)
		b.MaxTimestamp = max(b.MaxTimestamp, b.Records[i].Timestamp)
		last = delta
	}
	b.LastOffsetDelta = int32(last)
}
