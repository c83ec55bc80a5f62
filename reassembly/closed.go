package reassembly

import "iter"

// closedConnections remembers connections that ended, so that their last segments and whole repeats of them (from a
// second capture point, or a mirror) open no new ones. The oldest are forgotten first. There may be very many, so it holds few
// pointers for the garbage collector to follow.
type closedConnections struct {
	limit  int
	newest map[flow]int32 // index of the latest of a flow
	rows   []*row         // ring of at most limit graves, the oldest at first
	size   int            // graves in it
	first  int
}

// row is a part of the ring. A list that grew as a whole would be copied, and leave garbage.
type row [256]grave

// grave is the place of a connection that ended.
type grave struct {
	tombstone
	of     flow
	before int32 // index of the one of the same flow that ended before, none if negative
}

// tombstone is what is left of a connection. Its directions are those of the flow: 0 is sent by the low endpoint.
type tombstone struct {
	base   [2]uint32
	known  [2]bool
	extent [2]StreamOffset // bytes sent, as far as seen
	noted  bool
}

func newClosedConnections(limit int) closedConnections {
	return closedConnections{limit: limit, newest: map[flow]int32{}}
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

// ofFlow calls yield with the index of each grave of a flow, the latest first.
func (c *closedConnections) ofFlow(f flow) iter.Seq[int] {
	return func(yield func(int) bool) {
		i, known := c.newest[f]
		for known && i >= 0 && yield(int(i)) {
			i = c.at(int(i)).before
		}
	}
}

func (c *closedConnections) at(i int) *grave { return &c.rows[i/len(row{})][i%len(row{})] }

// find returns the connection that s is a late part of, or nil. It is valid until the next call of add.
func (c *closedConnections) find(f flow, s *Segment, from int) *tombstone {
	for i := range c.ofFlow(f) {
		if t := &c.at(i).tombstone; t.covers(s, from) {
			return t
		}
	}
	return nil
}

// add remembers a connection and reports whether another one had to be forgotten for it.
func (c *closedConnections) add(f flow, t tombstone) (forgot bool) {
	if c.limit <= 0 {
		return true
	}
	n := 0
	for range c.ofFlow(f) {
		n++
	}
	if n >= closedPerFlow {
		// Each takes the place of its predecessor, whose turn in the order it inherits.
		for i := range c.ofFlow(f) {
			g := c.at(i)
			g.tombstone, t = t, g.tombstone
		}
		return true
	}
	at := c.size
	if c.size < c.limit {
		if c.size%len(row{}) == 0 {
			c.rows = append(c.rows, new(row))
		}
		c.size++
	} else {
		at, forgot = c.first, true
		c.forget()
		c.first = (c.first + 1) % c.limit
	}
	before, known := c.newest[f]
	if !known {
		before = -1
	}
	*c.at(at) = grave{tombstone: t, of: f, before: before}
	c.newest[f] = int32(at)
	return forgot
}

// forget drops the oldest connection of all, which is the oldest of its flow.
func (c *closedConnections) forget() {
	f := c.at(c.first).of
	after := -1
	for i := range c.ofFlow(f) {
		if i != c.first {
			after = i
		}
	}
	if after < 0 {
		delete(c.newest, f)
		return
	}
	c.at(after).before = -1
}
