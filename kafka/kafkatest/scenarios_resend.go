package kafkatest

import "time"

// resendCases are records that the application or a wrong address wrote twice, and their twins.
var resendCases = []Case{
	{
		Name:  "application-resend",
		About: "the application's own timer fires while the answer is outstanding: same key, value and header under fresh sequences",
		Twin:  "same-payload-on-purpose",
		Tell:  func(s *Scenario) { applicationRepeats(s, false) },
		Truth: resent("orders", 2, "confirmed", []int64{1001, 1002}),
	},
	{
		Name:  "same-payload-on-purpose",
		About: "the application repeats key, value and header after each OK, and twice inside one batch",
		Twin:  "application-resend",
		Tell:  func(s *Scenario) { applicationRepeats(s, true) },
	},
	{
		Name:  "misrouted-batch",
		About: "a batch expires while its request is being written; the reused buffer carries another partition's batch to its topic",
		Twin:  "broadcast-in-lockstep",
		Tell:  misrouted,
		Truth: Truth{Duplicates: []Duplicate{{
			Topic: "page-views", Partition: 4, Cause: "misrouted-batch", Verdict: "confirmed",
			Pairs: [][]int64{{310, 50012}, {311, 50013}, {312, 50014}},
		}}},
	},
	{
		Name:  "broadcast-in-lockstep",
		About: "a producer writes every batch to two topics, so that both have the same sequences and bytes",
		Twin:  "misrouted-batch",
		Tell:  lockstep,
	},
}

func applicationRepeats(s *Scenario, answeredFirst bool) {
	c := meet(s, "client-a", 1, "kgo", "1.22.3", Leader{"orders", 2, 1, 6})
	b := Batch{Topic: "orders", Partition: 2, Records: s.Records("created")}
	order := func(number string) []Record {
		records := s.Records("created")
		records[0].Key = []byte(number)
		records[0].Headers = []Header{{Key: "attempt-of", Value: []byte(number)}}
		return records
	}
	before, first, again := b.As(33, 0, 0), b.As(33, 0, 1), b.As(33, 0, 2)
	before.Records, first.Records = order("A-1"), order("A-2")
	send(c, 11, before, OK(1000))
	p := c.Produce(11, allAcks, first)
	s.Advance(latency)
	if answeredFirst {
		p.Answer(OK(1001))
	}
	s.Advance(1500 * time.Millisecond)
	again.Records = order("A-2")
	q := c.Produce(11, allAcks, again)
	s.Advance(latency)
	if !answeredFirst {
		p.Answer(OK(1001))
	}
	q.Answer(OK(1002))
	if answeredFirst {
		twice := b.As(33, 0, 3)
		twice.Records = append(order("A-3"), order("A-3")...)
		send(c, 11, twice, OK(1003))
	}
}

func misrouted(s *Scenario) {
	views := meet(s, "client-a", 1, "apache-kafka-java", "3.9.0", Leader{"page-views", 4, 1, 3}, Leader{"audit-log", 0, 2, 3})
	audit := s.Connect("client-a", 2)
	b := Batch{Topic: "page-views", Partition: 4, Records: s.Records("view 1", "view 2")}
	send(views, 9, b.As(730, 0, 1198), OK(50010))

	// The request for audit-log is torn by the end of its connection, its batch expires, and its buffer is used again.
	expired := Batch{Topic: "audit-log", ProducerID: 730, Records: s.Records("login 1")}
	whole := audit.Encode(audit.NewProduce(9, allAcks, expired))
	audit.Write(whole[:len(whole)-10]) // its batch header is on the wire, so that its sequence is known
	s.Advance(30 * time.Second)
	audit.Reset()

	batch := b.As(730, 0, 1200)
	batch.Records = s.Records("view 3", "view 4", "view 5")
	wrong := batch
	wrong.Topic, wrong.Partition = "audit-log", 0
	send(s.Connect("client-a", 2), 9, wrong, OK(310))
	send(views, 9, batch, OK(50012))
	next := b.As(730, 0, 1203)
	next.Records = s.Records("view 6")
	send(views, 9, next, OK(50015))
}

func lockstep(s *Scenario) {
	c := meet(s, "client-a", 1, "kgo", "1.22.3", Leader{"events", 0, 1, 1}, Leader{"events-copy", 0, 1, 1})
	for i, value := range []string{"event 1", "event 2", "event 3", "event 4"} {
		b := Batch{Topic: "events", ProducerID: 801, BaseSequence: int32(i), Records: s.Records(value)}
		twin := b
		twin.Topic = "events-copy"
		p := c.Produce(9, allAcks, b, twin)
		s.Advance(latency)
		p.Answer(OK(int64(20+i)), OK(int64(80+i)))
		s.Advance(retryAfter)
	}
}
