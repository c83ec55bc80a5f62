package kafkatest

import "time"

// sequenceCases have sequences that a client uses in its own way.
var sequenceCases = []Case{
	{
		Name:  "counted-anew-after-59",
		About: "an old client counts from 0 again in the same epoch when the broker has forgotten it: the batch was refused as 2 and is stored as 0",
		Twin:  "bump-after-59",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "", "", Leader{"rare", 0, 1, 0})
			send(c, 7, s.batch("rare", 0, "r 1").As(5, 0, 0), OK(10))
			send(c, 7, s.batch("rare", 0, "r 2").As(5, 0, 1), OK(11))
			s.Advance(time.Hour)
			third := s.batch("rare", 0, "r 3")
			send(c, 7, third.As(5, 0, 2), Refused(UnknownProducerID))
			send(c, 7, third.As(5, 0, 0), OK(12))
			send(c, 7, s.batch("rare", 0, "r 4").As(5, 0, 1), OK(13))
			read(s.Connect("reader-a", 1), 11, third.As(5, 0, 0).At(12, 0))
		},
		Truth: Truth{Counts: map[string]int64{"epoch_bumps": 0, "deduplicated": 0}},
	},
	{
		Name:  "cancelled-record-frees-its-sequence",
		About: "a record is cancelled after 7 with an offset; the next one gets its sequence and is lost; the application makes the cancelled one anew",
		Twin:  "lost-under-a-used-sequence",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "kgo", "1.20.6", Leader{"orders", 0, 1, 0})
			a, b := s.batch("orders", 0, "order A"), s.batch("orders", 0, "order B")
			p := c.Produce(9, allAcks, a.As(5, 0, 0))
			s.Advance(time.Second)
			p.Answer(AppendedBut(RequestTimedOut, 0))
			send(c, 9, b.As(5, 0, 0), Deduplicated(a.At(0, 0)))
			s.Advance(time.Second)
			again := s.batch("orders", 0, "order A").As(5, 0, 1)
			send(c, 9, again, OK(1))
			read(s.Connect("reader-a", 1), 12, a.As(5, 0, 0).At(0, 0), again.At(1, 0))
		},
		Truth: resent("orders", 0, "confirmed", []int64{0, 1}),
	},
	{
		Name:  "lost-under-a-used-sequence",
		About: "a record goes out under a used sequence and is taken for the other one; that answer is lost, and the application makes the record anew",
		Twin:  "cancelled-record-frees-its-sequence",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "platformatic", "1", Leader{"orders", 0, 1, 0})
			a, b := s.batch("orders", 0, "order A"), s.batch("orders", 0, "order B")
			send(c, 9, a.As(5, 0, 0), OK(0))
			c.ClientDeaf = true
			q := c.Produce(9, allAcks, b.As(5, 0, 0))
			s.Advance(latency)
			q.Answer(Deduplicated(a.At(0, 0)))
			s.Advance(time.Minute)
			c.Reset()
			c = s.Connect("client-a", 1)
			again := s.batch("orders", 0, "order B").As(5, 0, 1)
			send(c, 9, again, OK(1))
			read(s.Connect("reader-a", 1), 12, a.As(5, 0, 0).At(0, 0), again.At(1, 0))
		},
	},
	{
		Name:  "sequence-not-counted",
		About: "a buffered batch goes out with sequence 0, which another one had: the broker takes it for that",
		Twin:  "broker-dedup-failure",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "sarama", "1.46", Leader{"orders", 0, 1, 0})
			m1, m2, m3 := s.batch("orders", 0, "m 1"), s.batch("orders", 0, "m 2"), s.batch("orders", 0, "m 3")
			send(c, 7, m1.As(5, 0, 0), Refused(NotLeader))
			s.Advance(retryAfter)
			send(c, 7, m1.As(5, 0, 0), OK(10))
			send(c, 7, m2.As(5, 0, 0), Deduplicated(m1.At(10, 0)))
			send(c, 7, m3.As(5, 0, 1), OK(11))
			read(s.Connect("reader-a", 1), 11, m1.As(5, 0, 0).At(10, 0), m3.As(5, 0, 1).At(11, 0))
		},
	},
	{
		Name:  "invalid-record-left-out",
		About: "a batch is refused for one record (87); the others go out under a new epoch",
		Twin:  "bump-recut",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "apache-kafka-java", "3.4.0", Leader{"events", 0, 1, 0})
			b := Batch{Topic: "events", Records: s.Records("e 1", "bad", "e 2")}
			send(c, 9, s.batch("events", 0, "e 0").As(5, 0, 0), OK(9))
			send(c, 9, b.As(5, 0, 1), Refused(InvalidRecord))
			rest := Batch{Topic: "events", Records: []Record{b.Records[0], b.Records[2]}}
			send(c, 9, rest.As(5, 1, 0), OK(10))
			read(s.Connect("reader-a", 1), 12, rest.As(5, 1, 0).At(10, 0))
		},
	},
	{
		Name:  "late-under-the-old-epoch",
		About: "a batch held up on its way arrives after its resend under the new epoch, and is refused with 47",
		Twin:  "bump-with-init-producer-id",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "librdkafka", "2.6.1", Leader{"orders", 0, 1, 2})
			send(c, 9, s.batch("orders", 0, "order 0").As(5, 0, 0), OK(9))
			b := s.batch("orders", 0, "order 1")
			p := c.Produce(9, allAcks, b.As(5, 0, 1))
			s.Advance(time.Minute)
			d := s.Connect("client-a", 1)
			send(d, 9, b.As(5, 1, 0), OK(10))
			p.Answer(Refused(InvalidProducerEpoch))
		},
	},
	{
		Name:  "counted-anew-after-3",
		About: "a topic is unknown for a moment, and the client counts from 0 again in the same epoch: its record is taken for the first one and lost",
		Twin:  "broker-dedup-failure",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "librdkafka", "1.8.0", Leader{"orders", 0, 1, 0})
			a, b := s.batch("orders", 0, "o 1"), s.batch("orders", 0, "o 2")
			send(c, 9, a.As(5, 0, 0), OK(10))
			d := s.batch("orders", 0, "o 3")
			send(c, 9, b.As(5, 0, 1), Refused(UnknownTopic))
			send(c, 9, b.As(5, 0, 0), Deduplicated(a.At(10, 0)))
			send(c, 9, d.As(5, 0, 1), OK(11))
			read(s.Connect("reader-a", 1), 12, a.As(5, 0, 0).At(10, 0), d.As(5, 0, 1).At(11, 0))
		},
	},
}
