package kafkatest

import (
	"math"
	"time"
)

// libraryCases are what users of client libraries met: how each of them tries again, and what an application does that was told of a failure.
var libraryCases = []Case{
	{
		Name:  "retry-met-45",
		About: "a broker that keeps only the last sequence answers an exact retry 45, with its own word for no offset; the client asks for the next epoch and sends the batch again",
		Twin:  "exact-retry-deduplicated",
		Tell:  retryMet45,
		Truth: Truth{
			Duplicates: []Duplicate{{
				Topic: "orders", Cause: "epoch-bump", Verdict: "probable", Pairs: [][]int64{{10, 13}, {11, 14}, {12, 15}},
				Bump:    &Bump{ProducerID: 5, FromEpoch: 0, ToEpoch: 1},
				Trigger: &Trigger{ErrorCode: OutOfOrderSequence, Topic: "orders"},
			}},
			Counts: map[string]int64{"rejected": 1, "appended": 2, "epoch_bumps": 1},
		},
	},
	{
		Name:  "tried-on-another-partition",
		About: "an unanswered record without key is given another partition; its sequence there happens to be the same, and the next record takes its place in the first one",
		Twin:  "misrouted-batch",
		Tell:  triedOnAnotherPartition,
		Truth: Truth{Counts: map[string]int64{"deduplicated": 0, "appended": 4}},
	},
	{
		Name:  "call-without-retries",
		About: "acks=1 and a client that never retries after a timeout; the application calls again",
		Twin:  "acks-one-truncated",
		Tell: func(s *Scenario) {
			c := s.Connect("worker-a", 1)
			c.Metadata(1, "jobs").Answer(Leader{"jobs", 0, 1, 0})
			b := Batch{Topic: "jobs", Format: MessageSet1, Codec: Snappy, Records: s.Records("job 0")}
			p := c.Produce(2, 1, b)
			s.Advance(latency)
			p.Answer(OK(9))
			b.Records = s.Records("job 1", "job 2")
			c.Produce(2, 1, b)
			s.Advance(40 * time.Second)
			c.Close()
			c = s.Connect("worker-a", 1)
			b.Records = s.Records("job 1", "job 2")
			p = c.Produce(2, 1, b)
			s.Advance(latency)
			p.Answer(OK(12))
		},
		Truth: resent("jobs", 0, "probable", []int64{10, 12}, []int64{11, 13}),
	},
	{
		Name:  "told-of-a-timeout",
		About: "three records are reported as timed out while their request is in flight; the application writes two of them again, together with a new one",
		Twin:  "same-payload-on-purpose",
		Tell: func(s *Scenario) {
			c := meet(s, "service-a", 1, "librdkafka", "1.5.3", Leader{"events", 4, 1, 8})
			b := Batch{Topic: "events", Partition: 4, Codec: LZ4, Records: s.Records("event 1", "event 2", "event 3")}
			p := c.Produce(7, allAcks, b)
			s.Advance(3 * time.Second)
			b.Records = s.Records("event 1", "event 2", "event 4")
			q := c.Produce(7, allAcks, b)
			s.Advance(latency)
			p.Answer(OK(10))
			q.Answer(OK(13))
		},
		Truth: resent("events", 4, "confirmed", []int64{10, 13}, []int64{11, 14}),
	},
	{
		Name:  "frozen-broker",
		About: "a broker is frozen; the application looks for its last record, finds it missing and begins anew; the broker wakes and appends what waited in its socket first",
		Twin:  "new-producer-id-after-restart",
		Tell:  frozenBroker,
		Truth: resent("ticks", 0, "confirmed", []int64{10, 12}, []int64{11, 13}),
	},
	{
		Name:  "retry-storm",
		About: "an overloaded broker appends but does not answer in time; every attempt is dated anew",
		Twin:  "fetch-only-third-time",
		Tell: func(s *Scenario) {
			c := meet(s, "app-a", 1, "", "", Leader{"clicks", 0, 1, 0})
			var log []Batch
			for i := range 3 {
				b := Batch{Topic: "clicks", Codec: Gzip, Records: s.Records("click 1", "click 2")}
				log = append(log, b.At(int64(10+2*i), 0))
				p := c.Produce(7, allAcks, b)
				if i == 2 {
					s.Advance(latency)
					p.Answer(OK(14))
					break
				}
				s.Advance(30 * time.Second)
				c.Reset()
				s.Advance(300 * time.Millisecond)
				c = s.Connect("app-a", 1)
			}
			read(s.Connect("reader-a", 1), 11, log...)
		},
		Truth: resent("clicks", 0, "confirmed", []int64{10, 12, 14}, []int64{11, 13, 15}),
	},
	{
		Name:  "retry-behind-five-others",
		About: "7 with an offset, and the client lets five more batches pass before it sends again: 45; it takes a new producer id, and the application writes the record again",
		Twin:  "late-ok-deduplicated",
		Tell:  retryBehindFive,
		Truth: Truth{
			Duplicates: []Duplicate{{
				Topic: "orders", Cause: "application-resend", Verdict: "probable", Pairs: [][]int64{{10, 16}},
			}},
			Counts: map[string]int64{"rejected": 1, "appended": 6},
		},
	},
	{
		Name:  "replayed-by-its-pipeline",
		About: "one partition takes its part of what a pipeline writes, another one refuses its part as too large; the pipeline hands in both once more",
		Twin:  "chunk-flushed-again",
		Tell: func(s *Scenario) {
			c := meet(s, "pipeline-a", 1, "kgo", "1.20.6", Leader{"events", 0, 1, 2}, Leader{"events", 1, 1, 2})
			c.InitProducerID(4, -1, -1).Answer(5, 0)
			taken, large := Batch{Topic: "events", Codec: Snappy, Records: s.Records("e 1", "e 3")}, s.batch("events", 1, "e 2")
			for i := range int32(2) {
				p := c.Produce(9, allAcks, taken.As(5, 0, 2*i), large.As(5, 0, 0))
				s.Advance(latency)
				p.Answer(OK(int64(10+2*i)), Refused(MessageTooLarge))
				s.Advance(time.Second)
			}
		},
		Truth: Truth{Counts: map[string]int64{"application_repeats": 2, "appended": 2}},
	},
	{
		Name:  "chunk-flushed-again",
		About: "a log shipper flushes a chunk to two partitions, one of which answers 7 with an offset until the client gives up; it flushes the whole chunk again",
		Twin:  "same-payload-on-purpose",
		Tell: func(s *Scenario) {
			c := meet(s, "shipper-a", 1, "", "", Leader{"logs", 0, 1, 0}, Leader{"logs", 1, 1, 0})
			chunk := func() (Batch, Batch) {
				return s.batch("logs", 0, "line 1", "line 3"), s.batch("logs", 1, "line 2", "line 4")
			}
			a, b := chunk()
			p := c.Produce(3, allAcks, a, b)
			s.Advance(5 * time.Second)
			p.Answer(OK(10), AppendedBut(RequestTimedOut, 20))
			s.Advance(time.Second)
			a, b = chunk()
			p = c.Produce(3, allAcks, a, b)
			s.Advance(latency)
			p.Answer(OK(12), OK(22))
		},
		Truth: resent("logs", 1, "probable", []int64{20, 22}, []int64{21, 23}),
	},
}

