package reassembly

import "encoding/binary"

// geneve decodes Geneve (RFC 8926): eight bytes, options counted in words of four bytes, then what the EtherType names.
func (d *Decoder) geneve(p packet) {
	if !d.has(p, 8) {
		return
	}
	if p.data[0]>>6 != 0 {
		return // a later version, or something else on this port
	}
	size := 8 + int(p.data[0]&0x3f)*4
	if d.has(p, size) {
		d.tunnelType(binary.BigEndian.Uint16(p.data[2:]), p.after(size))
	}
}

// tunnelType decodes what an EtherType names inside a tunnel, where whole Ethernet frames have one too.
func (d *Decoder) tunnelType(t uint16, p packet) {
	if t == etherTransparent {
		d.ethernet(p)
		return
	}
	d.etherType(t, p)
}
