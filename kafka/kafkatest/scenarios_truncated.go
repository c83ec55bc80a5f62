package kafkatest

import "time"

// truncatedCases turn on what the log holds at an offset now and what it held before.
var truncatedCases = []Case{
	{
		Name:  "cut-back-below-first-copy",
		About: "7 with an offset; the batch before it was acknowledged and read, and then readers see another producer's record there",
		Twin:  "blind-retry-after-7",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "librdkafka", "2.6.1", Leader{"orders", 0, 1, 17})
			before := s.batch("orders", 0, "order 1").As(7, 0, 0)
			send(c, 9, before, OK(104))
			b := s.batch("orders", 0, "order 2")
			p := c.Produce(9, allAcks, b.As(7, 0, 1))
			read(s.Connect("reader-a", 1), 12, before.At(104, 17))
			s.Advance(time.Second)
			p.Answer(AppendedBut(RequestTimedOut, 105))
			other := s.batch("orders", 0, "order 3").As(99, 0, 0).At(104, 18)
			read(s.Connect("reader-a", 2), 12, other)
			read(s.Connect("reader-b", 2), 12, other)
			send(s.Connect("client-a", 2), 9, b.As(7, 1, 0), OK(106))
		},
	},
	{
		Name:  "next-leader-read-by-two",
		About: "a bump at the next leader; one reader sees both copies before another one sees that the log was cut back below them",
		Twin:  "log-cut-back",
		Tell: func(s *Scenario) {
			b := s.batch("orders", 0, "order 2")
			read(s.Connect("reader-a", 1), 12, s.batch("orders", 0, "order 1").As(6, 0, 0).At(102, 17))
			s.Advance(time.Second)
			reader := s.Connect("reader-a", 2)
			read(reader, 12, b.As(7, 0, 0).At(103, 18))
			read(s.Connect("reader-b", 2), 12, s.batch("orders", 0, "order 3").As(99, 0, 0).At(102, 18))
			read(reader, 12, b.As(7, 1, 0).At(104, 18))
		},
		Truth: Truth{Duplicates: []Duplicate{{Topic: "orders", Cause: "epoch-bump", Verdict: "confirmed", Pairs: [][]int64{{103, 104}}}}},
	},
	{
		Name:  "topic-recreated-under-lower-epochs",
		About: "a topic whose leader had moved is deleted and created again unseen; its last record comes again at the beginning",
		Twin:  "fetch-only-two-producers",
		Tell: func(s *Scenario) {
			reader := s.Connect("reader-a", 1)
			last := s.batch("devices", 0, "off")
			read(reader, 11, s.batch("devices", 0, "on").As(5, 0, 1).At(1, 5), last.As(5, 0, 2).At(2, 5))
			s.Advance(time.Minute)
			var log []Batch
			for i, value := range []string{"on 2", "off 2"} {
				log = append(log, s.batch("devices", 0, value).As(6, 0, int32(i+1)).At(int64(i+1), 0))
			}
			read(reader, 11, append([]Batch{last.As(6, 0, 0).At(0, 0)}, log...)...)
		},
	},
	{
		Name:  "compacted-to-nothing",
		About: "an OK that the client does not see, and a bump; compaction leaves the first copy's batch empty before anybody reads it",
		Twin:  "exact-retry-deduplicated",
		Tell: func(s *Scenario) {
			c := s.Connect("client-a", 1)
			c.ClientDeaf = true
			b := s.batch("profiles", 0, "p 1", "p 2")
			send(c, 9, b.As(7, 0, 0), OK(10))
			s.Advance(30 * time.Second)
			c.Reset()
			send(s.Connect("client-a", 1), 9, b.As(7, 1, 0), OK(12))
			s.Advance(time.Hour)
			read(s.Connect("reader-a", 1), 12, b.As(7, 0, 0).Compacted().At(10, 3), b.As(7, 1, 0).At(12, 3))
		},
		Truth: Truth{Duplicates: []Duplicate{{Topic: "profiles", Cause: "epoch-bump", Verdict: "confirmed", Pairs: [][]int64{{10, 12}, {11, 13}}}}},
	},
	{
		Name:  "old-reader-and-a-late-one",
		About: "the first copy is read in the old format, message by message, and later by a reader that lags; the second is read before that",
		Twin:  "old-format-message-by-message",
		Tell: func(s *Scenario) {
			b := s.batch("orders", 0, "order 1", "order 2")
			read(s.Connect("reader-a", 1), 12, b.As(7, 1, 0).At(22, 2))
			old := b
			old.Format = MessageSet1
			read(s.Connect("reader-b", 1), 3, old.At(20, 0))
			s.Advance(time.Minute)
			read(s.Connect("reader-c", 1), 12, b.As(7, 0, 3).At(20, 2))
		},
		Truth: Truth{Duplicates: []Duplicate{{Topic: "orders", Cause: "epoch-bump", Verdict: "confirmed", Pairs: [][]int64{{20, 22}, {21, 23}}}}},
	},
}

// epochEnded has a leader append a batch and lose the leadership; a reader then asks the next leader where the epoch of the first
// ends, and another client writes from there on, up to offset 103.
func epochEnded(s *Scenario, end int64) {
	c := meet(s, "client-a", 1, "librdkafka", "2.6.1", Leader{"orders", 0, 1, 17})
	before := Batch{Topic: "orders", ProducerID: 7, Records: s.Records("order 1", "order 2")}
	send(c, 9, before, OK(100))
	read(s.Connect("reader-a", 1), 12, before.At(100, 17))

	first := before.As(7, 0, 2)
	first.Records = s.Records("order 3")
	p := c.Produce(9, allAcks, first)
	s.Advance(400 * time.Millisecond)
	p.Answer(AppendedBut(NotLeader, 102))

	c = meet(s, "client-a", 2, "librdkafka", "2.6.1", Leader{"orders", 0, 2, 18})
	reader := meet(s, "reader-a", 2, "librdkafka", "2.6.1", Leader{"orders", 0, 2, 18})
	asked := reader.OffsetForLeaderEpoch(4, "orders", 0, 17)
	s.Advance(latency)
	asked.Answer(17, end)
	other := Batch{Topic: "orders", ProducerID: 99, Records: s.Records("order 4", "order 5")[end-102:]}
	send(s.Connect("client-b", 2), 9, other, OK(end))
	s.Advance(retryAfter)
	send(c, 9, first.As(7, 1, 0), OK(104))
}

// recreatedElsewhere has a topic deleted and created again while nobody looks. What a reader has seen near the end of the first
// log comes again from another producer at the beginning of the second, at offsets that the capture has not shown before.
func recreatedElsewhere(s *Scenario) {
	reader := s.Connect("reader-a", 1)
	b := Batch{Topic: "devices", Records: s.Records("on")}
	read(reader, 11, b.As(71, 0, 500).At(1003, 0))
	s.Advance(time.Minute)
	read(reader, 11, b.As(72, 0, 0).At(0, 0))
}
