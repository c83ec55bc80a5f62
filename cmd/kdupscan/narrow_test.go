package main

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/kdupscan/kdupscan/kafka/kafkatest"
	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/pcap/pcaptest"
	"github.com/kdupscan/kdupscan/reassembly"
	"github.com/kdupscan/kdupscan/reassembly/tls"
)

// filters is a live capture that takes filters and yields nothing.
type filters struct {
	pcap.Live
	wide, narrow int // filters set
}

func (f *filters) SetFilter(filter pcap.LiveFilter) error {
	if filter == nil {
		f.wide++
		return nil
	}
	f.narrow++
	_, err := filter(pcap.LinkTypeEthernet)
	return err
}

// conversation returns frames of a connection to a port, inside so many VLAN tags.
func conversation(port uint16, tags ...uint16) []pcap.Frame {
	c := pcaptest.NewConversation(netip.MustParseAddrPort("198.51.100.1:40000"), netip.AddrPortFrom(netip.MustParseAddr("192.0.2.1"), port), kafkatest.Start)
	c.VLAN = tags
	c.Handshake()
	c.Client([]byte("data"))
	return pcaptest.Frames(c.Packets()...)
}

// pass gives frames to the narrower and returns how many it wants recorded, and how many segments analysed.
func pass(n *narrower, frames []pcap.Frame) (recorded, analysed int) {
	decoder := reassembly.NewDecoder(reassembly.DefaultLimits(), func(pcap.Note) {})
	for i := range frames {
		if n.frame(&frames[i]) {
			recorded++
		}
		decoder.Decode(&frames[i], func(s *reassembly.Segment) {
			if n.wants(s) {
				analysed++
			}
		})
	}
	return recorded, analysed
}

// TestNarrowingIsSound: what each state lets through, and what keeps the filter wide.
func TestNarrowingIsSound(t *testing.T) {
	start := time.Now()
	begin := func() (*narrower, *filters, *strings.Builder) {
		network, said := new(filters), new(strings.Builder)
		n := newNarrower(network, make(chan uint16, maxNarrowPorts), tls.NewKeys(nil), func(format string, args ...any) { fmt.Fprintf(said, format+"\n", args...) })
		n.since = start
		n.learned <- 9092
		n.tick(start)
		t.Cleanup(n.end)
		return n, network, said
	}
	for _, c := range []struct {
		name   string
		frames []pcap.Frame
		narrow bool
	}{
		{"plain", conversation(9092), true},
		{"tagged", conversation(9092, 7), true},
		{"other port in two tags", conversation(80, 7, 8), true},
		{"in two tags", conversation(9092, 7, 8), false},
	} {
		n, network, said := begin()
		if recorded, analysed := pass(n, c.frames); recorded != len(c.frames) || analysed != len(c.frames) {
			t.Errorf("%s: %d recorded, %d analysed of %d while all is wide", c.name, recorded, analysed, len(c.frames))
		}
		n.tick(start.Add(settleFor - 1))
		if network.narrow > 0 {
			t.Errorf("%s: narrowed too early", c.name)
		}
		n.tick(start.Add(settleFor))
		if (network.narrow > 0) != c.narrow || (n.state == narrow) != c.narrow {
			t.Errorf("%s: narrowed %v, want %v\n%s", c.name, network.narrow > 0, c.narrow, said)
		}
	}

	n, network, said := begin()
	now := start.Add(settleFor)
	n.tick(now)
	if _, analysed := pass(n, conversation(80)); analysed > 0 { // still in the ring
		t.Error("another port is analysed while narrow")
	}
	now = now.Add(lookAroundEvery)
	n.tick(now)
	if recorded, analysed := pass(n, conversation(80)); n.state != looking || recorded+analysed > 0 {
		t.Errorf("in a look %d frames of another port are recorded, %d segments analysed", recorded, analysed)
	}
	if recorded, analysed := pass(n, conversation(9092)); recorded != 4 || analysed != 4 {
		t.Errorf("in a look %d frames of the port are recorded, %d segments analysed, want 4", recorded, analysed)
	}
	now = now.Add(lookAroundFor)
	n.tick(now)
	if n.state != narrow || network.narrow != 2 || network.wide != 1 {
		t.Errorf("state %d, narrowed %d times, widened %d times", n.state, network.narrow, network.wide)
	}
	n.tick(now.Add(lookAroundEvery))
	pass(n, conversation(9092, 7, 8))
	if n.state != unbound || network.wide != 3 {
		t.Errorf("state %d after Kafka in two tags\n%s", n.state, said)
	}
	for port := range uint16(maxNarrowPorts + 1) {
		n.learn(port, now)
	}

	n, _, said = begin()
	for port := range uint16(maxNarrowPorts) {
		n.learn(port+1, now)
	}
	if n.state != unbound || strings.Count(said.String(), "\n") != 1 {
		t.Errorf("state %d with too many ports\n%s", n.state, said)
	}
}
