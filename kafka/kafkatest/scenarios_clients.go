package kafkatest

import "time"

// clientCases are duplicates that follow from what single client libraries do, and their twins.
var clientCases = []Case{
	{
		Name:  "bump-while-the-leader-moves",
		About: "the answer is lost; the old leader refuses the retry, 45 elsewhere bumps the epoch, and the new leader gets the batch under that",
		Twin:  "refused-in-flight",
		Tell:  bumpWhileMoving,
		Truth: Truth{Duplicates: []Duplicate{{
			Topic: "orders", Partition: 0, Cause: "epoch-bump", Verdict: "confirmed", Pairs: [][]int64{{5, 6}},
			Bump:    &Bump{ProducerID: 12, FromEpoch: 0, ToEpoch: 1, Local: true},
			Trigger: &Trigger{ErrorCode: OutOfOrderSequence, Topic: "orders", Partition: 1},
		}}},
	},
	{
		Name:  "refused-in-flight",
		About: "five requests in flight when the leader moves: 6 for the first, 45 for the others, all stored at the new leader",
		Twin:  "bump-while-the-leader-moves",
		Tell:  refusedInFlight,
		Truth: Truth{Counts: map[string]int64{"appended": 5, "rejected": 5, "epoch_bumps": 0}},
	},
	{
		Name:  "epoch-exhausted",
		About: "the epoch is at its end: 7 with an offset, then 45, and InitProducerId grants another producer id",
		Twin:  "two-producers-of-one-name",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "apache-kafka-java", "3.9.0", Leader{"orders", 0, 1, 17})
			b := Batch{Topic: "orders", Records: s.Records("order 1")}
			next := Batch{Topic: "orders", Records: s.Records("order 2")}
			p := c.Produce(9, allAcks, b.As(5, 32766, 0))
			s.Advance(time.Second)
			p.Answer(AppendedBut(RequestTimedOut, 10))
			send(c, 9, next.As(5, 32766, 2), Refused(OutOfOrderSequence))
			c.InitProducerID(4, 5, 32766).Answer(77, 0)
			send(c, 9, b.As(77, 0, 0), OK(11))
		},
		Truth: Truth{Duplicates: []Duplicate{{
			Topic: "orders", Partition: 0, Cause: "new-producer-id", Verdict: "probable", Pairs: [][]int64{{10, 11}},
			Bump:    &Bump{ProducerID: 5, FromEpoch: 32766, ToEpoch: 0, NewProducerID: 77},
			Trigger: &Trigger{ErrorCode: OutOfOrderSequence, Topic: "orders", Partition: 0},
		}}},
	},
	{
		Name:  "bump-after-59",
		About: "7 with an offset; an hour later the broker has forgotten the producer and answers 59, which bumps the epoch",
		Twin:  "late-ok-deduplicated",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "apache-kafka-java", "2.8.0", Leader{"orders", 0, 1, 17})
			b := Batch{Topic: "orders", Records: s.Records("order 1")}.As(5, 0, 7)
			p := c.Produce(9, allAcks, b)
			s.Advance(30 * time.Second)
			p.Answer(AppendedBut(RequestTimedOut, 20))
			s.Advance(time.Hour)
			send(c, 9, b, Refused(UnknownProducerID))
			send(c, 9, b.As(5, 1, 0), OK(21))
		},
		Truth: Truth{Duplicates: []Duplicate{{
			Topic: "orders", Partition: 0, Cause: "epoch-bump", Verdict: "probable", Pairs: [][]int64{{20, 21}},
			Bump:    &Bump{ProducerID: 5, FromEpoch: 0, ToEpoch: 1, Local: true},
			Trigger: &Trigger{ErrorCode: UnknownProducerID, Topic: "orders", Partition: 0},
		}}},
	},
	{
		Name:  "dedup-failure-in-a-transaction",
		About: "the answer is lost, the new leader appends the exact retry a second time, and the transaction is committed",
		Twin:  "open-transaction-of-a-dead-process",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "apache-kafka-java", "3.9.0", Leader{"transfers", 0, 1, 17})
			c.TransactionalID = "transfers-1"
			c.InitProducerID(4, -1, -1).Answer(5, 0)
			b := txn(s, "transfers", "transfer 1").As(5, 0, 0)
			c.ClientDeaf = true
			p := c.Produce(9, allAcks, b)
			s.Advance(latency)
			p.Answer(OK(10))
			s.Advance(30 * time.Second)
			c.Reset()
			c = meet(s, "client-a", 2, "apache-kafka-java", "3.9.0", Leader{"transfers", 0, 2, 18})
			c.TransactionalID = "transfers-1"
			send(c, 9, b, OK(12))
			c.EndTxn(3, 5, 0, true).Answer(-1, -1)
		},
		Truth: Truth{Duplicates: []Duplicate{{
			Topic: "transfers", Partition: 0, Cause: "broker-dedup-failure", Verdict: "confirmed", Pairs: [][]int64{{10, 12}},
		}}},
	},
	{
		Name:  "dedup-failure-of-a-recut",
		About: "an unanswered batch is sent again record by record under its own sequences, and the broker stores that too",
		Twin:  "too-large-then-split",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "sarama", "1.20.0", Leader{"orders", 0, 1, 17})
			b := Batch{Topic: "orders", Records: s.Records("order 1", "order 2", "order 3")}.As(5, 0, 0)
			c.Produce(7, allAcks, b)
			s.Advance(10 * time.Second)
			c.Reset()
			c = s.Connect("client-a", 1)
			log := []Batch{b.At(10, 17)}
			for i := range b.Records {
				one := b.As(5, 0, int32(i))
				one.Records = b.Records[i : i+1]
				send(c, 7, one, OK(int64(13+i)))
				log = append(log, one.At(int64(13+i), 17))
			}
			read(s.Connect("reader-a", 1), 11, log...)
		},
		Truth: Truth{Duplicates: []Duplicate{{
			Topic: "orders", Partition: 0, Cause: "broker-dedup-failure", Verdict: "confirmed", Pairs: [][]int64{{10, 13}, {11, 14}, {12, 15}},
		}}},
	},
	{
		Name:  "blind-retry-across-versions",
		About: "the lost request named its topic, the retry to an upgraded broker has the topic's id only",
		Twin:  "topic-created-again",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "apache-kafka-java", "4.1.0", Leader{"orders", 0, 1, 17})
			b := Batch{Topic: "orders", Records: s.Records("order 1")}
			c.Produce(12, allAcks, b)
			s.Advance(30 * time.Second)
			c.Reset()
			c = meet(s, "client-a", 2, "apache-kafka-java", "4.1.0", Leader{"orders", 0, 2, 18})
			send(c, 13, b, OK(11))
			read(s.Connect("reader-a", 2), 17, b.At(10, 17), b.At(11, 18))
		},
		Truth: blind("orders", 0, "confirmed", []int64{10, 11}),
	},
}

