package kafkatest

import (
	"cmp"
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/pcap/pcaptest"
)

// The degradations take the packets of a capture and return those of a worse one. They leave their argument alone (bytes that
// stay equal are shared), and equal seeds give equal results. Packets are expected as Scenario makes them: Ethernet, cooked,
// raw or loopback frames of one TCP segment each. Of several degradations Cut comes last, as the others read the headers.

// DropFraction loses each packet with the given probability, 0 to 1.
func DropFraction(packets []pcaptest.Packet, fraction float64, seed uint64) []pcaptest.Packet {
	chance := chances(seed)
	return slices.DeleteFunc(slices.Clone(packets), func(pcaptest.Packet) bool { return chance.Float64() < fraction })
}

// Drop loses the packets with the given frame numbers, counted from 1.
func Drop(packets []pcaptest.Packet, numbers ...int) []pcaptest.Packet {
	var kept []pcaptest.Packet
	for i, p := range packets {
		if !slices.Contains(numbers, i+1) {
			kept = append(kept, p)
		}
	}
	return kept
}

// SwapNeighbours makes neighbouring packets change places with the given probability, as several queues of a network card do.
// The times stay in order.
func SwapNeighbours(packets []pcaptest.Packet, fraction float64, seed uint64) []pcaptest.Packet {
	chance := chances(seed)
	out := slices.Clone(packets)
	for i := 0; i+1 < len(out); i++ {
		if chance.Float64() < fraction {
			out[i], out[i+1] = out[i+1], out[i]
			out[i].Time, out[i+1].Time = out[i+1].Time, out[i].Time
			i++ // each packet moves once
		}
	}
	return out
}

// Repeat records each packet twice with the given probability, at the same time, as a capture on all interfaces does.
func Repeat(packets []pcaptest.Packet, fraction float64, seed uint64) []pcaptest.Packet {
	chance := chances(seed)
	var out []pcaptest.Packet
	for _, p := range packets {
		out = append(out, p)
		if chance.Float64() < fraction {
			out = append(out, p)
		}
	}
	return out
}

// Cut captures at most snapLen bytes of each packet.
func Cut(packets []pcaptest.Packet, snapLen int) []pcaptest.Packet {
	out := slices.Clone(packets)
	for i := range out {
		p := &out[i]
		if p.Length == 0 {
			p.Length = len(p.Data)
		}
		p.Data = p.Data[:min(snapLen, len(p.Data)):min(snapLen, len(p.Data))]
	}
	return out
}

// LateStart begins the capture when the given fraction of the packets, 0 to 1, has gone by.
func LateStart(packets []pcaptest.Packet, fraction float64) []pcaptest.Packet {
	return slices.Clone(packets[int(fraction*float64(len(packets))):])
}

// OneWay keeps the packets of one direction. The side with the broker's port is the server.
func OneWay(packets []pcaptest.Packet, from pcaptest.Side) []pcaptest.Packet {
	return slices.DeleteFunc(slices.Clone(packets), func(p pcaptest.Packet) bool {
		side := pcaptest.FromClient
		if tcp := transport(p); binary.BigEndian.Uint16(p.Data[tcp:]) == brokerPort {
			side = pcaptest.FromServer
		}
		return side != from
	})
}

// hopDelay is the time between two sightings of a packet at neighbouring points of a network.
const hopDelay = 30 * time.Microsecond

// Mirror records every Ethernet packet a second time behind a router and a mirror port: with a VLAN tag, and a lower TTL.
func Mirror(packets []pcaptest.Packet, vlan uint16) []pcaptest.Packet {
	return merge(packets, each(packets, func(p pcaptest.Packet) pcaptest.Packet {
		p = farther(p, hopDelay)
		const addresses = 12 // bytes of the two MAC addresses, before the tag
		tag := binary.BigEndian.AppendUint16([]byte{0x81, 0x00}, vlan)
		p.Data = slices.Insert(p.Data, addresses, tag...)
		if p.Length != 0 {
			p.Length += len(tag)
		}
		return p
	}))
}

