package reassembly

import (
	"net/netip"

	"github.com/kdupscan/kdupscan/pcap"
)

// connection is an open connection. There may be a hundred thousand, most of them idle, so what few need is allocated apart.
type connection struct {
	Conn
	streams       [2]stream // by Direction
	opened        bool      // Open was emitted; A and B are final
	late          bool      // a late start was noted
	established   bool      // more than a SYN and its answer was seen
	seen          [2]bool   // segments from A, from B
	reset         *reset    // nil: none; closes once nothing is missing
	last          pcap.Ref
	before, after *connection // in Assembler.halfOpen, or Assembler.lru once established
}

// reset is the RST that ended a connection.
type reset struct {
	by Direction
	at pcap.Ref
}

// waiter is a stream with pending chunks.
type waiter struct {
	*connection
	from Direction
}

func (c *connection) direction(s *Segment) Direction {
	if s.Src == c.A {
		return FromA
	}
	return FromB
}

func (c *connection) endpoint(d Direction) netip.AddrPort {
	if d == FromA {
		return c.A
	}
	return c.B
}

func (c *connection) String() string { return c.A.String() + " → " + c.B.String() }

// flip exchanges A and B of a connection that nobody has heard of yet.
func (c *connection) flip() {
	c.A, c.B = c.B, c.A
	c.streams[0], c.streams[1] = c.streams[1], c.streams[0]
	c.seen[0], c.seen[1] = c.seen[1], c.seen[0]
	c.Base[0], c.Base[1] = c.Base[1], c.Base[0]
	c.BaseKnown[0], c.BaseKnown[1] = c.BaseKnown[1], c.BaseKnown[0]
	for d := range c.streams {
		if b := c.streams[d].backlog; b != nil && b.waiting != nil {
			b.waiting.Value = waiter{c, Direction(d)}
		}
	}
}

// restarts reports whether the SYN s belongs to another connection than c, which then has ended unseen.
func (c *connection) restarts(s *Segment) bool {
	d := c.direction(s)
	own, other := &c.streams[d], &c.streams[d.Other()]
	base := s.Seq + 1
	if own.state == held {
		return own.base+uint32(own.backlog.low)-base > startSlack
	}
	if s.Flags&ACK != 0 && (other.fromSYN && other.plausibleAck(other.offset(s.Ack)) ||
		other.state == held && other.synAcked && other.base+uint32(other.backlog.low) == s.Ack) {
		return false // it answers the SYN of this one, whatever its own number
	}
	if own.state == started {
		// Without its SYN a stream may have started late: its SYN then lies a little before.
		late := own.base - base
		return late != 0 && (own.fromSYN || late > startSlack)
	}
	if s.Flags&ACK != 0 {
		return other.state == started && !other.plausibleAck(other.offset(s.Ack))
	}
	// The answer may stand before its SYN in the capture; it says what the SYN was. Otherwise this is a simultaneous open,
	// unless data has flowed.
	if own.ackSeen {
		return own.ack-base > startSlack
	}
	return other.state == started && other.top > 0
}

// earlier returns the direction whose next thing to deliver was captured first; either where there is none.
func (c *connection) earlier() Direction {
	a, okA := c.streams[FromA].ready()
	b, okB := c.streams[FromB].ready()
	if okB && (!okA || b.Time < a.Time || b.Time == a.Time && b.Number < a.Number) {
		return FromB
	}
	return FromA
}

// plausibleAck reports whether an acknowledgement can be true: not before the start, not far beyond what was captured.
func (s *stream) plausibleAck(offset StreamOffset) bool {
	return offset >= 0 && offset <= s.top+ackSlack
}

// acceptsReset reports whether a reset fits its stream (RFC 9293, section 3.10.7.4), or acknowledges the other one where
// its own was never seen (a refused SYN).
func (c *connection) acceptsReset(s *Segment) bool {
	d := c.direction(s)
	own, other := &c.streams[d], &c.streams[d.Other()]
	if own.state == unseen {
		return s.Flags&ACK == 0 || other.state != started || other.plausibleAck(other.offset(s.Ack))
	}
	offset, from := own.offset(s.Seq), own.next
	if own.state == held {
		from = own.backlog.low
	}
	return offset >= from && offset <= max(own.top, own.acked)+1+resetSlack
}
