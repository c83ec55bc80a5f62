package filter

import (
	"fmt"

	"github.com/kdupscan/kdupscan/pcap"
)

// layer says where the network layer begins, and where and how the link layer names it.
type layer struct {
	protocol load                // what names the network protocol
	names    map[string][]uint32 // its values
	payload  uint32              // where the network layer begins
	tags     bool                // there may be VLAN tags, told by the same field
}

// Values of the fields that name the network protocol.
var (
	etherTypes = map[string][]uint32{
		"ip": {0x0800}, "ip6": {0x86dd}, "arp": {0x0806}, "rarp": {0x8035},
		"vlan": {0x8100, 0x88a8, 0x9100}, // IEEE 802.1Q, 802.1ad, and the latter's forerunner
	}
	pppProtocols = map[string][]uint32{"ip": {0x0021}, "ip6": {0x0057}}
	ipVersions   = map[string][]uint32{"ip": {0x40}, "ip6": {0x60}}
	// Address families. That of IPv6 differs between systems: Linux, NetBSD and OpenBSD, FreeBSD, macOS. The number is in
	// the byte order of the capturing host, which a packet does not tell.
	families = map[string][]uint32{
		"ip":  {2, 2 << 24},
		"ip6": {10, 24, 28, 30, 10 << 24, 24 << 24, 28 << 24, 30 << 24},
	}
)

// layerOf returns the layout of a link type.
func layerOf(link pcap.LinkType) (layer, error) {
	at := func(offset, size uint32) load { return load{offset: offset, size: size} }
	switch link {
	case pcap.LinkTypeEthernet:
		return layer{at(12, 2), etherTypes, 14, true}, nil
	case pcap.LinkTypeLinuxSLL:
		return layer{at(14, 2), etherTypes, 16, true}, nil
	case pcap.LinkTypeLinuxSLL2:
		return layer{at(0, 2), etherTypes, 20, true}, nil
	case pcap.LinkTypeRaw, pcap.LinkTypeRawBSD, pcap.LinkTypeRawOpen, pcap.LinkTypeIPv4, pcap.LinkTypeIPv6:
		return layer{load{size: 1, mask: 0xf0}, ipVersions, 0, false}, nil
	case pcap.LinkTypeNull, pcap.LinkTypeLoop:
		return layer{at(0, 4), families, 4, false}, nil
	case pcap.LinkTypePPP, pcap.LinkTypePPPHDLC:
		return layer{at(2, 2), pppProtocols, 4, false}, nil
	case pcap.LinkTypePPPoE:
		return layer{at(6, 2), pppProtocols, 8, false}, nil
	case pcap.LinkTypeCiscoHDLC:
		return layer{at(2, 2), etherTypes, 4, false}, nil
	}
	return layer{}, fmt.Errorf("filter: frames of link type %v cannot be filtered", link)
}

// behind returns the layer behind a number of VLAN tags of four bytes: its last two name what follows. No link type
// without tags carries anything there.
func (l layer) behind(tags int) layer {
	if tags == 0 {
		return l
	}
	if !l.tags {
		l.names = nil
		return l
	}
	l.payload += 4 * uint32(tags)
	l.protocol.offset = l.payload - 2
	return l
}

// carries tests for a network protocol.
func (l layer) carries(name string) *node {
	any := constant(false)
	for _, value := range l.names[name] {
		any = or(any, equal(l.protocol, value))
	}
	return any
}

// load takes bytes of the network layer.
func (l layer) load(offset, size uint32) load { return load{offset: l.payload + offset, size: size} }

// behindIP4 takes two bytes behind the IPv4 header, whose length is in its first byte.
func (l layer) behindIP4(offset uint32) load {
	return load{offset: l.payload + offset, size: 2, behindIP4: true, ip4: l.payload}
}
