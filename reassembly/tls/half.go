package tls

import (
	"fmt"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
)

// half decrypts one direction of a connection.
type half struct {
	c        *conn
	dir      reassembly.Direction
	keys     chain
	sealed   bool // TLS 1.2: ChangeCipherSpec was seen, so records are encrypted
	dead     bool // nothing more can be decrypted
	renewing bool // TLS 1.2: the keys of a renegotiation are due
	seq      uint64
	head     header // of the record that is being opened; kept here since it would be allocated each time
	opened   bool   // a record was decrypted
	initial  bool   // TLS 1.3: the key is that of the handshake
	early    *early // TLS 1.3: early data may come; nil: not, or no more

	pending  []byte // of the record in progress, or in which a record is sought
	skip     int64  // bytes left of a record of which bytes are missing
	seeking  bool   // where the next record begins is not known
	loss     loss
	messages messages
	tries    int // openings that may still fail

	plain reassembly.StreamOffset // of the plaintext that comes next
	acks  acks
}

// loss is what has been lost since the last record that was decrypted.
type loss struct {
	records int64 // whose borders are known
	content int64 // the plaintext of these, estimated
	unknown int64 // bytes of records whose borders are not known
	noted   bool
}

// data takes ciphertext.
func (h *half) data(e *reassembly.Event) {
	buf := e.Data
	if len(h.pending) > 0 {
		h.grow(len(e.Data))
		h.pending = append(h.pending, e.Data...)
		buf = h.pending
	}
	end := e.Offset + reassembly.StreamOffset(len(e.Data))
	h.tries = min(h.tries+len(e.Data)/bytesPerTry, maxTries)
	for len(buf) > 0 {
		n := h.step(buf, end-reassembly.StreamOffset(len(buf)), e.At)
		if n == 0 {
			break
		}
		buf = buf[n:]
	}
	h.keep(buf, e.At)
	h.acknowledge(e.At)
}

// step works on the first bytes of buf, which is at offset, and returns how many are done with: 0 if more are needed.
func (h *half) step(buf []byte, offset reassembly.StreamOffset, at pcap.Ref) int {
	switch {
	case h.skip > 0:
		n := int(min(h.skip, int64(len(buf))))
		h.skip -= int64(n)
		return n
	case h.seeking:
		return h.seek(buf, offset, at)
	}
	head, ok := headerOf(buf)
	if !ok {
		if len(buf) < headerSize && mayBeRecord(buf) {
			return 0
		}
		h.note(CodeBroken, at, "")
		h.seeking = true
		return h.seek(buf, offset, at)
	}
	n := headerSize + head.size()
	if len(buf) < n {
		return 0
	}
	h.record(&head, buf[headerSize:n], offset+reassembly.StreamOffset(n), at)
	return n
}

// keep stores what is left of a buffer that is that of pending or of an event.
func (h *half) keep(rest []byte, at pcap.Ref) {
	d := h.c.d
	before := len(h.pending)
	if len(rest) == 0 {
		d.release(h.pending)
		h.pending = nil
	} else {
		if h.pending == nil {
			h.pending = d.buffer()
		}
		h.pending = append(h.pending[:0], rest...) // rest may be its own end
	}
	d.buffered += len(h.pending) - before
	if d.buffered > d.limits.BufferedBytes && len(h.pending) > 0 {
		h.c.note(CodeBufferLimit, at, "a record in progress")
		h.gap(&reassembly.Event{At: at})
	}
}

// grow accounts for bytes that are added to pending.
func (h *half) grow(n int) { h.c.d.buffered += n }

// gap takes the news that bytes are missing.
func (h *half) gap(e *reassembly.Event) {
	missing := e.Length
	if h.skip > 0 && missing <= h.skip {
		h.skip -= missing
		return
	}
	if head, ok := headerOf(h.pending); ok && !h.seeking && h.skip == 0 {
		if rest := int64(headerSize + head.size() - len(h.pending)); missing <= rest {
			h.lost(&head, e.At)
			h.skip = rest - missing
			h.keep(nil, e.At)
			return
		}
	}
	h.loss.unknown += int64(len(h.pending)) + missing - h.skip
	h.noteLoss(e.At)
	h.skip, h.seeking = 0, true
	h.messages.blind = true
	h.keep(nil, e.At)
}

// lost counts a record whose header was seen and whose body is not whole.
func (h *half) lost(head *header, at pcap.Ref) {
	if !h.encrypted(head) {
		return // of the handshake
	}
	h.loss.records++
	h.loss.content += int64(h.content(head.size()))
	h.messages.blind = true
	h.noteLoss(at)
}

// content returns how much content a record of a size has, or 0 while the handshake goes on.
func (h *half) content(size int) int { return max(0, size-h.keys.overhead()) }

func (h *half) noteLoss(at pcap.Ref) {
	if !h.loss.noted {
		h.loss.noted = true
		h.note(CodeRecordLost, at, "")
	}
}

