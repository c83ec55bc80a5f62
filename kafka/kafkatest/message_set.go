package kafkatest

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// encodeMessageSet writes a message set: one message per record or, compressed, one wrapper whose value is the inner set.
// A producer counts offsets from 0. A broker stores a wrapper under the offset of its last message; the inner offsets are
// relative in magic 1 (KIP-31) and absolute in magic 0. Old messages have neither headers nor a producer id.
func (b *Batch) encodeMessageSet() []byte {
	first := b.BaseOffset
	if b.Codec != None && b.Format == MessageSet1 {
		first = 0
	}
	var set []byte
	for _, i := range b.left() {
		r := &b.Records[i]
		set = b.appendMessage(set, first+int64(i), 0, r.Timestamp, r.Key, r.Value)
	}
	if b.Codec == None {
		return set
	}
	return b.appendMessage(nil, b.LastOffset(), int8(b.Codec.attribute()), b.MaxTimestamp(), nil, b.Codec.compress(set))
}

// Offsets inside an encoded message.
const (
	messageSizeAt  = 8
	messageSizeEnd = 12 // the size counts from here
	messageCRCAt   = 12
	messageMagicAt = 16 // the CRC covers all from here to the end
)

// appendMessage appends one message of the set's magic, with its CRC-32 (IEEE).
func (b *Batch) appendMessage(dst []byte, offset int64, attributes int8, timestamp int64, key, value []byte) []byte {
	if b.appendT != 0 && b.Format == MessageSet1 {
		attributes |= attributeLogAppendTime
		timestamp = b.appendT
	}
	var message []byte
	if b.Format == MessageSet0 {
		m := kmsg.MessageV0{Offset: offset, Attributes: attributes, Key: key, Value: value}
		message = m.AppendTo(nil)
	} else {
		m := kmsg.MessageV1{Offset: offset, Magic: 1, Attributes: attributes, Timestamp: timestamp, Key: key, Value: value}
		message = m.AppendTo(nil)
	}
	binary.BigEndian.PutUint32(message[messageSizeAt:], uint32(len(message)-messageSizeEnd))
	binary.BigEndian.PutUint32(message[messageCRCAt:], crc32.ChecksumIEEE(message[messageMagicAt:]))
	return append(dst, message...)
}
