package kafkatest

import "time"

// latency is how long a broker of the stories takes to answer, and retryAfter how long a client waits before it sends again.
const (
	latency    = 3 * time.Millisecond
	retryAfter = 100 * time.Millisecond
	allAcks    = -1
)

// meet connects a client to a broker by an established client library and learns who leads what.
func meet(s *Scenario, client string, broker int32, software, version string, leaders ...Leader) *Conn {
	c := s.Dial(Dial{ClientID: client, Broker: broker, Software: software, Version: version})
	var topics []string
	for _, group := range byTopic(leaders, func(l Leader) string { return l.Topic }) {
		topics = append(topics, group.topic)
	}
	c.Metadata(12, topics...).Answer(leaders...)
	return c
}

// send produces one batch with acks=all and answers it after the usual latency.
func send(c *Conn, version int16, b Batch, a Answer) {
	p := c.Produce(version, allAcks, b)
	c.scenario.Advance(latency)
	p.Answer(a)
	c.scenario.Advance(latency)
}

// read fetches one partition and answers with batches as they are stored.
func read(c *Conn, version int16, batches ...Batch) {
	first := batches[0]
	f := c.Fetch(version, From{Topic: first.Topic, Partition: first.Partition, Offset: first.BaseOffset})
	c.scenario.Advance(latency)
	f.Answer(Stored(batches...))
}

