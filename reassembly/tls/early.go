package tls

import (
	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
)

// early is what a client sends under a key of its own before the handshake is over (RFC 8446, section 2.3).
type early struct {
	keys  opener // nil: not known
	seq   uint64
	noted bool
}

// earlyData returns what is needed to read early data. The suite is that of the connection, or the server has refused it.
func (c *conn) earlyData(s *suite) *early {
	e := &early{}
	if known := c.d.keys.find(c.hello.client.random); known != nil {
		if keys, err := newOpener13(s, known.secrets[earlySecret].value()); err == nil {
			e.keys = keys
		}
	}
	return e
}

// opensEarly takes a record of early data.
func (h *half) opensEarly(head *header, body []byte, end reassembly.StreamOffset, at pcap.Ref) bool {
	e := h.early
	if !h.initial {
		h.early = nil
		return false
	}
	if e.keys == nil {
		return false
	}
	h.head = *head
	content, kind, ok := e.keys.open(h.c.d.scratch[:], &h.head, body, e.seq)
	if !ok {
		return false
	}
	e.seq++
	if kind == typeHandshake { // EndOfEarlyData
		h.early = nil
	}
	h.opens(content, kind, end, at)
	return true
}

// hidden notes, once, a record that may be early data: its key is not known, or the server refused it.
func (e *early) hidden(h *half, at pcap.Ref) {
	if h.initial && !e.noted {
		e.noted = true
		h.note(CodeUnsupported, at, "early data")
	}
}
