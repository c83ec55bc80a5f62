package kafkatest

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Record is one record as an application hands it over. A nil Key or Value is null on the wire, an empty one is empty.
type Record struct {
	Key, Value []byte
	Headers    []Header
	Timestamp  int64 // ms since 1970-01-01 UTC
}

// Header is one header of a record. A nil Value is null.
type Header struct {
	Key   string
	Value []byte
}

// Records returns records without key that were all created at one time.
func Records(created time.Time, values ...string) []Record {
	records := make([]Record, len(values))
	for i, value := range values {
		records[i] = Record{Value: []byte(value), Timestamp: created.UnixMilli()}
	}
	return records
}

// appendRecord appends the magic 2 encoding of r (KIP-98): lengths are zigzag varints, -1 is null.
func appendRecord(dst []byte, r *Record, offsetDelta int32, baseTimestamp int64) []byte {
	wire := kmsg.Record{
		TimestampDelta64: r.Timestamp - baseTimestamp,
		OffsetDelta:      offsetDelta,
		Key:              r.Key,
		Value:            r.Value,
	}
	for _, h := range r.Headers {
		wire.Headers = append(wire.Headers, kmsg.Header{Key: h.Key, Value: h.Value})
	}
	const lengthOfZero = 1 // bytes of the varint that stands for Length 0
	wire.Length = int32(len(wire.AppendTo(nil)) - lengthOfZero)
	return wire.AppendTo(dst)
}
