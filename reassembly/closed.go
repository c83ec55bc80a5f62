package reassembly

import "slices"

// closedConnections remembers connections that ended, so that their last segments and whole repeats of them (from a
// second capture point, or a mirror) open no new ones. The oldest are forgotten first.
type closedConnections struct {
	limit  int
	byFlow map[flow][]tombstone // in order of their ends
	order  []flow               // ring of at most limit ends, the oldest at first
	first  int
}

// tombstone is what is left of a connection. Its directions are those of the flow: 0 is sent by the low endpoint.
type tombstone struct {
	base   [2]uint32
	known  [2]bool
	extent [2]StreamOffset // bytes sent, as far as seen
	noted  bool
}

// covers reports whether a segment from the given direction fits into the connection or what was in flight at its end.
func (t *tombstone) covers(s *Segment, from int) bool {
	to := 1 - from
	if t.known[from] {
		if s.Flags&SYN != 0 && s.Seq+1 != t.base[from] || !t.fits(s.Seq, from) {
			return false
		}
	} else if s.Flags&SYN != 0 {
		return false
	}
	acks := s.Flags&ACK != 0 && t.known[to]
	return (t.known[from] || acks) && (!acks || t.fits(s.Ack, to))
}

// fits reports whether a sequence number lies between the SYN and closedSlack after the end.
func (t *tombstone) fits(seq uint32, from int) bool {
	return StreamOffset(seq-(t.base[from]-1)) <= t.extent[from]+1+closedSlack
}

// beyond returns how many bytes of s lie after the end of the connection.
func (t *tombstone) beyond(s *Segment, from int) int64 {
	if !t.known[from] {
		return 0
	}
	start := StreamOffset(s.Seq - t.base[from])
	if s.Seq == t.base[from]-1 {
		start = 0 // the SYN, or a keep-alive on an empty stream
	}
	return min(int64(s.Length), int64(start)+int64(s.Length)-int64(t.extent[from]))
}

// find returns the connection that s is a late part of, or nil.
func (c *closedConnections) find(f flow, s *Segment, from int) *tombstone {
	graves := c.byFlow[f]
	for i := len(graves) - 1; i >= 0; i-- {
		if graves[i].covers(s, from) {
			return &graves[i]
		}
	}
	return nil
}

// add remembers a connection and reports whether another one had to be forgotten for it.
func (c *closedConnections) add(f flow, t tombstone) (forgot bool) {
	if c.limit <= 0 {
		return true
	}
	switch graves := c.byFlow[f]; {
	case len(graves) >= closedPerFlow:
		// Takes the place of its own predecessor, whose turn in the order it inherits.
		c.byFlow[f] = append(slices.Delete(graves, 0, 1), t)
		return true
	case len(c.order) < c.limit:
		c.order = append(c.order, f)
	default:
		forgot = true
		c.forget(c.order[c.first])
		c.order[c.first] = f
		c.first = (c.first + 1) % c.limit
	}
	c.byFlow[f] = append(c.byFlow[f], t)
	return forgot
}

// forget drops the oldest connection of a flow.
func (c *closedConnections) forget(f flow) {
	graves := slices.Delete(c.byFlow[f], 0, 1)
	if len(graves) == 0 {
		delete(c.byFlow, f)
		return
	}
	c.byFlow[f] = graves
}
