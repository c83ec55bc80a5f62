package reassembly

import (
	"encoding/binary"
	"net/netip"
)

// tcp decodes a TCP header (RFC 9293, section 3.1) and hands out the segment. The checksum is not looked at: in a
// capture of the sending host the card has not filled it in yet.
func (d *Decoder) tcp(p packet) {
	if !d.has(p, 20) {
		return
	}
	b := p.data
	header := int(b[12]>>4) * 4
	if header < 20 || header > p.wire {
		d.report(CodeMalformed, "TCP data offset")
		return
	}
	s := &d.segment
	s.Src = netip.AddrPortFrom(d.src, binary.BigEndian.Uint16(b))
	s.Dst = netip.AddrPortFrom(d.dst, binary.BigEndian.Uint16(b[2:]))
	s.Seq = binary.BigEndian.Uint32(b[4:])
	s.Ack = binary.BigEndian.Uint32(b[8:])
	s.Flags = b[13]
	s.Window = binary.BigEndian.Uint16(b[14:])
	s.Payload = b[min(header, len(b)):]
	s.Length = p.wire - header
	s.At = d.frame.Ref
	d.emit(s)
}
