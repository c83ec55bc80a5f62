package kafkatest

import (
	"net/netip"
	"slices"
	"time"
)

// processCases are processes that end, move or run twice.
var processCases = []Case{
	{
		Name:  "mirror-restarted",
		About: "a mirror dies and copies again from its last commit: one record had been acknowledged, the other one had not",
		Twin:  "zombie-beside-its-successor",
		Tell: func(s *Scenario) {
			c := meet(s, "mirror-a", 1, "apache-kafka-java", "3.4.0", Leader{"dc1.rows", 0, 1, 0})
			c.InitProducerID(4, -1, -1).Answer(5, 0)
			one, two := s.batch("dc1.rows", 0, "row 1"), s.batch("dc1.rows", 0, "row 2")
			send(c, 9, one.As(5, 0, 0), OK(10))
			c.Produce(9, allAcks, two.As(5, 0, 1))
			s.Advance(200 * time.Millisecond)
			c.Reset()
			s.Advance(20 * time.Second)
			c = meet(s, "mirror-a", 1, "apache-kafka-java", "3.4.0", Leader{"dc1.rows", 0, 1, 0})
			c.InitProducerID(4, -1, -1).Answer(6, 0)
			both := one.As(6, 0, 0)
			both.Records = slices.Concat(one.Records, two.Records)
			send(c, 9, both, OK(12))
			read(s.Connect("reader-a", 1), 12, two.As(5, 0, 1).At(11, 0), both.At(12, 0))
		},
		Truth: Truth{Duplicates: []Duplicate{{
			Topic: "dc1.rows", Cause: "new-producer-id", Verdict: "confirmed", Pairs: [][]int64{{11, 13}},
		}}, Counts: map[string]int64{"application_repeats": 1}},
	},
	{
		Name:  "outbox-after-a-crash",
		About: "a process dies before the answer; the next one writes the record again, as a new one",
		Twin:  "same-payload-on-purpose",
		Tell: func(s *Scenario) {
			c := meet(s, "outbox", 1, "apache-kafka-java", "3.4.0", Leader{"events", 0, 1, 0})
			c.InitProducerID(4, -1, -1).Answer(5, 0)
			b := s.batch("events", 0, "event 1").As(5, 0, 0)
			c.Produce(9, allAcks, b)
			s.Advance(time.Second)
			c.Reset()
			s.Advance(time.Minute)
			c = meet(s, "outbox", 1, "apache-kafka-java", "3.4.0", Leader{"events", 0, 1, 0})
			c.InitProducerID(4, -1, -1).Answer(6, 0)
			again := s.batch("events", 0, "event 1").As(6, 0, 0)
			send(c, 9, again, OK(11))
			read(s.Connect("reader-a", 1), 12, b.At(10, 0), again.At(11, 0))
		},
		Truth: resent("events", 0, "confirmed", []int64{10, 11}),
	},
	{
		Name:  "process-moved",
		About: "a process dies before the answer; it starts again at another address, with the same records under another producer id",
		Twin:  "zombie-beside-its-successor",
		Tell:  func(s *Scenario) { podRestart(s, true) },
		Truth: Truth{Duplicates: []Duplicate{{
			Topic: "events", Cause: "unknown", Verdict: "confirmed", Pairs: [][]int64{{10, 11}},
		}}},
	},
	{
		Name:  "process-moved-without-id",
		About: "the same without producer ids",
		Twin:  "zombie-beside-its-successor",
		Tell:  func(s *Scenario) { podRestart(s, false) },
		Truth: blind("events", 0, "confirmed", []int64{10, 11}),
	},
	{
		Name:  "zombie-beside-its-successor",
		About: "two processes of one name write the same rows from two addresses, all acknowledged: that is no retry",
		Twin:  "process-moved",
		Tell: func(s *Scenario) {
			c := meet(s, "connect-a", 1, "apache-kafka-java", "3.4.0", Leader{"rows", 0, 1, 0})
			d := s.Dial(Dial{ClientID: "connect-a", Broker: 1, Client: netip.AddrFrom4([4]byte{198, 51, 100, 77})})
			for i, v := range []string{"row 1", "row 2", "row 3"} {
				b := s.batch("rows", 0, v)
				send(c, 9, b.As(5, 0, int32(i)), OK(int64(2*i)))
				send(d, 9, b.As(6, 0, int32(i)), OK(int64(2*i+1)))
			}
		},
	},
	{
		Name:  "replicas-of-one-name",
		About: "two replicas of one service write every row, one of them slowly once: both stay at work, so neither has taken over from the other",
		Twin:  "process-moved-without-id",
		Tell: func(s *Scenario) {
			c := meet(s, "replica", 1, "librdkafka", "1.9.2", Leader{"rows", 0, 1, 0})
			d := s.Dial(Dial{ClientID: "replica", Broker: 1, Client: netip.AddrFrom4([4]byte{198, 51, 100, 77})})
			for i, v := range []string{"row 1", "row 2", "row 3"} {
				b := s.batch("rows", 0, v)
				p := c.Produce(7, allAcks, b)
				if i == 1 {
					s.Advance(time.Second)
				}
				send(d, 7, b, OK(int64(2*i+1)))
				p.Answer(OK(int64(2 * i)))
				s.Advance(retryAfter)
			}
		},
	},
	{
		Name:  "retry-with-new-timestamps",
		About: "a client that dates records when it encodes them: the retry after a lost answer has other timestamps",
		Twin:  "same-payload-on-purpose",
		Tell: func(s *Scenario) {
			c := meet(s, "writer-a", 1, "", "", Leader{"logs", 0, 1, 0})
			b := Batch{Topic: "logs", ZeroSequence: true, Records: s.Records("line 1", "line 2")}
			send(c, 7, s.batch("logs", 0, "line 0"), OK(9))
			c.Produce(7, allAcks, b)
			s.Advance(10 * time.Second)
			c.Reset()
			c = s.Connect("writer-a", 1)
			s.Advance(retryAfter)
			again := b
			again.Records = s.Records("line 1", "line 2")
			send(c, 7, again, OK(12))
			read(s.Connect("reader-a", 1), 11, b.At(10, 0), again.At(12, 0))
		},
		Truth: resent("logs", 0, "confirmed", []int64{10, 12}, []int64{11, 13}),
	},
	{
		Name:  "moved-to-another-cluster",
		About: "an unanswered batch without id is sent again to another cluster, to the topic of the same name",
		Twin:  "blind-retry-lost-connection",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "librdkafka", "2.6.1", Leader{"orders", 0, 1, 2})
			b := s.batch("orders", 0, "order 1")
			before := s.batch("orders", 0, "order 0")
			send(c, 9, before, OK(9))
			c.Produce(9, allAcks, b)
			s.Advance(time.Minute)
			c.Reset()
			own, n := s.ClusterID, s.Brokers
			other := s.Dial(Dial{ClientID: "client-a", Server: elsewhere})
			s.ClusterID, s.Brokers = "cluster-b", 0
			other.Metadata(12, "orders").Answer(Leader{"orders", 0, 1, 3})
			send(other, 9, b, OK(500))
			s.ClusterID, s.Brokers = own, n
		},
	},
	{
		Name:  "written-to-two-topics-once",
		About: "a record is written to two topics whose sequences happen to be equal",
		Twin:  "misrouted-batch",
		Tell: func(s *Scenario) {
			c := meet(s, "app-a", 1, "apache-kafka-java", "3.4.0", Leader{"orders", 0, 1, 2}, Leader{"orders-audit", 0, 1, 2})
			send(c, 9, s.batch("orders", 0, "o 1").As(5, 0, 3), OK(10))
			send(c, 9, s.batch("orders-audit", 0, "a 1").As(5, 0, 3), OK(20))
			b := s.batch("orders", 0, "o 2").As(5, 0, 4)
			d := b
			d.Topic = "orders-audit"
			p := c.Produce(9, allAcks, b, d)
			s.Advance(latency)
			p.Answer(OK(11), OK(21))
			send(c, 9, s.batch("orders", 0, "o 3").As(5, 0, 5), OK(12))
			send(c, 9, s.batch("orders-audit", 0, "a 3").As(5, 0, 5), OK(22))
		},
	},
	{
		Name:  "retry-from-another-address",
		About: "7 with an offset; the retry comes from another address of a translation pool",
		Twin:  "two-producers-of-one-name",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "librdkafka", "1.9.2", Leader{"orders", 0, 1, 2})
			b := s.batch("orders", 0, "order 1")
			p := c.Produce(9, allAcks, b)
			s.Advance(time.Second)
			p.Answer(AppendedBut(RequestTimedOut, 10))
			d := s.Dial(Dial{ClientID: "client-a", Broker: 1, Client: netip.MustParseAddr("198.51.100.99")})
			send(d, 9, b, OK(11))
		},
		Truth: blind("orders", 0, "probable", []int64{10, 11}),
	},
}

// podRestart has a process die with a batch unanswered and start again at another address.
func podRestart(s *Scenario, idempotent bool) {
	c := meet(s, "outbox", 1, "apache-kafka-java", "3.4.0", Leader{"events", 0, 1, 0})
	b := s.batch("events", 0, "event 1")
	first, again := b, b
	if idempotent {
		c.InitProducerID(4, -1, -1).Answer(5, 0)
		first, again = b.As(5, 0, 0), b.As(6, 0, 0)
	}
	c.Produce(9, allAcks, first)
	s.Advance(time.Second)
	c.Reset()
	s.Advance(time.Minute)
	c = s.Dial(Dial{ClientID: "outbox", Broker: 1, Client: netip.AddrFrom4([4]byte{198, 51, 100, 77})})
	if idempotent {
		c.InitProducerID(4, -1, -1).Answer(6, 0)
	}
	send(c, 9, again, OK(11))
	read(s.Connect("reader-a", 1), 12, first.At(10, 0), again.At(11, 0))
}
