package evidence

import (
	"bytes"
	"net/netip"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/kdupscan/kdupscan/reassembly"
)

// TestHeaders holds the packets against what gopacket makes of the same values.
func TestHeaders(t *testing.T) {
	for _, addrs := range [][2]string{{"192.0.2.1:40001", "198.51.100.7:9092"}, {"[2001:db8::1]:65535", "[2001:db8:0:1::f]:9092"}} {
		from, to := netip.MustParseAddrPort(addrs[0]), netip.MustParseAddrPort(addrs[1])
		for _, flags := range []uint8{reassembly.SYN, reassembly.SYN | reassembly.ACK, reassembly.ACK | reassembly.PSH, reassembly.FIN | reassembly.ACK, reassembly.RST} {
			for _, payload := range []string{"", "odd", "even", string(bytes.Repeat([]byte{0xff}, maxSegment))} {
				h := tcpHeader{seq: 1<<32 - 2, ack: 7, flags: flags}
				wire := appendIP(nil, from.Addr(), to.Addr(), 9, h.size()+len(payload))
				start := len(wire)
				wire = append(h.append(wire, from.Port(), to.Port()), payload...)
				sumTCP(wire[start:], from.Addr(), to.Addr())
				if want := byGopacket(t, from, to, &h, payload); !bytes.Equal(wire, want) {
					t.Errorf("%s, flags %#x, %d bytes:\n%x\nwant\n%x", addrs[0], flags, len(payload), wire[:start+h.size()], want[:start+h.size()])
				}
			}
		}
	}
}

func byGopacket(t *testing.T, from, to netip.AddrPort, h *tcpHeader, payload string) []byte {
	t.Helper()
	tcp := layers.TCP{
		SrcPort: layers.TCPPort(from.Port()), DstPort: layers.TCPPort(to.Port()), Seq: h.seq, Ack: h.ack, Window: 1<<16 - 1,
		SYN: h.flags&reassembly.SYN != 0, ACK: h.flags&reassembly.ACK != 0, PSH: h.flags&reassembly.PSH != 0,
		FIN: h.flags&reassembly.FIN != 0, RST: h.flags&reassembly.RST != 0,
	}
	if tcp.SYN {
		tcp.Options = []layers.TCPOption{
			{OptionType: layers.TCPOptionKindMSS, OptionLength: 4, OptionData: []byte{maxSegment >> 8, maxSegment & 0xff}},
			{OptionType: layers.TCPOptionKindWindowScale, OptionLength: 3, OptionData: []byte{14}},
		}
	}
	var network gopacket.SerializableLayer
	if from.Addr().Is4() {
		ip := &layers.IPv4{Version: 4, TTL: hops, Id: 9, Flags: layers.IPv4DontFragment, Protocol: layers.IPProtocolTCP, SrcIP: from.Addr().AsSlice(), DstIP: to.Addr().AsSlice()}
		if err := tcp.SetNetworkLayerForChecksum(ip); err != nil {
			t.Fatal(err)
		}
		network = ip
	} else {
		ip := &layers.IPv6{Version: 6, HopLimit: hops, NextHeader: layers.IPProtocolTCP, SrcIP: from.Addr().AsSlice(), DstIP: to.Addr().AsSlice()}
		if err := tcp.SetNetworkLayerForChecksum(ip); err != nil {
			t.Fatal(err)
		}
		network = ip
	}
	buffer := gopacket.NewSerializeBuffer()
	options := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	if err := gopacket.SerializeLayers(buffer, options, network, &tcp, gopacket.Payload(payload)); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}
