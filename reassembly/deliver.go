package reassembly

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/kdupscan/kdupscan/pcap"
)

// insert takes the payload of a segment that starts at offset: what is next is delivered, what is ahead waits, what was
// there before is an overlap. The captured part is payload, length is that on the wire.
func (a *Assembler) insert(c *connection, d Direction, offset StreamOffset, payload []byte, length int, at pcap.Ref) {
	s := &c.streams[d]
	end := offset + StreamOffset(length)
	if s.state == started && length == 1 && end == s.next {
		return // a keep-alive probe: its byte is garbage
	}
	s.top = max(s.top, end)
	if cutFrom := offset + StreamOffset(len(payload)); cutFrom < end && end > s.next {
		s.addCut(cut{offset: cutFrom, end: end, at: at})
	}
	for len(payload) > 0 {
		n := 0
		switch i := s.find(offset); {
		case s.state == started && offset < s.next:
			n = int(min(StreamOffset(len(payload)), s.next-offset))
			a.repeated(c, d, offset, payload[:n], at)
		case i < len(s.pending()) && s.pending()[i].offset <= offset:
			p := &s.pending()[i]
			n = int(min(StreamOffset(len(payload)), p.end()-offset))
			a.overlap(c, d, offset, int64(n), !bytes.Equal(payload[:n], p.data[offset-p.offset:][:n]), at)
		default:
			n = len(payload)
			if pending := s.pending(); i < len(pending) {
				n = int(min(StreamOffset(n), pending[i].offset-offset))
			}
			if s.state == started && offset == s.next {
				a.deliver(c, d, payload[:n], at)
				a.drain(c, d, at)
			} else {
				a.wait(c, d, i, chunk{offset: offset, data: bytes.Clone(payload[:n]), at: at})
			}
		}
		offset, payload = offset+StreamOffset(n), payload[n:]
	}
	a.drain(c, d, at)
}

// wait puts a chunk into the pending ones, before number i.
func (a *Assembler) wait(c *connection, d Direction, i int, piece chunk) {
	b := c.streams[d].lag()
	b.pending = slices.Insert(b.pending, i, piece)
	a.account(b, len(piece.data)+chunkOverhead)
	if b.waiting == nil {
		b.waiting = a.waiting.PushBack(waiter{c, d})
	}
}

// account adds to the size of what waits.
func (a *Assembler) account(b *backlog, size int) {
	b.size += size
	a.buffered += size
}

// drain delivers what waited for next, and the FIN.
func (a *Assembler) drain(c *connection, d Direction, at pcap.Ref) {
	for more := true; more; {
		more = a.step(c, d, at)
	}
}

// step delivers one thing that is next in a stream, and reports whether there was one.
func (a *Assembler) step(c *connection, d Direction, at pcap.Ref) bool {
	s := &c.streams[d]
	if s.state != started {
		return false
	}
	if pending := s.pending(); len(pending) > 0 && pending[0].offset == s.next {
		p := pending[0]
		a.drop(s.backlog)
		a.deliver(c, d, p.data, p.at)
		return true
	}
	if to, cutAt := s.cutAt(); to > s.next {
		a.gap(c, d, to, Cut, cutAt)
		return true
	}
	if s.finSeen && !s.finished && s.next == s.fin {
		s.finished = true
		a.emit(a.newEvent(c, Finish, d, s.fin, at))
		return true
	}
	return false
}

// drop takes the first chunk out of the pending ones.
func (a *Assembler) drop(b *backlog) {
	a.account(b, -len(b.pending[0].data)-chunkOverhead)
	b.pending[0] = chunk{}
	if b.pending = b.pending[1:]; len(b.pending) == 0 {
		b.pending = nil
		a.waiting.Remove(b.waiting)
		b.waiting = nil
	}
}

// deliver hands out the bytes at next.
func (a *Assembler) deliver(c *connection, d Direction, data []byte, at pcap.Ref) {
	s := &c.streams[d]
	end := s.next + StreamOffset(len(data))
	s.record = a.history.add(s.next, end, data, s.record)
	offset := s.next
	s.next = end
	e := a.newEvent(c, Data, d, offset, at)
	e.Length, e.Data = int64(len(data)), data
	a.emit(e)
}

// gap gives up the bytes from next on.
func (a *Assembler) gap(c *connection, d Direction, to StreamOffset, reason GapReason, at pcap.Ref) {
	s := &c.streams[d]
	s.record = a.history.add(s.next, to, nil, s.record)
	offset, length := s.next, int64(to-s.next)
	s.next, s.top = to, max(s.top, to)
	a.stats.Gaps++
	a.stats.GapBytes += length
	code := CodeGap
	if reason == Cut {
		code = CodeCut
	}
	a.report(c, code, at, fmt.Sprintf("%d bytes from %v at stream offset %d", length, c.endpoint(d), offset))
	e := a.newEvent(c, Gap, d, offset, at)
	e.Length, e.Gap = length, reason
	a.emit(e)
}

// giveUp declares all that is missing before the offset to lost, and delivers what waited for it.
func (a *Assembler) giveUp(c *connection, d Direction, to StreamOffset, at pcap.Ref) {
	s := &c.streams[d]
	for s.next < to && !s.finished {
		missing, shown := to, at
		if pending := s.pending(); len(pending) > 0 && pending[0].offset <= missing {
			missing, shown = pending[0].offset, pending[0].at
		}
		if cuts := s.cuts(); len(cuts) > 0 && cuts[0].offset < missing {
			missing, shown = cuts[0].offset, cuts[0].at
		}
		if s.finSeen {
			missing = min(missing, s.fin)
		}
		a.gap(c, d, missing, Lost, shown)
		a.drain(c, d, at)
	}
}

// repeated handles bytes before next.
func (a *Assembler) repeated(c *connection, d Direction, offset StreamOffset, data []byte, at pcap.Ref) {
	if before := min(StreamOffset(len(data)), -offset); before > 0 {
		a.report(c, CodeBeforeStart, at, fmt.Sprintf("%d bytes from %v", before, c.endpoint(d)))
		if offset, data = 0, data[before:]; len(data) == 0 {
			return
		}
	}
	v := a.history.compare(offset, data, c.streams[d].record)
	if v.late > 0 {
		a.report(c, CodeLateData, at, fmt.Sprintf("%d bytes from %v at stream offset %d", v.late, c.endpoint(d), offset))
		if v.late == int64(len(data)) {
			return
		}
	}
	a.overlap(c, d, offset, int64(len(data)), v.unequal, at)
}

// overlap reports bytes that arrived again. Offsets of a held stream are not final, so it reports only a conflict.
func (a *Assembler) overlap(c *connection, d Direction, offset StreamOffset, length int64, unequal bool, at pcap.Ref) {
	if unequal {
		a.report(c, CodeConflict, at, fmt.Sprintf("%d bytes from %v", length, c.endpoint(d)))
	}
	if c.streams[d].state == started {
		e := a.newEvent(c, Overlap, d, offset, at)
		e.Length, e.Unequal = length, unequal
		a.emit(e)
	}
}
