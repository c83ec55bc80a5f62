package reassembly

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/pcap/pcaptest"
)

// decode returns copies of the segments of frames, and the notes.
func decode(frames ...pcap.Frame) (segments []Segment, notes []string) {
	d := NewDecoder(DefaultLimits(), func(n pcap.Note) { notes = append(notes, strings.TrimSpace(string(n.Code)+" "+n.Detail)) })
	for i := range frames {
		d.Decode(&frames[i], func(s *Segment) {
			own := *s
			own.Payload = bytes.Clone(s.Payload)
			segments = append(segments, own)
		})
	}
	return segments, notes
}

func TestLinkTypes(t *testing.T) {
	v4 := [2]string{"10.0.0.1:40000", "10.0.0.2:9092"}
	v6 := [2]string{"[2001:db8::1]:40000", "[2001:db8::2]:9092"}
	tests := []struct {
		link      pcap.LinkType
		vlan      []uint16
		endpoints [2]string
	}{
		{pcap.LinkTypeEthernet, nil, v4}, {pcap.LinkTypeEthernet, nil, v6}, {pcap.LinkTypeEthernet, []uint16{7}, v4},
		{pcap.LinkTypeEthernet, []uint16{7, 8, 9}, v6}, {pcap.LinkTypeLinuxSLL, nil, v4}, {pcap.LinkTypeLinuxSLL, nil, v6},
		{pcap.LinkTypeLinuxSLL2, nil, v4}, {pcap.LinkTypeLinuxSLL2, nil, v6}, {pcap.LinkTypeRaw, nil, v4}, {pcap.LinkTypeRaw, nil, v6},
		{pcap.LinkTypeIPv4, nil, v4}, {pcap.LinkTypeIPv6, nil, v6}, {pcap.LinkTypeNull, nil, v4}, {pcap.LinkTypeNull, nil, v6},
	}
	for _, test := range tests {
		client, server := netip.MustParseAddrPort(test.endpoints[0]), netip.MustParseAddrPort(test.endpoints[1])
		c := pcaptest.NewConversation(client, server, time.Unix(1000, 0))
		c.LinkType, c.VLAN, c.ISN = test.link, test.vlan, [2]uint32{100, 200}
		c.Handshake()
		c.Client([]byte("request"))
		segments, notes := decode(pcaptest.Frames(c.Packets()...)...)
		if len(segments) != 4 || len(notes) != 0 {
			t.Fatalf("%v %v: %d segments, notes %v", test.link, test.vlan, len(segments), notes)
		}
		at := pcap.Ref{Number: 4, Time: pcap.Timestamp(time.Unix(1000, 300_000).UnixNano())}
		want := Segment{Src: client, Dst: server, Seq: 101, Ack: 201, Flags: PSH | ACK, Window: 0xffff, Payload: []byte("request"), Length: 7, At: at}
		if got := segments[3]; fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%v %v:\n got %v\nwant %v", test.link, test.vlan, got, want)
		}
		if s := segments[1]; s.Src != server || s.Dst != client || s.Flags != SYN|ACK {
			t.Errorf("%v: second segment %v", test.link, s)
		}
	}
}

// ip4Packet returns an IPv4 packet with a TCP segment from 10.0.0.1:40000 that carries payload.
func ip4Packet(payload string) []byte {
	c := pcaptest.NewConversation(endpointA, endpointB, time.Unix(0, 0))
	c.LinkType = pcap.LinkTypeRaw
	c.Client([]byte(payload))
	return c.Packets()[0].Data
}

func ip6Packet(payload string) []byte {
	c := pcaptest.NewConversation(netip.MustParseAddrPort("[2001:db8::1]:40000"), netip.MustParseAddrPort("[2001:db8::2]:9092"), time.Unix(0, 0))
	c.LinkType = pcap.LinkTypeRaw
	c.Client([]byte(payload))
	return c.Packets()[0].Data
}

func frame(link pcap.LinkType, data []byte) pcap.Frame {
	return pcap.Frame{Ref: pcap.Ref{Number: 1}, LinkType: link, Data: data, OriginalLength: len(data)}
}

