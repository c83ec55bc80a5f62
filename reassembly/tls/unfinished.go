package tls

import "github.com/kdupscan/kdupscan/reassembly"

// leaveUnfinished passes a connection on without its bytes if it ended in its handshake, and so hides nothing:
// clients open connections that they then do not need, and servers refuse some. It reports whether that was so.
func (c *conn) leaveUnfinished(e *reassembly.Event) bool {
	var streams [2][]byte
	for i := range c.held.events {
		switch held := &c.held.events[i]; held.Kind {
		case reassembly.Gap:
			return false
		case reassembly.Data:
			streams[held.Dir] = append(streams[held.Dir], held.Data...)
		}
	}
	h := &c.hello
	// With TLS 1.3 a server seals its part of the handshake as application data. It says nothing else before it is asked.
	sealed := h.serverSeen && h.server.version == version13
	if mayCarryData(streams[h.clientDir]) || !sealed && mayCarryData(streams[h.clientDir.Other()]) {
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

// mayCarryData reports whether a stream has records of application data, or anything that is no record.
func mayCarryData(stream []byte) bool {
	for len(stream) > 0 {
		if stream[0] == typeApplicationData || !mayBeRecord(stream) {
			return true
		}
		if len(stream) < headerSize {
			return false // the last record is not whole
		}
		h := header(stream)
		stream = stream[min(len(stream), headerSize+h.size()):]
	}
	return false
}
