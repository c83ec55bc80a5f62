package reassembly

import "encoding/binary"

// nflogPayload is the type of the attribute that holds the packet: NFULA_PAYLOAD of linux/netfilter/nfnetlink_log.h.
const nflogPayload = 9

// nflog decodes LINKTYPE_NFLOG: four bytes of header, then attributes of length (which counts its own four bytes of
// header) and type in the byte order of the capturing host, each padded to four bytes.
func (d *Decoder) nflog(p packet) {
	if !d.has(p, 4) {
		return
	}
	for p = p.after(4); len(p.data) >= 4; {
		// Types are small: the byte that is not zero shows the order.
		var order binary.ByteOrder = binary.LittleEndian
		if p.data[3]&0x3f != 0 {
			order = binary.BigEndian
		}
		size := int(order.Uint16(p.data))
		if size < 4 {
			d.report(CodeMalformed, "NFLOG attribute")
			return
		}
		if order.Uint16(p.data[2:])&0x3fff == nflogPayload {
			d.ip(p.first(size).after(4))
			return
		}
		p = p.after(min((size+3)&^3, len(p.data)))
	}
}