// unhex reads hex digits; spaces separate fields.
func unhex(text string) []byte {
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		panic(err)
	}
	return b
}

// Headers written out by hand from their specifications, before an IP packet.
func TestHeaders(t *testing.T) {
	const macs = "020000000001 020000000002 "
	const ip6 = "60000000 ffff %s 40 20010db8000000000000000000000009 20010db8000000000000000000000008 "
	udp := func(port, rest string) string { // IPv4 with UDP; the lengths are those of no real packet: 0 means the whole frame
		return macs + "0800 45000000 00000000 40110000 c0a80001 c0a80002 c000 " + port + " 0000 0000 " + rest
	}
	ip4 := func(protocol, rest string) string {
		return macs + "0800 45000000 00000000 40" + protocol + "0000 c0a80001 c0a80002 " + rest
	}
	ext := func(next, rest string) string {
		return macs + "86dd " + strings.Replace(fmt.Sprintf(ip6, next), "ffff", "0000", 1) + rest
	}
	inner := macs + "0800 "
	tests := []struct {
		name   string
		link   pcap.LinkType
		header string
	}{
		{"802.1ad", pcap.LinkTypeEthernet, macs + "88a8 0007 8100 0008 0800"},
		{"0x9100", pcap.LinkTypeEthernet, macs + "9100 0007 0800"},
		{"VN-Tag", pcap.LinkTypeEthernet, macs + "8926 00000000 0800"},
		{"E-Tag", pcap.LinkTypeEthernet, macs + "893f 000000000000 0800"},
		{"MAC-in-MAC", pcap.LinkTypeEthernet, macs + "88a8 0007 88e7 00000001 " + inner},
		{"802.3 with SNAP", pcap.LinkTypeEthernet, macs + "0100 aaaa03 000000 0800"},
		{"cooked, VLAN", pcap.LinkTypeLinuxSLL, "0000 0001 0006 020000000001 0000 8100 0007 0800"},
		{"cooked 2, VLAN", pcap.LinkTypeLinuxSLL2, "8100 0000 00000002 0001 00 06 020000000001 0000 0007 0800"},
		{"null, big-endian", pcap.LinkTypeNull, "00000002"},
		{"null, little-endian", pcap.LinkTypeNull, "02000000"},
		{"loop", pcap.LinkTypeLoop, "00000002"},
		{"raw, OpenBSD", pcap.LinkTypeRawOpen, ""},
		{"raw, BSD", pcap.LinkTypeRawBSD, ""},
		{"PPP", pcap.LinkTypePPP, "0021"},
		{"PPP, HDLC", pcap.LinkTypePPPHDLC, "ff03 0021"},
		{"PPP, short protocol", pcap.LinkTypePPP, "21"},
		{"PPPoE", pcap.LinkTypePPPoE, "11 00 0001 0000 0021"},
		{"PPPoE on Ethernet", pcap.LinkTypeEthernet, macs + "8864 11 00 0001 0000 0021"},
		{"Cisco HDLC", pcap.LinkTypeCiscoHDLC, "0f00 0800"},
		{"PKTAP", pcap.LinkTypePktap, "10000000 01000000 01000000 00000000 " + inner},
		{"NFLOG, little-endian", pcap.LinkTypeNFLog, "02000000 0800 0100 00000000 0500 0a00 41000000 ffff 0900"},
		{"NFLOG, big-endian", pcap.LinkTypeNFLog, "02000000 0008 0001 00000000 ffff 0009"},
		{"MPLS link", linkTypeMPLS, "00010140"},
		{"MPLS", pcap.LinkTypeEthernet, macs + "8847 00010040 00011140"},
		{"MPLS pseudowire", pcap.LinkTypeEthernet, macs + "8847 00011140 00000000 " + inner},
		{"MPLS pseudowire without control word", pcap.LinkTypeEthernet, macs + "8848 00011140 1" + inner[1:]},
		{"MPLS pseudowire without control word, to an address that begins like one", pcap.LinkTypeEthernet, macs + "8847 00011140 " + inner},
		{"MPLS pseudowire without control word, with a tag inside", pcap.LinkTypeEthernet, macs + "8847 00011140 " + macs + "8100 0007 0800 "},
		{"GRE", pcap.LinkTypeEthernet, ip4("2f", "0000 0800")},
		{"GRE, all options", pcap.LinkTypeEthernet, ip4("2f", "b000 0800 00000000 00000001 00000002")},
		{"GRE, Ethernet with key (NVGRE)", pcap.LinkTypeEthernet, ip4("2f", "2000 6558 00000100 "+inner)},
		{"GRE version 1, PPP (PPTP)", pcap.LinkTypeEthernet, ip4("2f", "3081 880b 00000001 00000001 00000001 0021")},
		{"GRE, WCCP", pcap.LinkTypeEthernet, ip4("2f", "0000 883e 00000000")},
		{"ERSPAN I", pcap.LinkTypeEthernet, ip4("2f", "0000 88be "+inner)},
		{"ERSPAN II", pcap.LinkTypeEthernet, ip4("2f", "1000 88be 00000001 1001000a 00000000 "+inner)},
		{"ERSPAN III", pcap.LinkTypeEthernet, ip4("2f", "1000 22eb 00000001 2001000a 00000000 00000000 "+inner)},
		{"ERSPAN III, platform header", pcap.LinkTypeEthernet, ip4("2f", "1000 22eb 00000001 2001000a 00000000 0000 0001 0000000000000000 "+inner)},
		{"ERSPAN III, IP inside", pcap.LinkTypeEthernet, ip4("2f", "1000 22eb 00000001 2001000a 00000000 0000 0800")},
		{"VXLAN", pcap.LinkTypeEthernet, udp("12b5", "08000000 00000100 "+inner)},
		{"VXLAN, Linux port", pcap.LinkTypeEthernet, udp("2118", "08000000 00000100 "+inner)},
		{"VXLAN-GPE, IPv4", pcap.LinkTypeEthernet, udp("12b6", "0c000001 00000100")},
		{"VXLAN-GPE, NSH, Ethernet", pcap.LinkTypeEthernet, udp("12b6", "0c000004 00000100 0002 01 03 00000000 "+inner)},
		{"Geneve", pcap.LinkTypeEthernet, udp("17c1", "0000 6558 00000100 "+inner)},
		{"Geneve with options, IPv4", pcap.LinkTypeEthernet, udp("17c1", "0200 0800 00000100 0000000000000000")},
		{"GTP-U", pcap.LinkTypeEthernet, udp("0868", "30 ff 0000 00000001")},
		{"GTP-U, extension header", pcap.LinkTypeEthernet, udp("0868", "34 ff 0000 00000001 0000 00 85 01 0000 00")},
		{"GRE in UDP", pcap.LinkTypeEthernet, udp("1292", "0000 0800")},
		{"MPLS in UDP", pcap.LinkTypeEthernet, udp("19eb", "00011140")},
		{"IPv4 in IPv4", pcap.LinkTypeEthernet, ip4("04", "")},
		{"Ethernet in IPv4", pcap.LinkTypeEthernet, ip4("61", "3000 "+inner)},
		{"MPLS in IPv4", pcap.LinkTypeEthernet, ip4("89", "00011140")},
		{"AH", pcap.LinkTypeEthernet, ip4("33", "04 04 0000 00000001 00000001 000000000000000000000000")},
		{"IPv4 in IPv6", pcap.LinkTypeEthernet, ext("04", "")},
		{"IPv6 hop-by-hop, routing, destination options", pcap.LinkTypeEthernet, ext("00", "2b00000000000000 3c00000000000000 0401000000000000 0000000000000000")},
		{"IPv6 jumbo payload", pcap.LinkTypeEthernet, ext("00", "0400 c204 00100000")},
		{"IPv6 atomic fragment", pcap.LinkTypeEthernet, ext("2c", "0400 0000 00000001")},
		{"IPv6 AH", pcap.LinkTypeEthernet, ext("33", "04 04 0000 00000001 00000001 000000000000000000000000")},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			segments, notes := decode(frame(test.link, append(unhex(test.header), ip4Packet("payload")...)))
			if len(notes) != 0 || len(segments) != 1 {
				t.Fatalf("%d segments, notes %v", len(segments), notes)
			}
			if s := segments[0]; s.Src != endpointA || s.Dst != endpointB || string(s.Payload) != "payload" || s.Length != 7 {
				t.Errorf("got %+v", s)
			}
			// Cut anywhere, it must neither panic nor invent payload.
			for n := range len(test.header) / 2 {
				f := frame(test.link, append(unhex(test.header), ip4Packet("payload")...))
				f.Data = f.Data[:min(n, len(f.Data))]
				if segments, _ := decode(f); len(segments) > 0 && len(segments[0].Payload) > 7 {
					t.Errorf("cut to %d: %+v", n, segments[0])
				}
			}
		})
	}
}