// bumpCases are epoch bumps and new producer ids.
var bumpCases = []Case{
	{
		Name:  "bump-after-45-elsewhere",
		About: "6 with an offset at the old leader; 45 on another partition and connection makes the client bump the epoch for all partitions",
		Twin:  "bump-first-copy-truncated",
		Tell:  func(s *Scenario) { bumpElsewhere(s, true) },
		Truth: Truth{Duplicates: []Duplicate{{
			Topic: "orders", Partition: 0, Cause: "epoch-bump", Verdict: "confirmed", Pairs: [][]int64{{102, 104}, {103, 105}},
			Bump:    &Bump{ProducerID: 7001, FromEpoch: 0, ToEpoch: 1, Local: true},
			Trigger: &Trigger{ErrorCode: OutOfOrderSequence, Topic: "orders", Partition: 1},
		}}},
	},
	{
		Name:  "bump-first-copy-truncated",
		About: "the same bump, but the new leader never had the first copy: the later one stands at its offset",
		Twin:  "bump-after-45-elsewhere",
		Tell:  func(s *Scenario) { bumpElsewhere(s, false) },
	},
	{
		Name:  "epoch-ended-behind-first-copy",
		About: "6 with an offset; the next leader says that the epoch of the first one ends behind the first copy",
		Twin:  "epoch-ended-before-first-copy",
		Tell:  func(s *Scenario) { epochEnded(s, 103) },
		Truth: Truth{Duplicates: []Duplicate{{
			Topic: "orders", Partition: 0, Cause: "epoch-bump", Verdict: "probable", Pairs: [][]int64{{102, 104}},
			Bump:    &Bump{ProducerID: 7, FromEpoch: 0, ToEpoch: 1, Local: true},
			Trigger: NoTrigger,
		}}},
	},
	{
		Name:  "bump-with-init-producer-id",
		About: "6 with an offset, 45 for the next batch of the partition, InitProducerId grants the next epoch; nobody reads",
		Twin:  "bump-refused-only",
		Tell:  func(s *Scenario) { bumpGranted(s, AppendedBut(NotLeader, 3102), 3104) },
		Truth: Truth{Duplicates: []Duplicate{{
			Topic: "invoices", Partition: 0, Cause: "epoch-bump", Verdict: "probable", Pairs: [][]int64{{3102, 3104}, {3103, 3105}},
			Bump:    &Bump{ProducerID: 17, FromEpoch: 0, ToEpoch: 1},
			Trigger: &Trigger{ErrorCode: OutOfOrderSequence, Topic: "invoices", Partition: 0},
		}}},
	},
	{
		Name:  "bump-refused-only",
		About: "the same bump after refusals only: nothing had been appended under the old epoch",
		Twin:  "bump-with-init-producer-id",
		Tell:  func(s *Scenario) { bumpGranted(s, Refused(NotLeader), 3102) },
	},
	{
		Name:  "bump-after-20",
		About: "20 with an offset, so the batch is committed; the next one fails with -1 and the client renumbers both under a new epoch",
		Twin:  "retry-after-20-recognised",
		Tell:  bumpAfter20,
		Truth: Truth{Duplicates: []Duplicate{{
			Topic: "payments", Partition: 3, Cause: "epoch-bump", Verdict: "confirmed", Pairs: [][]int64{{900, 902}, {901, 903}},
			Bump:    &Bump{ProducerID: 42, FromEpoch: 4, ToEpoch: 5, Local: true},
			Trigger: &Trigger{ErrorCode: UnknownServerError, Topic: "payments", Partition: 3},
		}}},
	},
	{
		Name:  "bump-after-expiry",
		About: "two requests stay unanswered; the older batch expires and is never sent again, which bumps the epoch; the other one goes out under it",
		Twin:  "expiry-without-second-copy",
		Tell:  func(s *Scenario) { expiry(s, true) },
		Truth: Truth{Duplicates: []Duplicate{{
			Topic: "parcels", Partition: 0, Cause: "epoch-bump", Verdict: "confirmed", Pairs: [][]int64{{51, 53}, {52, 54}},
			Bump:    &Bump{ProducerID: 8100, FromEpoch: 0, ToEpoch: 1, Local: true},
			Trigger: &Trigger{Topic: "parcels", Partition: 1},
		}}},
	},
	{
		Name:  "expiry-without-second-copy",
		About: "both batches expire; only new records follow under the new epoch",
		Twin:  "bump-after-expiry",
		Tell:  func(s *Scenario) { expiry(s, false) },
	},
	{
		Name:  "bump-part-expired",
		About: "of an unanswered batch the first record expires; the other two go out under the new epoch together with a new one",
		Tell:  partExpired,
		Truth: Truth{Duplicates: []Duplicate{{
			Topic: "readings", Partition: 2, Cause: "epoch-bump", Verdict: "confirmed", Pairs: [][]int64{{12, 14}, {13, 15}},
			Bump: &Bump{ProducerID: 630, FromEpoch: 0, ToEpoch: 1, Local: true},
		}}},
	},
	{
		Name:  "bump-recut",
		About: "two batches answered 7 with their offsets, a third one -1; under the new epoch all their records go out as one batch",
		Twin:  "too-large-then-split",
		Tell:  recut,
		Truth: Truth{Duplicates: []Duplicate{{
			Topic: "ledger", Partition: 0, Cause: "epoch-bump", Verdict: "probable", Pairs: [][]int64{{802, 805}, {803, 806}, {804, 807}},
			Bump:    &Bump{ProducerID: 96, FromEpoch: 0, ToEpoch: 1, Local: true},
			Trigger: &Trigger{ErrorCode: UnknownServerError, Topic: "ledger", Partition: 0},
		}}},
	},
	{
		Name:  "bump-across-wrap",
		About: "the batch that is written twice runs over sequence 2147483647",
		Twin:  "sequence-wrap",
		Tell:  bumpAcrossWrap,
		Truth: Truth{Duplicates: []Duplicate{{
			Topic: "ticks", Partition: 0, Cause: "epoch-bump", Verdict: "probable", Pairs: [][]int64{{5001, 5003}, {5002, 5004}},
			Bump:    &Bump{ProducerID: 311, FromEpoch: 0, ToEpoch: 1, Local: true},
			Trigger: &Trigger{ErrorCode: OutOfOrderSequence, Topic: "ticks", Partition: 1},
		}}},
	},
	{
		Name:  "bump-log-append-time",
		About: "a bump on a topic with LogAppendTime: the stored batches differ from the sent ones in time and CRC",
		Twin:  "log-append-time-rewrite",
		Tell:  bumpLogAppendTime,
		Truth: Truth{Duplicates: []Duplicate{{
			Topic: "audit", Partition: 0, Cause: "epoch-bump", Verdict: "confirmed", Pairs: [][]int64{{40, 42}, {41, 43}},
			Bump:    &Bump{ProducerID: 512, FromEpoch: 1, ToEpoch: 2, Local: true},
			Trigger: NoTrigger,
		}}},
	},
	{
		Name:  "bump-refused-late-start",
		About: "the capture begins when the old leader has been replaced: the batch is only seen refused, then under a new epoch",
		Twin:  "bump-refused-only",
		Tell:  lateStart,
		Truth: Truth{Duplicates: []Duplicate{{
			Topic: "fleet", Partition: 12, Cause: "epoch-bump", Verdict: "possible", Pairs: [][]int64{{UnknownOffset, 15168}},
			Bump:    &Bump{ProducerID: 57, FromEpoch: 0, ToEpoch: 1},
			Trigger: &Trigger{ErrorCode: OutOfOrderSequence, Topic: "fleet", Partition: 5},
		}}},
	},
	{
		Name:  "new-producer-id-after-45",
		About: "an older client meets 45 elsewhere with a whole new producer id; its batch that was stored and timed out goes out again under that",
		Twin:  "new-producer-id-after-restart",
		Tell:  func(s *Scenario) { newProducerID(s, true) },
		Truth: Truth{Duplicates: []Duplicate{{
			Topic: "payments", Partition: 0, Cause: "new-producer-id", Verdict: "probable", Pairs: [][]int64{{210, 212}, {211, 213}},
			Bump: &Bump{ProducerID: 5520, FromEpoch: 0, ToEpoch: 0, NewProducerID: 5521},
		}}},
	},
	{
		Name:  "new-producer-id-after-restart",
		About: "a client restarts and goes on with new records under a new producer id",
		Twin:  "new-producer-id-after-45",
		Tell:  func(s *Scenario) { newProducerID(s, false) },
	},
}

