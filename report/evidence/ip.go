package evidence

import (
	"encoding/binary"
	"net/netip"

	"github.com/kdupscan/kdupscan/reassembly"
)

const (
	ip4Header   = 20
	tcpFixed    = 20
	protocolTCP = 6
	hops        = 64
)

// appendIP appends the header of a packet with a TCP segment of so many bytes: IPv4 (RFC 791) or IPv6 (RFC 8200), by the addresses.
func appendIP(wire []byte, from, to netip.Addr, id uint16, segment int) []byte {
	be := binary.BigEndian
	if !from.Is4() {
		wire = append(wire, 6<<4, 0, 0, 0)
		wire = be.AppendUint16(wire, uint16(segment))
		wire = append(wire, protocolTCP, hops)
		return append(append(wire, from.AsSlice()...), to.AsSlice()...)
	}
	start := len(wire)
	wire = append(wire, 4<<4|ip4Header/4, 0)
	wire = be.AppendUint16(wire, uint16(ip4Header+segment))
	wire = be.AppendUint16(wire, id)
	const dontFragment = 1 << 14
	wire = be.AppendUint16(wire, dontFragment)
	wire = append(wire, hops, protocolTCP, 0, 0)
	wire = append(append(wire, from.AsSlice()...), to.AsSlice()...)
	be.PutUint16(wire[start+10:], ^sum(0, wire[start:]))
	return wire
}

// tcpHeader is a TCP header (RFC 9293) but for its ports. A SYN has the options that make all that follows fit.
type tcpHeader struct {
	seq, ack uint32
	flags    uint8
}

// synOptions are the maximum segment size, and a window scale (RFC 7323) with which no window is ever full.
var synOptions = []byte{2, 4, maxSegment >> 8, maxSegment & 0xff, 3, 3, 14, 0}

func (h *tcpHeader) size() int {
	if h.flags&reassembly.SYN != 0 {
		return tcpFixed + len(synOptions)
	}
	return tcpFixed
}

// append appends the header, its checksum 0.
func (h *tcpHeader) append(wire []byte, from, to uint16) []byte {
	be := binary.BigEndian
	wire = be.AppendUint16(be.AppendUint16(wire, from), to)
	wire = be.AppendUint32(be.AppendUint32(wire, h.seq), h.ack)
	const window = 1<<16 - 1
	wire = append(wire, byte(h.size()/4)<<4, h.flags)
	wire = append(be.AppendUint16(wire, window), 0, 0, 0, 0)
	if h.flags&reassembly.SYN != 0 {
		wire = append(wire, synOptions...)
	}
	return wire
}

// sumTCP fills in the checksum of a segment, which covers the addresses too.
func sumTCP(segment []byte, from, to netip.Addr) {
	pseudo := append(from.AsSlice(), to.AsSlice()...)
	pseudo = binary.BigEndian.AppendUint32(pseudo, uint32(len(segment)))
	pseudo = binary.BigEndian.AppendUint32(pseudo, protocolTCP)
	binary.BigEndian.PutUint16(segment[16:], ^sum(uint32(sum(0, pseudo)), segment))
}

// sum returns the ones' complement sum of 16-bit words (RFC 1071), begun with another.
func sum(begun uint32, data []byte) uint16 {
	total := uint64(begun)
	for ; len(data) >= 2; data = data[2:] {
		total += uint64(data[0])<<8 | uint64(data[1])
	}
	if len(data) == 1 {
		total += uint64(data[0]) << 8
	}
	for total > 0xffff {
		total = total>>16 + total&0xffff
	}
	return uint16(total)
}
