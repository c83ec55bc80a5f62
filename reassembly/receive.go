package reassembly

import "github.com/kdupscan/kdupscan/pcap"

// segment applies s to its connection. The acknowledgement comes first: what s says was sent after what it acknowledges.
func (a *Assembler) segment(c *connection, s *Segment) {
	d, seq := c.direction(s), s.Seq
	if s.Flags&SYN != 0 {
		d = a.synchronise(c, d, s)
		seq++
	}
	if s.Flags&RST != 0 {
		a.resets(c, d, s) // its payload, if any, is a diagnostic and no part of the stream
		return
	}
	if s.Flags&ACK != 0 {
		a.acknowledge(c, d.Other(), s.Ack, s.At)
	}
	if s.Length > 0 || fins(s) {
		a.arrive(c, d, seq, s)
	}
}

// synchronise applies a SYN and returns the direction of s, which changes where the connection was held the wrong way
// round.
func (a *Assembler) synchronise(c *connection, d Direction, s *Segment) Direction {
	if answers := s.Flags&ACK != 0; !c.SynSeen && !c.opened && (d == FromA) == answers {
		c.flip()
		d = d.Other()
	}
	own, other := &c.streams[d], &c.streams[d.Other()]
	fresh := own.state != started
	if !fresh && own.base != s.Seq+1 {
		// Either it came too late and the stream has started without it, or a server (or two behind one address) answers
		// each repeated SYN with another number. The last counts until the client has agreed to one.
		if fresh = own.fromSYN && !own.agreed && own.top == 0 && !own.finSeen; !fresh {
			return d
		}
	}
	c.SynSeen = true
	if fresh {
		own.fromSYN = true
		c.start(d, s.Seq+1)
		a.drain(c, d, s.At)
		a.recall(c, d)
	}
	if s.Flags&ACK != 0 && other.nearHeld(s.Ack) {
		// Not certain: with TCP Fast Open it acknowledges data too.
		other.hold(s.Ack)
		other.synAcked = true
	}
	a.announce(c)
	return d
}

// start fixes the sequence number of offset 0; what was held moves to its offset.
func (c *connection) start(d Direction, base uint32) {
	s := &c.streams[d]
	if s.state == held {
		s.shift(StreamOffset(int32(s.base - base)))
	}
	s.base, s.state = base, started
	s.flows()
	c.Base[d], c.BaseKnown[d] = base, true
}

// begin starts the held streams of c at the lowest offset seen. Both start together and deliver in capture order, lest
// all answers come before the first request.
func (a *Assembler) begin(c *connection, at pcap.Ref) {
	for d := FromA; d <= FromB; d++ {
		s := &c.streams[d]
		if s.state != held {
			continue
		}
		if s.fromSYN = s.synAcked; !s.fromSYN && !c.late {
			c.late = true
			a.report(c, CodeLateStart, at, "")
		}
		c.start(d, s.base+uint32(s.backlog.low))
	}
	for more := true; more; {
		more = a.step(c, c.earlier(), at)
	}
	a.recall(c, FromA)
	a.recall(c, FromB)
}

// recall applies the acknowledgement that was seen before the start.
func (a *Assembler) recall(c *connection, d Direction) {
	if s := &c.streams[d]; s.state == started && s.ackSeen {
		s.ackSeen = false
		a.acknowledge(c, d, s.ack, s.backlog.ackAt)
	}
}

// acknowledge takes note that the receiver of the bytes of d has all before ack.
func (a *Assembler) acknowledge(c *connection, d Direction, ack uint32, at pcap.Ref) {
	s := &c.streams[d]
	if s.state != started {
		b := s.lag()
		if !s.ackSeen {
			b.ackFrom = ack
		}
		if !s.ackSeen || int32(ack-s.ack) > 0 {
			s.ack, s.ackSeen, b.ackAt = ack, true, at
		}
		return
	}
	offset := s.offset(ack)
	if s.finSeen {
		offset = min(offset, s.fin)
	}
	if !s.plausibleAck(offset) {
		return
	}
	s.agreed = true
	if offset <= s.acked {
		return
	}
	s.acked = offset
	a.emit(a.newEvent(c, Ack, d, offset, at))
}

// arrive applies payload and FIN; seq is the sequence number of the first payload byte.
func (a *Assembler) arrive(c *connection, d Direction, seq uint32, s *Segment) {
	st := &c.streams[d]
	if st.state != started {
		if !st.nearHeld(seq) {
			a.report(c, CodeOutOfWindow, s.At, "")
			return
		}
		st.hold(seq)
	}
	offset := st.offset(seq)
	if st.state == started {
		far := offset > st.next+maxWindow || offset < st.next-maxWindow
		if far || offset < 0 {
			if a.repeats(s) {
				return
			}
		}
		if far && !a.resync(c, d, &offset, seq, s) {
			return
		}
	}
	payload, length := s.Payload[:min(len(s.Payload), s.Length)], s.Length
	if st.finSeen && offset+StreamOffset(length) > st.fin {
		a.report(c, CodeAfterFIN, s.At, "data after the FIN")
		if offset >= st.fin {
			return
		}
		length = int(st.fin - offset)
		payload = payload[:min(len(payload), length)]
	}
	a.insert(c, d, offset, payload, length, s.At)
	if fins(s) && !st.finSeen {
		a.finish(c, d, offset+StreamOffset(length), s.At)
	}
}

// finish takes note of a FIN. One before bytes that were seen is stale or forged.
func (a *Assembler) finish(c *connection, d Direction, offset StreamOffset, at pcap.Ref) {
	s := &c.streams[d]
	if offset < s.top {
		a.report(c, CodeAfterFIN, at, "FIN before data that was seen")
		return
	}
	s.fin, s.finSeen = offset, true
	s.acked = min(s.acked, offset)
	a.drain(c, d, at)
}

// resync decides on a segment further away than any window. One alone is taken for a stray; when the next one goes on
// where it ended, the stream has moved there, and offset says how far. Sequence numbers tell the distance modulo 4 GiB.
func (a *Assembler) resync(c *connection, d Direction, offset *StreamOffset, seq uint32, s *Segment) bool {
	st := &c.streams[d]
	last := &st.lag().stray
	moved := last.seen && last.next == seq && s.Length > 0 && !st.finSeen
	*last = stray{seen: s.Length > 0 && !moved, next: seq + uint32(s.Length)}
	if !moved {
		a.report(c, CodeOutOfWindow, s.At, "")
		return false
	}
	a.giveUp(c, d, st.end(), s.At)
	*offset = st.next + StreamOffset(seq-st.base-uint32(st.next))
	a.report(c, CodeResync, s.At, "")
	a.gap(c, d, *offset, Lost, s.At)
	return true
}

// resets takes note of a RST. It ends the connection once nothing before it is missing.
func (a *Assembler) resets(c *connection, d Direction, s *Segment) {
	if c.reset != nil {
		return
	}
	if !c.acceptsReset(s) {
		if !a.repeats(s) {
			a.report(c, CodeOutOfWindow, s.At, "RST")
		}
		return
	}
	c.reset = &reset{d, s.At}
}

// fins reports whether s ends its stream. A FIN beside a SYN is what port scanners send.
func fins(s *Segment) bool { return s.Flags&(SYN|FIN) == FIN }
