package kafka

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// A record of magic 2 (KIP-98): length varint, attributes int8, timestamp delta varlong, offset delta varint, key and value
// (varint length, -1 null), header count varint, and per header a key and a value like the record's, the key never null.

// readRecords reads the records of b from data, no longer compressed. It returns what contradicts the format, "" if nothing
// does; b is filled in part then.
func (r *BatchReader) readRecords(b *Batch, data []byte) string {
	n := int(b.RecordCount)
	if n > len(data)/minRecordSize {
		return fmt.Sprintf("%d records in %d bytes", n, len(data))
	}
	b.Records = make([]Record, n)
	b.InternalKeys = n > 0 && !b.Control()
	in := reader{data: data}
	last := int32(-1)
	for i := range b.Records {
		rec := &b.Records[i]
		key, value := readRecord(&in, rec)
		if !in.ok() {
			return fmt.Sprintf("record %d: %v", i, in.err())
		}
		if rec.Delta <= last || rec.Delta > b.LastOffsetDelta {
			return fmt.Sprintf("record %d: offset delta %d after %d, last %d", i, rec.Delta, last, b.LastOffsetDelta)
		}
		last = rec.Delta
		if b.LogAppendTime() {
			rec.Timestamp = b.MaxTimestamp
		} else {
			rec.Timestamp += b.BaseTimestamp
		}
		if i == 0 && b.Control() {
			b.Marker = controlMarker(key)
		}
		r.examine(b, key, value)
	}
	if in.remaining() > 0 {
		return fmt.Sprintf("%d bytes after %d records", in.remaining(), n)
	}
	return ""
}

// readRecord reads one record into rec; rec.Timestamp is the delta.
func readRecord(in *reader, rec *Record) (key, value []byte) {
	length := in.varint("record length")
	if length < 0 || int(length) > in.remaining() {
		in.fail("record length")
		return nil, nil
	}
	end := in.at + int(length)
	in.int8("record attributes")
	rec.Timestamp = in.varlong("timestamp delta")
	rec.Delta = in.varint("offset delta")
	key = in.nullable(int(in.varint("key length")), "key")
	value = in.nullable(int(in.varint("value length")), "value")
	headers := readHeaders(in)
	if in.at != end {
		in.fail("end of record")
	}
	if !in.ok() {
		return nil, nil
	}
	rec.setContent(key, value, headers)
	return key, value
}

// readHeaders checks the headers of a record and returns them, without their count: they count as part of the content only.
func readHeaders(in *reader) []byte {
	n := in.varint("header count")
	if n < 0 {
		in.fail("header count")
	}
	start := in.at
	for ; n > 0 && in.ok(); n-- {
		in.take(int(in.varint("header key length")), "header key")
		in.nullable(int(in.varint("header value length")), "header value")
	}
	return in.data[start:in.at]
}

// examine does what needs the bytes of a record of b.
func (r *BatchReader) examine(b *Batch, key, value []byte) {
	b.InternalKeys = b.InternalKeys && isInternalKey(key)
	if r.previews {
		b.Previews = append(b.Previews, Preview{Key: preview(key), Value: preview(value)})
	}
}

// preview copies the front of a key or value; nil stays nil.
func preview(p []byte) []byte { return bytes.Clone(p[:min(len(p), PreviewSize)]) }

// controlMarker reads the key of a control record: version int16, type int16 (0 abort, 1 commit).
func controlMarker(key []byte) Marker {
	if len(key) < 4 {
		return OtherControl
	}
	switch binary.BigEndian.Uint16(key[2:]) {
	case 0:
		return AbortMarker
	case 1:
		return CommitMarker
	}
	return OtherControl
}
