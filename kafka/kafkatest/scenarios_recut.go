package kafkatest

import (
	"slices"
	"time"
)

// recutCases are retries in batches of other borders than the first attempt had.
var recutCases = []Case{
	{
		Name:  "merged-at-the-next-leaders",
		About: "a broker is killed with two requests of two partitions unanswered; each partition goes to another leader, and what was two batches goes out as one; only the first had been replicated",
		Twin:  "lost-connection-no-room",
		Tell:  mergedAtNextLeaders,
		Truth: blind("logs", 0, "probable", []int64{10, 13}, []int64{11, 14}, []int64{12, 15}),
	},
	{
		Name:  "slow-link",
		About: "four requests wait on a slow link, the last one half sent; the client gives the connection up and sends all records again as one batch",
		Twin:  "torn-request",
		Tell:  slowLink,
		Truth: blind("rows", 0, "probable", []int64{10, 16}, []int64{11, 17}, []int64{12, 18}, []int64{13, 19}, []int64{14, 20}, []int64{15, 21}),
	},
	{
		Name:  "retry-grown-in-the-queue",
		About: "an unanswered batch goes out again in front of a newer record under one sequence: 45, an error for both, the next epoch; the application writes both again",
		Twin:  "invalid-record-left-out",
		Tell:  retryGrown,
		Truth: Truth{
			Duplicates: []Duplicate{{
				Topic: "orders", Cause: "application-resend", Verdict: "confirmed", Pairs: [][]int64{{10, 12}, {11, 13}},
			}},
			Counts: map[string]int64{"rejected": 1, "epoch_bumps": 1},
		},
	},
	{
		Name:  "grown-retry-stored",
		About: "a batch is lost on its way; its retry in front of a newer record is stored and answered 7, and 45 for another partition bumps the epoch",
		Twin:  "grown-retry-acknowledged",
		Tell:  func(s *Scenario) { grownRetry(s, false) },
		Truth: Truth{Duplicates: []Duplicate{{
			Topic: "orders", Cause: "epoch-bump", Verdict: "confirmed", Pairs: [][]int64{{10, 12}, {11, 13}},
			Bump:    &Bump{ProducerID: 5, FromEpoch: 0, ToEpoch: 1, Local: true},
			Trigger: &Trigger{ErrorCode: OutOfOrderSequence, Topic: "orders", Partition: 1},
		}}},
	},
	{
		Name:  "grown-retry-acknowledged",
		About: "the same, but the retry is acknowledged; after the bump the application writes the first record once more, because it means to",
		Twin:  "grown-retry-stored",
		Tell:  func(s *Scenario) { grownRetry(s, true) },
	},
	{
		Name:  "purged-in-flight",
		About: "a shipper ends while its request is in flight, and the answer comes to a closed socket; started again, it cuts the same events, with the times of their own, into other batches",
		Twin:  "mirrored-topic",
		Tell:  purgedInFlight,
		Truth: blind("metrics", 2, "confirmed", []int64{10, 13}, []int64{11, 14}, []int64{12, 15}),
	},
}

func mergedAtNextLeaders(s *Scenario) {
	c := meet(s, "shipper-a", 1, "", "", Leader{"logs", 0, 1, 3}, Leader{"logs", 1, 1, 3})
	batch := func(partition int32, values ...string) Batch {
		return Batch{Topic: "logs", Partition: partition, ZeroSequence: true, Records: s.Records(values...)}
	}
	p := c.Produce(7, allAcks, batch(0, "line 1"), batch(1, "line 2"))
	s.Advance(latency)
	p.Answer(OK(9), OK(29))
	first, second, other := batch(0, "line 3", "line 4", "line 5"), batch(0, "line 6", "line 7"), batch(1, "line 8")
	c.Produce(7, allAcks, first)
	c.Produce(7, allAcks, second, other)
	s.Advance(time.Second)
	c.ServerReset()
	c = meet(s, "shipper-a", 2, "", "", Leader{"logs", 0, 2, 4}, Leader{"logs", 1, 3, 4})
	merged := first
	merged.Records = slices.Concat(first.Records, second.Records)
	send(c, 7, merged, OK(13))
	send(s.Connect("shipper-a", 3), 7, other, OK(30))
}

