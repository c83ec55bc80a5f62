package filter

import (
	"encoding/binary"
	"net/netip"
)

// Protocol numbers (IANA), as far as they can be named.
const (
	protoICMP   = 1
	protoTCP    = 6
	protoUDP    = 17
	protoFrag   = 44 // IPv6 fragment header
	protoICMPv6 = 58
	protoSCTP   = 132
)

var protocolNumbers = map[string]uint32{
	"tcp": protoTCP, "udp": protoUDP, "sctp": protoSCTP, "icmp": protoICMP, "icmp6": protoICMPv6,
}

// Positions in the IPv4 header (RFC 791), the IPv6 header (RFC 8200) and ARP for IPv4 over Ethernet (RFC 826).
const (
	ip4Fragment, ip4Protocol, ip4Source, ip4Destination = 6, 9, 12, 16
	ip6Next, ip6Source, ip6Destination, ip6Payload      = 6, 8, 24, 40
	arpSender, arpTarget                                = 14, 24

	fragmentOffset = 0x1fff // of the field at ip4Fragment
)

// protocol is a protocol that stands alone.
type protocol string

func (p protocol) tests(l layer) *node {
	number, transport := protocolNumbers[string(p)]
	if !transport {
		return l.carries(string(p))
	}
	in4 := and(l.carries("ip"), equal(l.load(ip4Protocol, 1), number))
	// A fragment of IPv6 has its fragment header before that of the protocol.
	in6 := and(l.carries("ip6"), or(
		equal(l.load(ip6Next, 1), number),
		and(equal(l.load(ip6Next, 1), protoFrag), equal(l.load(ip6Payload, 1), number)),
	))
	switch p {
	case "icmp":
		return in4
	case "icmp6":
		return in6
	}
	return or(in4, in6)
}

// address is a host or a network.
type address struct {
	prefix   netip.Prefix
	protocol string // "" for any
	from     direction
}

func (a address) tests(l layer) *node {
	if a.prefix.Addr().Is6() {
		return and(l.carries("ip6"), a.at(l, ip6Source, ip6Destination))
	}
	all := constant(false)
	if a.protocol == "" || a.protocol == "ip" {
		all = and(l.carries("ip"), a.at(l, ip4Source, ip4Destination))
	}
	for _, arp := range []string{"arp", "rarp"} {
		if a.protocol == "" || a.protocol == arp {
			all = or(all, and(l.carries(arp), a.at(l, arpSender, arpTarget)))
		}
	}
	return all
}

func (a address) at(l layer, source, destination uint32) *node {
	return a.from.of(func() *node { return a.match(l, source) }, func() *node { return a.match(l, destination) })
}

// match compares word by word, as far as the prefix goes.
func (a address) match(l layer, at uint32) *node {
	all := constant(true)
	bytes := a.prefix.Addr().AsSlice()
	for i := 0; i*8 < a.prefix.Bits(); i += 4 {
		rest := min(a.prefix.Bits()-i*8, 32)
		load := l.load(at+uint32(i), 4)
		load.mask = ^uint32(0) << (32 - rest)
		all = and(all, equal(load, binary.BigEndian.Uint32(bytes[i:])))
	}
	return all
}

// of returns the test of one side or of both.
func (d direction) of(src, dst func() *node) *node {
	switch d {
	case source:
		return src()
	case destination:
		return dst()
	case both:
		return and(src(), dst())
	}
	return or(src(), dst())
}

// ports are the ranges of a list of ports.
type ports struct {
	ranges   []portRange
	protocol string // "" for any that has ports
	from     direction
}

// portRange includes both ends.
type portRange struct{ low, high uint32 }

// join returns the ports of either, so that a list of ports repeats only the last step of the test. The two sides of a
// packet may be in different ranges of either, which "both" does not allow.
func (p ports) join(q ports) (ports, bool) {
	if p.protocol != q.protocol || p.from != q.from || p.from == both {
		return ports{}, false
	}
	p.ranges = append(p.ranges, q.ranges...)
	return p, true
}

func (p ports) tests(l layer) *node {
	side := func(port load) func() *node { return func() *node { return p.match(port) } }
	in4 := and(and(and(l.carries("ip"), p.transport(l.load(ip4Protocol, 1))),
		not(anyBit(l.load(ip4Fragment, 2), fragmentOffset))),
		p.from.of(side(l.behindIP4(0)), side(l.behindIP4(2))))
	in6 := and(and(l.carries("ip6"), p.transport(l.load(ip6Next, 1))),
		p.from.of(side(l.load(ip6Payload, 2)), side(l.load(ip6Payload+2, 2))))
	return or(in4, in6)
}

func (p ports) transport(at load) *node {
	if p.protocol != "" {
		return equal(at, protocolNumbers[p.protocol])
	}
	return or(or(equal(at, protoTCP), equal(at, protoUDP)), equal(at, protoSCTP))
}

func (p ports) match(port load) *node {
	any := constant(false)
	for _, r := range p.ranges {
		if r.low == r.high {
			any = or(any, equal(port, r.low))
		} else {
			any = or(any, and(atLeast(port, r.low), not(atLeast(port, r.high+1))))
		}
	}
	return any
}

// tag is a VLAN tag.
type tag struct {
	any bool
	id  uint32
}

func (t tag) tests(l layer) *node {
	if !l.tags {
		return constant(false)
	}
	tagged := l.carries("vlan")
	if t.any {
		return tagged
	}
	id := l.load(0, 2)
	id.mask = 0xfff
	return and(tagged, equal(id, t.id))
}
