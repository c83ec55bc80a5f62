package reassembly

import "encoding/binary"

// cooked decodes Linux cooked capture v1 (LINKTYPE_LINUX_SLL): 16 bytes of header that end in an EtherType.
func (d *Decoder) cooked(p packet) {
	if d.has(p, 16) {
		d.etherType(binary.BigEndian.Uint16(p.data[14:]), p.after(16))
	}
}

// cooked2 decodes Linux cooked capture v2 (LINKTYPE_LINUX_SLL2): 20 bytes of header that begin with an EtherType.
func (d *Decoder) cooked2(p packet) {
	if d.has(p, 20) {
		d.etherType(binary.BigEndian.Uint16(p.data), p.after(20))
	}
}
