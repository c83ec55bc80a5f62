package kafkatest

import "time"

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