func bumpWhileMoving(s *Scenario) {
	c := meet(s, "client-a", 1, "dekaf", "1.0.0", Leader{"orders", 0, 1, 3}, Leader{"orders", 1, 2, 3})
	other := s.Connect("client-a", 2)
	before := Batch{Topic: "orders", Records: s.Records("order 1")}.As(12, 0, 4)
	send(c, 9, before, OK(4))
	first := Batch{Topic: "orders", Partition: 1, Records: s.Records("order 0")}
	send(other, 9, first.As(12, 0, 8), OK(29))
	lost := before.As(12, 0, 5)
	lost.Records = s.Records("order 2")
	c.Produce(9, allAcks, lost)
	s.Advance(time.Second)
	c.ServerReset()
	refused := first.As(12, 0, 9)
	refused.Records = s.Records("order 3")
	send(other, 9, refused, Refused(OutOfOrderSequence))
	c = s.Connect("client-a", 1)
	send(c, 9, lost, Refused(NotLeader).NamingLeader(3, 4))
	s.Advance(retryAfter)
	moved := s.Connect("client-a", 3)
	send(moved, 9, lost.As(12, 1, 0), OK(6))
	send(other, 9, refused.As(12, 1, 0), OK(30))
	read(s.Connect("reader-a", 3), 12, before.At(4, 3), lost.At(5, 3), lost.As(12, 1, 0).At(6, 4))
}

func refusedInFlight(s *Scenario) {
	c := meet(s, "client-a", 1, "apache-kafka-java", "3.9.0", Leader{"orders", 0, 1, 17})
	c.InitProducerID(4, -1, -1).Answer(5, 0)
	var batches []Batch
	var sent []*Produced
	for i, value := range []string{"order 1", "order 2", "order 3", "order 4", "order 5"} {
		b := Batch{Topic: "orders", Records: s.Records(value)}.As(5, 0, int32(i))
		batches = append(batches, b)
		sent = append(sent, c.Produce(9, allAcks, b))
	}
	s.Advance(latency)
	for i, p := range sent {
		code := OutOfOrderSequence
		if i == 0 {
			code = NotLeader
		}
		p.Answer(Refused(code))
	}
	c = meet(s, "client-a", 2, "apache-kafka-java", "3.9.0", Leader{"orders", 0, 2, 18})
	for i, b := range batches {
		send(c, 9, b, OK(int64(i)))
	}
}
