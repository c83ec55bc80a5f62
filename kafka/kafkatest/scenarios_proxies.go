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
		Name:  "two-clients-of-one-proxy",
		About: "two clients of one name write the same through one proxy; the first one meets 7 with an offset and gives up",
		Twin:  "proxy-retries-itself",
		Tell:  sharedProxy,
	},
	{
		Name:  "behind-a-load-balancer",
		About: "a load balancer tells in front of each connection whose it is; a batch without id is lost with its connection and comes again",
		Twin:  "proxy",
		Tell: func(s *Scenario) {
			balancer := netip.AddrFrom4([4]byte{203, 0, 113, 9})
			connect := func() *Conn {
				c := s.Dial(Dial{ClientID: "client-a", Broker: 1, Client: balancer})
				c.Write([]byte("PROXY TCP4 198.51.100.1 203.0.113.9 51234 9092\r\n"))
				return c
			}
			c := connect()
			send(c, 7, s.batch("sensors", 0, "16.0"), OK(54))
			b := s.batch("sensors", 0, "16.5")
			c.Produce(7, allAcks, b)
			s.Advance(time.Second)
			c.Reset()
			s.Advance(retryAfter)
			send(connect(), 7, b, OK(56))
		},
		Truth: blind("sensors", 0, "probable", []int64{55, 56}),
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

// sharedProxy has two clients of one name write the same through one proxy.
func sharedProxy(s *Scenario) {
	proxy := netip.AddrFrom4([4]byte{203, 0, 113, 1})
	connect := func(client netip.Addr, correlation int32) (front, back *Conn) {
		return s.Dial(Dial{ClientID: "gauge", Server: netip.AddrPortFrom(proxy, brokerPort), Client: client}),
			s.Dial(Dial{ClientID: "gauge", Broker: 1, Client: proxy, CorrelationID: correlation})
	}
	pass := func(front, back *Conn, b Batch, a Answer) {
		p, q := front.Produce(7, allAcks, b), back.Produce(7, allAcks, b)
		s.Advance(latency)
		q.Answer(a)
		p.Answer(a)
		s.Advance(retryAfter)
	}
	front, back := connect(netip.AddrFrom4([4]byte{198, 51, 100, 7}), 900)
	other, behind := connect(netip.AddrFrom4([4]byte{198, 51, 100, 8}), 500)
	b := s.batch("sensors", 0, "16.5")
	pass(front, back, b, AppendedBut(RequestTimedOut, 55))
	pass(other, behind, b, OK(56))
	for i, value := range []string{"17.0", "17.5", "18.0"} {
		pass(front, back, s.batch("sensors", 0, value), OK(int64(57+i)))
	}
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
