package kafka

import "github.com/zeebo/xxh3"

// The content of a record is digested so that every byte is read once: key, value and headers each by themselves, and these digests are
// added, each times its own odd number, so that it matters which is which. It is the same whatever the magic of the batch.

// digest is XXH3-128 of some bytes; without headers theirs is zero.
type digest = xxh3.Uint128

// nullDigest stands for null: not that of no bytes, and not zero, which is the Fingerprint of what is not known.
var nullDigest = digest{Hi: 1, Lo: 1}

const (
	keyFactor     = 0x9e3779b97f4a7c15
	headersFactor = 0xc2b2ae3d27d4eb4f
)

// setContent digests what a record holds. key and value are nil where they are null; headers are as a magic 2 record has them
// behind their count (KIP-98), empty without any.
func (rec *Record) setContent(key, value, headers []byte) {
	var k, v, h digest
	rec.Key, k = payloadOf(key)
	rec.Value, v = payloadOf(value)
	if len(headers) > 0 {
		h = xxh3.Hash128(headers)
	}
	rec.Content = Fingerprint{
		Hi: v.Hi + k.Hi*keyFactor + h.Hi*headersFactor,
		Lo: v.Lo + k.Lo*keyFactor + h.Lo*headersFactor,
	}
}

// payloadOf describes b and digests it; nil is null. For a Payload a part of the digest has to do: most of the memory of a scan is records.
func payloadOf(b []byte) (Payload, digest) {
	if b == nil {
		return Payload{Size: -1}, nullDigest
	}
	h := xxh3.Hash128(b)
	return Payload{Size: int32(len(b)), Hash: uint32(h.Lo)}, h
}
