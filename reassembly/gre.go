package reassembly

import "encoding/binary"

// Bits of the first 16 of a GRE header (RFC 2784, 2890; version 1: RFC 2637).
const (
	greChecksum = 0x8000
	greRouting  = 0x4000
	greKey      = 0x2000
	greSequence = 0x1000
	greAck      = 0x0080
	greVersion  = 0x0007
)

// gre decodes GRE and what is built on it: NVGRE and transparent Ethernet, ERSPAN, PPTP, WCCP.
func (d *Decoder) gre(p packet) {
	if !d.has(p, 4) {
		return
	}
	flags := binary.BigEndian.Uint16(p.data)
	protocol := binary.BigEndian.Uint16(p.data[2:])
	size := 4
	for _, bit := range [...]uint16{greChecksum, greKey, greSequence, greAck} {
		if flags&bit != 0 {
			size += 4
		}
	}
	if flags&greRouting != 0 || flags&greVersion > 1 {
		d.report(CodeMalformed, "GRE with source routing or an unknown version")
		return
	}
	if !d.has(p, size) {
		return
	}
	p = p.after(size)
	switch protocol {
	case etherERSPAN:
		if flags&greSequence == 0 {
			d.ethernet(p) // type I has no header of its own
		} else if d.has(p, 8) {
			d.ethernet(p.after(8)) // type II
		}
	case etherERSPAN3:
		d.erspan3(p)
	case etherPPP:
		d.ppp(p)
	case etherWCCP:
		// WCCPv2 puts four bytes before the packet, version 1 none. They never look like the first byte of IPv4.
		if d.has(p, 4) && p.data[0]>>4 != 4 {
			p = p.after(4)
		}
		d.ip4(p)
	default:
		d.tunnelType(protocol, p)
	}
}

// erspan3 decodes ERSPAN type III (draft-foschiano-erspan, section 4.3): 12 bytes, of which the last two say what is
// inside and whether 8 bytes for the platform follow.
func (d *Decoder) erspan3(p packet) {
	if !d.has(p, 12) {
		return
	}
	size, inner := 12, p.data[10]>>2&0x1f
	if p.data[11]&1 != 0 {
		size = 20
	}
	if !d.has(p, size) {
		return
	}
	switch p = p.after(size); inner {
	case 0:
		d.ethernet(p)
	case 2:
		d.ip(p)
	}
}
