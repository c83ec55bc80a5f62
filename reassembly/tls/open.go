package tls

import (
	"encoding/binary"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
)

const (
	// maxAhead is how many sequence numbers beyond the expected ones are tried after a loss of unknown extent: a thousand
	// short records, or 16 MiB in long ones.
	maxAhead = 1024
	// maxTries and bytesPerTry bound the work of failed openings: so many at once, and one more for so many bytes. A loss
	// of the extent of maxAhead can be met every 256 KiB.
	maxTries    = 4 * maxAhead
	bytesPerTry = 256
)

// open decrypts a record at a known border. The sequence number is known too, unless records were lost or did not open:
// then it and the next key are tried.
func (h *half) open(head *header, body []byte) (content []byte, kind byte, ok bool) {
	n := h.loss.records
	if content, kind, ok = h.try(head, body, n); ok {
		return content, kind, true
	}
	if content, kind, ok = h.tryNext(head, body, 0); ok || n == 0 {
		return content, kind, ok
	}
	return h.search(head, body, 0, n)
}

// search tries the sequence numbers after so many lost records, and as many under the next key.
func (h *half) search(head *header, body []byte, least, most int64) (content []byte, kind byte, ok bool) {
	most = min(most, least+maxAhead)
	for n := least; n <= most; n++ {
		if content, kind, ok = h.try(head, body, n); ok {
			return content, kind, true
		}
	}
	for n := int64(0); n <= most-least; n++ {
		if content, kind, ok = h.tryNext(head, body, n); ok {
			return content, kind, true
		}
	}
	return nil, 0, false
}

// try opens a record under the present key, n records after the last one that was opened.
func (h *half) try(head *header, body []byte, n int64) (content []byte, kind byte, ok bool) {
	if h.keys.current == nil || h.tries <= 0 {
		return nil, 0, false
	}
	seq := h.seq + uint64(n)
	h.head = *head
	content, kind, ok = h.keys.current.open(h.c.d.scratch[:], &h.head, body, seq)
	if !ok {
		h.tries--
		return nil, 0, false
	}
	h.settle(n)
	h.seq = seq + 1
	return content, kind, true
}

// tryNext opens a record under the next key, of which n records were lost. If none were, what was lost before is of the
// handshake, where it ends with this key.
func (h *half) tryNext(head *header, body []byte, n int64) (content []byte, kind byte, ok bool) {
	if h.keys.next == nil || h.tries <= 0 {
		return nil, 0, false
	}
	h.head = *head
	content, kind, ok = h.keys.next.open(h.c.d.scratch[:], &h.head, body, uint64(n))
	if !ok {
		h.tries--
		return nil, 0, false
	}
	if h.initial && n == 0 {
		h.loss = loss{}
	}
	h.settle(max(n, h.fewest()))
	h.advance(uint64(n) + 1)
	return content, kind, true
}

// seek looks for a record in buf, which is at offset, and returns how many bytes are done with. Only a record that can be
// decrypted is believed.
func (h *half) seek(buf []byte, offset reassembly.StreamOffset, at pcap.Ref) int {
	for p := range buf {
		rest := buf[p:]
		if !mayBeSealed(rest) {
			continue
		}
		head, _ := headerOf(rest)
		n := headerSize + head.size()
		if len(rest) >= headerSize && (head.size() < h.keys.shortest() || head.size() > maxBody) {
			continue
		}
		if len(rest) < headerSize || len(rest) < n {
			h.loss.unknown += int64(p) // ruled out
			return p
		}
		h.loss.unknown += int64(p)
		if h.found(&head, rest[headerSize:n], offset+reassembly.StreamOffset(p+n), at) {
			return p + n
		}
		h.loss.unknown -= int64(p)
	}
	h.loss.unknown += int64(len(buf))
	return len(buf)
}

// mayBeSealed reports whether an encrypted record may begin with data, as far as it goes.
func mayBeSealed(data []byte) bool {
	return mayBeRecord(data) && (len(data) < 3 || data[2] == version12&0xff) && data[0] != typeChangeCipherSpec
}

// found takes the record at a candidate if it can be opened.
func (h *half) found(head *header, body []byte, end reassembly.StreamOffset, at pcap.Ref) bool {
	if h.renewing {
		h.renew(at)
	}
	if h.dead || h.renewing || !h.encrypted(head) {
		return false
	}
	known := h.loss.records
	least := known + h.fewest()
	most := known + h.loss.unknown/int64(headerSize+h.keys.shortest())
	content, kind, ok := []byte(nil), byte(0), false
	if n, hinted := h.hint(body); hinted && n >= uint64(least) && n <= uint64(most) {
		content, kind, ok = h.try(head, body, int64(n))
	}
	if !ok {
		content, kind, ok = h.search(head, body, least, most)
	}
	if !ok {
		return false
	}
	h.seeking = false
	h.opens(content, kind, end, at)
	return true
}

// hint guesses the number of lost records from the part of the nonce that a record of TLS 1.2 carries: most peers count.
func (h *half) hint(body []byte) (uint64, bool) {
	o, ok := h.keys.current.(*aeadOpener)
	if !ok || o.explicit == 0 || len(body) < explicitNonce || !h.opened {
		return 0, false
	}
	return binary.BigEndian.Uint64(body) - o.last - 1, true
}
