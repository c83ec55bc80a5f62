package pcaptest_test

import (
	"bytes"
	"net/netip"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/pcap/pcaptest"
)

var start = time.Date(2024, 5, 6, 7, 8, 9, 123456000, time.UTC)

// TestConversation has gopacket decode every link type and address family: ports, numbers, flags, payload, checksums.
func TestConversation(t *testing.T) {
	families := map[string][2]string{"ip4": {"10.0.0.1:50000", "10.0.0.2:9092"}, "ip6": {"[fd00::1]:50000", "[fd00::2]:9092"}}
	links := map[string]struct {
		link    pcap.LinkType
		decoder gopacket.Decoder
		vlan    []uint16
	}{
		"ethernet": {pcap.LinkTypeEthernet, layers.LinkTypeEthernet, nil},
		"vlan":     {pcap.LinkTypeEthernet, layers.LinkTypeEthernet, []uint16{7, 8}},
		"sll":      {pcap.LinkTypeLinuxSLL, layers.LinkTypeLinuxSLL, nil},
		"null":     {pcap.LinkTypeNull, layers.LinkTypeNull, nil},
		"raw":      {pcap.LinkTypeRaw, layers.LinkTypeRaw, nil},
	}
	for family, addrs := range families {
		for name, l := range links {
			t.Run(family+"/"+name, func(t *testing.T) {
				c := pcaptest.NewConversation(netip.MustParseAddrPort(addrs[0]), netip.MustParseAddrPort(addrs[1]), start)
				c.LinkType, c.VLAN, c.MSS = l.link, l.vlan, 3
				c.Handshake()
				c.Client([]byte("hello"))
				c.FIN(pcaptest.FromClient)
				c.Ack(pcaptest.FromServer)
				want := []struct {
					port     layers.TCPPort
					seq, ack uint32
					syn, fin bool
					payload  string
				}{
					{50000, 1000, 0, true, false, ""},
					{9092, 5000, 1001, true, false, ""},
					{50000, 1001, 5001, false, false, ""},
					{50000, 1001, 5001, false, false, "hel"},
					{50000, 1004, 5001, false, false, "lo"},
					{50000, 1006, 5001, false, true, ""},
					{9092, 5001, 1007, false, false, ""},
				}
				packets := c.Packets()
				if len(packets) != len(want) {
					t.Fatalf("%d packets, want %d", len(packets), len(want))
				}
				for i, p := range packets {
					tcp := decode(t, p.Data, l.decoder)
					w := want[i]
					if tcp.SrcPort != w.port || tcp.Seq != w.seq || tcp.Ack != w.ack || tcp.SYN != w.syn || tcp.FIN != w.fin || string(tcp.Payload) != w.payload {
						t.Errorf("packet %d: got %+v, want %+v", i, tcp, w)
					}
				}
			})
		}
	}
}

// decode returns the TCP layer, having checked its checksum by computing it anew.
func decode(t *testing.T, data []byte, first gopacket.Decoder) *layers.TCP {
	t.Helper()
	p := gopacket.NewPacket(data, first, gopacket.Default)
	tcp, ok := p.TransportLayer().(*layers.TCP)
	if !ok {
		t.Fatalf("no TCP in %v", p)
	}
	checksum := tcp.Checksum
	if err := tcp.SetNetworkLayerForChecksum(p.NetworkLayer()); err != nil {
		t.Fatal(err)
	}
	buf := gopacket.NewSerializeBuffer()
	again := *tcp
	if err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{ComputeChecksums: true}, &again, gopacket.Payload(tcp.Payload)); err != nil {
		t.Fatal(err)
	}
	if again.Checksum != checksum {
		t.Errorf("TCP checksum %#x, want %#x", checksum, again.Checksum)
	}
	return tcp
}

// TestFiles reads both formats back with pcapgo.
func TestFiles(t *testing.T) {
	packets := []pcaptest.Packet{
		{Time: start, LinkType: 1, Data: []byte("odd"), Length: 60},
		{Time: start.Add(time.Second), LinkType: 1, Data: []byte("even")},
	}
	readers := map[string]func() (gopacket.PacketDataSource, error){
		"pcap": func() (gopacket.PacketDataSource, error) {
			return pcapgo.NewReader(bytes.NewReader(pcaptest.PCAP{}.Encode(packets...)))
		},
		"pcap big-endian nano": func() (gopacket.PacketDataSource, error) {
			return pcapgo.NewReader(bytes.NewReader(pcaptest.PCAP{BigEndian: true, Nano: true}.Encode(packets...)))
		},
		"pcapng": func() (gopacket.PacketDataSource, error) {
			return pcapgo.NewNgReader(bytes.NewReader(pcaptest.EncodePCAPNG(packets...)), pcapgo.DefaultNgReaderOptions)
		},
	}
	for name, open := range readers {
		t.Run(name, func(t *testing.T) {
			r, err := open()
			if err != nil {
				t.Fatal(err)
			}
			for i, p := range packets {
				data, ci, err := r.ReadPacketData()
				if err != nil {
					t.Fatal(err)
				}
				length := max(p.Length, len(p.Data))
				if !bytes.Equal(data, p.Data) || !ci.Timestamp.Equal(p.Time) || ci.Length != length {
					t.Errorf("packet %d: %q at %v of %d bytes", i, data, ci.Timestamp, ci.Length)
				}
			}
		})
	}
}

func TestInterleave(t *testing.T) {
	a := pcaptest.NewConversation(netip.MustParseAddrPort("10.0.0.1:1"), netip.MustParseAddrPort("10.0.0.9:9092"), start)
	b := pcaptest.NewConversation(netip.MustParseAddrPort("10.0.0.2:2"), netip.MustParseAddrPort("10.0.0.9:9092"), start.Add(50*time.Microsecond))
	a.Handshake()
	b.Handshake()
	frames := pcaptest.Frames(pcaptest.Interleave(a, b)...)
	if len(frames) != 6 {
		t.Fatalf("%d frames, want 6", len(frames))
	}
	for i, f := range frames {
		want := pcap.Timestamp(start.Add(time.Duration(i) * 50 * time.Microsecond).UnixNano())
		if f.Number != pcap.FrameNumber(i+1) || f.Time != want {
			t.Errorf("frame %d: number %d, time %d, want %d", i, f.Number, f.Time, want)
		}
	}
}
