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
	d     *Decoder // whose buffered counts buf
	buf   []byte
	start reassembly.StreamOffset // of buf[0]
	marks []mark                  // ascending
	scan  int                     // index of the first candidate that was not looked at, or of the one believed
	open  []int                   // candidates before scan that may become messages with more bytes, ascending
	gone  int64                   // bytes ruled out and dropped
}

// maxOpen bounds the candidates of one window that wait for more bytes. Few bytes look like the head of a long message.
const maxOpen = 16

// mark says which frame held the bytes from an index on.
type mark struct {
	from  int
	at    pcap.Ref
	inner bool
}

// add appends a copy of the bytes of a chunk. It returns false where memory does not allow it: all bytes are ruled out then.
func (w *window) add(ch chunk) bool {
	if w.d.buffered+int64(len(ch.data)) > w.d.limits.MaxBuffered {
		w.forget()
		w.gone += int64(len(ch.data))
		return false
	}
	w.d.buffered += int64(len(ch.data))
	if len(w.buf) == 0 {
		w.start = ch.offset
	}
	w.marks = append(w.marks, mark{len(w.buf), ch.at, ch.inner})
	w.buf = append(w.buf, ch.data...)
	return true
}

// release gives up the account of the bytes. The window is not used afterwards, except for its chunks.
func (w *window) release() { w.d.buffered -= int64(len(w.buf)) }

// drop forgets the bytes that are ruled out, but for the last keep of them.
func (w *window) drop(keep int) {
	n := w.scan
	if len(w.open) > 0 {
		n = w.open[0]
	}
	n -= keep
	if n <= 0 {
		return
	}
	for i := range w.open {
		w.open[i] -= n
	}
	w.d.buffered -= int64(n)
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
	w.scan, w.open = len(w.buf), w.open[:0]
	w.drop(0)
}

// sift looks for a message: first among the candidates that waited for more bytes, then among those not looked at. It
// returns true with scan at the one that is believed. A candidate waits while it has fewer than limit bytes behind it; others
// may overtake it, for a long message that is none must not hide those in it.
func (w *window) sift(limit int, judge func(p int) verdict) bool {
	waiting := w.open[:0]
	for _, p := range w.open {
		switch v := judge(p); {
		case v == yes:
			w.scan = p
			return true
		case v != no && len(w.buf)-p < limit:
			waiting = append(waiting, p)
		}
	}
	w.open = waiting
	top := byte(min(w.d.limits.MaxMessage>>24, 0x7f)) // the first byte of no length prefix is above it
	for ; len(w.buf)-w.scan >= candidateSize || limit == 0 && w.scan < len(w.buf); w.scan++ {
		if w.buf[w.scan] > top {
			continue
		}
		switch v := judge(w.scan); {
		case v == yes:
			return true
		case v != no && len(w.buf)-w.scan < limit:
			if len(w.open) == maxOpen {
				w.open = append(w.open[:0], w.open[1:]...)
			}
			w.open = append(w.open, w.scan)
		}
	}
	return false
}

// candidateSize is the least that is looked at: a length prefix and a correlation id.
const candidateSize = prefixSize + answerHeaderMin

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

// chunks adds the bytes from p on to list as they came. They are parts of the window.
func (w *window) chunks(list []chunk, p int) []chunk {
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
		s.push(&rest)
		ch.data = ch.data[:seekPiece]
	}
	if !s.seek.add(ch) {
		s.c.note(CodeMessageTooLarge, ch.at, "", 1)
	}
	s.next = ch.offset + reassembly.StreamOffset(len(ch.data))
	s.scan(false)
}

// scan looks for a believable message in the window and gets in step with it. final says that nothing can be added to what
// is there.
func (s *stream) scan(final bool) {
	w, limit := s.seek, seekWindow
	if final {
		limit = 0
	}
	if !w.sift(limit, func(p int) verdict { return s.judge(w, p, final) }) {
		w.drop(0)
		return
	}
	s.seek = nil
	w.release()
	chunks := w.chunks(nil, w.scan)
	s.found(w, chunks[len(chunks)-1].at)
	slices.Reverse(chunks)
	s.c.d.work = append(s.c.d.work, chunks...)
}

// found reports the bytes that were given up before the stream is in step again, or ends.
func (s *stream) found(w *window, at pcap.Ref) {
	if lost := w.gone + int64(w.scan); lost > 0 {
		s.hidden(at, at, lost, CodeOutOfStep)
	}
}

// judge says whether a message begins at an index of the window.
func (s *stream) judge(w *window, p int, final bool) verdict {
	data := w.buf[p:]
	if len(data) < candidateSize {
		return no
	}
	if _, ok := s.measure(data); !ok {
		return no
	}
	if s.role == fromClient {
		return judgeRequest(data, &s.c.clientID, w.place(p), final)
	}
	return s.judgeAnswer(w, p, final)
}

// answerHeaderMin is the correlation id, which every answer has.
const answerHeaderMin = 4

// judgeAnswer believes in an answer that a request waits for and that is what was asked for, and in one that nothing but a
// Produce or Fetch answer can be.
func (s *stream) judgeAnswer(w *window, p int, final bool) verdict {
	data := w.buf[p:]
	size := int(int32(binary.BigEndian.Uint32(data)))
	if size < answerHeaderMin {
		return no // a server's raw SASL token may be so short; nothing shows that it is one
	}
	body := data[prefixSize:min(len(data), prefixSize+size)]
	whole := len(body) == size
	correlation := int32(binary.BigEndian.Uint32(body))
	i := s.c.answers.find(correlation)
	if i < 0 {
		if w.place(p) == anywhere {
			return no
		}
		if whole && s.c.mayBeOlder(correlation) && w.fills(p, prefixSize+size) {
			return yes
		}
		v := judgeShape(body, size)
		return unless(v == more && (final || len(body) >= guessWindow), v)
	}
	q := &s.c.answers.waiting[i]
	if isAnswer(body, size, q.APIKey, q.APIVersion) {
		return yes
	}
	if !whole {
		return unless(final || size > seekWindow, more)
	}
	if !knownVersion(q.APIKey, q.APIVersion) && w.fills(p, prefixSize+size) {
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
