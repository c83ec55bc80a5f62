package reassembly

import (
	"encoding/binary"
	"net/netip"

	"github.com/kdupscan/kdupscan/pcap"
)

// TCP flags as in the header (RFC 9293, section 3.1).
const (
	FIN uint8 = 1 << iota
	SYN
	RST
	PSH
	ACK
)

// Segment is one TCP segment as captured.
type Segment struct {
	Src, Dst netip.AddrPort
	Seq, Ack uint32 // as in the header
	Flags    uint8  // FIN, SYN, RST, PSH, ACK and the bits above them
	Window   uint16 // as in the header, not scaled
	Payload  []byte // the captured part; borrowed
	Length   int    // payload bytes on the wire; more than len(Payload) where snaplen cut the packet
	At       pcap.Ref
}

// Hash is equal for both directions of a connection and spreads connections evenly. It is the same in every run.
func (s *Segment) Hash() uint64 { return mix(endpointHash(s.Src) + endpointHash(s.Dst)) }

func endpointHash(e netip.AddrPort) uint64 {
	if e.Addr().Is4() {
		ip := e.Addr().As4()
		return mix(uint64(binary.BigEndian.Uint32(ip[:]))<<16 | uint64(e.Port()))
	}
	ip := e.Addr().As16()
	high, low := binary.BigEndian.Uint64(ip[:8]), binary.BigEndian.Uint64(ip[8:])
	return mix(mix(high^uint64(e.Port())) ^ low)
}

// mix lets every bit of x change every bit of the result about half the time: two rounds of multiply and fold.
func mix(x uint64) uint64 {
	x = (x ^ x>>32) * 0x9e3779b97f4a7c15
	x = (x ^ x>>29) * 0xd6e8feb86659fd93
	return x ^ x>>32
}

// flow identifies a connection in either direction: the lower endpoint is first. It has no pointers, so that the garbage
// collector need not look at the keys of maps.
type flow struct {
	low, high endpoint
	four      bool // IPv4
}

// endpoint is an address of 16 bytes, as netip.Addr.As16 gives it, and a port.
type endpoint struct {
	ip   [16]byte
	port uint16
}

// flowOf returns the flow of s and whether s was sent by the high endpoint.
func flowOf(s *Segment) (f flow, fromHigh bool) { return flowBetween(s.Src, s.Dst) }

// flowBetween returns the flow of two endpoints and whether the first one is the high one.
func flowBetween(a, b netip.AddrPort) (f flow, aHigh bool) {
	if aHigh = a.Compare(b) > 0; aHigh {
		a, b = b, a
	}
	return flow{endpoint{a.Addr().As16(), a.Port()}, endpoint{b.Addr().As16(), b.Port()}, a.Addr().Is4()}, aHigh
}