// What the IP and TCP headers say, and what the frame says.
func TestLengths(t *testing.T) {
	eth := unhex("020000000001 020000000002 0800")
	eth6 := unhex("020000000001 020000000002 86dd")
	packet4, packet6 := ip4Packet("payload"), ip6Packet("payload")
	edit := func(b []byte, change func(b []byte) []byte) []byte { return change(bytes.Clone(b)) }
	tests := []struct {
		name    string
		data    []byte
		wire    int // 0: as captured
		payload string
		length  int // -1: no segment
		notes   string
	}{
		{"plain", slices.Concat(eth, packet4), 0, "payload", 7, ""},
		{"Ethernet padding", slices.Concat(eth, packet4, make([]byte, 9)), 0, "payload", 7, ""},
		{"Ethernet padding, IPv6", slices.Concat(eth6, packet6, make([]byte, 9)), 0, "payload", 7, ""},
		{"total length 0", slices.Concat(eth, edit(packet4, func(b []byte) []byte { b[2], b[3] = 0, 0; return b })), 0, "payload", 7, ""},
		{"total length 0, cut", slices.Concat(eth, edit(packet4, func(b []byte) []byte { b[2], b[3] = 0, 0; return b })), 70_000 + 14 + 40, "payload", 70_000, ""},
		{"payload length 0, IPv6, cut", slices.Concat(eth6, edit(packet6, func(b []byte) []byte { b[4], b[5] = 0, 0; return b })), 70_000 + 14 + 60, "payload", 70_000, ""},
		{"cut in the payload", slices.Concat(eth, packet4)[:14+40+3], 14 + 47, "pay", 7, ""},
		{"cut, and the frame's own length lost", slices.Concat(eth, packet4)[:14+40+3], 0, "pay", 7, ""},
		{"cut in the TCP options", slices.Concat(eth, edit(packet4, func(b []byte) []byte {
			b[32] = 6 << 4 // the first four bytes of the payload are options now
			return b[:42]
		})), 14 + 47, "", 3, ""},
		{"TCP data offset beyond the end", slices.Concat(eth, edit(packet4, func(b []byte) []byte { b[32] = 8 << 4; return b })), 0, "", -1, "packet-malformed TCP data offset"},
		{"TCP data offset below 20", slices.Concat(eth, edit(packet4, func(b []byte) []byte { b[32] = 4 << 4; return b })), 0, "", -1, "packet-malformed TCP data offset"},
		{"cut in the TCP header", slices.Concat(eth, packet4)[:14+35], 14 + 47, "", -1, "header-cut"},
		{"cut in the IP header", slices.Concat(eth, packet4)[:14+19], 14 + 47, "", -1, "header-cut"},
		{"IP options", slices.Concat(eth, edit(packet4, func(b []byte) []byte {
			b[0], b[3] = 0x46, b[3]+4
			return slices.Insert(b, 20, 1, 1, 1, 0)
		})), 0, "payload", 7, ""},
		{"IP header of 16 bytes", slices.Concat(eth, edit(packet4, func(b []byte) []byte { b[0] = 0x44; return b })), 0, "", -1, "packet-malformed IPv4 header"},
		{"total length below the header", slices.Concat(eth, edit(packet4, func(b []byte) []byte { b[3] = 19; return b })), 0, "", -1, "packet-malformed IPv4 header"},
		{"total length below the TCP header", slices.Concat(eth, edit(packet4, func(b []byte) []byte { b[3] = 30; return b })), 0, "", -1, "packet-malformed shorter than its header"},
		{"UDP", slices.Concat(eth, edit(packet4, func(b []byte) []byte { b[9] = 17; return b })), 0, "", -1, ""},
		{"ARP", slices.Concat(unhex("ffffffffffff 020000000002 0806"), make([]byte, 28)), 0, "", -1, ""},
		{"ESP", slices.Concat(eth, edit(packet4, func(b []byte) []byte { b[9] = 50; return b })), 0, "", -1, "tunnel-encrypted IPsec ESP"},
		{"empty", nil, 0, "", -1, "packet-malformed shorter than its header"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := frame(pcap.LinkTypeEthernet, test.data)
			f.OriginalLength = max(test.wire, len(test.data))
			segments, notes := decode(f)
			if got := strings.Join(notes, ", "); got != test.notes {
				t.Errorf("notes %q, want %q", got, test.notes)
			}
			if test.length < 0 {
				if len(segments) != 0 {
					t.Errorf("got %+v", segments)
				}
				return
			}
			if len(segments) != 1 || string(segments[0].Payload) != test.payload || segments[0].Length != test.length {
				t.Errorf("got %+v, want %q of %d", segments, test.payload, test.length)
			}
		})
	}
}

