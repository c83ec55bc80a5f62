package kafkatest

import "time"

// clusterCases have two clusters with topics of one name, whose brokers Metadata names by host names or not at all.
var clusterCases = []Case{
	{
		Name:  "dual-write-with-a-fault",
		About: "an application on its way to another cluster writes everything to both; the first one answers 7 with an offset once",
		Twin:  "brokers-by-host-name",
		Tell: func(s *Scenario) {
			dualWrite(s, func(b Batch, _ int32) Batch { return b }, AppendedBut(RequestTimedOut, 56))
		},
	},
	{
		Name:  "dual-writes-of-one-id",
		About: "the same without a fault, and both clusters have given its producers the same id",
		Twin:  "broker-dedup-failure",
		Tell: func(s *Scenario) {
			dualWrite(s, func(b Batch, sequence int32) Batch { return b.As(1000, 0, sequence) }, OK(56))
		},
	},
	{
		Name:  "brokers-by-host-name",
		About: "two clusters in one capture, whose brokers have host names; a batch answered 7 by one broker goes again to another one that nobody asked for Metadata",
		Twin:  "dual-write-with-a-fault",
		Tell: func(s *Scenario) {
			s.Brokers = 0 // none by its address
			c := meet(s, "client-a", 1, "librdkafka", "2.6.1", Leader{"orders", 0, 1, 2})
			next := s.Dial(Dial{ClientID: "client-a", Broker: 2, Software: "librdkafka", Version: "2.6.1"})
			s.ClusterID = "cluster-b"
			other := s.Dial(Dial{ClientID: "client-b", Server: elsewhere, Software: "librdkafka", Version: "2.6.1"})
			other.Metadata(7, "metrics").Answer(Leader{"metrics", 0, 1, 3})
			s.ClusterID = "cluster-a"
			b := s.batch("orders", 0, "order 1")
			p := c.Produce(7, allAcks, b)
			s.Advance(time.Second)
			p.Answer(AppendedBut(RequestTimedOut, 10))
			s.Advance(retryAfter)
			send(next, 7, b, OK(11))
		},
		Truth: blind("orders", 0, "probable", []int64{10, 11}),
	},
}

// dualWrite writes each record to two clusters, one after the other. The first cluster gives the second record the answer.
func dualWrite(s *Scenario, as func(Batch, int32) Batch, answer Answer) {
	one := s.Dial(Dial{ClientID: "client-a", Broker: 1, Software: "librdkafka", Version: "2.6.1"})
	two := s.Dial(Dial{ClientID: "client-a", Server: elsewhere, Software: "librdkafka", Version: "2.6.1"})
	for i, value := range []string{"16.5", "17.0", "17.5", "18.0"} {
		b := as(s.batch("sensors", 0, value), int32(i))
		first := OK(int64(55 + i))
		if i == 1 {
			first = answer
		}
		send(one, 7, b, first)
		send(two, 7, b, OK(int64(5000+i)))
		s.Advance(time.Second)
	}
}
