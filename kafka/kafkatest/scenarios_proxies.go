package kafkatest

import (
	"net/netip"
	"time"
)

// proxyCases have something between client and broker that is more than a wire.
var proxyCases = []Case{
	{
		Name:  "proxy-retries-itself",
		About: "a proxy meets 7 with an offset and sends again on its own; its client hears of one OK",
		Twin:  "relaying-proxy",
		Tell: func(s *Scenario) {
			proxy := netip.AddrFrom4([4]byte{203, 0, 113, 1})
			front := s.Dial(Dial{ClientID: "client-a", Broker: 1, Server: netip.AddrPortFrom(proxy, brokerPort)})
			back := s.Dial(Dial{ClientID: "proxy", Broker: 1, Client: proxy, CorrelationID: 900})
			b := s.batch("sensors", 0, "16.5")
			p := front.Produce(7, allAcks, b)
			q := back.Produce(7, allAcks, b)
			s.Advance(time.Second)
			q.Answer(AppendedBut(RequestTimedOut, 55))
			s.Advance(retryAfter)
			q = back.Produce(7, allAcks, b)
			s.Advance(latency)
			q.Answer(OK(56))
			p.Answer(OK(56))
			read(s.Connect("reader-a", 1), 11, b.At(55, 4), b.At(56, 4))
		},
		Truth: blind("sensors", 0, "confirmed", []int64{55, 56}),
	},
	{
		Name:  "retry-through-another-proxy",
		About: "no answer through one proxy; the client sends again through another one",
		Twin:  "proxy",
		Tell: func(s *Scenario) {
			a := s.Dial(Dial{ClientID: "client-a", Broker: 1, Client: netip.MustParseAddr("203.0.113.1")})
			a.Metadata(12, "orders").Answer(Leader{"orders", 0, 1, 2})
			b := s.batch("orders", 0, "order 1")
			a.Produce(9, allAcks, b)
			s.Advance(30 * time.Second)
			a.Reset()
			d := s.Dial(Dial{ClientID: "client-a", Broker: 1, Client: netip.MustParseAddr("203.0.113.2")})
			send(d, 9, b, OK(11))
			read(s.Connect("reader-a", 1), 12, b.At(10, 2), b.At(11, 2))
		},
		Truth: blind("orders", 0, "confirmed", []int64{10, 11}),
	},
	{
		Name:  "recompressing-proxy",
		About: "a proxy passes batches on with another codec",
		Twin:  "proxy-retries-itself",
		Tell: func(s *Scenario) {
			proxy := netip.AddrFrom4([4]byte{203, 0, 113, 1})
			front := s.Dial(Dial{ClientID: "client-a", Broker: 1, Server: netip.AddrPortFrom(proxy, brokerPort)})
			back := s.Dial(Dial{ClientID: "client-a", Broker: 1, Client: proxy, CorrelationID: 900})
			var log []Batch
			for i, v := range []string{"16.5", "17.0"} {
				b := s.batch("sensors", 0, v)
				small := b
				small.Codec = Zstd
				p, q := front.Produce(7, allAcks, b), back.Produce(7, allAcks, small)
				s.Advance(latency)
				q.Answer(OK(int64(55 + i)))
				p.Answer(OK(int64(55 + i)))
				s.Advance(retryAfter)
				log = append(log, small.At(int64(55+i), 4))
			}
			read(s.Connect("reader-a", 1), 11, log...)
		},
		Truth: Truth{Counts: map[string]int64{"application_repeats": 0}},
	},
	{
		Name:  "renaming-proxy",
		About: "a proxy passes batches on to a topic with the name of a tenant in front",
		Twin:  "misrouted-batch",
		Tell:  renaming,
	},
	{
		Name:  "shadow-cluster",
		About: "each batch is written to a second cluster when the first has answered; no Metadata tells them apart",
		Twin:  "whole-send-repeated",
		Tell:  shadow,
	},
}

// renaming has a proxy pass on requests to a topic of another name.
func renaming(s *Scenario) {
	proxy := netip.AddrFrom4([4]byte{203, 0, 113, 1})
	front := s.Dial(Dial{ClientID: "client-a", Broker: 1, Server: netip.AddrPortFrom(proxy, brokerPort)})
	back := s.Dial(Dial{ClientID: "client-a", Broker: 1, Client: proxy, CorrelationID: 900})
	for i, value := range []string{"order 1", "order 2", "order 3"} {
		b := s.batch("orders", 0, value).As(5, 0, int32(7+i))
		inner := b
		inner.Topic = "tenant-a.orders"
		p, q := front.Produce(9, allAcks, b), back.Produce(9, allAcks, inner)
		s.Advance(latency)
		q.Answer(OK(int64(55 + i)))
		p.Answer(OK(int64(55 + i)))
		s.Advance(retryAfter)
	}
}

// shadow has a client write each batch to two clusters, one after the other.
func shadow(s *Scenario) {
	one := s.Connect("client-a", 1)
	two := s.Dial(Dial{ClientID: "client-a", Server: elsewhere})
	for i, value := range []string{"16.5", "17.0", "17.5"} {
		b := s.batch("sensors", 0, value)
		send(one, 7, b, OK(int64(55+i)))
		send(two, 7, b, OK(int64(5000+i)))
		s.Advance(10 * latency)
	}
}
