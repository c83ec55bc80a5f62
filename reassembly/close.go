package reassembly

import "github.com/kdupscan/kdupscan/pcap"

// unblock ends the wait of a stream for what is missing before an offset.
func (a *Assembler) unblock(c *connection, d Direction, to StreamOffset, at pcap.Ref) {
	s := &c.streams[d]
	if s.state == held {
		a.begin(c, at)
		return
	}
	a.giveUp(c, d, to, at)
	s.flows()
}

// flush delivers all that a stream has.
func (a *Assembler) flush(c *connection, d Direction, at pcap.Ref) {
	s := &c.streams[d]
	missed := c.missed(s)
	if missed > 0 {
		s.hold(s.backlog.ackFrom)
		s.synAcked = c.SynSeen // the first acknowledgement is most likely that of the handshake
	}
	if s.state == held {
		a.begin(c, at)
	}
	if s.state == started {
		a.giveUp(c, d, max(s.end(), missed), at)
	}
}

// missed returns how many bytes of a stream were acknowledged of which no segment was captured: only the other direction was. That is
// known for certain at the end, as a file with this one may lag behind. One byte may be a FIN.
func (c *connection) missed(s *stream) StreamOffset {
	if s.state != unseen || !s.ackSeen || !c.established {
		return 0
	}
	if n := StreamOffset(s.ack - s.backlog.ackFrom); n > 1 {
		return n
	}
	return 0
}

// close flushes and ends a connection and remembers it for a while. A connection that had ended on its own, but for
// missing pieces, says so whatever the cause of its closing now.
func (a *Assembler) close(c *connection, reason CloseReason, d Direction, at pcap.Ref) {
	a.flush(c, FromA, at)
	a.flush(c, FromB, at)
	last := reason == EndOfInput // whatever it says of its end
	switch {
	case c.reset != nil:
		reason, d = ClosedRST, c.reset.by
	case c.streams[FromA].finished && c.streams[FromB].finished:
		reason = ClosedFIN
	}
	e := a.newEvent(c, Close, d, 0, at)
	e.Close = reason
	a.emit(e)
	f, fromHigh := flowBetween(c.A, c.B)
	delete(a.open, f)
	if c.established {
		a.lru.remove(c)
	} else {
		a.halfOpen.remove(c)
	}
	// An evicted connection may go on, behind the end of the input nothing comes, and an unanswered SYN is not worth the memory.
	if reason != Evicted && !last && (c.established || c.reset != nil) {
		if a.closed.add(f, c.tombstone(fromHigh)) {
			a.report(c, CodeClosedForgotten, at, "")
		}
	}
}

// tombstone returns what is left of c. fromHigh says that A is the high endpoint of its flow.
func (c *connection) tombstone(fromHigh bool) tombstone {
	t := tombstone{base: c.Base, known: c.BaseKnown}
	for d := range c.streams {
		t.extent[d] = max(c.streams[d].top, c.streams[d].acked)
	}
	if fromHigh {
		t.base[0], t.base[1] = t.base[1], t.base[0]
		t.known[0], t.known[1] = t.known[1], t.known[0]
		t.extent[0], t.extent[1] = t.extent[1], t.extent[0]
	}
	return t
}

// announce emits Open unless that was done.
func (a *Assembler) announce(c *connection) {
	if c.opened {
		return
	}
	c.opened = true
	a.event = Event{Kind: Open, Conn: &c.Conn, At: c.First}
	a.emit(&a.event)
}

// newEvent returns an event of c, to be completed and emitted. It is made in place: there is one for each segment.
func (a *Assembler) newEvent(c *connection, kind EventKind, d Direction, offset StreamOffset, at pcap.Ref) *Event {
	a.announce(c)
	e := &a.event
	*e = Event{}
	e.Kind, e.Conn, e.Dir, e.Offset, e.At = kind, &c.Conn, d, offset, at
	return e
}

func (a *Assembler) report(c *connection, code pcap.Code, at pcap.Ref, detail string) {
	a.note(pcap.Note{Code: code, At: at, Connection: c.String(), Detail: detail})
}