func bumpElsewhere(s *Scenario, survives bool) {
	c := meet(s, "client-a", 1, "librdkafka", "2.6.1",
		Leader{"orders", 0, 1, 17}, Leader{"orders", 1, 2, 5})
	c.InitProducerID(4, -1, -1).Answer(7001, 0)
	elsewhere := s.Connect("client-a", 2)
	orders := Batch{Topic: "orders", Partition: 0, Codec: LZ4}
	before, lost := orders.As(7001, 0, 0), orders.As(7001, 0, 2)
	before.Records = s.Records("order 1", "order 2")
	send(c, 10, before, OK(100))
	other := Batch{Topic: "orders", Partition: 1, ProducerID: 7001, Records: s.Records("order 3")}
	send(elsewhere, 10, other, OK(500))

	// The leader of partition 0 appends and loses the leadership while it waits for its followers.
	lost.Records = s.Records("order 4", "order 5")
	p := c.Produce(10, allAcks, lost)
	s.Advance(400 * time.Millisecond)
	p.Answer(AppendedBut(NotLeader, 102).NamingLeader(3, 18))
	moved := s.Connect("client-a", 3)
	moved.Produce(10, allAcks, lost).Answer(Refused(NotLeader))

	// On partition 1 the first of two requests in flight is refused, so the second is out of order.
	first, second := other.As(7001, 0, 1), other.As(7001, 0, 2)
	first.Records, second.Records = s.Records("order 6"), s.Records("order 7")
	p1, p2 := elsewhere.Produce(10, allAcks, first), elsewhere.Produce(10, allAcks, second)
	s.Advance(latency)
	p1.Answer(Refused(NotLeader))
	p2.Answer(Refused(OutOfOrderSequence))

	s.Advance(retryAfter)
	base := int64(102)
	if survives {
		base = 104
	}
	again := lost.As(7001, 1, 0)
	send(moved, 10, again, OK(base))
	send(elsewhere, 10, first.As(7001, 1, 0), OK(501))
	send(elsewhere, 10, second.As(7001, 1, 1), OK(502))

	reader := s.Connect("reader-a", 3)
	stored := []Batch{before.At(100, 17)}
	if survives {
		stored = append(stored, lost.At(102, 17))
	}
	read(reader, 12, append(stored, again.At(base, 18))...)
}

func bumpGranted(s *Scenario, first Answer, base int64) {
	c := meet(s, "client-a", 1, "librdkafka", "2.3.0", Leader{"invoices", 0, 1, 3})
	c.InitProducerID(4, -1, -1).Answer(17, 0)
	b := Batch{Topic: "invoices", ProducerID: 17, Records: s.Records("invoice 1", "invoice 2")}
	send(c, 9, b, OK(3100))
	lost, next := b.As(17, 0, 2), b.As(17, 0, 4)
	lost.Records, next.Records = s.Records("invoice 3", "invoice 4"), s.Records("invoice 5")
	p1, p2 := c.Produce(9, allAcks, lost), c.Produce(9, allAcks, next)
	s.Advance(250 * time.Millisecond)
	p1.Answer(first)
	p2.Answer(Refused(NotLeader))

	moved := meet(s, "client-a", 2, "librdkafka", "2.3.0", Leader{"invoices", 0, 2, 4})
	send(moved, 9, lost, Refused(NotLeader)) // not yet leader
	send(moved, 9, next, Refused(OutOfOrderSequence))
	s.Advance(retryAfter)
	moved.InitProducerID(4, 17, 0).Answer(17, 1)
	send(moved, 9, lost.As(17, 1, 0), OK(base))
	send(moved, 9, next.As(17, 1, 2), OK(base+2))
}

