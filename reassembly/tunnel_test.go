package reassembly

import (
	"net"
	"slices"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/kdupscan/kdupscan/pcap"
)

// Packets put together by gopacket, an encoder that is not ours.
func TestTunnels(t *testing.T) {
	eth := func(t layers.EthernetType) gopacket.SerializableLayer {
		return &layers.Ethernet{SrcMAC: net.HardwareAddr{2, 0, 0, 0, 0, 1}, DstMAC: net.HardwareAddr{2, 0, 0, 0, 0, 2}, EthernetType: t}
	}
	ip4 := func(p layers.IPProtocol) gopacket.SerializableLayer {
		return &layers.IPv4{Version: 4, TTL: 9, Protocol: p, SrcIP: net.IP{192, 168, 0, 1}, DstIP: net.IP{192, 168, 0, 2}}
	}
	ip6 := func(p layers.IPProtocol) gopacket.SerializableLayer {
		return &layers.IPv6{Version: 6, HopLimit: 9, NextHeader: p, SrcIP: net.ParseIP("fd00::1"), DstIP: net.ParseIP("fd00::2")}
	}
	udp := func(port layers.UDPPort) gopacket.SerializableLayer {
		return &layers.UDP{SrcPort: 55555, DstPort: port}
	}
	vlan := func(t layers.EthernetType) gopacket.SerializableLayer {
		return &layers.Dot1Q{VLANIdentifier: 5, Type: t}
	}
	const (
		v4, v6 = layers.EthernetTypeIPv4, layers.EthernetTypeIPv6
		tcp    = layers.IPProtocolTCP
	)
	tests := []struct {
		name   string
		layers []gopacket.SerializableLayer
	}{
		{"VLAN", []gopacket.SerializableLayer{eth(layers.EthernetTypeDot1Q), vlan(v4), ip4(tcp)}},
		{"QinQ", []gopacket.SerializableLayer{eth(layers.EthernetTypeQinQ), vlan(layers.EthernetTypeDot1Q), vlan(v6), ip6(tcp)}},
		{"VXLAN", []gopacket.SerializableLayer{eth(v4), ip4(17), udp(4789), &layers.VXLAN{ValidIDFlag: true, VNI: 7}, eth(v4), ip4(tcp)}},
		{"VXLAN over IPv6, VLAN inside", []gopacket.SerializableLayer{eth(v6), ip6(17), udp(8472), &layers.VXLAN{ValidIDFlag: true, VNI: 7}, eth(layers.EthernetTypeDot1Q), vlan(v6), ip6(tcp)}},
		{"GRE", []gopacket.SerializableLayer{eth(v4), ip4(47), &layers.GRE{Protocol: v6}, ip6(tcp)}},
		{"GRE with key and sequence", []gopacket.SerializableLayer{eth(v4), ip4(47), &layers.GRE{KeyPresent: true, Key: 5, SeqPresent: true, Seq: 6, ChecksumPresent: true, Protocol: v4}, ip4(tcp)}},
		{"NVGRE", []gopacket.SerializableLayer{eth(v4), ip4(47), &layers.GRE{KeyPresent: true, Key: 5, Protocol: layers.EthernetTypeTransparentEthernetBridging}, eth(v4), ip4(tcp)}},
		{"ERSPAN II", []gopacket.SerializableLayer{eth(v4), ip4(47), &layers.GRE{SeqPresent: true, Seq: 6, Protocol: layers.EthernetTypeERSPAN}, &layers.ERSPANII{Version: 1}, eth(v4), ip4(tcp)}},
		{"ERSPAN II of VXLAN", []gopacket.SerializableLayer{eth(v4), ip4(47), &layers.GRE{SeqPresent: true, Seq: 6, Protocol: layers.EthernetTypeERSPAN}, &layers.ERSPANII{Version: 1},
			eth(v4), ip4(17), udp(4789), &layers.VXLAN{ValidIDFlag: true, VNI: 7}, eth(v6), ip6(tcp)}},
		{"MPLS", []gopacket.SerializableLayer{eth(layers.EthernetTypeMPLSUnicast), &layers.MPLS{Label: 9, TTL: 4}, &layers.MPLS{Label: 10, StackBottom: true, TTL: 4}, ip4(tcp)}},
		{"PPPoE", []gopacket.SerializableLayer{eth(layers.EthernetTypePPPoESession), &layers.PPPoE{Version: 1, Type: 1, SessionId: 3}, &layers.PPP{PPPType: layers.PPPTypeIPv4}, ip4(tcp)}},
		{"4in4", []gopacket.SerializableLayer{eth(v4), ip4(layers.IPProtocolIPv4), ip4(tcp)}},
		{"6in4", []gopacket.SerializableLayer{eth(v4), ip4(layers.IPProtocolIPv6), ip6(tcp)}},
		{"4in6", []gopacket.SerializableLayer{eth(v6), ip6(layers.IPProtocolIPv4), ip4(tcp)}},
		{"GTP-U", []gopacket.SerializableLayer{eth(v4), ip4(17), udp(2152), &layers.GTPv1U{Version: 1, ProtocolType: 1, MessageType: 255, TEID: 3}, ip4(tcp)}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			header := &layers.TCP{SrcPort: 40000, DstPort: 9092, Seq: 11, Ack: 22, ACK: true, PSH: true, Window: 33,
				Options: []layers.TCPOption{{OptionType: layers.TCPOptionKindNop}, {OptionType: layers.TCPOptionKindNop}}}
			all := append(slices.Clone(test.layers), header, gopacket.Payload("payload"))
			buffer := gopacket.NewSerializeBuffer()
			if err := gopacket.SerializeLayers(buffer, gopacket.SerializeOptions{FixLengths: true}, all...); err != nil {
				t.Fatal(err)
			}
			segments, notes := decode(frame(pcap.LinkTypeEthernet, buffer.Bytes()))
			if len(segments) != 1 || len(notes) != 0 {
				t.Fatalf("%d segments, notes %v", len(segments), notes)
			}
			s := segments[0]
			if s.Src.Port() != 40000 || s.Dst.Port() != 9092 || s.Seq != 11 || s.Ack != 22 || s.Flags != ACK|PSH || s.Window != 33 || string(s.Payload) != "payload" || s.Length != 7 {
				t.Errorf("got %+v", s)
			}
		})
	}
}
