package kafka

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
)

// message is one request or answer as far as the capture has it.
type message struct {
	first, at pcap.Ref                // frames of its first byte and of its completion
	start     reassembly.StreamOffset // of its length prefix
	data      []byte                  // from behind the length prefix up to the first hole; borrowed
	size      int                     // bytes behind the length prefix, on the wire; len(data) is less where bytes are missing
	torn      bool                    // the connection ended before it was whole
	header    int                     // bytes of data that are the header, once that is read
	fault     error                   // what of its body could not be read, and where in the body, if that is known
}

// whole reports whether the capture has all of the message.
func (m *message) whole() bool { return len(m.data) == m.size }

// body returns what the capture has of the message behind its header; bodySize is its length on the wire.
func (m *message) body() []byte  { return m.data[m.header:] }
func (m *message) bodySize() int { return m.size - m.header }

// maxDecoded bounds the bodies that kmsg decodes: it turns a byte into as much as thirty bytes of structs. The largest of
// them, Metadata of some ten thousand partitions, stays far below.
const maxDecoded = 8 << 20

// decode reads a whole body with kmsg into into. Its byte slices are parts of the message.
func (m *message) decode(into interface{ ReadFrom([]byte) error }) bool {
	return m.whole() && m.bodySize() <= maxDecoded && into.ReadFrom(m.body()) == nil
}

// requestHeader is the header of a request, versions 1 and 2. Version 0, which lacks the client id, is that of
// ControlledShutdown 0.
type requestHeader struct {
	key, version int16
	correlation  int32
	clientID     []byte // nil: null; part of the message
	size         int
}

// requestHeaderSize is what every request header has: key, version and correlation id.
const requestHeaderSize = 8

// maxClientID bounds the client ids that are believed. The protocol has no limit; brokers make metric names of them.
const maxClientID = 4096

// readRequestHeader reads a header from the front of data. size is the length of the whole message. more says that data is
// too short to tell; ok that the header was read and is plausible.
func readRequestHeader(data []byte, size int) (h requestHeader, ok, more bool) {
	w := walk{reader: reader{data: data}, size: size}
	h.key = w.int16("request_api_key")
	h.version = w.int16("request_api_version")
	h.correlation = w.int32("correlation_id")
	if w.ok() && (h.key < 0 || h.version < 0) {
		return h, false, false
	}
	if w.ok() && (h.key != keyControlledShutdown || h.version != 0) {
		w.flexible = false // the client id keeps its two-byte length in flexible headers (KIP-482)
		h.clientID = w.text("client_id")
	}
	if w.ok() && (len(h.clientID) > maxClientID || !printable(h.clientID)) {
		return h, false, false
	}
	if flexible(h.key, h.version) {
		w.skipTags("header_tags")
	}
	h.size = w.at
	return h, w.ok(), !w.malformed()
}

// answerHeaderSize returns the length of an answer's header at the front of data, or -1 if data is too short. Answers of
// flexible versions have tagged fields behind the correlation id, except ApiVersions, which an old client must be able to
// read (KIP-511).
func answerHeaderSize(data []byte, key, version int16) int {
	r := reader{data: data}
	r.int32("correlation_id")
	if flexible(key, version) && key != keyAPIVersions {
		r.skipTags("header_tags")
	}
	if !r.ok() {
		return -1
	}
	return r.at
}

// maxExact bounds the bodies that are decoded to recognise Kafka: foreign bytes may end up here.
const maxExact = 64 << 10

// exactRequest reports whether body is exactly one request of that kind: all bytes are used, none is missing.
func exactRequest(key, version int16, body []byte) bool {
	switch {
	case !knownVersion(key, version):
		return false
	case key == keyProduce:
		w := newProduceRequest(version, body, len(body))
		for w.next() {
		}
		return w.complete() && w.seen > 0
	case key == keyFetch:
		w := newFetchRequest(version, body, len(body))
		for w.next() {
		}
		return w.complete()
	}
	return exact(kmsg.RequestForKey(key), version, body)
}

// exactAnswer is the like for answers.
func exactAnswer(key, version int16, body []byte) bool {
	switch {
	case !knownVersion(key, version):
		return false
	case key == keyProduce:
		w := newProduceAnswer(version, body, len(body))
		for w.next() {
		}
		return w.complete()
	case key == keyFetch:
		w := newFetchAnswer(version, body, len(body))
		for w.next() {
		}
		return w.complete()
	case key == keyAPIVersions && version > 0 && exact(kmsg.ResponseForKey(key), 0, body):
		return true // a broker that does not know the version answers in version 0
	}
	return exact(kmsg.ResponseForKey(key), version, body)
}

// exact decodes body and encodes it again: kmsg does not tell how much it has read.
func exact(into interface {
	SetVersion(int16)
	ReadFrom([]byte) error
	AppendTo([]byte) []byte
}, version int16, body []byte) bool {
	if len(body) > maxExact {
		return false
	}
	into.SetVersion(version)
	return into.ReadFrom(body) == nil && len(into.AppendTo(nil)) == len(body)
}
