package kafka

import (
	"encoding/binary"
	"hash/crc32"
)

// shape is a layout that an answer can have.
type shape struct{ key, version int16 }

// answerShapes has one version of each layout of the Produce and Fetch responses.
var answerShapes = [...]shape{
	{keyProduce, 0}, {keyProduce, 1}, {keyProduce, 2}, {keyProduce, 5}, {keyProduce, 8}, {keyProduce, 10}, {keyProduce, 13},
	{keyFetch, 0}, {keyFetch, 1}, {keyFetch, 4}, {keyFetch, 5}, {keyFetch, 7}, {keyFetch, 11}, {keyFetch, 12}, {keyFetch, 16},
}

// maxErrorCode is above every error code that Kafka has; the lowest is -1.
const maxErrorCode = 200

// shapeOf says what an answer is whose request was not seen: the only layout that fits it to the last byte.
func shapeOf(data []byte) (shape, bool) {
	var found shape
	n := 0
	for _, s := range answerShapes {
		if fits(s, data) {
			found = s
			n++
		}
	}
	return found, n == 1
}

// judgeShape says whether an answer whose request was not seen begins with data, which has the front of size bytes or all.
func judgeShape(data []byte, size int) verdict {
	if len(data) == size {
		if _, ok := shapeOf(data); ok {
			return yes
		}
		return no
	}
	for _, s := range answerShapes {
		if s.key == keyFetch && beginsFetchAnswer(data, size, s.version, soundBatch) {
			return yes
		}
	}
	return more
}

// soundBatch reports whether records begins with a whole batch of magic 2 whose CRC is right.
func soundBatch(records []byte, total int) bool {
	if !plausibleBatch(records, total, false) || records[magicAt] != 2 {
		return false
	}
	const crcAt = magicAt + 1
	end := logPrefix + int64(binary.BigEndian.Uint32(records[lengthAt:]))
	return end <= int64(len(records)) && crc32.Checksum(records[crcAt+4:end], castagnoli) == binary.BigEndian.Uint32(records[crcAt:])
}

// fits reports whether an answer has a layout, to the last byte, and numbers and names that Kafka has.
func fits(s shape, data []byte) bool {
	n := answerHeaderSize(data, s.key, s.version)
	if n < 0 {
		return false
	}
	body := data[n:]
	if s.key == keyProduce {
		w := newProduceAnswer(s.version, body, len(body))
		for w.next() {
			if w.odd || w.errorCode < -1 || w.errorCode > maxErrorCode || w.partition < 0 {
				return false
			}
		}
		return w.complete() && w.seen > 0
	}
	w := newFetchAnswer(s.version, body, len(body))
	for w.next() {
		if w.odd || w.errorCode < -1 || w.errorCode > maxErrorCode || w.partition < 0 {
			return false
		}
	}
	return w.complete() && w.seen > 0
}
