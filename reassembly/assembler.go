package reassembly

import (
	"cmp"
	"container/list"
	"maps"
	"slices"

	"github.com/kdupscan/kdupscan/pcap"
)

// Assembler puts the segments of many connections in order. It is for one goroutine; see Segment.Hash.
type Assembler struct {
	limits   Limits
	emit     func(*Event)
	note     func(pcap.Note)
	open     map[flow]*connection
	halfOpen queue     // the oldest first
	lru      queue     // those established, the least recently used first
	waiting  list.List // of waiter, the longest waiting first
	buffered int       // bytes that wait, in all streams
	closed   closedConnections
	history  history
	stats    Stats
	event    Event // handed out for each event
}

// Stats counts what an Assembler has seen.
type Stats struct {
	Connections    int64
	Gaps, GapBytes int64 // of both reasons
}

// NewAssembler returns an Assembler that hands its events to emit and reports oddities and limits to note.
func NewAssembler(limits Limits, emit func(*Event), note func(pcap.Note)) *Assembler {
	return &Assembler{
		limits:  limits,
		emit:    emit,
		note:    note,
		open:    map[flow]*connection{},
		closed:  newClosedConnections(limits.Closed),
		history: newHistory(limits.HistoryBytes),
	}
}

// Stats returns the counts so far.
func (a *Assembler) Stats() Stats { return a.stats }

// Push takes the next segment in capture order. Nothing of s is kept.
func (a *Assembler) Push(s *Segment) {
	if s.Flags&(SYN|RST) == SYN|RST {
		return // means nothing; sent by port scanners
	}
	c := a.find(s)
	if c == nil || s.Flags&SYN != 0 && c.restarts(s) {
		if a.repeats(s) {
			return
		}
		if c != nil {
			a.close(c, Replaced, c.direction(s), s.At)
		}
		if s.Flags&RST != 0 {
			return // the end of something never seen
		}
		c = a.create(s)
	}
	a.touch(c, s)
	a.segment(c, s)
	a.settle(c, s.At)
}

// find returns the open connection of s, nil if there is none. Most often it is that of the segment before.
func (a *Assembler) find(s *Segment) *connection {
	if c := a.lru.last; c != nil && (s.Src == c.A && s.Dst == c.B || s.Src == c.B && s.Dst == c.A) {
		return c
	}
	f, _ := flowOf(s)
	return a.open[f]
}

// Finish delivers all that waits and closes the connections still open, in the order of their ids.
func (a *Assembler) Finish() {
	byID := func(x, y *connection) int { return cmp.Compare(x.ID, y.ID) }
	for _, c := range slices.SortedFunc(maps.Values(a.open), byID) {
		a.close(c, EndOfInput, FromA, c.last)
	}
}

// repeats reports whether s is a late part of a connection that was closed.
func (a *Assembler) repeats(s *Segment) bool {
	f, fromHigh := flowOf(s)
	from := 0
	if fromHigh {
		from = 1
	}
	t := a.closed.find(f, s, from)
	if t == nil {
		return false
	}
	switch {
	case t.beyond(s, from) > 0:
		a.note(pcap.Note{Code: CodeAfterClose, At: s.At, Connection: s.Src.String() + " → " + s.Dst.String()})
	case !t.noted && (s.Flags&SYN != 0 || s.Length > 0):
		t.noted = true
		a.note(pcap.Note{Code: CodeRepeat, At: s.At, Connection: s.Src.String() + " → " + s.Dst.String()})
	}
	return true
}

// create opens a connection. Its Open event waits until it is known who opened it, or until something is delivered.
func (a *Assembler) create(s *Segment) *connection {
	if a.halfOpen.size >= max(a.limits.HalfOpen, 1) {
		a.evict(a.halfOpen.first, CodeHalfOpenEvicted, s.At)
	}
	a.stats.Connections++
	c := &connection{Conn: Conn{ID: ConnID(a.stats.Connections), A: s.Src, B: s.Dst, First: s.At}}
	a.halfOpen.push(c)
	f, _ := flowOf(s)
	a.open[f] = c
	return c
}

// touch takes note that c was seen.
func (a *Assembler) touch(c *connection, s *Segment) {
	c.last = s.At
	c.seen[c.direction(s)] = true
	if c.established {
		a.lru.renew(c)
		return
	}
	if s.Flags&(SYN|RST) != 0 || s.Length == 0 && !(c.seen[0] && c.seen[1]) {
		return
	}
	c.established = true
	a.halfOpen.remove(c)
	if a.lru.size >= max(a.limits.Connections, 1) {
		a.evict(a.lru.first, CodeEvicted, s.At)
	}
	a.lru.push(c)
}

// evict gives up a connection to make room. One that has been idle for very long has most likely ended unseen.
func (a *Assembler) evict(c *connection, code pcap.Code, at pcap.Ref) {
	if at.Time-c.last.Time > staleAfter {
		a.close(c, ClosedStale, FromA, at)
		return
	}
	a.report(c, code, at, "")
	a.close(c, Evicted, FromA, at)
}

// settle ends waits that have lasted long enough, keeps memory within bounds and closes c when it is over.
func (a *Assembler) settle(c *connection, at pcap.Ref) {
	for d := FromA; d <= FromB; d++ {
		s := &c.streams[d]
		switch {
		case s.exceeds(&a.limits):
			a.report(c, CodeBufferLimit, at, "")
			a.unblock(c, d, s.end(), at)
		case s.observe(c.reset != nil, at.Time):
			a.unblock(c, d, s.backlog.stall.to, at)
		}
	}
	for a.buffered > a.limits.BufferedBytes {
		w := a.waiting.Front().Value.(waiter)
		a.report(w.connection, CodeBufferLimit, at, "")
		a.unblock(w.connection, w.from, w.streams[w.from].end(), at)
	}
	switch {
	case c.reset != nil && !c.streams[FromA].stalled() && !c.streams[FromB].stalled():
		a.close(c, ClosedRST, c.reset.by, c.reset.at)
	case c.streams[FromA].finished && c.streams[FromB].finished:
		a.close(c, ClosedFIN, FromA, at)
	}
}