// A mirror port shows each packet twice, once with a tag: both are segments of one connection.
func TestMirror(t *testing.T) {
	build := func(vlan ...uint16) []pcaptest.Packet {
		c := pcaptest.NewConversation(endpointA, endpointB, time.Unix(0, 0))
		c.VLAN = vlan
		c.Handshake()
		c.Client(content(0, 0, 3000))
		c.Server(content(1, 0, 5000))
		c.Ack(pcaptest.FromClient)
		c.FIN(pcaptest.FromClient)
		c.FIN(pcaptest.FromServer)
		c.Ack(pcaptest.FromClient)
		return c.Packets()
	}
	plain, tagged := build(), build(7)
	var both []pcaptest.Packet
	for i := range plain {
		both = append(both, plain[i], tagged[i])
	}
	segments, notes := decode(pcaptest.Frames(both...)...)
	r := run(t, DefaultLimits(), segments)
	if len(r.conns) != 1 || len(notes) != 0 || len(r.notes) != 0 && !slices.Equal(r.notes, []string{string(CodeRepeat)}) {
		t.Fatalf("%d connections, notes %v %v", len(r.conns), notes, r.notes)
	}
	k := r.conns[1]
	if !bytes.Equal(k.data[0], content(0, 0, 3000)) || !bytes.Equal(k.data[1], content(1, 0, 5000)) || k.gaps != [2]int64{} {
		t.Errorf("%d and %d bytes, gaps %v", len(k.data[0]), len(k.data[1]), k.gaps)
	}
}

func TestUnsupportedLinkType(t *testing.T) {
	_, notes := decode(frame(pcap.LinkTypeWiFi, []byte{1, 2, 3}))
	if !slices.Equal(notes, []string{"link-type-unsupported IEEE802_11"}) {
		t.Errorf("notes %v", notes)
	}
}

// Tunnels in tunnels end at a bound.
func TestTunnelDepth(t *testing.T) {
	packet := ip4Packet("payload")
	for range 3 * maxDepth {
		outer := unhex("45000000 00000000 40040000 c0a80001 c0a80002")
		binary.BigEndian.PutUint16(outer[2:], uint16(20+len(packet)))
		packet = append(outer, packet...)
	}
	segments, notes := decode(frame(pcap.LinkTypeRaw, packet))
	if len(segments) != 0 || !slices.Equal(notes, []string{"tunnel-too-deep"}) {
		t.Errorf("%d segments, notes %v", len(segments), notes)
	}
}
