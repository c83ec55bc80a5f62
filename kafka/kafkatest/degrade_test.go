package kafkatest_test

import (
	"bytes"
	"io"
	"net/netip"
	"reflect"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"

	"github.com/kdupscan/kdupscan/kafka/kafkatest"
	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/pcap/pcaptest"
)

func tcpOf(p pcaptest.Packet) *layers.TCP {
	return gopacket.NewPacket(p.Data, layers.LinkType(p.LinkType), gopacket.Default).TransportLayer().(*layers.TCP)
}

func story(link pcap.LinkType, ipv6 bool) []pcaptest.Packet {
	s := kafkatest.NewScenario(start)
	s.LinkType, s.IPv6 = link, ipv6
	c := s.Connect("client-a", 1)
	b := kafkatest.Batch{Topic: "a", Records: s.Records("odd")}
	for i := range 20 {
		c.Produce(9, -1, b).Answer(kafkatest.OK(int64(i)))
	}
	return s.Packets()
}

func TestDegradations(t *testing.T) {
	inside, outside := netip.MustParseAddr("198.51.100.1"), netip.MustParseAddr("203.0.113.9")
	packets := story(pcap.LinkTypeEthernet, false)
	n := len(packets)
	tests := []struct {
		name    string
		degrade func([]pcaptest.Packet) []pcaptest.Packet
		check   func([]pcaptest.Packet) bool
	}{
		{"drop all", func(p []pcaptest.Packet) []pcaptest.Packet { return kafkatest.DropFraction(p, 1, 1) },
			func(p []pcaptest.Packet) bool { return len(p) == 0 }},
		{"drop half", func(p []pcaptest.Packet) []pcaptest.Packet { return kafkatest.DropFraction(p, 0.5, 1) },
			func(p []pcaptest.Packet) bool { return len(p) > n/4 && len(p) < 3*n/4 }},
		{"drop two", func(p []pcaptest.Packet) []pcaptest.Packet { return kafkatest.Drop(p, 1, n) },
			func(p []pcaptest.Packet) bool { return reflect.DeepEqual(p, packets[1:n-1]) }},
		{"swap", func(p []pcaptest.Packet) []pcaptest.Packet { return kafkatest.SwapNeighbours(p, 1, 1) },
			func(p []pcaptest.Packet) bool {
				return bytes.Equal(p[0].Data, packets[1].Data) && bytes.Equal(p[1].Data, packets[0].Data) && p[0].Time.Equal(packets[0].Time)
			}},
		{"repeat", func(p []pcaptest.Packet) []pcaptest.Packet { return kafkatest.Repeat(p, 1, 1) },
			func(p []pcaptest.Packet) bool { return len(p) == 2*n && reflect.DeepEqual(p[0], p[1]) }},
		{"cut", func(p []pcaptest.Packet) []pcaptest.Packet { return kafkatest.Cut(p, 60) },
			func(p []pcaptest.Packet) bool {
				for i := range p {
					if len(p[i].Data) != min(60, len(packets[i].Data)) || p[i].Length != len(packets[i].Data) {
						return false
					}
				}
				return true
			}},
		{"late start", func(p []pcaptest.Packet) []pcaptest.Packet { return kafkatest.LateStart(p, 0.5) },
			func(p []pcaptest.Packet) bool { return reflect.DeepEqual(p, packets[n/2:]) }},
		{"one way", func(p []pcaptest.Packet) []pcaptest.Packet { return kafkatest.OneWay(p, pcaptest.FromServer) },
			func(p []pcaptest.Packet) bool {
				for i := range p {
					if tcpOf(p[i]).SrcPort != 9092 {
						return false
					}
				}
				return len(p) > 0
			}},
		{"mirror", func(p []pcaptest.Packet) []pcaptest.Packet { return kafkatest.Mirror(p, 100) },
			func(p []pcaptest.Packet) bool {
				tagged := gopacket.NewPacket(p[1].Data, layers.LinkTypeEthernet, gopacket.Default)
				vlan, ok := tagged.Layer(layers.LayerTypeDot1Q).(*layers.Dot1Q)
				return len(p) == 2*n && ok && vlan.VLANIdentifier == 100 && tagged.NetworkLayer().(*layers.IPv4).TTL == 63
			}},
		{"nat", func(p []pcaptest.Packet) []pcaptest.Packet { return kafkatest.NAT(p, inside, outside) },
			func(p []pcaptest.Packet) bool {
				twin := gopacket.NewPacket(p[1].Data, layers.LinkTypeEthernet, gopacket.Default)
				return len(p) == 2*n && twin.NetworkLayer().NetworkFlow().Src().String() == "203.0.113.9" && tcpOf(p[1]).Seq == tcpOf(p[0]).Seq
			}},
		{"vantage point", func(p []pcaptest.Packet) []pcaptest.Packet { return kafkatest.VantagePoint(p, -time.Second) },
			func(p []pcaptest.Packet) bool { return len(p) == n && p[0].Time.Before(packets[0].Time) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := test.degrade(packets)
			if !test.check(got) {
				t.Error("not the capture that was wanted")
			}
			if !reflect.DeepEqual(got, test.degrade(packets)) {
				t.Error("done twice, the result differs")
			}
			if !reflect.DeepEqual(packets, story(pcap.LinkTypeEthernet, false)) {
				t.Fatal("the argument was changed")
			}
			for i := range got {
				if p := got[i]; p.Length == len(p.Data) {
					packet := gopacket.NewPacket(p.Data, layers.LinkTypeEthernet, gopacket.Default)
					checkSums(t, i+1, packet, packet.TransportLayer().(*layers.TCP))
				}
			}
		})
	}
}

func TestDegradationsOfOtherLinks(t *testing.T) {
	for _, link := range []pcap.LinkType{pcap.LinkTypeNull, pcap.LinkTypeRaw, pcap.LinkTypeLinuxSLL, pcap.LinkTypeLinuxSLL2} {
		for _, ipv6 := range []bool{false, true} {
			packets := story(link, ipv6)
			client := kafkatest.OneWay(packets, pcaptest.FromClient)
			server := kafkatest.OneWay(packets, pcaptest.FromServer)
			if len(client) == 0 || len(server) == 0 || len(client)+len(server) != len(packets) {
				t.Errorf("%v, IPv6 %v: %d and %d of %d packets", link, ipv6, len(client), len(server), len(packets))
			}
			kafkatest.VantagePoint(packets, time.Second)
		}
	}
}

// TestFiles reads both file formats with gopacket.
func TestFiles(t *testing.T) {
	s := kafkatest.NewScenario(start)
	s.Connect("client-a", 1).Metadata(9, "a").Answer(kafkatest.Leader{Topic: "a", Leader: 1})
	type reader interface {
		ReadPacketData() ([]byte, gopacket.CaptureInfo, error)
	}
	old, err := pcapgo.NewReader(bytes.NewReader(s.Pcap()))
	if err != nil {
		t.Fatal(err)
	}
	ng, err := pcapgo.NewNgReader(bytes.NewReader(s.Pcapng()), pcapgo.DefaultNgReaderOptions)
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]reader{"pcap": old, "pcapng": ng} {
		for _, f := range s.Frames() {
			data, info, err := r.ReadPacketData()
			if err != nil || !bytes.Equal(data, f.Data) || info.Timestamp.UnixNano() != int64(f.Time) {
				t.Errorf("%s: frame %d: %v", name, f.Number, err)
			}
		}
		if _, _, err := r.ReadPacketData(); err != io.EOF {
			t.Errorf("%s: more packets than frames: %v", name, err)
		}
	}
}
