package kafka

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"
)

// The content of a record is digested in two steps, so that every byte is read once: key, value and headers each by themselves,
// and then these digests with the sizes of key and value, -1 for null. It is the same whatever the magic of the batch.

// setContent digests what a record holds. key and value are nil where they are null; headers are as a magic 2 record has them
// behind their count (KIP-98), empty without any.
func (rec *Record) setContent(key, value, headers []byte) {
	var parts [3*16 + 2*4]byte
	rec.Key = digestInto(parts[:0], key)
	rec.Value = digestInto(parts[16:16], value)
	le := binary.LittleEndian
	le.PutUint32(parts[32:], uint32(rec.Key.Size))
	le.PutUint32(parts[36:], uint32(rec.Value.Size))
	all := parts[:40]
	if len(headers) > 0 {
		digestInto(parts[40:40], headers)
		all = parts[:]
	}
	h := xxh3.Hash128(all)
	rec.Content = Fingerprint{Hi: h.Hi, Lo: h.Lo}
}

// digestInto appends the digest of b to dst and describes b; nil is null. For a Payload a part of the digest has to do: most
// of the memory of a scan is records.
func digestInto(dst, b []byte) Payload {
	h := xxh3.Hash128(b)
	binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(dst, h.Hi), h.Lo)
	if b == nil {
		return Payload{Size: -1}
	}
	return Payload{Size: int32(len(b)), Hash: uint32(h.Lo)}
}
