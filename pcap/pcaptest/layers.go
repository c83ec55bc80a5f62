package pcaptest

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"github.com/kdupscan/kdupscan/pcap"
)

const (
	etherTypeIPv4 = 0x0800
	etherTypeIPv6 = 0x86dd
	etherTypeVLAN = 0x8100
	protocolTCP   = 6
)

// link puts the link header of the conversation before an IP packet. The client has the address 02:00:00:00:00:01, the
// server 02:00:00:00:00:02; cooked captures are taken at the client.
func (c *Conversation) link(from Side, packet []byte) []byte {
	big := binary.BigEndian
	etherType := uint16(etherTypeIPv4)
	if packet[0]>>4 == 6 {
		etherType = etherTypeIPv6
	}
	mac := func(s Side) []byte { return []byte{2, 0, 0, 0, 0, byte(s) + 1} }
	var h []byte
	switch c.LinkType {
	case pcap.LinkTypeEthernet:
		h = append(mac(1-from), mac(from)...)
		for _, id := range c.VLAN {
			h = big.AppendUint16(h, etherTypeVLAN)
			h = big.AppendUint16(h, id)
		}
		h = big.AppendUint16(h, etherType)
	case pcap.LinkTypeLinuxSLL:
		h = big.AppendUint16(h, uint16(cookedType(from)))
		h = append(h, 0, 1, 0, 6)
		h = append(append(h, mac(from)...), 0, 0)
		h = big.AppendUint16(h, etherType)
	case pcap.LinkTypeLinuxSLL2:
		h = big.AppendUint16(h, etherType)
		h = append(h, 0, 0, 0, 0, 0, 2, 0, 1, cookedType(from), 6)
		h = append(append(h, mac(from)...), 0, 0)
	case pcap.LinkTypeNull:
		family := uint32(2)
		if etherType == etherTypeIPv6 {
			family = 30 // Darwin's AF_INET6
		}
		h = binary.LittleEndian.AppendUint32(h, family)
	case pcap.LinkTypeRaw, pcap.LinkTypeIPv4, pcap.LinkTypeIPv6:
	default:
		panic(fmt.Sprintf("pcaptest: no link header for %v", c.LinkType))
	}
	return append(h, packet...)
}

// cookedType is the packet type of a cooked capture: 0 to us, 4 from us.
func cookedType(from Side) byte {
	if from == FromClient {
		return 4
	}
	return 0
}

// ipPacket wraps a segment. A packet too long for the length field has length 0 there, as large offloaded ones do.
func ipPacket(src, dst netip.Addr, id uint16, segment []byte) []byte {
	big := binary.BigEndian
	var h []byte
	if src.Is4() {
		h = append(h, 0x45, 0)
		h = big.AppendUint16(h, length16(20+len(segment)))
		h = big.AppendUint16(h, id)
		h = append(h, 0x40, 0, 64, protocolTCP, 0, 0) // don't fragment, TTL 64, no checksum yet
		h = append(append(h, src.AsSlice()...), dst.AsSlice()...)
		big.PutUint16(h[10:], checksum(0, h))
	} else {
		h = append(h, 0x60, 0, 0, 0)
		h = big.AppendUint16(h, length16(len(segment)))
		h = append(h, protocolTCP, 64)
		h = append(append(h, src.AsSlice()...), dst.AsSlice()...)
	}
	return append(h, segment...)
}

func length16(n int) uint16 {
	if n > 0xffff {
		return 0
	}
	return uint16(n)
}

// tcpSegment returns a TCP header of 20 bytes and the payload.
func tcpSegment(src, dst netip.AddrPort, seq, ack uint32, flags uint8, payload []byte) []byte {
	big := binary.BigEndian
	s := big.AppendUint16(nil, src.Port())
	s = big.AppendUint16(s, dst.Port())
	s = big.AppendUint32(s, seq)
	s = big.AppendUint32(s, ack)
	s = append(s, 5<<4, flags)
	s = append(s, 0xff, 0xff, 0, 0, 0, 0) // window, no checksum yet, urgent pointer
	s = append(s, payload...)

	pseudo := append(src.Addr().AsSlice(), dst.Addr().AsSlice()...)
	pseudo = big.AppendUint32(pseudo, uint32(len(s)))
	pseudo = big.AppendUint32(pseudo, protocolTCP)
	big.PutUint16(s[16:], checksum(sum16(0, pseudo), s))
	return s
}

// checksum is the Internet checksum (RFC 1071) of b on top of a partial sum.
func checksum(partial uint64, b []byte) uint16 {
	sum := sum16(partial, b)
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}

func sum16(sum uint64, b []byte) uint64 {
	for ; len(b) > 1; b = b[2:] {
		sum += uint64(b[0])<<8 | uint64(b[1])
	}
	if len(b) == 1 {
		sum += uint64(b[0]) << 8
	}
	return sum
}
