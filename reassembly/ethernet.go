package reassembly

import "encoding/binary"

// EtherTypes (IEEE registration authority). GRE and Geneve use the same numbers.
const (
	etherIPv4        = 0x0800
	etherTransparent = 0x6558 // an Ethernet frame inside a tunnel
	etherERSPAN3     = 0x22eb
	etherVLAN        = 0x8100
	etherIPv6        = 0x86dd
	etherPPP         = 0x880b
	etherWCCP        = 0x883e
	etherMPLS        = 0x8847
	etherMPLSUp      = 0x8848
	etherPPPoE       = 0x8864
	etherQinQ        = 0x88a8
	etherERSPAN      = 0x88be
	etherMACsec      = 0x88e5
	etherMACinMAC    = 0x88e7
	etherVNTag       = 0x8926
	etherETag        = 0x893f
	etherNSH         = 0x894f
	etherQinQOld     = 0x9100

	etherMinimum = 0x0600 // below it the field is a length, and an LLC header follows (IEEE 802.3)
)

// ethernet decodes an Ethernet II or 802.3 frame.
func (d *Decoder) ethernet(p packet) {
	if !d.mayNest(p) || !d.has(p, 14) {
		return
	}
	d.etherType(binary.BigEndian.Uint16(p.data[12:]), p.inside(14))
}

// etherType decodes what an EtherType names, tags first.
func (d *Decoder) etherType(t uint16, p packet) {
	for {
		tag := 0
		switch t {
		case etherIPv4:
			d.ip4(p)
			return
		case etherIPv6:
			d.ip6(p)
			return
		case etherVLAN, etherQinQ, etherQinQOld:
			tag = 4
		case etherVNTag:
			tag = 6
		case etherETag:
			tag = 8
		default:
			d.rareEtherType(t, p)
			return
		}
		if !d.has(p, tag) {
			return
		}
		t, p = binary.BigEndian.Uint16(p.data[tag-2:]), p.after(tag)
	}
}

func (d *Decoder) rareEtherType(t uint16, p packet) {
	switch {
	case t < etherMinimum:
		d.llc(p)
	case t == etherMPLS, t == etherMPLSUp:
		d.mpls(p)
	case t == etherPPPoE:
		d.pppoe(p)
	case t == etherNSH:
		d.nsh(p)
	case t == etherMACinMAC: // IEEE 802.1ah: four bytes of service tag
		if d.has(p, 4) {
			d.ethernet(p.after(4))
		}
	case t == etherMACsec:
		d.report(CodeEncrypted, "MACsec")
	}
}

// llc decodes IEEE 802.2 with a SNAP header whose protocol is an EtherType (RFC 1042). Other LLC carries no IP.
func (d *Decoder) llc(p packet) {
	if len(p.data) < 8 || [6]byte(p.data) != [6]byte{0xaa, 0xaa, 3, 0, 0, 0} {
		return
	}
	if t := binary.BigEndian.Uint16(p.data[6:]); t >= etherMinimum {
		d.etherType(t, p.after(8))
	}
}
