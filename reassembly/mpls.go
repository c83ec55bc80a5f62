package reassembly

// mpls pops the label stack (RFC 3032). What follows is not named: IP shows by its version, a zero nibble is the control
// word of a pseudowire (RFC 4448), and all else is taken for Ethernet without one.
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
		if d.has(p, 4) {
			d.ethernet(p.after(4))
		}
	default:
		d.ethernet(p)
	}
}
