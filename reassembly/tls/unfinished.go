package tls

import "github.com/kdupscan/kdupscan/reassembly"

// leaveUnfinished passes a connection on without its bytes if it ended before its handshake did, and so hides nothing:
// clients open connections that they then do not need, and servers refuse some. It reports whether that was so.
func (c *conn) leaveUnfinished(e *reassembly.Event) bool {
	var streams [2][]byte
	for i := range c.held.events {
		switch e := &c.held.events[i]; e.Kind {
		case reassembly.Gap:
			return false
		case reassembly.Data:
			streams[e.Dir] = append(streams[e.Dir], e.Data...)
		}
	}
	h := &c.hello
	client := h.clientDir
	tls13 := h.server.version == version13 // or asked for by a HelloRetryRequest
	// A server answers a client that has finished the handshake, and says nothing of its own before.
	if !greetingOnly(streams[client], tls13) || !h.serverSeen && !greetingOnly(streams[client.Other()], tls13) {
		return false
	}
	if c.halves != nil {
		for i := range c.halves {
			c.halves[i].keep(nil, e.At)
		}
	}
	c.drop()
	c.g.tls, c.g.passes = nil, true
	c.g.forward(c.d, e)
	return true
}

// greetingOnly reports whether a stream has nothing but handshake messages and alerts that are not encrypted: in TLS 1.2
// no ChangeCipherSpec, which in TLS 1.3 means nothing.
func greetingOnly(stream []byte, tls13 bool) bool {
	for len(stream) > 0 {
		kind := stream[0]
		if kind != typeHandshake && kind != typeAlert && (kind != typeChangeCipherSpec || !tls13) || !mayBeRecord(stream) {
			return false
		}
		if len(stream) < headerSize {
			return true // the last record is not whole, and is none that carries data
		}
		h := header(stream)
		if h.kind() == typeAlert && h.size() != alertSize {
			return false
		}
		stream = stream[min(len(stream), headerSize+h.size()):]
	}
	return true
}
