package reassembly

import "encoding/binary"

// PPP protocol numbers (RFC 1661; IANA).
const (
	pppIPv4 = 0x0021
	pppIPv6 = 0x0057
	pppMPLS = 0x0281
)

// ppp decodes a PPP frame, with or without the HDLC address and control bytes, and with a protocol field of one or two
// bytes (RFC 1661, section 6.5: a first byte that is odd is the whole field).
func (d *Decoder) ppp(p packet) {
	if len(p.data) >= 2 && p.data[0] == 0xff && p.data[1] == 3 {
		p = p.after(2)
	}
	if !d.has(p, 2) {
		return
	}
	protocol, n := binary.BigEndian.Uint16(p.data), 2
	if p.data[0]&1 == 1 {
		protocol, n = uint16(p.data[0]), 1
	}
	switch p = p.after(n); protocol {
	case pppIPv4:
		d.ip4(p)
	case pppIPv6:
		d.ip6(p)
	case pppMPLS:
		d.mpls(p)
	}
}

// pppoe decodes a PPPoE session packet (RFC 2516). Its length field is not used: IP has one, and this one is too small
// for super packets.
func (d *Decoder) pppoe(p packet) {
	if d.has(p, 6) && p.data[0] == 0x11 && p.data[1] == 0 {
		d.ppp(p.after(6))
	}
}

// ciscoHDLC decodes Cisco HDLC: address, control, EtherType.
func (d *Decoder) ciscoHDLC(p packet) {
	if d.has(p, 4) {
		d.etherType(binary.BigEndian.Uint16(p.data[2:]), p.after(4))
	}
}
