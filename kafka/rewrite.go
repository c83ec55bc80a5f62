package kafka

import (
	"encoding/binary"
	"hash/crc32"
)

// Part says what a piece of a record is.
type Part uint8

// Parts of a record. An InternalName is a name within a key of an internal topic: printable, and to be replaced by what is.
const (
	KeyPart Part = iota
	ValuePart
	HeaderNamePart
	HeaderValuePart
	InternalName
)

// Rewriter writes the batches of a records field anew, with other content in their records: compressed again with the same codec
// and with right CRCs. Numbers stay: offsets, timestamps, identities, lengths. Records that cannot be read go through Replace as one
// piece. Batches with a wrong CRC are left out: nothing vouches for where their content begins. It is for one goroutine.
type Rewriter struct {
	// Replace returns what stands for a piece of a record, of the same length. It must neither keep nor change its argument.
	Replace func(part Part, content []byte) []byte
	// ReplaceCRC returns what stands for the CRC of a batch whose end the capture lacks, where no whole batch with this CRC has
	// been rewritten.
	ReplaceCRC func(crc uint32) uint32

	reader *BatchReader
	codecs compressor
	crcs   map[uint32]uint32 // of whole batches: what became of them
	asked  map[uint32]bool   // CRCs that ReplaceCRC was asked for
}

// NewRewriter returns a Rewriter with these functions.
func NewRewriter(l Limits, replace func(Part, []byte) []byte, replaceCRC func(uint32) uint32) *Rewriter {
	return &Rewriter{
		Replace: replace, ReplaceCRC: replaceCRC, reader: NewBatchReader(Options{Limits: l}),
		crcs: make(map[uint32]uint32), asked: make(map[uint32]bool),
	}
}

// Stale reports whether a whole batch came after a part of it had been written under another CRC. To write all again with the
// same Rewriter gives both the same.
func (w *Rewriter) Stale() bool {
	for crc := range w.asked {
		if _, known := w.crcs[crc]; known {
			return true
		}
	}
	return false
}

// Again begins to write all again.
func (w *Rewriter) Again() { clear(w.asked) }

// Records appends to dst what stands for a records field. data is what the capture has of it, total its length on the wire. Of a
// magic 2 batch whose end is not there the header is written, if it is one; missing is how many bytes of it lack then. What
// follows such a batch, and what is no batch, is left out.
func (w *Rewriter) Records(dst, data []byte, total int) (out []byte, missing int) {
	defer w.reader.trim()
	for total > 0 {
		e := nextExtent(data, total)
		if e.state == captureCut && e.magic == 2 && plausibleBatch(data, total, false) {
			front := append([]byte(nil), data[:recordBatchHeader]...)
			binary.BigEndian.PutUint32(front[crcAt:], w.crc(binary.BigEndian.Uint32(front[crcAt:])))
			return append(dst, front...), logPrefix + int(binary.BigEndian.Uint32(data[lengthAt:])) - recordBatchHeader
		}
		if e.state != whole {
			return dst, 0
		}
		switch e.magic {
		case 0, 1:
			dst = append(dst, w.setMessage(data[:e.size], 0)...)
		case 2:
			dst = append(dst, w.recordBatch(data[:e.size])...)
		}
		data, total = data[e.size:], total-e.size
	}
	return dst, 0
}

const crcAt = 17 // of a magic 2 batch

// crc returns what stands for the CRC of a batch that cannot be computed.
func (w *Rewriter) crc(crc uint32) uint32 {
	if replaced, known := w.crcs[crc]; known {
		return replaced
	}
	w.asked[crc] = true
	return w.ReplaceCRC(crc)
}

// recordBatch returns what stands for the magic 2 batch that takes all of data.
func (w *Rewriter) recordBatch(data []byte) []byte {
	old := binary.BigEndian.Uint32(data[crcAt:])
	if crc32.Checksum(data[crcEnd:], castagnoli) != old {
		return nil
	}
	body, ok := w.batchBody(data)
	if !ok {
		body = w.Replace(ValuePart, data[recordBatchHeader:])
	}
	out := append(append([]byte(nil), data[:recordBatchHeader]...), body...)
	binary.BigEndian.PutUint32(out[lengthAt:], uint32(len(out)-logPrefix))
	crc := crc32.Checksum(out[crcEnd:], castagnoli)
	binary.BigEndian.PutUint32(out[crcAt:], crc)
	w.crcs[old] = crc
	return out
}

// batchBody returns what stands for the records of a batch, false if they cannot be read.
func (w *Rewriter) batchBody(data []byte) ([]byte, bool) {
	b, _ := w.reader.readRecordBatch(data)
	if b.NotCompared != Compared {
		return nil, false
	}
	records, codec := data[recordBatchHeader:], b.Codec()
	if len(records) == 0 {
		return nil, true
	}
	budget := w.reader.limits.MaxDecompressed
	plain, why, _ := w.reader.decompress(codec, records, 0, &budget)
	if why != Compared {
		return nil, false
	}
	out := append([]byte(nil), plain...)
	in := reader{data: plain}
	for range b.RecordCount {
		w.record(out, &in, b)
	}
	if !in.ok() || in.remaining() > 0 {
		return nil, false
	}
	packed, err := w.codecs.encode(codec, out, records)
	return packed, err == nil
}

// record replaces the content of the record that in is at, in out, which has the same layout.
func (w *Rewriter) record(out []byte, in *reader, b *Batch) {
	in.varint("record length")
	in.int8("record attributes")
	in.varlong("timestamp delta")
	in.varint("offset delta")
	piece := func(part Part, p []byte) {
		if len(p) > 0 {
			copy(out[in.at-len(p):in.at], w.replace(part, p, b))
		}
	}
	piece(KeyPart, in.nullable(int(in.varint("key length")), "key"))
	piece(ValuePart, in.nullable(int(in.varint("value length")), "value"))
	for n := in.varint("header count"); n > 0 && in.ok(); n-- {
		piece(HeaderNamePart, in.take(int(in.varint("header key length")), "header key"))
		piece(HeaderValuePart, in.nullable(int(in.varint("header value length")), "header value"))
	}
}

// controlKeySize is the size of the key of a control record: version and type, both int16.
const controlKeySize = 4

// replace keeps what the meaning of a batch hangs on: the kind of a control record, the format of an internal key.
func (w *Rewriter) replace(part Part, p []byte, b *Batch) []byte {
	switch {
	case part == KeyPart && b.Control() && len(p) == controlKeySize:
		return p
	case part == KeyPart && b.InternalKeys:
		return w.internalKey(p)
	}
	return w.Replace(part, p)
}

// internalKey replaces the names in a key of an internal topic.
func (w *Rewriter) internalKey(key []byte) []byte {
	out := append([]byte(nil), key...)
	in := reader{data: key}
	for in.int16("version"); in.ok() && (in.remaining() > 4 || in.at == 2); {
		if name := in.take(int(in.int16("name")), "name"); len(name) > 0 {
			copy(out[in.at-len(name):in.at], w.Replace(InternalName, name))
		}
	}
	if !in.ok() {
		return w.Replace(KeyPart, key)
	}
	return out
}
