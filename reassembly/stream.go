package reassembly

import (
	"container/list"
	"math"
	"slices"

	"github.com/kdupscan/kdupscan/pcap"
)

// streamState says how much is known of the start of a stream.
type streamState uint8

const (
	unseen  streamState = iota // no sequence number yet
	held                       // bytes seen but no SYN: an earlier segment may follow, so nothing is delivered yet
	started                    // offset 0 is fixed
)

// stream is one direction of a connection. Offsets of a held stream are relative to the first sequence number seen and
// may be negative; start makes them final.
type stream struct {
	base     uint32 // sequence number of offset 0
	ack      uint32 // the acknowledgement seen before the start
	state    streamState
	fromSYN  bool // the start is that of a SYN
	ackSeen  bool
	agreed   bool // the receiver has acknowledged its start
	synAcked bool // held: the answer to the SYN names the start
	finSeen  bool
	finished bool         // Finish was emitted
	next     StreamOffset // all before it has been delivered, or given up as a gap
	top      StreamOffset // end of the captured bytes, at least next
	acked    StreamOffset // highest acknowledgement
	fin      StreamOffset // where the FIN stands, if finSeen
	record   int64        // the stream's last record in the history
	backlog  *backlog     // nil while the stream flows; never nil while it is held
}

// backlog is what a stream needs beside while it is held or something of it is missing.
type backlog struct {
	pending []chunk // bytes after next, ordered, without overlap
	cuts    []cut   // ranges after next that snaplen cut off, ordered by start; pending may overlap and wins
	size    int     // of pending, with chunkOverhead
	waiting *list.Element
	stall   stall
	stray   stray
	low     StreamOffset // held: the lowest offset seen
	ackAt   pcap.Ref     // of ack
	ackFrom uint32       // the first acknowledgement seen before the start
}

// lag returns the backlog, for something to be put into it.
func (s *stream) lag() *backlog {
	if s.backlog == nil {
		s.backlog = new(backlog)
	}
	return s.backlog
}

func (s *stream) pending() []chunk {
	if s.backlog == nil {
		return nil
	}
	return s.backlog.pending
}

func (s *stream) cuts() []cut {
	if s.backlog == nil {
		return nil
	}
	return s.backlog.cuts
}

// exceeds reports whether more waits than may.
func (s *stream) exceeds(l *Limits) bool {
	b := s.backlog
	return b != nil && (b.size > l.StreamBytes || len(b.pending) > l.StreamChunks || len(b.cuts) > l.StreamChunks)
}

// chunk is captured bytes that wait for earlier ones.
type chunk struct {
	offset StreamOffset
	data   []byte // owned
	at     pcap.Ref
}

func (c *chunk) end() StreamOffset { return c.offset + StreamOffset(len(c.data)) }

// cut is a range of which only the length is known.
type cut struct {
	offset, end StreamOffset
	at          pcap.Ref
}

// stray is the last segment that was too far away to belong here.
type stray struct {
	seen bool
	next uint32 // sequence number after it
}

// offset returns the stream offset of a sequence number: the one nearest to next.
func (s *stream) offset(seq uint32) StreamOffset {
	return s.next + StreamOffset(int32(seq-s.base-uint32(s.next)))
}

// hold begins a stream whose start is not known, or lowers its start to seq.
func (s *stream) hold(seq uint32) {
	if s.state == unseen {
		s.state, s.base = held, seq
	}
	b := s.lag()
	b.low = min(b.low, s.offset(seq))
}

// nearHeld reports whether seq may belong to a stream that has not started: it is near to what was seen so far.
func (s *stream) nearHeld(seq uint32) bool {
	if s.state == held {
		offset := s.offset(seq)
		return offset >= -ackSlack && offset <= ackSlack
	}
	return s.state == unseen
}

// end returns where the stream ends as far as is known. An acknowledgement one past all captured bytes is taken to
// mean a FIN that was not captured rather than a lost byte.
func (s *stream) end() StreamOffset {
	end := s.top
	if s.acked != s.top+1 {
		end = max(end, s.acked)
	}
	if s.finSeen {
		end = max(end, s.fin)
	}
	return end
}

// find returns the index of the first chunk that ends after offset. It looks from the end: most segments are new.
func (s *stream) find(offset StreamOffset) int {
	pending := s.pending()
	if n := len(pending); n == 0 || pending[n-1].end() <= offset {
		return n
	}
	i, _ := slices.BinarySearchFunc(pending, offset, func(c chunk, at StreamOffset) int {
		if c.end() <= at {
			return -1
		}
		return 1
	})
	return i
}

// addCut remembers that snaplen cut off a range.
func (s *stream) addCut(c cut) {
	b := s.lag()
	i, _ := slices.BinarySearchFunc(b.cuts, c.offset, func(c cut, at StreamOffset) int {
		if c.offset <= at {
			return -1
		}
		return 1
	})
	if i > 0 && b.cuts[i-1].end >= c.end {
		return
	}
	b.cuts = slices.Insert(b.cuts, i, c)
}

// cutAt returns the end of the cut range that next lies in, or next where there is none. Ranges before it are dropped.
func (s *stream) cutAt() (to StreamOffset, at pcap.Ref) {
	b := s.backlog
	if b == nil {
		return s.next, at
	}
	for len(b.cuts) > 0 && b.cuts[0].end <= s.next {
		b.cuts = b.cuts[1:]
	}
	if len(b.cuts) == 0 {
		b.cuts = nil
		return s.next, at
	}
	if b.cuts[0].offset > s.next {
		return s.next, at
	}
	to, at = b.cuts[0].end, b.cuts[0].at
	if len(b.pending) > 0 {
		to = min(to, b.pending[0].offset)
	}
	return to, at
}

// ready returns the frame of what can be delivered next. A FIN comes after all else, so it has no time of its own.
func (s *stream) ready() (at pcap.Ref, ok bool) {
	if s.state != started {
		return at, false
	}
	if pending := s.pending(); len(pending) > 0 && pending[0].offset == s.next {
		return pending[0].at, true
	}
	if to, cutAt := s.cutAt(); to > s.next {
		return cutAt, true
	}
	return pcap.Ref{Time: math.MaxInt64}, s.finSeen && !s.finished && s.next == s.fin
}

// shift moves all that a held stream has by delta.
func (s *stream) shift(delta StreamOffset) {
	for i := range s.backlog.pending {
		s.backlog.pending[i].offset += delta
	}
	for i := range s.backlog.cuts {
		s.backlog.cuts[i].offset += delta
		s.backlog.cuts[i].end += delta
	}
	s.top += delta
	s.fin += delta
}