func bumpAfter20(s *Scenario) {
	c := meet(s, "client-a", 1, "librdkafka", "2.6.1", Leader{"payments", 3, 1, 9})
	b := Batch{Topic: "payments", Partition: 3, Records: s.Records("payment 1", "payment 2")}
	lost, next := b.As(42, 4, 0), b.As(42, 4, 2)
	next.Records = s.Records("payment 3")
	p1, p2 := c.Produce(8, allAcks, lost), c.Produce(8, allAcks, next)
	s.Advance(50 * time.Millisecond)
	p1.Answer(AppendedBut(NotEnoughReplicasAfter, 900))
	p2.Answer(Refused(UnknownServerError))
	s.Advance(retryAfter)
	send(c, 8, lost.As(42, 5, 0), OK(902))
	send(c, 8, next.As(42, 5, 2), OK(904))
}

func expiry(s *Scenario, resent bool) {
	c := meet(s, "client-a", 1, "librdkafka", "2.6.1", Leader{"parcels", 0, 1, 2}, Leader{"parcels", 1, 1, 2})
	p0 := Batch{Topic: "parcels", Partition: 0, ProducerID: 8100, Records: s.Records("parcel 1")}
	p1 := Batch{Topic: "parcels", Partition: 1, ProducerID: 8100, Records: s.Records("parcel 2")}
	both := c.Produce(7, allAcks, p0, p1)
	s.Advance(latency)
	both.Answer(OK(50), OK(70))

	// Neither is ever answered. The broker has appended what stands on partition 0.
	old, waiting := p1.As(8100, 0, 1), p0.As(8100, 0, 1)
	old.Records = s.Records("parcel 3")
	c.Produce(7, allAcks, old)
	s.Advance(20 * time.Second)
	waiting.Records = s.Records("parcel 4", "parcel 5")
	c.Produce(7, allAcks, waiting)
	s.Advance(4*time.Minute + 50*time.Second) // message.timeout.ms of the first one
	c.Reset()

	c = meet(s, "client-a", 2, "librdkafka", "2.6.1", Leader{"parcels", 0, 2, 3}, Leader{"parcels", 1, 2, 3})
	later := waiting.As(8100, 1, 0)
	if !resent {
		later.Records = s.Records("parcel 6", "parcel 7")
	}
	send(c, 7, later, OK(53))
	read(s.Connect("reader-a", 2), 11, p0.At(50, 2), waiting.At(51, 2), later.At(53, 3))
}

func partExpired(s *Scenario) {
	c := meet(s, "client-a", 1, "librdkafka", "1.9.2", Leader{"readings", 2, 1, 6})
	b := Batch{Topic: "readings", Partition: 2, ProducerID: 630, Records: s.Records("21.5", "21.6", "21.8")}
	before := b
	before.Records = s.Records("21.1")
	send(c, 7, before, OK(10))
	lost := b.As(630, 0, 1)
	c.Produce(7, allAcks, lost)
	s.Advance(5 * time.Minute)
	c.ServerReset()

	c = meet(s, "client-a", 2, "librdkafka", "1.9.2", Leader{"readings", 2, 2, 7})
	again := b.As(630, 1, 0)
	again.Records = append(lost.Records[1:3:3], s.Records("22.4")...)
	send(c, 7, again, OK(14))
	read(s.Connect("reader-a", 2), 11, before.At(10, 6), lost.At(11, 6), again.At(14, 7))
}

