package kafka

import (
	"encoding/binary"
	"slices"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
)

// prefixSize is the length prefix of a message: an int32 that does not count itself.
const prefixSize = 4

// stream cuts one direction of a connection into messages. A message that one Data event holds whole is read in place;
// others are collected.
type stream struct {
	c    *conn
	role int                     // fromClient or fromServer
	next reassembly.StreamOffset // of the first byte that was not taken yet
	seek *window                 // not nil: out of step
	part *partial                // the message in progress; nil: none
}

// partial is a message of which not all bytes have gone by.
type partial struct {
	got         int64 // bytes gone by, missing ones included; not 0
	length      int64 // of the message with its prefix, 0 while the prefix is incomplete
	start       reassembly.StreamOffset
	first, last pcap.Ref
	kept        []byte // its bytes from the prefix to the first hole
	holed       bool
}

// chunk is a run of bytes of one frame.
type chunk struct {
	data   []byte
	offset reassembly.StreamOffset
	at     pcap.Ref
	inner  bool // it does not begin where a Data event begins
}

// data takes the bytes of one event.
func (s *stream) data(offset reassembly.StreamOffset, data []byte, at pcap.Ref) {
	ch := chunk{data: data, offset: offset, at: at}
	s.step(&ch)
	s.take()
}

// take works through chunks, the last one first. Losing step and finding it again push back bytes that were taken before.
func (s *stream) take(chunks ...chunk) {
	d := s.c.d
	d.work = append(d.work, chunks...)
	for n := len(d.work); n > 0; n = len(d.work) {
		ch := d.work[n-1]
		d.work[n-1] = chunk{}
		d.work = d.work[:n-1]
		s.step(&ch)
	}
}

// step takes a chunk, and puts back what it does not need yet.
func (s *stream) step(ch *chunk) {
	s.next = ch.offset
	if s.seek != nil {
		s.search(*ch)
	} else {
		s.frame(ch)
	}
}

// push puts bytes back to be taken next.
func (s *stream) push(ch *chunk) {
	if len(ch.data) > 0 {
		s.c.d.work = append(s.c.d.work, *ch)
	}
}

// frame takes bytes in step.
func (s *stream) frame(ch *chunk) {
	for len(ch.data) > 0 && s.seek == nil {
		if s.part != nil || len(ch.data) < prefixSize {
			s.collect(ch)
			continue
		}
		n, ok := s.measure(ch.data)
		if !ok {
			s.seek = &window{d: s.c.d}
			break
		}
		if n > int64(len(ch.data)) {
			s.collect(ch)
			continue
		}
		m := message{first: ch.at, at: ch.at, start: ch.offset, data: ch.data[prefixSize:n:n], size: int(n - prefixSize)}
		ch.advance(int(n))
		s.next = ch.offset
		s.deliver(&m)
	}
	s.push(ch)
}

// advance drops the first n bytes.
func (ch *chunk) advance(n int) {
	ch.data = ch.data[n:]
	ch.offset += reassembly.StreamOffset(n)
	ch.inner = ch.inner || n > 0
}

// lose goes out of step at the beginning of what was collected: no message can begin there.
func (s *stream) lose() {
	s.seek = &window{d: s.c.d}
	p := s.part
	s.part = nil
	s.c.d.buffered -= int64(len(p.kept)) // the window counts them now
	if s.seek.add(chunk{data: p.kept, offset: p.start, at: p.first}) {
		s.seek.scan = 1
	}
	s.c.d.recycle(p)
}

// measure returns the length of the message that begins with data, its prefix included. It returns false if none can.
func (s *stream) measure(data []byte) (int64, bool) {
	size := int64(int32(binary.BigEndian.Uint32(data)))
	least := int64(s.c.leastSize(s.role))
	if size < least || size > int64(s.c.d.limits.MaxMessage) {
		return 0, false
	}
	if s.role == fromClient && !s.c.headerFits(data[prefixSize:], int(size)) {
		return 0, false
	}
	return prefixSize + size, true
}

// collect adds bytes to the message in progress, or begins one.
func (s *stream) collect(ch *chunk) {
	if s.part == nil {
		s.part = s.c.d.partial()
		s.part.start, s.part.first, s.part.last = ch.offset, ch.at, ch.at
	}
	p := s.part
	p.last = later(p.last, ch.at)
	n := int64(len(ch.data))
	if p.length == 0 {
		n = min(n, s.headerLeft())
	} else {
		n = min(n, p.length-p.got)
	}
	if !p.holed {
		s.keep(ch.data[:n])
	}
	p.got += n
	ch.advance(int(n))
	s.next = ch.offset
	if p.length == 0 && s.headerLeft() == 0 {
		length, ok := s.measure(p.kept)
		if !ok {
			s.lose()
			return
		}
		p.length = length
	}
	if p.got == p.length {
		s.finish(p.last, false)
	}
}

