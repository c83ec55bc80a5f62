package reassembly

import (
	"strings"
	"testing"
	"time"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/pcap/pcaptest"
)

// One packet of Ethernet, IPv4 and TCP.
func BenchmarkDecode(b *testing.B) {
	for name, vlan := range map[string][]uint16{"plain": nil, "vlan": {7}} {
		b.Run(name, func(b *testing.B) {
			c := pcaptest.NewConversation(endpointA, endpointB, time.Unix(0, 0))
			c.VLAN = vlan
			c.Client([]byte(strings.Repeat("x", 1448)))
			f := pcaptest.Frames(c.Packets()...)[0]
			d := NewDecoder(DefaultLimits(), func(pcap.Note) {})
			n := 0
			emit := func(s *Segment) { n += s.Length }
			b.ReportAllocs()
			b.SetBytes(int64(len(f.Data)))
			for b.Loop() {
				d.Decode(&f, emit)
			}
		})
	}
}

// Segments in order, spread over some connections.
func BenchmarkPush(b *testing.B) {
	const connections, size = 100, 1448
	segments := make([]Segment, connections)
	a := NewAssembler(DefaultLimits(), func(*Event) {}, func(pcap.Note) {})
	for i := range segments {
		a.Push(numbered(i, SYN, 0, ""))
		segments[i] = *numbered(i, ACK, 1, strings.Repeat("x", size))
	}
	b.ReportAllocs()
	b.SetBytes(size)
	i := 0
	for b.Loop() {
		s := &segments[i]
		a.Push(s)
		s.Seq += size
		if i++; i == connections {
			i = 0
		}
	}
}
