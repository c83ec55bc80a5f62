package kafka

import (
	"encoding/binary"
	"hash/crc32"
)

// setMessage returns what stands for the message of magic 0 or 1 that takes all of data, at a level of nesting.
func (w *Rewriter) setMessage(data []byte, level int) []byte {
	if crc32.ChecksumIEEE(data[magicAt:]) != binary.BigEndian.Uint32(data[messageCRCAt:]) {
		return nil
	}
	m, err := readSetMessage(data)
	front := magicAt + 2 // up to the attributes
	if m.magic == 1 {
		front += 8
	}
	out := append([]byte(nil), data[:front]...)
	switch {
	case err != nil:
		out = append(out, w.Replace(ValuePart, data[front:])...)
	case Codec(m.attributes&7) == None:
		out = appendPart(out, w.Replace, KeyPart, m.key)
		out = appendPart(out, w.Replace, ValuePart, m.value)
	default:
		out = appendPart(out, w.Replace, KeyPart, m.key)
		inner, ok := w.wrapped(&m, level)
		if !ok {
			inner = w.Replace(ValuePart, m.value)
		}
		out = binary.BigEndian.AppendUint32(out, uint32(len(inner)))
		out = append(out, inner...)
	}
	binary.BigEndian.PutUint32(out[lengthAt:], uint32(len(out)-logPrefix))
	binary.BigEndian.PutUint32(out[messageCRCAt:], crc32.ChecksumIEEE(out[magicAt:]))
	return out
}

// appendPart appends a key or value with its length; nil is null.
func appendPart(out []byte, replace func(Part, []byte) []byte, part Part, p []byte) []byte {
	if p == nil {
		return binary.BigEndian.AppendUint32(out, 1<<32-1)
	}
	out = binary.BigEndian.AppendUint32(out, uint32(len(p)))
	if len(p) == 0 {
		return out
	}
	return append(out, replace(part, p)...)
}

// wrapped returns what stands for the compressed set in a message, false if it cannot be read.
func (w *Rewriter) wrapped(m *setMessage, level int) ([]byte, bool) {
	if level >= w.reader.limits.MaxNesting {
		return nil, false
	}
	codec, budget := Codec(m.attributes&7), w.reader.limits.MaxDecompressed
	set, why, _ := w.reader.decompress(codec, m.value, level, &budget)
	if why != Compared {
		return nil, false
	}
	var out []byte
	for len(set) > 0 {
		e := nextExtent(set, len(set))
		if e.state != whole || e.magic < 0 || e.magic > 1 {
			return nil, false
		}
		out = append(out, w.setMessage(set[:e.size], level+1)...)
		set = set[e.size:]
	}
	packed, err := w.codecs.encode(codec, out, m.value)
	return packed, err == nil
}
