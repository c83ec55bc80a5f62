package kafkatest

import "time"

// readerCases are captures at a reader or a follower: no Produce is seen, or only the replicas show what is stored.
var readerCases = []Case{
	{
		Name:  "fetch-only-bump",
		About: "a reader sees one record under two epochs of one producer id",
		Twin:  "fetch-only-read-again",
		Tell: func(s *Scenario) {
			b := Batch{Topic: "orders", Codec: Zstd, Records: s.Records("order 1", "order 2")}
			fetchOnly(s, b.As(7, 0, 40), b.As(7, 1, 0))
		},
		Truth: Truth{Duplicates: []Duplicate{{
			Topic: "orders", Partition: 0, Cause: "epoch-bump", Verdict: "confirmed", Pairs: [][]int64{{20, 22}, {21, 23}},
			Bump:    &Bump{ProducerID: 7, FromEpoch: 0, ToEpoch: 1, Local: true},
			Trigger: NoTrigger,
		}}},
	},
	{
		Name:  "fetch-only-blind-retry",
		About: "a reader sees one whole batch without producer id at two places",
		Twin:  "fetch-only-fresh-sequences",
		Tell: func(s *Scenario) {
			b := Batch{Topic: "orders", Records: s.Records("order 1", "order 2")}
			fetchOnly(s, b, b)
		},
		Truth: blind("orders", 0, "confirmed", []int64{20, 22}, []int64{21, 23}),
	},
	{
		Name:  "fetch-only-dedup-failure",
		About: "a reader sees one batch of one identity at two places",
		Twin:  "fetch-only-fresh-sequences",
		Tell: func(s *Scenario) {
			b := Batch{Topic: "orders", ProducerID: 7, BaseSequence: 3, Records: s.Records("order 1", "order 2")}
			fetchOnly(s, b, b)
		},
		Truth: Truth{Duplicates: []Duplicate{{
			Topic: "orders", Partition: 0, Cause: "broker-dedup-failure", Verdict: "confirmed", Pairs: [][]int64{{20, 22}, {21, 23}},
		}}},
	},
	{
		Name:  "fetch-only-two-producers",
		About: "a reader sees the same records under two producer ids; nothing tells why",
		Twin:  "fetch-only-third-time",
		Tell: func(s *Scenario) {
			b := Batch{Topic: "orders", Records: s.Records("order 1", "order 2")}
			fetchOnly(s, b.As(71, 0, 500), b.As(72, 0, 0))
		},
		Truth: Truth{Duplicates: []Duplicate{{
			Topic: "orders", Partition: 0, Cause: "unknown", Verdict: "confirmed", Pairs: [][]int64{{20, 22}, {21, 23}},
		}}},
	},
	{
		Name:  "fetch-only-third-time",
		About: "the same content three times, under three producer ids: it is not distinctive",
		Twin:  "fetch-only-two-producers",
		Tell: func(s *Scenario) {
			b := Batch{Topic: "orders", Records: s.Records("order 1", "order 2")}
			fetchOnly(s, b.As(71, 0, 500), b.As(72, 0, 0), b.As(73, 0, 12))
		},
	},
	{
		Name:  "fetch-only-three-epochs",
		About: "the same content three times, under three epochs of one producer id: it is not distinctive",
		Twin:  "fetch-only-bump",
		Tell: func(s *Scenario) {
			b := Batch{Topic: "orders", Records: s.Records("order 1", "order 2")}
			c := meet(s, "reader-a", 1, "librdkafka", "2.6.1", Leader{"orders", 0, 1, 2})
			read(c, 12, b.As(7, 0, 40).At(20, 2), b.As(7, 1, 0).At(22, 2), b.As(7, 2, 0).At(24, 2))
		},
	},
	{
		Name:  "fetch-only-fresh-sequences",
		About: "the same content under fresh sequences of one epoch: the application meant it",
		Twin:  "fetch-only-blind-retry",
		Tell: func(s *Scenario) {
			b := Batch{Topic: "orders", Records: s.Records("order 1", "order 2")}
			fetchOnly(s, b.As(7, 0, 40), b.As(7, 0, 42))
		},
	},
	{
		Name:  "fetch-only-read-again",
		About: "two groups, a follower and a reader that starts again read the same offsets, the last answer cut short",
		Twin:  "fetch-only-bump",
		Tell:  readAgain,
	},
	{
		Name:  "replica-shows-both",
		About: "7 with an offset, then a bump; only a follower's fetches show both copies, later below the high watermark",
		Twin:  "bump-first-copy-truncated",
		Tell:  func(s *Scenario) { replica(s, true) },
		Truth: replicaTruth("confirmed"),
	},
	{
		Name:  "replica-above-high-watermark",
		About: "the same, but no high watermark above the first copy is seen",
		Twin:  "bump-first-copy-truncated",
		Tell:  func(s *Scenario) { replica(s, false) },
		Truth: replicaTruth("probable"),
	},
}

