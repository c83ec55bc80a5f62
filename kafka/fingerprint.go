package kafka

import (
	"encoding/binary"

	"github.com/zeebo/xxh3"
)

// The content of a record is hashed in one encoding, whatever the magic of its batch: that of key, value and headers inside a
// magic 2 record (KIP-98), which is a contiguous run of the record. Every part in it has its length in front, -1 for null,
// so different contents have different encodings.

// fingerprint digests an encoded content.
func fingerprint(content []byte) Fingerprint {
	h := xxh3.Hash128(content)
	return Fingerprint{Hi: h.Hi, Lo: h.Lo}
}

// describe digests a key or value; nil is null. Half of the hash has to do: most of the memory of a scan is records.
func describe(b []byte) Payload {
	if b == nil {
		return Payload{Size: -1}
	}
	return Payload{Size: int32(len(b)), Hash: uint32(xxh3.Hash(b))}
}

// appendContent appends the encoded content of a magic 0 or 1 message, which has no headers.
func appendContent(dst, key, value []byte) []byte {
	dst = appendNullable(dst, key)
	dst = appendNullable(dst, value)
	return append(dst, 0)
}

// appendNullable appends the length of b as a zigzag varint, and b.
func appendNullable(dst, b []byte) []byte {
	if b == nil {
		return binary.AppendVarint(dst, -1)
	}
	return append(binary.AppendVarint(dst, int64(len(b))), b...)
}
