package kafka

import (
	"bytes"
	"encoding/binary"
)

// verdict says whether a message begins somewhere.
type verdict uint8

const (
	no   verdict = iota
	more         // too few bytes to tell
	weak         // it may, but foreign bytes might look like that
	yes
)

// unless returns v, or no if final.
func unless(final bool, v verdict) verdict {
	if final {
		return no
	}
	return v
}

// newerVersions is how far above the newest known version a request may be and still be believed.
const newerVersions = 8

// judgeRequest says whether a request begins with data. known is the client id that it must have, if one is; final says
// that nothing will be added to data.
func judgeRequest(data []byte, known *clientID, where place, final bool) verdict {
	if len(data) < prefixSize+requestHeaderSize {
		return unless(final, more)
	}
	size := int(int32(binary.BigEndian.Uint32(data)))
	if size < requestHeaderSize {
		return no
	}
	front := data[prefixSize:min(len(data), prefixSize+size)]
	key, version := int16(binary.BigEndian.Uint16(front)), int16(binary.BigEndian.Uint16(front[2:]))
	if !knownAPI(key) || version < 0 || version > apis[key].newest+newerVersions {
		return no
	}
	if known.known && len(front) >= requestHeaderSize+2 && int(int16(binary.BigEndian.Uint16(front[requestHeaderSize:]))) != known.length() {
		return no
	}
	h, ok, wait := readRequestHeader(front, size)
	if !ok {
		return unless(final || !wait, more)
	}
	if !known.matches(&h) {
		return no
	}
	if known.known && len(known.text) >= tellingClientID {
		return yes
	}
	v := judgeBody(&h, front, size, where, final)
	if v != weak {
		return v
	}
	return judgeNext(&h, data[len(front)+prefixSize:])
}

// tellingClientID is the length from which on a known client id in the right place of a header is proof enough: with the
// key, version and lengths around it, chance has some ten bytes to guess. An unknown one of that length counts too.
const tellingClientID = 3

// judgeBody goes by what follows the header.
func judgeBody(h *requestHeader, front []byte, size int, where place, final bool) verdict {
	body, whole := front[h.size:], len(front) == size
	if h.key == keyProduce && knownVersion(h.key, h.version) {
		return judgeProduce(h, body, size-h.size, final)
	}
	if !whole {
		return unless(final || size > guessWindow, more)
	}
	full := len(h.clientID)+len(body)-bytes.Count(body, []byte{0}) >= tellingBytes
	if !exactRequest(h.key, h.version, body) {
		return unless(where == anywhere || len(h.clientID) == 0 || !full, weak)
	}
	if full && (where == streamStart || len(h.clientID) >= tellingClientID || where == eventStart && len(h.clientID) > 0) {
		return yes
	}
	return weak
}

// place says where a candidate stands. The more likely it is that a message begins there, the less it has to prove.
type place uint8

const (
	anywhere    place = iota
	eventStart        // a Data event begins there
	streamStart       // the connection begins there
)

// tellingBytes is how much there must be in a request that decodes to its last byte: numbers of zero and empty lists are
// found everywhere.
const tellingBytes = 8

// judgeProduce looks for a batch, which proves a Produce request even where its end is missing.
func judgeProduce(h *requestHeader, body []byte, size int, final bool) verdict {
	w := newProduceRequest(h.version, body, size)
	if w.acks < acksUnknown || w.acks > 1 {
		return no
	}
	for w.next() {
		if !w.odd && plausibleBatch(w.records, w.recordsSize, true) {
			return yes
		}
	}
	switch {
	case w.odd || w.malformed() || w.ok() && !w.complete():
		return no
	case w.complete():
		return weak
	}
	return unless(final, more)
}

// judgeNext goes by the message behind a weak one: the same client's next request.
func judgeNext(h *requestHeader, rest []byte) verdict {
	if len(rest) < prefixSize+requestHeaderSize {
		return weak
	}
	size := int(int32(binary.BigEndian.Uint32(rest)))
	if size < requestHeaderSize {
		return no
	}
	next, ok, wait := readRequestHeader(rest[prefixSize:min(len(rest), prefixSize+size)], size)
	switch {
	case ok && knownAPI(next.key) && next.correlation == h.correlation+1 && string(next.clientID) == string(h.clientID):
		return yes
	case !ok && wait:
		return weak
	}
	return no
}

// isAnswer reports whether data is an answer of that kind; of long ones the front suffices.
func isAnswer(data []byte, size int, key, version int16) bool {
	n := answerHeaderSize(data, key, version)
	if n < 0 {
		return false
	}
	if len(data) == size {
		return exactAnswer(key, version, data[n:])
	}
	return key == keyFetch && knownVersion(key, version) && beginsFetchAnswer(data, size, version, func(records []byte, total int) bool {
		return plausibleBatch(records, total, false)
	})
}

// beginsFetchAnswer reports whether data is the front of a Fetch response that reaches into a records field that believed
// accepts.
func beginsFetchAnswer(data []byte, size int, version int16, believed func(records []byte, total int) bool) bool {
	n := answerHeaderSize(data, keyFetch, version)
	if n < 0 {
		return false
	}
	w := newFetchAnswer(version, data[n:], size-n)
	for w.next() && !w.odd {
		if believed(w.records, w.recordsSize) {
			return true
		}
	}
	return false
}

// plausibleBatch reports whether a records field begins with a batch or a message whose numbers agree with each other and
// with the field. sent says that it is a client's: its first batch does not go on behind the field.
func plausibleBatch(records []byte, total int, sent bool) bool {
	const attributesAt, lastDeltaAt, countAt = 21, 23, 57
	if len(records) <= magicAt {
		return false
	}
	length := int64(int32(binary.BigEndian.Uint32(records[lengthAt:])))
	switch magic := records[magicAt]; {
	case length <= 0 || magic > 2 || sent && logPrefix+length > int64(total):
		return false
	case magic < 2:
		return true
	case len(records) < recordBatchHeader:
		return false
	}
	const knownAttributes = 0x7f // bits 0 to 6
	delta := int64(int32(binary.BigEndian.Uint32(records[lastDeltaAt:])))
	count := int64(int32(binary.BigEndian.Uint32(records[countAt:])))
	return length >= recordBatchHeader-logPrefix && binary.BigEndian.Uint16(records[attributesAt:]) <= knownAttributes &&
		count >= 0 && count <= delta+1
}
