package reassembly

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kdupscan/kdupscan/pcap"
)

// fragment4 returns an IPv4 fragment of the TCP segment in packet: bytes low to high of it.
func fragment4(packet []byte, low, high int, id uint16) []byte {
	f := append(bytes.Clone(packet[:20]), packet[20+low:20+high]...)
	binary.BigEndian.PutUint16(f[2:], uint16(len(f)))
	binary.BigEndian.PutUint16(f[4:], id)
	field := uint16(low / 8)
	if 20+high < len(packet) {
		field |= 0x2000
	}
	binary.BigEndian.PutUint16(f[6:], field)
	return f
}

// fragment6 does the same for IPv6.
func fragment6(packet []byte, low, high int, id uint16) []byte {
	f := bytes.Clone(packet[:40])
	field := uint16(low)
	if 40+high < len(packet) {
		field |= 1
	}
	f = append(f, f[6], 0)
	f[6] = protoFragment
	f = binary.BigEndian.AppendUint16(f, field)
	f = binary.BigEndian.AppendUint32(f, uint32(id))
	f = append(f, packet[40+low:40+high]...)
	binary.BigEndian.PutUint16(f[4:], uint16(len(f)-40))
	return f
}

// A script of fragments: low-high, with x for other content, /n for n captured bytes of the IP payload, @ for time.
func TestFragments(t *testing.T) {
	payload := strings.Repeat("0123456789abcdef", 4) // with the TCP header: 84 bytes
	tests := []struct{ name, in, want, notes string }{
		{"in order", "0-24 24-64 64-84", payload, ""},
		{"any order", "64-84 24-64 0-24", payload, ""},
		{"last one first", "64-84 0-64", payload, ""},
		{"each twice", "0-64 0-64 64-84 64-84", payload, ""},
		{"inside one another", "0-64 24-40 64-84", payload, ""},
		{"overlap, the first counts", "0-64 40-80x 80-84", payload[:44] + "x", "fragment-overlap"},
		{"overlap over several", "24-32 48-56 0-64x 64-84", "x", "fragment-overlap"},
		{"one is missing", "0-24 64-84", "", ""},
		{"one is missing, noted after the timeout", "0-24 64-84 @31s 0-8", "", "fragment-lost"},
		{"too late", "0-64 @31s 64-84", "", "fragment-lost"},
		{"cut by snaplen", "0-64/40 64-84", payload[:20], ""},
		{"first cut within the TCP header", "0-64/10 64-84", "", "header-cut"},
		{"disagreement on the end", "64-84 0-64 @2s", payload, ""},
		{"beyond the end", "64-84 80-88", "", "packet-malformed IP fragments that disagree on the length"},
		{"another with the same id, at once", "0-64 64-84 0-64 64-84", payload, ""},
		{"another with the same id, later", "0-64 64-84 @2s 0-64 64-84", payload + payload, ""},
	}
	for _, test := range tests {
		for _, version := range []int{4, 6} {
			t.Run(fmt.Sprintf("%s, IPv%d", test.name, version), func(t *testing.T) {
				var frames []pcap.Frame
				now := pcap.Timestamp(0)
				for _, step := range strings.Fields(test.in) {
					if step[0] == '@' {
						d, _ := time.ParseDuration(step[1:])
						now += pcap.Timestamp(d)
						continue
					}
					f := fragmentOf(step, payload, version)
					f.Time = now
					frames = append(frames, f)
				}
				segments, notes := decode(frames...)
				got := ""
				for _, s := range segments {
					if s.Length != len(payload) {
						t.Errorf("length %d, want %d", s.Length, len(payload))
					}
					got += string(s.Payload)
				}
				if test.want == "x" || strings.HasSuffix(test.want, "x") {
					// Content of the second copy: only the first copy's part is compared, and that the rest differs.
					prefix := strings.TrimSuffix(test.want, "x")
					if len(got) != len(payload) || !strings.HasPrefix(got, prefix) || got == payload {
						t.Errorf("got %q", got)
					}
				} else if got != test.want {
					t.Errorf("got %q, want %q", got, test.want)
				}
				if n := strings.Join(notes, " "); n != test.notes {
					t.Errorf("notes %q, want %q", n, test.notes)
				}
			})
		}
	}
}

func fragmentOf(step, payload string, version int) pcap.Frame {
	step, captured, isCut := strings.Cut(step, "/")
	step, other := strings.CutSuffix(step, "x")
	var low, high int
	fmt.Sscanf(step, "%d-%d", &low, &high)
	packet, header := ip4Packet(payload), 20
	if version == 6 {
		packet, header = ip6Packet(payload), 40
	}
	if high > len(packet)-header {
		packet = append(packet, make([]byte, 100)...)
	}
	if other {
		for i := header + 20; i < len(packet); i++ { // leave the TCP header, or there is no segment
			packet[i] ^= 0xff
		}
	}
	var b []byte
	if version == 4 {
		b = fragment4(packet, low, high, 9)
	} else {
		b = fragment6(packet, low, high, 9)
		header += 8
	}
	f := frame(pcap.LinkTypeRaw, b)
	if isCut {
		n := 0
		fmt.Sscan(captured, &n)
		f.Data = b[:header+n]
	}
	return f
}

func TestFragmentLimits(t *testing.T) {
	limits := DefaultLimits()
	limits.Datagrams = 10
	limits.FragmentBytes = 1000
	notes := map[pcap.Code]int{}
	d := NewDecoder(limits, func(n pcap.Note) { notes[n.Code]++ })
	packet := ip4Packet(strings.Repeat("x", 400))
	for id := range uint16(100) {
		f := frame(pcap.LinkTypeRaw, fragment4(packet, 0, 8, id))
		d.Decode(&f, func(*Segment) { t.Error("a segment") })
		if n := d.fragments.order.Len(); n > 10 {
			t.Fatalf("%d datagrams", n)
		}
	}
	for id := range uint16(100) {
		f := frame(pcap.LinkTypeRaw, fragment4(packet, 8, 408, 1000+id))
		d.Decode(&f, func(*Segment) { t.Error("a segment") })
		if d.fragments.bytes > 1000 {
			t.Fatalf("%d bytes", d.fragments.bytes)
		}
	}
	if notes[CodeFragmentLimit] != 198 {
		t.Errorf("notes %v", notes)
	}
}

// A datagram in fragments that are fragments of a datagram: inside a tunnel that is fragmented itself.
func TestFragmentedTunnel(t *testing.T) {
	inner := ip4Packet(strings.Repeat("payload ", 20))
	var frames []pcap.Frame
	for id, part := range [][]byte{fragment4(inner, 0, 96, 1), fragment4(inner, 96, len(inner)-20, 1)} {
		outer := append(unhex("45000000 00000000 40040000 c0a80001 c0a80002"), part...)
		for _, f := range [][]byte{fragment4(outer, 48, len(outer)-20, uint16(id)), fragment4(outer, 0, 48, uint16(id))} {
			frames = append(frames, frame(pcap.LinkTypeRaw, f))
		}
	}
	segments, notes := decode(frames...)
	if len(segments) != 1 || !slices.Equal(segments[0].Payload, inner[40:]) || len(notes) != 0 {
		t.Errorf("%d segments, notes %v", len(segments), notes)
	}
}