// headerLeft returns how many bytes of the message in progress are still needed to measure it: its prefix, and of a
// request so much of its header as tells that it is one.
func (s *stream) headerLeft() int64 {
	p, need := s.part, int64(prefixSize)
	if p.got >= prefixSize && s.role == fromClient {
		size := int64(int32(binary.BigEndian.Uint32(p.kept)))
		need += max(0, min(size, requestHeaderSize))
	}
	return max(0, need-p.got)
}

// keptGrowth is how much more room is made for a message than has come of it, at most: a length may be a lie.
const keptGrowth = 4

// keep collects bytes as far as memory allows.
func (s *stream) keep(data []byte) {
	d, p := s.c.d, s.part
	if p.length > 0 && d.buffered+int64(len(data)) > d.limits.MaxBuffered {
		p.holed = true
		s.c.note(CodeMessageTooLarge, p.last, "", 1)
		return
	}
	if n := len(p.kept) + len(data); n > cap(p.kept) {
		p.kept = slices.Grow(p.kept, max(n, min(int(p.length), keptGrowth*n))-len(p.kept))
	}
	p.kept = append(p.kept, data...)
	d.buffered += int64(len(data))
}

// finish delivers the message in progress, as far as it is there.
func (s *stream) finish(at pcap.Ref, torn bool) {
	p := s.part
	s.part = nil
	if p.length > 0 {
		m := message{first: p.first, at: at, start: p.start, data: p.kept[prefixSize:], size: int(p.length - prefixSize), torn: torn}
		s.deliver(&m)
	}
	s.c.d.buffered -= int64(len(p.kept))
	s.c.d.recycle(p)
}

// deliver gives a message to its half of the connection.
func (s *stream) deliver(m *message) {
	if s.role == fromServer {
		s.c.answer(m)
		return
	}
	if !s.c.request(m) {
		s.hidden(m.first, m.at, int64(prefixSize+m.size), CodeOutOfStep)
	}
}

// gap takes the news that bytes are missing.
func (s *stream) gap(offset reassembly.StreamOffset, length int64, at pcap.Ref) {
	if s.seek != nil {
		s.scan(true)
		s.take()
	}
	defer func() { s.next = offset + reassembly.StreamOffset(length) }()
	if p := s.part; s.seek == nil && p != nil && p.length > 0 && length <= p.length-p.got {
		s.c.d.emit(&GapSeen{Seen: s.at(at), FromClient: s.role == fromClient, Bytes: length})
		s.inside(at, length)
		return
	}
	if s.seek == nil {
		s.border(at)
	}
	s.seek.forget()
	s.hidden(at, at, length, CodeMessagesHidden)
}

// border takes a hole that covers the end of the message in progress, or the border between two messages.
func (s *stream) border(at pcap.Ref) {
	s.seek = &window{d: s.c.d}
	p := s.part
	if p == nil {
		return
	}
	if p.length == 0 {
		s.lose()
		return
	}
	if !p.holed {
		s.c.note(CodeMessageCut, at, "", 1)
	}
	s.finish(later(p.last, at), false)
}

// inside takes a hole in the message in progress, whose end is known.
func (s *stream) inside(at pcap.Ref, length int64) {
	p := s.part
	if !p.holed {
		p.holed = true
		s.c.note(CodeMessageCut, at, "", 1)
	}
	p.got += length
	if p.got == p.length {
		s.finish(later(p.last, at), false)
	}
}

// close ends the stream. torn says that nothing can follow.
func (s *stream) close(at pcap.Ref, torn bool) {
	if s.seek != nil {
		s.scan(true)
		s.take()
	}
	if s.seek != nil {
		s.seek.forget()
		s.found(s.seek, at)
	}
	p := s.part
	if p == nil {
		return
	}
	torn = torn && !p.holed
	if torn {
		s.c.note(CodeTornRequest, p.last, "", 1)
	}
	s.finish(p.last, torn) // what has come of it came by then
}

// at returns a place without extent.
func (s *stream) at(at pcap.Ref) Seen { return Seen{Link: s.c.link, First: at, At: at} }

// hidden reports bytes that may hide whole messages.
func (s *stream) hidden(first, at pcap.Ref, length int64, code pcap.Code) {
	s.c.d.emit(&GapSeen{Seen: Seen{Link: s.c.link, First: first, At: at}, FromClient: s.role == fromClient, Bytes: length, Hidden: true})
	s.c.note(code, at, "", 1)
}
