package kafkatest

import (
	"net/netip"
	"time"

	"github.com/kdupscan/kdupscan/pcap/pcaptest"
)

// networkCases show one message several times, or in pieces. The producers have no id, so that each repetition would look like
// a blind retry to a program that takes packets for messages.
var networkCases = []Case{
	{
		Name:  "mirror-port",
		About: "a monitor port records every packet a second time, with a VLAN tag and a lower TTL",
		Tell:  plain,
		Spoil: func(p []pcaptest.Packet) []pcaptest.Packet { return Mirror(p, 100) },
	},
	{
		Name:  "nat-both-sides",
		About: "captured on both sides of address translation: each exchange under two address pairs, with equal TCP sequence numbers",
		Tell:  plain,
		Spoil: func(p []pcaptest.Packet) []pcaptest.Packet {
			return NAT(p, netip.AddrFrom4([4]byte{198, 51, 100, 1}), netip.AddrFrom4([4]byte{203, 0, 113, 9}))
		},
	},
	{
		Name:  "every-packet-twice",
		About: "a capture on all interfaces holds each packet twice",
		Tell:  plain,
		Spoil: func(p []pcaptest.Packet) []pcaptest.Packet { return Repeat(p, 1, 1) },
	},
	{
		Name:  "tcp-retransmission",
		About: "part of a request is retransmitted with other segment borders",
		Tell: func(s *Scenario) {
			c := s.Dial(Dial{ClientID: "client-a", Broker: 1, MSS: 60})
			b := Batch{Topic: "sensors", Records: s.Records("16.5", "17.0")}
			p := c.Produce(7, allAcks, b)
			c.Retransmit(pcaptest.FromClient, 100)
			p.Answer(OK(55))
			c.Retransmit(pcaptest.FromServer, 30)
			read(c, 11, b.At(55, 4))
		},
	},
	{
		Name:  "proxy",
		About: "a proxy ends TCP on both sides and passes on the same bytes",
		Tell:  proxied,
	},
	{
		Name:  "ipv6-pipelined",
		About: "IPv6, small segments, delayed acknowledgements, several requests in one run of segments",
		IPv6:  true,
		Tell:  pipelined,
	},
}

// plain is an exchange in which nothing happens.
func plain(s *Scenario) {
	c := meet(s, "client-a", 1, "librdkafka", "2.6.1", Leader{"sensors", 0, 1, 4})
	b := Batch{Topic: "sensors", Records: s.Records("16.5", "17.0")}
	send(c, 7, b, OK(55))
	s.Advance(time.Second)
	next := b
	next.Records = s.Records("17.5")
	send(c, 7, next, OK(57))
	read(s.Connect("reader-a", 1), 11, b.At(55, 4), next.At(57, 4))
	c.Close()
}

func proxied(s *Scenario) {
	proxy := netip.AddrFrom4([4]byte{203, 0, 113, 1})
	front := s.Dial(Dial{ClientID: "client-a", Broker: 1, Server: netip.AddrPortFrom(proxy, brokerPort)})
	back := s.Dial(Dial{ClientID: "client-a", Broker: 1, Client: proxy})
	b := Batch{Topic: "sensors"}
	for i, value := range []string{"16.5", "17.0"} {
		b.Records = s.Records(value)
		p, q := front.Produce(7, allAcks, b), back.Produce(7, allAcks, b)
		s.Advance(latency)
		q.Answer(OK(int64(55 + i)))
		p.Answer(OK(int64(55 + i)))
		s.Advance(retryAfter)
	}
}

func pipelined(s *Scenario) {
	c := s.Dial(Dial{ClientID: "client-a", Broker: 2, MSS: 100, DelayedAck: true, Software: "kgo", Version: "1.22.3"})
	b := Batch{Topic: "sensors", ZeroSequence: true, Codec: Gzip}
	var sent []*Produced
	c.Hold()
	for _, value := range []string{"18.0", "18.5", "19.0"} {
		b.Records = s.Records(value)
		sent = append(sent, c.Produce(9, allAcks, b))
	}
	c.Flush()
	s.Advance(time.Second)
	for i, p := range sent {
		p.Answer(OK(int64(55 + i)))
		s.Advance(time.Second)
	}
	c.Close()
}
