package reassembly

// gtpu decodes GTP-U version 1 (3GPP TS 29.281): user packets only. Extension headers are counted in words of four bytes
// and end in the type of the next one.
func (d *Decoder) gtpu(p packet) {
	const version1, userPacket = 0x30, 255
	if len(p.data) < 8 || p.data[0]&0xf0 != version1 || p.data[1] != userPacket {
		return
	}
	optional, extended := p.data[0]&7 != 0, p.data[0]&4 != 0
	p = p.after(8)
	if !optional {
		d.ip(p)
		return
	}
	if !d.has(p, 4) {
		return
	}
	next := p.data[3]
	p = p.after(4)
	for extended && next != 0 {
		if !d.has(p, 4) {
			return
		}
		size := int(p.data[0]) * 4
		if size == 0 {
			d.report(CodeMalformed, "GTP-U extension header")
			return
		}
		if !d.has(p, size) {
			return
		}
		next, p = p.data[size-1], p.after(size)
	}
	d.ip(p)
}
