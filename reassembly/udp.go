package reassembly

import "encoding/binary"

// UDP ports of tunnels (IANA, but for vxlanLinux: the default of Linux and of flannel before the port was assigned).
const (
	portGTPU      = 2152
	portNATT      = 4500
	portGREinUDP  = 4754
	portVXLAN     = 4789
	portVXLANGPE  = 4790
	portGeneve    = 6081
	portMPLSinUDP = 6635
	vxlanLinux    = 8472
	portWireGuard = 51820
)

// udp looks for tunnels by destination port: the source port is chosen at random, to spread load. The length field is
// not used, it is too small for super packets.
func (d *Decoder) udp(p packet) {
	if len(p.data) < 8 {
		return
	}
	port := binary.BigEndian.Uint16(p.data[2:])
	switch p = p.after(8); port {
	case portVXLAN, vxlanLinux:
		d.vxlan(p)
	case portVXLANGPE:
		d.vxlanGPE(p)
	case portGeneve:
		d.geneve(p)
	case portGTPU:
		d.gtpu(p)
	case portGREinUDP:
		d.gre(p)
	case portMPLSinUDP:
		d.mpls(p)
	case portNATT:
		// RFC 3948: key exchange starts with four zero bytes, a keep-alive is one byte, the rest is ESP.
		if len(p.data) >= 8 && binary.BigEndian.Uint32(p.data) != 0 {
			d.report(CodeEncrypted, "IPsec ESP in UDP")
		}
	case portWireGuard:
		// Transport data: type 4 and three reserved bytes.
		if len(p.data) >= 4 && binary.LittleEndian.Uint32(p.data) == 4 {
			d.report(CodeEncrypted, "WireGuard")
		}
	}
}
