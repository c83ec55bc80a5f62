package kafkatest

import "time"

// triggerCases are epoch bumps that something else than the first error forced.
var triggerCases = []Case{
	{
		Name:  "bump-after-given-up-elsewhere",
		About: "a partition has no leader for minutes: its batch expires between retries, which bumps the epoch; another partition had a batch answered 7 with its offset",
		Twin:  "two-epochs-alive",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "librdkafka", "2.6.1", Leader{"orders", 0, 1, 2}, Leader{"orders", 1, 1, 2})
			one, two := s.batch("orders", 0, "order 1"), s.batch("orders", 1, "order 2")
			send(c, 9, one.As(5, 0, 0), OK(10))
			send(c, 9, two.As(5, 0, 0), OK(20))
			lost := s.batch("orders", 1, "order 3").As(5, 0, 1)
			for range 5 {
				send(c, 9, lost, Refused(NotLeader))
				s.Advance(time.Minute)
			}
			first := s.batch("orders", 0, "order 4")
			p := c.Produce(9, allAcks, first.As(5, 0, 1))
			s.Advance(time.Second)
			p.Answer(AppendedBut(RequestTimedOut, 11))
			s.Advance(retryAfter)
			send(c, 9, first.As(5, 1, 0), OK(12))
			send(c, 9, s.batch("orders", 1, "order 5").As(5, 1, 0), OK(21))
		},
		Truth: Truth{Duplicates: []Duplicate{{
			Topic: "orders", Cause: "epoch-bump", Verdict: "probable", Pairs: [][]int64{{11, 12}},
			Bump:    &Bump{ProducerID: 5, FromEpoch: 0, ToEpoch: 1, Local: true},
			Trigger: &Trigger{ErrorCode: NotLeader, Topic: "orders", Partition: 1},
		}}},
	},
	{
		Name:  "bump-after-too-large-elsewhere",
		About: "a batch of another partition is refused with 10 and given up, which leaves a hole in the sequences and bumps the epoch",
		Twin:  "too-large-then-split",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "librdkafka", "2.6.1", Leader{"orders", 0, 1, 2}, Leader{"orders", 1, 1, 2})
			first := s.batch("orders", 0, "order 4")
			p := c.Produce(9, allAcks, first.As(5, 0, 1))
			send(c, 9, s.batch("orders", 1, "huge").As(5, 0, 3), Refused(MessageTooLarge))
			s.Advance(time.Second)
			p.Answer(AppendedBut(RequestTimedOut, 11))
			s.Advance(retryAfter)
			send(c, 9, first.As(5, 1, 0), OK(12))
		},
		Truth: Truth{Duplicates: []Duplicate{{
			Topic: "orders", Cause: "epoch-bump", Verdict: "probable", Pairs: [][]int64{{11, 12}},
			Bump:    &Bump{ProducerID: 5, FromEpoch: 0, ToEpoch: 1, Local: true},
			Trigger: &Trigger{ErrorCode: MessageTooLarge, Topic: "orders", Partition: 1},
		}}},
	},
	{
		Name:  "bump-after-split-in-vain",
		About: "7 with an offset, 10 for the retry; the first half is answered 45, as the broker has the whole; both halves go out under a new epoch",
		Twin:  "too-large-then-split",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "apache-kafka-java", "3.9.0", Leader{"ledger", 0, 1, 1})
			whole := Batch{Topic: "ledger", Records: s.Records("entry 1", "entry 2")}
			p := c.Produce(9, allAcks, whole.As(9, 0, 0))
			s.Advance(time.Second)
			p.Answer(AppendedBut(RequestTimedOut, 10))
			send(c, 9, whole.As(9, 0, 0), Refused(MessageTooLarge))
			one, two := whole, whole
			one.Records, two.Records = whole.Records[:1], whole.Records[1:]
			send(c, 9, one.As(9, 0, 0), Refused(OutOfOrderSequence))
			send(c, 9, one.As(9, 1, 0), OK(12))
			send(c, 9, two.As(9, 1, 1), OK(13))
		},
		Truth: Truth{Duplicates: []Duplicate{{
			Topic: "ledger", Cause: "epoch-bump", Verdict: "probable", Pairs: [][]int64{{10, 12}, {11, 13}},
			Bump:    &Bump{ProducerID: 9, FromEpoch: 0, ToEpoch: 1, Local: true},
			Trigger: &Trigger{ErrorCode: OutOfOrderSequence, Topic: "ledger"},
		}}},
	},
	{
		Name:  "bump-after-47",
		About: "7 with an offset, then 47 on another partition: InitProducerId grants the next epoch",
		Twin:  "bump-refused-only",
		Tell:  func(s *Scenario) { bumpAfter47(s, 9) },
		Truth: Truth{Duplicates: []Duplicate{{
			Topic: "orders", Cause: "epoch-bump", Verdict: "probable", Pairs: [][]int64{{10, 11}},
			Bump:    &Bump{ProducerID: 5, FromEpoch: 0, ToEpoch: 1},
			Trigger: &Trigger{ErrorCode: InvalidProducerEpoch, Topic: "orders", Partition: 1},
		}}},
	},
	{
		Name:  "bump-after-47-by-topic-ids",
		About: "the same with topic ids in Produce: the trigger has its name from Metadata all the same",
		Twin:  "bump-refused-only",
		Tell:  func(s *Scenario) { bumpAfter47(s, 13) },
		Truth: Truth{Duplicates: []Duplicate{{
			Topic: "orders", Cause: "epoch-bump", Verdict: "probable", Pairs: [][]int64{{10, 11}},
			Bump:    &Bump{ProducerID: 5, FromEpoch: 0, ToEpoch: 1},
			Trigger: &Trigger{ErrorCode: InvalidProducerEpoch, Topic: "orders", Partition: 1},
		}}},
	},
	{
		Name:  "bumped-twice",
		About: "7 with an offset under two epochs, each time followed by 45: three copies",
		Twin:  "bump-refused-only",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "librdkafka", "2.6.1", Leader{"orders", 0, 1, 2})
			b := s.batch("orders", 0, "order 1")
			for e := range int16(2) {
				p := c.Produce(9, allAcks, b.As(5, e, 0))
				s.Advance(time.Second)
				p.Answer(AppendedBut(RequestTimedOut, 10+int64(e)))
				send(c, 9, s.batch("orders", 0, "other").As(5, e, 1), Refused(OutOfOrderSequence))
			}
			send(c, 9, b.As(5, 2, 0), OK(12))
			read(s.Connect("reader-a", 1), 12, b.As(5, 0, 0).At(10, 2), b.As(5, 1, 0).At(11, 2), b.As(5, 2, 0).At(12, 2))
		},
		Truth: Truth{Duplicates: []Duplicate{{
			Topic: "orders", Cause: "epoch-bump", Verdict: "confirmed", Pairs: [][]int64{{10, 11, 12}},
		}}},
	},
	{
		Name:  "bump-at-the-next-leader-only",
		About: "captured at the next leader: the first copy was sent elsewhere, a reader sees it",
		Twin:  "fetch-only-read-again",
		Tell: func(s *Scenario) {
			before, lost := s.batch("orders", 0, "order 0"), s.batch("orders", 0, "order 1")
			s.Advance(time.Minute)
			c := meet(s, "client-a", 2, "librdkafka", "2.6.1", Leader{"orders", 0, 2, 2})
			send(c, 9, lost.As(5, 1, 0), OK(11))
			read(s.Connect("reader-a", 2), 12, before.As(5, 0, 0).At(9, 1), lost.As(5, 0, 1).At(10, 1), lost.As(5, 1, 0).At(11, 2))
		},
		Truth: Truth{Duplicates: []Duplicate{{
			Topic: "orders", Cause: "epoch-bump", Verdict: "confirmed", Pairs: [][]int64{{10, 11}}, Trigger: NoTrigger,
		}}},
	},
	{
		Name:  "bump-without-the-middle",
		About: "three batches answered 7 with their offsets; the middle one expires, the others go out under a new epoch, and new records after them",
		Twin:  "expiry-without-second-copy",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "librdkafka", "2.6.1", Leader{"orders", 0, 1, 2})
			send(c, 9, s.batch("orders", 0, "order 0").As(5, 0, 0), OK(9))
			var all []Batch
			var ps []*Produced
			for i, v := range []string{"a", "b", "d"} {
				b := s.batch("orders", 0, "order "+v)
				all = append(all, b)
				ps = append(ps, c.Produce(9, allAcks, b.As(5, 0, int32(1+i))))
			}
			s.Advance(time.Second)
			for i, p := range ps {
				p.Answer(AppendedBut(RequestTimedOut, int64(10+i)))
			}
			s.Advance(5 * time.Minute)
			send(c, 9, all[0].As(5, 1, 0), OK(13))
			send(c, 9, all[2].As(5, 1, 1), OK(14))
			send(c, 9, s.batch("orders", 0, "order e").As(5, 1, 2), OK(15))
		},
		Truth: Truth{Duplicates: []Duplicate{{Topic: "orders", Cause: "epoch-bump", Verdict: "probable", Pairs: [][]int64{{10, 13}, {12, 14}},
			Trigger: &Trigger{ErrorCode: RequestTimedOut, Topic: "orders"}}}},
	},
	{
		Name:  "bumped-twice-by-others",
		About: "45 on two partitions, one after the other, bumps the epoch twice; a third one skips an epoch with its batch answered 7: the first error forced it out of its epoch",
		Twin:  "one-bump-after-another",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "dekaf", "1.16", Leader{"orders", 0, 1, 2}, Leader{"orders", 1, 1, 2})
			x := s.batch("orders", 2, "x 1")
			send(c, 9, s.batch("orders", 0, "a 0").As(5, 0, 6), OK(10))
			send(c, 9, s.batch("orders", 1, "b 0").As(5, 0, 0), OK(20))
			p := c.Produce(9, allAcks, x.As(5, 0, 4))
			s.Advance(time.Second)
			p.Answer(AppendedBut(RequestTimedOut, 30))
			a, b := s.batch("orders", 0, "a 1"), s.batch("orders", 1, "b 1")
			send(c, 9, a.As(5, 0, 7), Refused(OutOfOrderSequence))
			send(c, 9, a.As(5, 1, 0), OK(11))
			send(c, 9, b.As(5, 1, 1), Refused(OutOfOrderSequence))
			send(c, 9, b.As(5, 2, 0), OK(21))
			send(c, 9, x.As(5, 2, 0), OK(31))
		},
		Truth: Truth{Duplicates: []Duplicate{{Topic: "orders", Partition: 2, Cause: "epoch-bump", Verdict: "probable", Pairs: [][]int64{{30, 31}},
			Bump: &Bump{ProducerID: 5, FromEpoch: 0, ToEpoch: 2, Local: true}, Trigger: &Trigger{ErrorCode: OutOfOrderSequence, Topic: "orders", Partition: 0}}}},
	},
	{
		Name:  "one-bump-after-another",
		About: "a client resets one partition only at each bump, so that the next one meets 45 and bumps again; nothing is written twice",
		Twin:  "bumped-twice-by-others",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "dekaf", "1.16", Leader{"orders", 0, 1, 2}, Leader{"orders", 1, 1, 2})
			a, b := s.batch("orders", 0, "a 1"), s.batch("orders", 1, "b 1")
			send(c, 9, s.batch("orders", 0, "a 0").As(5, 0, 0), OK(10))
			send(c, 9, s.batch("orders", 1, "b 0").As(5, 0, 0), OK(20))
			send(c, 9, a.As(5, 0, 7), Refused(OutOfOrderSequence))
			send(c, 9, a.As(5, 1, 0), OK(11))
			send(c, 9, b.As(5, 1, 1), Refused(OutOfOrderSequence))
			send(c, 9, b.As(5, 2, 0), OK(21))
			d := s.batch("orders", 0, "a 2")
			send(c, 9, d.As(5, 2, 1), Refused(OutOfOrderSequence))
			send(c, 9, d.As(5, 3, 0), OK(12))
		},
		Truth: Truth{Counts: map[string]int64{"epoch_bumps": 3}},
	},
	{
		Name:  "retried-45-is-no-trigger",
		About: "the second request in flight gets 45 and is accepted when it comes again; what bumps the epoch later is 59",
		Twin:  "refused-in-flight",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "apache-kafka-java", "3.9.0", Leader{"orders", 0, 1, 2}, Leader{"orders", 1, 1, 2})
			a, b := s.batch("orders", 1, "a 1").As(5, 0, 0), s.batch("orders", 1, "a 2").As(5, 0, 1)
			p, q := c.Produce(9, allAcks, a), c.Produce(9, allAcks, b)
			s.Advance(latency)
			p.Answer(Refused(NotLeader))
			q.Answer(Refused(OutOfOrderSequence))
			send(c, 9, a, OK(20))
			send(c, 9, b, OK(21))
			x := s.batch("orders", 0, "x 1")
			r := c.Produce(9, allAcks, x.As(5, 0, 0))
			s.Advance(time.Second)
			r.Answer(AppendedBut(RequestTimedOut, 30))
			send(c, 9, s.batch("orders", 1, "a 3").As(5, 0, 2), Refused(UnknownProducerID))
			send(c, 9, x.As(5, 1, 0), OK(31))
		},
		Truth: Truth{Duplicates: []Duplicate{{Topic: "orders", Partition: 0, Cause: "epoch-bump", Verdict: "probable", Pairs: [][]int64{{30, 31}},
			Bump: &Bump{ProducerID: 5, FromEpoch: 0, ToEpoch: 1, Local: true}, Trigger: &Trigger{ErrorCode: UnknownProducerID, Topic: "orders", Partition: 1}}}},
	},
	{
		Name:  "one-bump-two-verdicts",
		About: "20 with an offset for one batch and 7 for the next, then -1: both go out under a new epoch; the first copy of one of them is certain",
		Twin:  "retry-after-20-recognised",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "librdkafka", "2.6.1", Leader{"orders", 0, 1, 2})
			a, b := s.batch("orders", 0, "order 1"), s.batch("orders", 0, "order 2")
			p, q := c.Produce(9, allAcks, a.As(5, 0, 0)), c.Produce(9, allAcks, b.As(5, 0, 1))
			s.Advance(time.Second)
			p.Answer(AppendedBut(NotEnoughReplicasAfter, 10))
			q.Answer(AppendedBut(RequestTimedOut, 11))
			send(c, 9, s.batch("orders", 0, "order 3").As(5, 0, 2), Refused(UnknownServerError))
			send(c, 9, a.As(5, 1, 0), OK(12))
			send(c, 9, b.As(5, 1, 1), OK(13))
		},
		Truth: Truth{Duplicates: []Duplicate{
			{Topic: "orders", Cause: "epoch-bump", Verdict: "confirmed", Pairs: [][]int64{{10, 12}}},
			{Topic: "orders", Cause: "epoch-bump", Verdict: "probable", Pairs: [][]int64{{11, 13}}},
		}},
	},
}

// bumpAfter47 has one partition time out and another one meet 47.
func bumpAfter47(s *Scenario, version int16) {
	c := meet(s, "client-a", 1, "kgo", "1.20.6", Leader{"orders", 0, 1, 2}, Leader{"orders", 1, 1, 2})
	b := s.batch("orders", 0, "order 1")
	p := c.Produce(version, allAcks, b.As(5, 0, 0))
	s.Advance(time.Second)
	p.Answer(AppendedBut(RequestTimedOut, 10))
	send(c, version, s.batch("orders", 1, "order 2").As(5, 0, 0), Refused(InvalidProducerEpoch))
	c.InitProducerID(4, 5, 0).Answer(5, 1)
	send(c, version, b.As(5, 1, 0), OK(11))
}
