package reassembly

import (
	"encoding/binary"
	"net/netip"
)

// ip decodes a packet that starts with an IP header of either version.
func (d *Decoder) ip(p packet) {
	if !d.has(p, 1) {
		return
	}
	switch p.data[0] >> 4 {
	case 4:
		d.ip4(p)
	case 6:
		d.ip6(p)
	default:
		d.report(CodeMalformed, "IP version")
	}
}

// ip4 decodes an IPv4 packet (RFC 791).
func (d *Decoder) ip4(p packet) {
	if !d.mayNest(p) || !d.has(p, 20) {
		return
	}
	b := p.data
	header := int(b[0]&0xf) * 4
	total := int(binary.BigEndian.Uint16(b[2:]))
	if total == 0 {
		// Segmentation offload: the card fills it in later, and BIG TCP has no room for it. The frame is not padded then.
		total = p.wire
	}
	if b[0]>>4 != 4 || header < 20 || total < header {
		d.report(CodeMalformed, "IPv4 header")
		return
	}
	if !d.has(p, header) {
		return
	}
	// The header is believed, not the frame: it may be padded, or a tool that cut it may have lost its true length.
	p = packet{data: b[header:max(header, min(total, len(b)))], wire: total - header, depth: p.depth + 1}
	d.src, d.dst = netip.AddrFrom4([4]byte(b[12:])), netip.AddrFrom4([4]byte(b[16:]))
	protocol := b[9]
	if field := binary.BigEndian.Uint16(b[6:]); field&0x3fff != 0 {
		d.fragment(fragment{
			key:    fragmentKey{src: d.src, dst: d.dst, id: uint32(binary.BigEndian.Uint16(b[4:])), protocol: protocol},
			offset: int(field&0x1fff) * 8,
			more:   field&0x2000 != 0,
			packet: p,
		})
		return
	}
	d.transport(protocol, p)
}

// IP protocol numbers (IANA). Those up to destinationOptions name IPv6 extension headers as well.
const (
	protoHopByHop           = 0
	protoIPv4               = 4
	protoTCP                = 6
	protoUDP                = 17
	protoIPv6               = 41
	protoRouting            = 43
	protoFragment           = 44
	protoGRE                = 47
	protoESP                = 50
	protoAH                 = 51
	protoDestinationOptions = 60
	protoEtherIP            = 97
	protoMPLS               = 137
	protoMobility           = 135
	protoHIP                = 139
	protoShim6              = 140
	protoEthernet           = 143
)

// transport decodes what an IP packet carries.
func (d *Decoder) transport(protocol uint8, p packet) {
	switch protocol {
	case protoTCP:
		d.tcp(p)
	case protoUDP:
		d.udp(p)
	case protoIPv4:
		d.ip4(p)
	case protoIPv6:
		d.ip6(p)
	case protoGRE:
		d.gre(p)
	case protoMPLS:
		d.mpls(p)
	case protoEthernet:
		d.ethernet(p)
	case protoEtherIP:
		if d.has(p, 2) { // RFC 3378: version and reserved bits
			d.ethernet(p.after(2))
		}
	case protoESP:
		d.report(CodeEncrypted, "IPsec ESP")
	case protoAH:
		if d.has(p, 12) { // RFC 4302: length in words, less two
			if n := (int(p.data[1]) + 2) * 4; n >= 12 && d.has(p, n) {
				d.transport(p.data[0], p.after(n))
			}
		}
	}
}