// NAT records every IPv4 packet of a client a second time behind address translation: another client address, the same ports
// and TCP sequence numbers.
func NAT(packets []pcaptest.Packet, inside, outside netip.Addr) []pcaptest.Packet {
	return merge(packets, each(packets, func(p pcaptest.Packet) pcaptest.Packet {
		p = farther(p, hopDelay)
		ip := network(p)
		for _, at := range []int{ip + 12, ip + 16} { // source, destination
			if netip.AddrFrom4([4]byte(p.Data[at:at+4])) == inside {
				copy(p.Data[at:], outside.AsSlice())
			}
		}
		return resummed(p)
	}))
}

// VantagePoint is what a second capture, nearer to the other end, holds of the same packets: its clock is off by skew.
func VantagePoint(packets []pcaptest.Packet, skew time.Duration) []pcaptest.Packet {
	return each(packets, func(p pcaptest.Packet) pcaptest.Packet { return farther(p, hopDelay+skew) })
}

func chances(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, seed)) }

func each(packets []pcaptest.Packet, change func(pcaptest.Packet) pcaptest.Packet) []pcaptest.Packet {
	out := make([]pcaptest.Packet, len(packets))
	for i, p := range packets {
		out[i] = change(p)
	}
	return out
}

// merge puts two captures in order of time.
func merge(a, b []pcaptest.Packet) []pcaptest.Packet {
	all := slices.Concat(a, b)
	slices.SortStableFunc(all, func(x, y pcaptest.Packet) int { return cmp.Compare(x.Time.UnixNano(), y.Time.UnixNano()) })
	return all
}

// farther returns a copy of p as seen one hop later: its time, and its TTL or hop limit.
func farther(p pcaptest.Packet, delay time.Duration) pcaptest.Packet {
	p.Time = p.Time.Add(delay)
	p.Data = slices.Clone(p.Data)
	ip := network(p)
	if p.Data[ip]>>4 == 6 {
		p.Data[ip+7]--
		return p
	}
	p.Data[ip+8]--
	return resummed(p)
}

// network returns where the IP header of p begins.
func network(p pcaptest.Packet) int {
	switch p.LinkType {
	case pcap.LinkTypeEthernet:
		at := 12
		for p.Data[at] == 0x81 && p.Data[at+1] == 0 { // 802.1Q
			at += 4
		}
		return at + 2
	case pcap.LinkTypeLinuxSLL:
		return 16
	case pcap.LinkTypeLinuxSLL2:
		return 20
	case pcap.LinkTypeNull:
		return 4
	}
	return 0
}

// transport returns where the TCP header of p begins.
func transport(p pcaptest.Packet) int {
	ip := network(p)
	if p.Data[ip]>>4 == 6 {
		return ip + 40
	}
	return ip + int(p.Data[ip]&15)*4
}

// resummed corrects the checksums of a whole IPv4 packet with a TCP segment (RFC 1071) in place.
func resummed(p pcaptest.Packet) pcaptest.Packet {
	ip, tcp := network(p), transport(p)
	header, segment := p.Data[ip:tcp], p.Data[tcp:]
	header[10], header[11] = 0, 0
	binary.BigEndian.PutUint16(header[10:], onesComplement(header))
	pseudo := slices.Concat(header[12:20], []byte{0, header[9]}, binary.BigEndian.AppendUint16(nil, uint16(len(segment))))
	segment[16], segment[17] = 0, 0
	binary.BigEndian.PutUint16(segment[16:], onesComplement(pseudo, segment))
	return p
}

// onesComplement is the Internet checksum over parts of which all but the last have an even length.
func onesComplement(parts ...[]byte) uint16 {
	var sum uint32
	for _, part := range parts {
		for i, b := range part {
			sum += uint32(b) << (8 * (1 - i%2))
			sum = sum&0xffff + sum>>16
		}
	}
	return ^uint16(sum&0xffff + sum>>16)
}
