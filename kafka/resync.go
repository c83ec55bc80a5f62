package kafka

import (
	"encoding/binary"
	"slices"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
)

const (
	// seekWindow is how many bytes wait for one candidate to become whole before it is given up: a Metadata answer of some
	// thousand partitions. Produce requests and Fetch answers tell by their first hundred bytes.
	seekWindow = 256 << 10
	// seekPiece is how much is added to a window at a time. What lies behind a message that is found is copied again when
	// step is lost again, so the pieces bound what hostile bytes can make of that.
	seekPiece = 4 << 10
)

// window holds the bytes in which a message is sought, with the frames they came in.
type window struct {
	buf   []byte
	start reassembly.StreamOffset // of buf[0]
	marks []mark                  // ascending
	scan  int                     // index of the first candidate that is not ruled out
	gone  int64                   // bytes ruled out and dropped
}

// mark says which frame held the bytes from an index on.
type mark struct {
	from  int
	at    pcap.Ref
	inner bool
}

// add appends a copy of the bytes of a chunk.
func (w *window) add(ch chunk) {
	if len(w.buf) == 0 {
		w.start = ch.offset
	}
	w.marks = append(w.marks, mark{len(w.buf), ch.at, ch.inner})
	w.buf = append(w.buf, ch.data...)
}

// drop forgets the bytes that are ruled out, but for the last keep of them.
func (w *window) drop(keep int) {
	n := w.scan - keep
	if n <= 0 {
		return
	}
	w.gone += int64(n)
	w.start += reassembly.StreamOffset(n)
	w.buf = append(w.buf[:0], w.buf[n:]...)
	w.scan -= n
	first, exact := w.mark(n)
	w.marks = append(w.marks[:0], w.marks[first:]...)
	for i := range w.marks {
		w.marks[i].from -= n
	}
	if len(w.buf) == 0 {
		w.marks = w.marks[:0]
	} else if !exact {
		w.marks[0].from, w.marks[0].inner = 0, true
	}
}

// forget rules out all bytes.
func (w *window) forget() {
	w.scan = len(w.buf)
	w.drop(0)
}

// mark returns the index of the mark that covers the byte at p, and whether it begins there.
func (w *window) mark(p int) (int, bool) {
	i, found := slices.BinarySearchFunc(w.marks, p, func(m mark, p int) int { return m.from - p })
	if !found {
		i--
	}
	return i, found
}

// place says whether a Data event began with the byte at p: messages often do.
func (w *window) place(p int) place {
	if i, found := w.mark(p); found && !w.marks[i].inner {
		return eventStart
	}
	return anywhere
}

// fills reports whether n bytes at p are all of one Data event: a length prefix that says so is right, whatever it counts.
func (w *window) fills(p, n int) bool {
	i, found := w.mark(p)
	if !found || w.marks[i].inner {
		return false
	}
	if i+1 < len(w.marks) {
		return w.marks[i+1].from == p+n && !w.marks[i+1].inner
	}
	return len(w.buf) == p+n
}

// chunks returns the bytes from p on as they came. They are parts of the window.
func (w *window) chunks(p int) []chunk {
	var list []chunk
	i, _ := w.mark(p)
	for ; i >= 0 && i < len(w.marks) && p < len(w.buf); i++ {
		end := len(w.buf)
		if i+1 < len(w.marks) {
			end = w.marks[i+1].from
		}
		m := w.marks[i]
		list = append(list, chunk{w.buf[p:end], w.start + reassembly.StreamOffset(p), m.at, m.inner || p > m.from})
		p = end
	}
	return list
}

// search takes bytes while out of step.
func (s *stream) search(ch chunk) {
	if len(ch.data) > seekPiece {
		rest := ch
		rest.advance(seekPiece)
		s.push(rest)
		ch.data = ch.data[:seekPiece]
	}
	s.seek.add(ch)
	s.next = ch.offset + reassembly.StreamOffset(len(ch.data))
	s.scan(false)
}

// scan looks for a believable message in the window and gets in step with it. final says that nothing can be added to what
// is there.
func (s *stream) scan(final bool) {
	w := s.seek
	for ; w.scan < len(w.buf); w.scan++ {
		v := s.judge(w.buf[w.scan:], w, final)
		if v == yes {
			s.seek = nil
			chunks := w.chunks(w.scan)
			s.found(w, chunks[len(chunks)-1].at)
			slices.Reverse(chunks)
			s.work = append(s.work, chunks...)
			return
		}
		if (v == more || v == weak) && !final && len(w.buf)-w.scan < seekWindow {
			break
		}
	}
	w.drop(0)
}

// found reports the bytes that were given up before the stream is in step again, or ends.
func (s *stream) found(w *window, at pcap.Ref) {
	if lost := w.gone + int64(w.scan); lost > 0 {
		s.hidden(at, at, lost, CodeOutOfStep)
	}
}

// judge says whether a message begins at the candidate of the window, with which data begins.
func (s *stream) judge(data []byte, w *window, final bool) verdict {
	if len(data) < prefixSize+answerHeaderMin {
		return unless(final, more)
	}
	if _, ok := s.measure(data); !ok {
		return no
	}
	if s.role == fromClient {
		return judgeRequest(data, &s.c.clientID, w.place(w.scan), final)
	}
	return s.judgeAnswer(data, w, final)
}

// answerHeaderMin is the correlation id, which every answer has.
const answerHeaderMin = 4

// judgeAnswer believes in an answer that a request waits for and that is what was asked for, and in one that nothing but a
// Produce or Fetch answer can be.
func (s *stream) judgeAnswer(data []byte, w *window, final bool) verdict {
	size := int(int32(binary.BigEndian.Uint32(data)))
	body := data[prefixSize:min(len(data), prefixSize+size)]
	whole := len(body) == size
	correlation := int32(binary.BigEndian.Uint32(body))
	i := s.c.answers.find(correlation)
	if i < 0 {
		if w.place(w.scan) == anywhere {
			return no
		}
		if whole && s.c.mayBeOlder(correlation) && w.fills(w.scan, prefixSize+size) {
			return yes
		}
		v := judgeShape(body, size)
		return unless(v == more && (final || len(body) >= guessWindow), v)
	}
	p := &s.c.answers.waiting[i]
	if isAnswer(body, size, p.APIKey, p.APIVersion) {
		return yes
	}
	if !whole {
		return unless(final || size > seekWindow, more)
	}
	if !knownVersion(p.APIKey, p.APIVersion) && w.fills(w.scan, prefixSize+size) {
		return yes
	}
	return no
}

// mayBeOlder reports whether a correlation id can be that of a request shortly before those that were seen: clients count.
func (c *conn) mayBeOlder(correlation int32) bool {
	const shortly = 1000 // far more than are in flight
	before := int64(c.answers.latest) - int64(correlation)
	return c.clientID.known && before >= 0 && before <= shortly
}