func retryMet45(s *Scenario) {
	c := meet(s, "client-a", 1, "kgo", "1.2.6", Leader{"orders", 0, 1, 3})
	c.InitProducerID(4, -1, -1).Answer(5, 0)
	send(c, 7, s.batch("orders", 0, "order 0").As(5, 0, 0), OK(9))
	b := Batch{Topic: "orders", Codec: Snappy, Records: s.Records("order 1", "order 2", "order 3")}
	c.Produce(7, allAcks, b.As(5, 0, 1))
	s.Advance(10 * time.Second)
	c.Reset()
	c = s.Connect("client-a", 1)
	refusal := Refused(OutOfOrderSequence)
	refusal.BaseOffset = math.MinInt64
	send(c, 7, b.As(5, 0, 1), refusal)
	c.InitProducerID(4, 5, 0).Answer(5, 1)
	send(c, 7, b.As(5, 1, 0), OK(13))
}

func triedOnAnotherPartition(s *Scenario) {
	c := meet(s, "app-a", 1, "", "", Leader{"mails", 0, 1, 2}, Leader{"mails", 1, 1, 2})
	zero, one := s.batch("mails", 0, "mail 0").As(5, 0, 4), s.batch("mails", 1, "mail 1").As(5, 0, 4)
	p := c.Produce(3, allAcks, zero, one)
	s.Advance(latency)
	p.Answer(OK(9), OK(19))
	lost := s.batch("mails", 0, "mail 2").As(5, 0, 5)
	c.Produce(3, allAcks, lost)
	s.Advance(10 * time.Second)
	c.Reset()
	c = s.Connect("app-a", 1)
	moved := lost
	moved.Partition = 1
	send(c, 3, moved, OK(20))
	send(c, 3, s.batch("mails", 0, "mail 3").As(5, 0, 5), Deduplicated(lost.At(10, 2)))
	send(c, 3, s.batch("mails", 0, "mail 4").As(5, 0, 6), OK(11))
	r := s.Connect("reader-a", 1)
	read(r, 11, zero.At(9, 2), lost.At(10, 2))
	read(r, 11, one.At(19, 2), moved.At(20, 2))
}

