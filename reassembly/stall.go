package reassembly

import "github.com/kdupscan/kdupscan/pcap"

// A stream stalls where the byte at next is not there although later ones are. Whether it was lost or will come is
// never certain from one frame: data or an acknowledgement from the other side may stand before it in the capture just
// because two frames were swapped. So evidence has to last for a while (reorderSegments, reorderTime, lossTimeout).

// stallKind says what a stalled stream waits for.
type stallKind uint8

const (
	flowing      stallKind = iota // nothing is missing
	starting                      // a segment before the first one seen
	acknowledged                  // a piece that the receiver has: it was not captured, or will come at once
	unconfirmed                   // a piece that nobody has acknowledged: the sender may repeat it
)

// stall is the evidence so far.
type stall struct {
	kind     stallKind
	next, to StreamOffset // of the stream when it began; what lies between is given up together
	since    pcap.Timestamp
	segments int // of the connection since
}

// missing returns what the stream waits for, and the offset up to which. After a reset nothing is repeated, so what has
// not come is as good as acknowledged.
func (s *stream) missing(reset bool) (kind stallKind, to StreamOffset) {
	if s.state == held {
		return starting, 0
	}
	if end := s.end(); end > s.next {
		if acked := min(s.acked, end); acked > s.next {
			return acknowledged, acked
		}
		if reset {
			return acknowledged, end
		}
		return unconfirmed, end
	}
	return flowing, 0
}

// stalled reports whether the stream waits for something.
func (s *stream) stalled() bool { return s.backlog != nil && s.backlog.stall.kind != flowing }

// flows ends the wait. What is not needed any more is let go.
func (s *stream) flows() {
	b := s.backlog
	if b == nil {
		return
	}
	b.stall.kind = flowing
	if s.state == started && !s.ackSeen && !b.stray.seen && len(b.pending) == 0 && len(b.cuts) == 0 {
		s.backlog = nil
	}
}

// observe takes note of one more segment of the connection, at the time now, and reports whether the stream has waited
// long enough. Progress starts the wait anew, so a stray segment far ahead cannot end it while the stream flows.
func (s *stream) observe(reset bool, now pcap.Timestamp) (over bool) {
	kind, to := s.missing(reset)
	if kind == flowing {
		s.flows()
		return false
	}
	w := &s.lag().stall
	if w.kind != kind || w.next != s.next {
		*w = stall{kind: kind, next: s.next, to: to, since: now}
		return false
	}
	w.segments++
	waited := now - w.since
	if kind == unconfirmed {
		return waited >= lossTimeout
	}
	return w.segments >= reorderSegments || waited >= reorderTime
}
