package reassembly

import (
	"encoding/binary"
	"net/netip"
)

const (
	optionPad1  = 0
	optionJumbo = 0xc2 // RFC 2675
)

// ip6 decodes an IPv6 packet (RFC 8200).
func (d *Decoder) ip6(p packet) {
	if !d.mayNest(p) || !d.has(p, 40) {
		return
	}
	b := p.data
	if b[0]>>4 != 6 {
		d.report(CodeMalformed, "IPv6 version")
		return
	}
	d.src, d.dst = netip.AddrFrom16([16]byte(b[8:])), netip.AddrFrom16([16]byte(b[24:]))
	next := b[6]
	length := int(binary.BigEndian.Uint16(b[4:]))
	p = p.inside(40)
	if length == 0 {
		// A jumbo payload option states the length; segmentation offload leaves it to the card.
		if length = p.wire; next == protoHopByHop {
			if jumbo := jumboLength(p.data); jumbo > 0 {
				length = jumbo
			}
		}
	}
	p.data, p.wire = p.data[:min(length, len(p.data))], length
	d.ip6Headers(next, p)
}

// ip6Headers walks the extension headers. Each is at least eight bytes, so the walk ends.
func (d *Decoder) ip6Headers(next uint8, p packet) {
	for {
		switch next {
		case protoHopByHop, protoRouting, protoDestinationOptions, protoMobility, protoHIP, protoShim6:
			if !d.has(p, 8) {
				return
			}
			size := (int(p.data[1]) + 1) * 8
			if !d.has(p, size) {
				return
			}
			next, p = p.data[0], p.after(size)
		case protoFragment:
			if !d.has(p, 8) {
				return
			}
			field := binary.BigEndian.Uint16(p.data[2:])
			id := binary.BigEndian.Uint32(p.data[4:])
			next, p = p.data[0], p.after(8)
			if field&0xfff9 == 0 {
				continue // RFC 6946: an atomic fragment is whole
			}
			d.fragment(fragment{
				key:    fragmentKey{src: d.src, dst: d.dst, id: id, protocol: next},
				offset: int(field &^ 7),
				more:   field&1 != 0,
				packet: p,
			})
			return
		default:
			d.transport(next, p)
			return
		}
	}
}

// jumboLength returns the jumbo payload length of a hop-by-hop header, or 0.
func jumboLength(b []byte) int {
	if len(b) < 8 {
		return 0
	}
	options := b[2:min((int(b[1])+1)*8, len(b))]
	for len(options) >= 2 {
		if options[0] == optionPad1 {
			options = options[1:]
			continue
		}
		size := 2 + int(options[1])
		if size > len(options) {
			return 0
		}
		if options[0] == optionJumbo && size == 6 {
			// More than a frame can hold is no length; it also keeps int sound on 32 bits.
			if n := binary.BigEndian.Uint32(options[2:]); n > 0xffff && n < 1<<31 {
				return int(n)
			}
			return 0
		}
		options = options[size:]
	}
	return 0
}
