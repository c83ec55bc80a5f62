package pcap

import (
	"container/heap"
	"io"
)

// firstTimer is a Source that knows the time of its first packet without being read.
type firstTimer interface {
	// firstTime returns false if there is no packet at all.
	firstTime() (Timestamp, bool)
}

// merged gives the packets of several sources in order of time. Packets of equal time come in the order of the sources,
// those of one source in its own order, even where its times go back. The captures are those of the sources in order, and
// Frame.Capture counts over all of them.
//
// No source is read before it is needed: one that knows the time of its first packet waits until its turn.
//
// It holds a heap of the sources' next packets. The packet handed out last stays on top until the next call, since its
// bytes are valid only as long as its source is not read.
type merged struct {
	sources []Source
	heads   heads
	handed  bool // the top of the heap has been handed out
	err     error
}

// head is the next packet of one source; of its frame only the time is known until the source is read.
type head struct {
	Frame
	source Source
	order  int // among the sources
	first  int // index of the source's first capture
	read   bool
}

func newMerged(sources []Source) *merged {
	m := &merged{sources: sources}
	captures := 0
	for i, s := range sources {
		h := &head{source: s, order: i, first: captures}
		captures += len(s.Captures())
		if t, ok := s.(firstTimer); ok {
			var any bool
			if h.Time, any = t.firstTime(); !any {
				continue
			}
		} else {
			h.Time = minTime
		}
		m.heads = append(m.heads, h)
	}
	heap.Init(&m.heads)
	return m
}

// minTime puts sources of unknown time first, so that they are read at once.
const minTime Timestamp = -1 << 63

func (m *merged) Next(f *Frame) error {
	if len(m.sources) == 1 { // nothing to be merged
		return m.sources[0].Next(f)
	}
	if m.err != nil {
		return m.err
	}
	if m.handed {
		m.heads[0].read = false
		m.handed = false
		m.advance()
	}
	for len(m.heads) > 0 && m.err == nil {
		top := m.heads[0]
		if top.read {
			*f = top.Frame
			f.Capture += top.first
			m.handed = true
			return nil
		}
		m.advance()
	}
	if m.err == nil {
		m.err = io.EOF
	}
	return m.err
}

// advance reads the source on top and puts it where it belongs now.
func (m *merged) advance() {
	top := m.heads[0]
	switch err := top.source.Next(&top.Frame); err {
	case nil:
		top.read = true
		heap.Fix(&m.heads, 0)
	case io.EOF:
		heap.Pop(&m.heads)
	default:
		m.err = err
	}
}

func (m *merged) Captures() []Capture {
	var all []Capture
	for _, s := range m.sources {
		all = append(all, s.Captures()...)
	}
	return all
}

type heads []*head

func (h heads) Len() int { return len(h) }

func (h heads) Less(i, j int) bool {
	if h[i].Time != h[j].Time {
		return h[i].Time < h[j].Time
	}
	return h[i].order < h[j].order
}

func (h heads) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

func (h *heads) Push(x any) { *h = append(*h, x.(*head)) }

func (h *heads) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return x
}
