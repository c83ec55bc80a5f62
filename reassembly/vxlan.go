package reassembly

const (
	vxlanHasID       = 0x08 // RFC 7348: the network id is valid; always set
	vxlanHasProtocol = 0x04 // draft-ietf-nvo3-vxlan-gpe: the last byte of the first word names what follows
)

// vxlan decodes VXLAN (RFC 7348): eight bytes, then Ethernet. Some senders use the GPE form on the same port.
func (d *Decoder) vxlan(p packet) {
	if !d.has(p, 8) || p.data[0]&vxlanHasID == 0 {
		return
	}
	if p.data[0]&vxlanHasProtocol != 0 {
		d.vxlanGPE(p)
		return
	}
	d.ethernet(p.after(8))
}

// vxlanGPE decodes the generic protocol extension of VXLAN.
func (d *Decoder) vxlanGPE(p packet) {
	if d.has(p, 8) && p.data[0]&vxlanHasProtocol != 0 {
		d.serviceProtocol(p.data[3], p.after(8))
	}
}

// nsh decodes a network service header (RFC 8300); its length is in words of four bytes, the base header included.
func (d *Decoder) nsh(p packet) {
	if !d.has(p, 8) {
		return
	}
	size := int(p.data[1]&0x3f) * 4
	if size < 8 {
		d.report(CodeMalformed, "NSH length")
		return
	}
	if d.has(p, size) {
		d.serviceProtocol(p.data[3], p.after(size))
	}
}

// serviceProtocol decodes by the protocol numbers that VXLAN-GPE and NSH share.
func (d *Decoder) serviceProtocol(protocol uint8, p packet) {
	switch protocol {
	case 1:
		d.ip4(p)
	case 2:
		d.ip6(p)
	case 3:
		d.ethernet(p)
	case 4:
		d.nsh(p)
	case 5:
		d.mpls(p)
	}
}