func slowLink(s *Scenario) {
	c := meet(s, "loader-a", 1, "", "", Leader{"rows", 0, 1, 0})
	send(c, 3, s.batch("rows", 0, "row 0"), OK(9))
	whole := Batch{Topic: "rows", Codec: LZ4}
	for _, values := range [][]string{{"row 1", "row 2"}, {"row 3", "row 4"}, {"row 5", "row 6"}, {"row 7", "row 8"}} {
		b := Batch{Topic: "rows", Codec: LZ4, Records: s.Records(values...)}
		whole.Records = slices.Concat(whole.Records, b.Records)
		if len(whole.Records) < 8 {
			c.Produce(3, allAcks, b)
			s.Advance(time.Second)
			continue
		}
		request := c.Encode(c.NewProduce(3, allAcks, b))
		c.Write(request[:len(request)/2])
	}
	s.Advance(time.Minute)
	c.Reset()
	c = s.Connect("loader-a", 1)
	send(c, 3, whole, OK(16))
}

func retryGrown(s *Scenario) {
	c := meet(s, "client-a", 1, "", "", Leader{"orders", 0, 1, 3})
	c.InitProducerID(1, -1, -1).Answer(5, 0)
	lost := Batch{Topic: "orders", Codec: Snappy, Records: s.Records("order 1", "order 2")}.As(5, 0, 0)
	c.Produce(7, allAcks, lost)
	s.Advance(10 * time.Second)
	c.ServerReset()
	c = s.Connect("client-a", 1)
	grown := lost
	grown.Records = slices.Concat(lost.Records, s.Records("order 3"))
	send(c, 7, grown, Refused(OutOfOrderSequence))
	s.Advance(time.Second)
	again := Batch{Topic: "orders", Codec: Snappy, Records: s.Records("order 1", "order 2", "order 3")}.As(5, 1, 0)
	send(c, 7, again, OK(12))
	read(s.Connect("reader-a", 1), 11, lost.At(10, 3), again.At(12, 3))
}

// grownRetry: the first request never reaches its broker.
func grownRetry(s *Scenario, acknowledged bool) {
	c := meet(s, "client-a", 1, "", "", Leader{"orders", 0, 1, 3}, Leader{"orders", 1, 1, 3})
	c.ServerDeaf = true
	first := s.batch("orders", 0, "order 1").As(5, 0, 0)
	c.Produce(7, allAcks, first)
	s.Advance(10 * time.Second)
	c.Reset()
	c = s.Connect("client-a", 1)
	grown := first
	grown.Codec, grown.Records = LZ4, slices.Concat(first.Records, s.Records("order 2"))
	p := c.Produce(7, allAcks, grown)
	s.Advance(time.Second)
	again := grown.As(5, 1, 0)
	if acknowledged {
		p.Answer(OK(10))
		s.Advance(retryAfter)
		again = s.batch("orders", 0, "order 1").As(5, 1, 0)
	} else {
		p.Answer(AppendedBut(RequestTimedOut, 10))
	}
	send(c, 7, s.batch("orders", 1, "order 3").As(5, 0, 4), Refused(OutOfOrderSequence))
	send(c, 7, again, OK(12))
	read(s.Connect("reader-a", 1), 11, grown.At(10, 3), again.At(12, 3))
}

func purgedInFlight(s *Scenario) {
	c := meet(s, "agent-a", 1, "librdkafka", "2.10.1", Leader{"metrics", 2, 1, 5})
	events := s.Records("cpu 1", "cpu 2", "cpu 3", "cpu 4")
	batch := func(events []Record) Batch {
		return Batch{Topic: "metrics", Partition: 2, Codec: Zstd, Records: events}
	}
	first := c.Produce(10, allAcks, batch(events[:3]))
	c.ClientDeaf = true
	s.Advance(time.Second)
	first.Answer(OK(10))
	c.Reset()
	s.Advance(5 * time.Second)
	c = meet(s, "agent-a", 1, "librdkafka", "2.10.1", Leader{"metrics", 2, 1, 5})
	p := c.Produce(10, allAcks, batch(events[:2]))
	q := c.Produce(10, allAcks, batch(events[2:]))
	s.Advance(latency)
	p.Answer(OK(13))
	q.Answer(OK(15))
}
