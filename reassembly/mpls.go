package reassembly

import "encoding/binary"

// mpls pops the label stack (RFC 3032). What follows is not named: IP shows by its version, a zero nibble is most often the
// control word of a pseudowire (RFC 4448), and all else is taken for Ethernet without one.
func (d *Decoder) mpls(p packet) {
	for bottom := false; !bottom; p = p.after(4) {
		if !d.has(p, 4) {
			return
		}
		bottom = p.data[2]&1 != 0
	}
	if !d.has(p, 1) {
		return
	}
	switch p.data[0] >> 4 {
	case 4:
		d.ip4(p)
	case 6:
		d.ip6(p)
	case 0:
		// The control word is optional, and most addresses of network cards begin with a zero nibble too.
		if d.has(p, 4) && (carriesIP(p.data[4:]) || !carriesIP(p.data)) {
			p = p.after(4)
		}
		d.ethernet(p)
	default:
		d.ethernet(p)
	}
}

// carriesIP reports whether b looks like an Ethernet frame with IP, or with a tag and IP, in it.
func carriesIP(b []byte) bool {
	for at := 12; at+2 < len(b); at += 4 {
		switch binary.BigEndian.Uint16(b[at:]) {
		case etherIPv4:
			return b[at+2]>>4 == 4
		case etherIPv6:
			return b[at+2]>>4 == 6
		case etherVLAN, etherQinQ, etherQinQOld:
		default:
			return false
		}
	}
	return false
}
