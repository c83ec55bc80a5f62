package kafka

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/kdupscan/kdupscan/pcap"
)

// BatchReader reads the records field of Produce requests and Fetch answers: record batches of magic 2 and message sets of
// magic 0 and 1, compressed or not. It keeps decoders and buffers between calls and is for one goroutine.
//
// Both Read methods take data, the field as far as the capture has it, and total, its length on the wire. data is borrowed for
// the call and no batch refers to it afterwards. emit gets each batch and owns it; note is called before it with the reason
// when its records are not compared. Whatever data holds, a call costs no more than the Limits allow.
type BatchReader struct {
	limits   Limits
	previews bool
	codecs   decompressor
	offsets  []int64 // of the records of the message set being read
}

// NewBatchReader returns a reader with empty buffers.
func NewBatchReader(o Options) *BatchReader {
	return &BatchReader{limits: o.Limits, previews: o.Previews}
}

// ReadProduced reads the records of one partition of a Produce request. A message set is one Batch with the records of all its
// messages. Of a magic 2 batch whose end the capture lacks the header is emitted if it is there, of such a message set nothing.
func (r *BatchReader) ReadProduced(data []byte, total int, emit func(*Batch), note func(code pcap.Code, detail string)) {
	defer r.trim()
	out := batchSink{emit, note}
	for total > 0 {
		e := nextExtent(data, total)
		if e.state == senderCut {
			e.state = malformed // a client sends whole batches
		}
		if e.state == whole && (e.magic == 0 || e.magic == 1) {
			e.size = total
			if len(data) < total {
				e.state = captureCut
			}
		}
		if e.state != whole {
			out.stop(e, data)
			return
		}
		r.readWhole(e, data[:e.size], true, out)
		data, total = data[e.size:], total-e.size
	}
}

// ReadFetched reads the records of one partition of a Fetch answer: batches and messages of any magic, each message a Batch.
// The first may begin before the offset that was asked for, the last may be cut short by the broker and is left out then.
func (r *BatchReader) ReadFetched(data []byte, total int, emit func(*Batch), note func(code pcap.Code, detail string)) {
	defer r.trim()
	out := batchSink{emit, note}
	for total > 0 {
		e := nextExtent(data, total)
		if e.state == senderCut {
			return
		}
		if e.state != whole {
			out.stop(e, data)
			return
		}
		r.readWhole(e, data[:e.size], false, out)
		data, total = data[e.size:], total-e.size
	}
}

// readWhole reads one batch, one message or one produced set, all of whose bytes are there.
func (r *BatchReader) readWhole(e extent, data []byte, produced bool, out batchSink) {
	switch e.magic {
	case 0, 1:
		out.deliver(r.readMessageSet(data, produced))
	case 2:
		out.deliver(r.readRecordBatch(data))
	default:
		out.note(CodeBatchUndecodable, fmt.Sprintf("unknown magic %d", e.magic))
	}
}

// batchSink is where a call of a Read method delivers.
type batchSink struct {
	emit func(*Batch)
	note func(code pcap.Code, detail string)
}

// deliver emits b, after a note with detail if its records are not compared.
func (out batchSink) deliver(b *Batch, detail string) {
	if b.NotCompared != Compared {
		out.note(b.NotCompared.code(), detail)
	}
	out.emit(b)
}

// stop ends the reading of a field at data, where e says that no whole batch stands.
func (out batchSink) stop(e extent, data []byte) {
	if e.state == malformed {
		out.note(CodeBatchUndecodable, "length of a batch does not fit")
		return
	}
	if e.magic == 2 && len(data) >= recordBatchHeader {
		out.deliver(cutRecordBatch(data))
		return
	}
	out.note(CodeBatchCut, "")
}

// Batches and messages of all magics begin alike: base offset (8 bytes), length of what follows (4), the CRC or the leader
// epoch (4) and the magic (1).
const (
	lengthAt  = 8
	logPrefix = 12 // offset and length
	magicAt   = 16
)

// extentState says what stands at the front of a records field.
type extentState uint8

const (
	whole      extentState = iota
	captureCut             // the capture ends before the batch does, or before its magic
	senderCut              // the field ends before the batch does
	malformed              // the length cannot be true
)

// extent describes what stands at the front of a records field.
type extent struct {
	state extentState
	size  int  // bytes, prefix included, if whole
	magic int8 // -1 if not known
}

// nextExtent looks at the front of a field of total bytes of which data is there.
func nextExtent(data []byte, total int) extent {
	if len(data) <= magicAt {
		if len(data) < total {
			return extent{state: captureCut, magic: -1}
		}
		return extent{state: senderCut, magic: -1}
	}
	e := extent{magic: int8(data[magicAt])}
	smallest := magicAt + 1
	switch e.magic {
	case 0:
		smallest = messageHeader0
	case 1:
		smallest = messageHeader1
	case 2:
		smallest = recordBatchHeader
	}
	size := logPrefix + int64(int32(binary.BigEndian.Uint32(data[lengthAt:])))
	switch {
	case size < int64(smallest):
		e.state = malformed
	case size > int64(total):
		e.state = senderCut
	case size > int64(len(data)):
		e.state = captureCut
	default:
		e.size = int(size)
	}
	return e
}

// decompress undoes the compression of src, the records of a batch or the value of a wrapper message at the nesting level.
// budget is what the batch may still use, and is reduced. The reason and the detail are set if it fails.
func (r *BatchReader) decompress(codec Codec, src []byte, level int, budget *int) ([]byte, NotCompared, string) {
	byRatio := max(minRatioOutput, int64(r.limits.MaxRatio)*int64(len(src)))
	data, err := r.codecs.decode(codec, src, level, int(min(int64(*budget), byRatio)))
	if err == nil {
		*budget -= len(data)
		return data, Compared, ""
	}
	why := Undecodable
	switch {
	case errors.Is(err, errTooLarge):
		why = TooLarge
	case errors.Is(err, errUnknownCodec):
		why = UnknownCodec
	}
	return nil, why, fmt.Sprintf("codec %d, %d bytes: %v", codec, len(src), err)
}

// trim drops what one large batch made of the buffers.
func (r *BatchReader) trim() {
	r.codecs.trim()
	if cap(r.offsets) > keptScratch/8 {
		r.offsets = nil
	}
}