func recut(s *Scenario) {
	c := meet(s, "client-a", 2, "librdkafka", "2.6.1", Leader{"ledger", 0, 2, 1})
	b := Batch{Topic: "ledger", ProducerID: 96, Codec: Zstd, Records: s.Records("entry 1", "entry 2")}
	send(c, 10, b, OK(800))
	one, two, three := b.As(96, 0, 2), b.As(96, 0, 4), b.As(96, 0, 5)
	one.Records, two.Records, three.Records = s.Records("entry 3", "entry 4"), s.Records("entry 5"), s.Records("entry 6")
	for _, pending := range []struct {
		batch  Batch
		answer Answer
	}{{one, AppendedBut(RequestTimedOut, 802)}, {two, AppendedBut(RequestTimedOut, 804)}, {three, Refused(UnknownServerError)}} {
		p := c.Produce(10, allAcks, pending.batch)
		s.Advance(time.Second)
		p.Answer(pending.answer)
	}
	all := b.As(96, 1, 0)
	all.Records = append(append(append([]Record{}, one.Records...), two.Records...), three.Records...)
	send(c, 10, all, OK(805))
}

func bumpAcrossWrap(s *Scenario) {
	c := meet(s, "client-a", 1, "librdkafka", "2.6.1", Leader{"ticks", 0, 1, 1}, Leader{"ticks", 1, 1, 1})
	b := Batch{Topic: "ticks", Records: s.Records("tick 1")}
	send(c, 9, b.As(311, 0, 2147483646), OK(5000))
	lost := b.As(311, 0, 2147483647)
	lost.Records = s.Records("tick 2", "tick 3")
	p := c.Produce(9, allAcks, lost)
	s.Advance(time.Second)
	p.Answer(AppendedBut(RequestTimedOut, 5001))
	other := b.As(311, 0, 77)
	other.Partition, other.Records = 1, s.Records("tick 4")
	send(c, 9, other, Refused(OutOfOrderSequence))
	send(c, 9, lost.As(311, 1, 0), OK(5003))
}

func bumpLogAppendTime(s *Scenario) {
	c := meet(s, "client-a", 1, "librdkafka", "2.6.1", Leader{"audit", 0, 1, 8})
	b := Batch{Topic: "audit", Records: s.Records("login 1", "login 2")}
	lost, again := b.As(512, 1, 0), b.As(512, 2, 0)
	appended := s.Now().UnixMilli()
	p := c.Produce(9, allAcks, lost)
	s.Advance(time.Second)
	p.Answer(AppendedBut(RequestTimedOut, 40).Timed(appended))
	s.Advance(retryAfter)
	appendedAgain := s.Now().UnixMilli()
	send(c, 9, again, OK(42).Timed(appendedAgain))
	read(s.Connect("reader-a", 1), 12, lost.Timed(appended).At(40, 8), again.Timed(appendedAgain).At(42, 8))
}

func lateStart(s *Scenario) {
	old := s.Dial(Dial{ClientID: "client-a", Broker: 1, Established: true, CorrelationID: 900})
	b := Batch{Topic: "fleet", Partition: 12, Records: s.Records("77")}
	lost := b.As(57, 0, 31)
	send(old, 9, lost, Refused(NotLeader))
	s.Advance(retryAfter)
	send(old, 9, lost, Refused(NotLeader))
	other := b.As(57, 0, 8)
	other.Partition, other.Records = 5, s.Records("78")
	send(old, 9, other, Refused(OutOfOrderSequence))
	old.InitProducerID(4, 57, 0).Answer(57, 1)
	send(old, 9, lost.As(57, 1, 0), OK(15168))
}

func newProducerID(s *Scenario, unsure bool) {
	c := meet(s, "client-a", 1, "librdkafka", "1.3.0", Leader{"payments", 0, 1, 1}, Leader{"payments", 1, 1, 1})
	c.InitProducerID(1, -1, -1).Answer(5520, 0)
	b := Batch{Topic: "payments", Records: s.Records("payment 1", "payment 2")}
	lost := b.As(5520, 0, 0)
	p := c.Produce(7, allAcks, lost)
	s.Advance(time.Second)
	if unsure {
		p.Answer(AppendedBut(RequestTimedOut, 210))
		other := b.As(5520, 0, 12)
		other.Partition, other.Records = 1, s.Records("payment 3")
		send(c, 7, other, Refused(OutOfOrderSequence))
	} else {
		p.Answer(OK(210))
		c.Close()
		c = meet(s, "client-a", 1, "librdkafka", "1.3.0", Leader{"payments", 0, 1, 1})
		b.Records = s.Records("payment 4", "payment 5")
	}
	c.InitProducerID(1, -1, -1).Answer(5521, 0)
	send(c, 7, b.As(5521, 0, 0), OK(212))
}