// encrypted reports whether the record with the header is encrypted. In TLS 1.2 application data always is: if the
// ChangeCipherSpec before it was not seen, it was lost.
func (h *half) encrypted(head *header) bool {
	if h.keys.suite.tls13 {
		return head.kind() == typeApplicationData
	}
	if head.kind() == typeApplicationData {
		h.sealed = true
	}
	return h.sealed
}

// record takes a whole record; end is the offset behind it.
func (h *half) record(head *header, body []byte, end reassembly.StreamOffset, at pcap.Ref) {
	if !h.encrypted(head) {
		if head.kind() == typeChangeCipherSpec && !h.keys.suite.tls13 {
			h.sealed = true
		}
		return
	}
	if h.early != nil && h.opensEarly(head, body, end, at) {
		return
	}
	var content []byte
	var kind byte
	ok := false
	if h.renewing {
		h.renew(at)
	}
	if !h.dead && !h.renewing {
		content, kind, ok = h.open(head, body)
	}
	if !ok {
		h.bad(head, at)
		return
	}
	h.opens(content, kind, end, at)
}

// bad counts a whole record that no key opens. While the handshake goes on, it may be one whose key is not known.
func (h *half) bad(head *header, at pcap.Ref) {
	h.loss.records++
	h.messages.blind = true
	if h.early != nil {
		h.early.hidden(h, at)
	}
	if h.initial || !h.opened {
		return
	}
	h.loss.content += int64(h.content(head.size()))
	if !h.loss.noted && !h.dead && !h.renewing {
		h.loss.noted = true
		h.note(CodeRecordBad, at, "")
	}
}

// opens takes the content of a record that was decrypted.
func (h *half) opens(content []byte, kind byte, end reassembly.StreamOffset, at pcap.Ref) {
	h.opened = true
	h.c.commit(at)
	h.flush(at)
	switch kind {
	case typeApplicationData:
		if !h.keys.suite.tls13 {
			h.messages.resume() // no message is in progress
		}
		h.deliver(content, end, at)
	case typeHandshake:
		if !h.keys.suite.tls13 && h.messages.blind && wholeHello(content) {
			h.messages.resume() // what was lost was no part of it
		}
		h.messages.take(content, h.message)
	case typeChangeCipherSpec:
		h.seq, h.renewing = 0, true
	}
}

// message takes a handshake message of an encrypted record.
func (h *half) message(kind byte, body []byte) {
	switch {
	case !h.keys.suite.tls13:
		h.c.renewal.message(kind, body)
	case h.initial && kind == finished, !h.initial && kind == keyUpdate && h.keys.next != nil:
		h.advance(0)
	}
}

// advance goes on to the next key, of which seq records are done with.
func (h *half) advance(seq uint64) {
	h.keys.advance()
	h.seq, h.initial = seq, false
}

// deliver emits plaintext.
func (h *half) deliver(content []byte, end reassembly.StreamOffset, at pcap.Ref) {
	if len(content) == 0 {
		return
	}
	h.c.emit(reassembly.Event{Kind: reassembly.Data, Dir: h.dir, Offset: h.plain, Length: int64(len(content)), Data: content, At: at})
	h.plain += reassembly.StreamOffset(len(content))
	h.acks.add(end, h.plain)
}

// flush emits what was lost as a gap.
func (h *half) flush(at pcap.Ref) {
	lost := h.loss.content
	h.loss = loss{}
	if lost <= 0 {
		return
	}
	h.c.emit(reassembly.Event{Kind: reassembly.Gap, Dir: h.dir, Offset: h.plain, Length: lost, At: at, Gap: reassembly.Lost})
	h.plain += reassembly.StreamOffset(lost)
}

// finish ends the direction. A record in progress has never been read by the receiver, so it is no loss.
func (h *half) finish(at pcap.Ref) {
	if h.seeking {
		h.loss.unknown += int64(len(h.pending))
		h.settle(h.loss.records + h.fewest())
	}
	h.seeking, h.skip = false, 0
	h.keep(nil, at)
	h.flush(at)
}

// settle turns bytes of unknown records into an estimate of their content, given how many records were lost in all.
// Padding is not known: less of it makes the gap longer, so that the reader behind it looks for a border rather than
// trusts one too far on.
func (h *half) settle(records int64) {
	unknown := max(0, records-h.loss.records)
	if unknown > 0 {
		h.loss.content += max(0, h.loss.unknown-unknown*int64(headerSize+h.keys.overhead()))
	}
	h.loss.records, h.loss.unknown = records, 0
}

// fewest returns how many records the unknown bytes hold at least.
func (h *half) fewest() int64 {
	return (h.loss.unknown + headerSize + maxBody - 1) / (headerSize + maxBody)
}

// acknowledge emits how far the plaintext has been acknowledged, if that has changed.
func (h *half) acknowledge(at pcap.Ref) {
	if offset, ok := h.acks.reached(); ok {
		h.c.emit(reassembly.Event{Kind: reassembly.Ack, Dir: h.dir, Offset: offset, At: at})
	}
}

func (h *half) note(code pcap.Code, at pcap.Ref, detail string) {
	if detail == "" {
		detail = fmt.Sprintf("sent by %v", h.c.endpoint(h.dir))
	}
	h.c.note(code, at, detail)
}