// fetchOnly lets one reader fetch batches of two records each, from offset 20 on.
func fetchOnly(s *Scenario, batches ...Batch) {
	c := meet(s, "reader-a", 1, "librdkafka", "2.6.1", Leader{"orders", 0, 1, 2})
	for i, b := range batches {
		read(c, 12, b.At(20+2*int64(i), 2))
		s.Advance(retryAfter)
	}
}

func readAgain(s *Scenario) {
	one := Batch{Topic: "orders", ProducerID: 7, Records: s.Records("order 1", "order 2")}
	two := one.As(7, 0, 2)
	two.Records = s.Records("order 3")
	one, two = one.At(20, 2), two.At(22, 2)
	a := meet(s, "reader-a", 1, "librdkafka", "2.6.1", Leader{"orders", 0, 1, 2})
	read(a, 12, one, two)
	a.OffsetCommit(8, "group-a", "orders", 0, 21).Answer()
	b := s.Connect("reader-b", 1)
	read(b, 11, one, two)
	follower := s.Connect("broker-2", 1)
	follower.ReplicaID = 2
	read(follower, 12, one, two)
	// After a rebalance, from the committed offset inside the first batch; the second one does not fit the answer.
	f := a.Fetch(12, From{Topic: "orders", Offset: 21})
	s.Advance(latency)
	d := Stored(one, two)
	d.CutTo = len(one.Encode()) + 20
	f.Answer(d)
}

func replica(s *Scenario, committed bool) {
	c := meet(s, "client-a", 1, "librdkafka", "2.6.1", Leader{"pallets", 0, 1, 5})
	b := Batch{Topic: "pallets", Records: s.Records("pallet 1")}
	lost, again := b.As(88, 0, 0), b.As(88, 1, 0)
	follower := s.Connect("broker-2", 1)
	follower.ReplicaID = 2
	// A third replica lags: the high watermark stays, and the first copy cannot be acknowledged in time.
	first := c.Produce(9, allAcks, lost)
	follower.Fetch(15, From{Topic: "pallets", Offset: 600, LeaderEpoch: 5}).Answer(Stored(lost.At(600, 5)).Below(600))
	s.Advance(30 * time.Second)
	first.Answer(AppendedBut(RequestTimedOut, 600))
	second := c.Produce(9, allAcks, again)
	follower.Fetch(15, From{Topic: "pallets", Offset: 601, LeaderEpoch: 5}).Answer(Stored(again.At(601, 5)).Below(600))
	s.Advance(latency)
	second.Answer(OK(601))
	if committed {
		follower.Fetch(15, From{Topic: "pallets", Offset: 602, LeaderEpoch: 5}).Answer(Stored().Below(602))
	}
}

func replicaTruth(verdict string) Truth {
	return Truth{Duplicates: []Duplicate{{
		Topic: "pallets", Partition: 0, Cause: "epoch-bump", Verdict: verdict, Pairs: [][]int64{{600, 601}},
		Bump:    &Bump{ProducerID: 88, FromEpoch: 0, ToEpoch: 1, Local: true},
		Trigger: NoTrigger,
	}}}
}
