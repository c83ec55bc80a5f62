package kafkatest

import (
	"crypto/sha256"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/pcap/pcaptest"
)

// brokerPort is the port of every broker.
const brokerPort = 9092

// Start is the time at which the ready scenarios begin: a date of no meaning.
var Start = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

// Scenario is one story: a clock, brokers, clients and their connections. Each packet moves the clock by 100 µs; Advance moves
// it further. The exported fields may be set before the first Connect.
type Scenario struct {
	ClusterID string
	Brokers   int32 // ids 1 to Brokers
	IPv6      bool
	LinkType  pcap.LinkType

	now     time.Time
	conns   []*Conn
	clients map[string]uint8 // last byte of the address, by client id
	lives   map[string]int   // how often a topic has been deleted
}

// NewScenario begins a story with three brokers and Ethernet frames.
func NewScenario(start time.Time) *Scenario {
	return &Scenario{
		ClusterID: "cluster-a",
		Brokers:   3,
		LinkType:  pcap.LinkTypeEthernet,
		now:       start,
		clients:   make(map[string]uint8),
		lives:     make(map[string]int),
	}
}

// Now returns the time of the next packet.
func (s *Scenario) Now() time.Time { return s.now }

// Advance moves the clock. Acknowledgements that fall due until then (Dial.DelayedAck) are sent in between.
func (s *Scenario) Advance(d time.Duration) {
	until := s.now.Add(d)
	for {
		var next *Conn
		for _, c := range s.conns {
			if due := c.ackDue(); !due.IsZero() && !due.After(until) && (next == nil || due.Before(next.ackDue())) {
				next = c
			}
		}
		if next == nil {
			break
		}
		s.now = later(s.now, next.ackDue())
		next.sendDueAck()
	}
	s.now = later(s.now, until)
}

// Records returns records without key, created now.
func (s *Scenario) Records(values ...string) []Record { return Records(s.now, values...) }

// batch returns a batch without identity, its records created now.
func (s *Scenario) batch(topic string, partition int32, values ...string) Batch {
	return Batch{Topic: topic, Partition: partition, Records: s.Records(values...)}
}

// Broker returns the address of a broker (RFC 5737, RFC 3849).
func (s *Scenario) Broker(id int32) netip.AddrPort {
	if s.IPv6 {
		return netip.AddrPortFrom(netip.MustParseAddr(fmt.Sprintf("2001:db8::b:%x", id)), brokerPort)
	}
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(id)}), brokerPort)
}

// client returns the address of a client: one for each client id, in the order in which they appear.
func (s *Scenario) client(id string) netip.Addr {
	n, ok := s.clients[id]
	if !ok {
		n = uint8(len(s.clients) + 1)
		s.clients[id] = n
	}
	if s.IPv6 {
		return netip.MustParseAddr(fmt.Sprintf("2001:db8::c:%x", n))
	}
	return netip.AddrFrom4([4]byte{198, 51, 100, n})
}

// TopicID returns the id of a topic: a digest of its name in the form of a version 4 UUID. It changes when the topic is deleted.
func (s *Scenario) TopicID(topic string) [16]byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d", s.ClusterID, topic, s.lives[topic]))
	id := [16]byte(sum[:16])
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return id
}

// endpoint names a broker as answers do that name another leader.
func (s *Scenario) endpoint(id int32) kmsg.ProduceResponseBroker {
	address := s.Broker(id)
	broker := kmsg.NewProduceResponseBroker()
	broker.NodeID, broker.Host, broker.Port = id, address.Addr().String(), int32(address.Port())
	return broker
}

// Packets returns all packets so far in order of time.
func (s *Scenario) Packets() []pcaptest.Packet {
	conversations := make([]*pcaptest.Conversation, len(s.conns))
	for i, c := range s.conns {
		conversations[i] = c.tcp
	}
	return pcaptest.Interleave(conversations...)
}

// Frames returns the packets as a reader would.
func (s *Scenario) Frames() []pcap.Frame { return pcaptest.Frames(s.Packets()...) }

// Pcap returns a capture file of the packets, with microseconds.
func (s *Scenario) Pcap() []byte { return pcaptest.PCAP{}.Encode(s.Packets()...) }

// Pcapng returns a capture file of the packets, with nanoseconds.
func (s *Scenario) Pcapng() []byte { return pcaptest.EncodePCAPNG(s.Packets()...) }

func later(a, b time.Time) time.Time { return slices.MaxFunc([]time.Time{a, b}, time.Time.Compare) }