func frozenBroker(s *Scenario) {
	c := meet(s, "writer-a", 1, "librdkafka", "1.9.2", Leader{"ticks", 0, 1, 6})
	c.InitProducerID(4, -1, -1).Answer(8000, 0)
	ticks := func() Batch { return Batch{Topic: "ticks", Codec: Zstd, Records: s.Records("46", "47")} }
	before := s.batch("ticks", 0, "45").As(8000, 0, 0)
	send(c, 7, before, OK(9))
	first := ticks().As(8000, 0, 1)
	p := c.Produce(7, allAcks, first)
	r := s.Connect("writer-a", 1)
	s.Advance(30 * time.Second)
	c.ClientDeaf = true // its process has closed the socket
	again := meet(s, "writer-a", 2, "librdkafka", "1.9.2", Leader{"ticks", 0, 1, 6})
	again.InitProducerID(4, -1, -1).Answer(8001, 0)
	s.Advance(15 * time.Second)
	second := ticks().As(8001, 0, 0)
	d := s.Connect("writer-a", 1)
	q := d.Produce(7, allAcks, second)
	s.Advance(latency)
	p.Answer(OK(10))
	c.Reset()
	q.Answer(OK(12))
	read(r, 11, before.At(9, 6), first.At(10, 6), second.At(12, 6))
}

func retryBehindFive(s *Scenario) {
	c := meet(s, "client-a", 1, "kafka-python", "2.1.4", Leader{"orders", 0, 1, 3})
	c.InitProducerID(1, -1, -1).Answer(5, 0)
	b := s.batch("orders", 0, "order 0").As(5, 0, 0)
	p := c.Produce(8, allAcks, b)
	s.Advance(30 * time.Second)
	p.Answer(AppendedBut(RequestTimedOut, 10))
	for i, value := range []string{"order 1", "order 2", "order 3", "order 4", "order 5"} {
		send(c, 8, s.batch("orders", 0, value).As(5, 0, int32(i+1)), OK(int64(11+i)))
	}
	s.Advance(retryAfter)
	send(c, 8, b, Refused(OutOfOrderSequence))
	c.InitProducerID(1, -1, -1).Answer(6, 0)
	send(c, 8, s.batch("orders", 0, "order 0").As(6, 0, 0), OK(16))
}
