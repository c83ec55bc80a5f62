package kafkatest

import "time"

// brokerCases turn on what a broker knows of its producers, and on who may answer for a log.
var brokerCases = []Case{
	{
		Name:  "window-without-retries",
		About: "a broker that recognises no retry answers 45 to that of a batch it has; the client bumps; the only reader stops before the later copy",
		Twin:  "held-up-until-recognised",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "apache-kafka-java", "2.8.0", Leader{"orders", 0, 1, 2})
			send(c, 7, s.batch("orders", 0, "order 1").As(7, 0, 0), OK(9))
			b := s.batch("orders", 0, "order 2", "order 3")
			c.Produce(7, allAcks, b.As(7, 0, 1))
			read(s.Connect("reader-a", 1), 11, b.As(7, 0, 1).At(10, 2))
			s.Advance(30 * time.Second)
			c.ServerReset()
			c = s.Connect("client-a", 1)
			send(c, 7, b.As(7, 0, 1), Refused(OutOfOrderSequence))
			send(c, 7, b.As(7, 1, 0), OK(12))
		},
		Truth: Truth{Duplicates: []Duplicate{{
			Topic: "orders", Cause: "epoch-bump", Verdict: "confirmed", Pairs: [][]int64{{10, 12}, {11, 13}},
			Bump:    &Bump{ProducerID: 7, FromEpoch: 0, ToEpoch: 1, Local: true},
			Trigger: &Trigger{ErrorCode: OutOfOrderSequence, Topic: "orders"},
		}}},
	},
	{
		Name:  "held-up-until-recognised",
		About: "a request is held up on its way; its retry over another connection is stored first, so that the first one is recognised",
		Twin:  "late-original",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "librdkafka", "2.6.1", Leader{"logs", 0, 1, 0})
			b := s.batch("logs", 0, "line 1").As(7, 0, 0)
			p := c.Produce(9, allAcks, b)
			s.Advance(time.Minute)
			send(s.Connect("client-a", 1), 9, b, OK(10))
			p.Answer(Deduplicated(b.At(10, 0)))
		},
		Truth: Truth{Counts: map[string]int64{"appended": 1, "deduplicated": 1}},
	},
	{
		Name:  "purged-before-the-retry",
		About: "a batch is stored, read and purged before its retry comes: 59, and an old client counts from 0 again in the same epoch",
		Twin:  "counted-anew-after-59",
		Tell:  purged,
		Truth: Truth{Duplicates: []Duplicate{{
			Topic: "counts-repartition", Cause: "application-resend", Verdict: "confirmed", Pairs: [][]int64{{12, 13}},
		}}, Counts: map[string]int64{"epoch_bumps": 0}},
	},
	{
		Name:  "sixth-last-retried",
		About: "the answer for one of many batches is lost; its retry, too old to be recognised, is answered 45 until it expires; the application makes the record anew",
		Twin:  "exact-retry-deduplicated",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "apache-kafka-java", "3.4.0", Leader{"events", 0, 1, 3})
			send(c, 9, s.batch("events", 0, "e 0").As(7, 0, 0), OK(9))
			b := s.batch("events", 0, "e 1")
			stuck := s.Connect("client-a", 1)
			stuck.Produce(9, allAcks, b.As(7, 0, 1))
			s.Advance(retryAfter)
			for i := range int32(6) {
				send(c, 9, s.batch("events", 0, "e "+string('2'+i)).As(7, 0, 2+i), OK(11+int64(i)))
			}
			s.Advance(30 * time.Second)
			stuck.Reset()
			for range 3 {
				send(c, 9, b.As(7, 0, 1), Refused(OutOfOrderSequence))
				s.Advance(30 * time.Second)
			}
			send(c, 9, s.batch("events", 0, "e 1").As(7, 1, 0), OK(17))
		},
		Truth: resent("events", 0, "probable", []int64{10, 17}),
	},
	{
		Name:  "rewritten-while-retried",
		About: "7 with an offset for one batch, and 87 for the next in flight: the bump gives the first, which was about to be retried, a new identity",
		Twin:  "invalid-record-left-out",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "apache-kafka-java", "3.4.0", Leader{"events", 0, 1, 0})
			a, b := s.batch("events", 0, "e 1"), s.batch("events", 0, "bad")
			a.Codec, b.Codec = LZ4, LZ4
			p, q := c.Produce(9, allAcks, a.As(5, 0, 3)), c.Produce(9, allAcks, b.As(5, 0, 4))
			s.Advance(30 * time.Second)
			p.Answer(AppendedBut(RequestTimedOut, 10))
			q.Answer(Refused(InvalidRecord))
			s.Advance(retryAfter)
			send(c, 9, a.As(5, 1, 0), OK(11))
		},
		Truth: Truth{Duplicates: []Duplicate{{
			Topic: "events", Cause: "epoch-bump", Verdict: "probable", Pairs: [][]int64{{10, 11}},
			Bump:    &Bump{ProducerID: 5, FromEpoch: 0, ToEpoch: 1, Local: true},
			Trigger: &Trigger{ErrorCode: InvalidRecord, Topic: "events"},
		}}},
	},
	{
		Name:  "last-replica-standing",
		About: "the replica that leads next has lost what was acknowledged: 6 with an offset and its name, 45, and the batch stands lower than it did",
		Twin:  "window-without-retries",
		Tell:  lastReplica,
	},
	{
		Name:  "restored-from-a-snapshot",
		About: "a broker's disk is put back to what it was, so that leader epochs fall: the first copy was read, and another producer's record stands below its offset now",
		Twin:  "bump-after-expiry",
		Tell:  restored,
	},
	{
		Name:  "any-broker-leads",
		About: "brokers over shared storage: each may serve every partition, and Metadata names another one to each who asks; a retry goes to the next",
		Twin:  "any-broker-leads-recognised",
		Tell:  func(s *Scenario) { anyBroker(s, -1) },
		Truth: blind("clicks", 0, "confirmed", []int64{11, 12}),
	},
	{
		Name:  "any-broker-leads-recognised",
		About: "the same of a producer with an id, whose retry the other broker recognises",
		Twin:  "any-broker-leads",
		Tell:  func(s *Scenario) { anyBroker(s, 7) },
		Truth: Truth{Counts: map[string]int64{"deduplicated": 1}},
	},
	{
		Name:  "epoch-ends-in-a-fetch",
		About: "6 with an offset; the old leader, now a follower, is told in a Fetch answer that its epoch ends before the first copy",
		Twin:  "epoch-ended-behind-first-copy",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "apache-kafka-java", "3.9.0", Leader{"orders", 0, 1, 17})
			send(c, 11, s.batch("orders", 0, "order 1", "order 2").As(7, 0, 0), OK(100))
			b := s.batch("orders", 0, "order 3")
			p := c.Produce(11, allAcks, b.As(7, 0, 2))
			s.Advance(400 * time.Millisecond)
			p.Answer(AppendedBut(NotLeader, 102).NamingLeader(2, 18))
			follower := s.Connect("broker-1", 2)
			follower.ReplicaID = 1
			f := follower.Fetch(17, From{Topic: "orders", Offset: 103, LeaderEpoch: 18})
			s.Advance(latency)
			f.Answer(Data{HighWatermark: 102, DivergingEpoch: 17, DivergingEnd: 102})
			send(s.Connect("client-b", 2), 9, s.batch("orders", 0, "order 4", "order 5").As(99, 0, 0), OK(102))
			send(s.Connect("client-a", 2), 11, b.As(7, 1, 0), OK(104))
		},
	},
	{
		Name:  "follower-behind-the-tier",
		About: "a new follower is sent to tiered storage for the older part of the log; what it copies of the rest has both, below the high watermark in the end",
		Twin:  "fetch-only-read-again",
		Tell: func(s *Scenario) {
			b := s.batch("orders", 0, "order 1", "order 2")
			follower := s.Connect("broker-3", 1)
			follower.ReplicaID = 3
			follower.Fetch(17, From{Topic: "orders", LeaderEpoch: 4}).Answer(Data{ErrorCode: OffsetMovedToTieredStorage, HighWatermark: -1, LogStartOffset: -1})
			s.Advance(time.Second)
			follower.Fetch(17, From{Topic: "orders", Offset: 500, LeaderEpoch: 4}).Answer(Stored(b.As(7, 0, 40).At(500, 3), b.As(7, 1, 0).At(502, 4)).Below(502))
			follower.Fetch(17, From{Topic: "orders", Offset: 504, LeaderEpoch: 4}).Answer(Stored().Below(504))
			meet(s, "reader-a", 1, "apache-kafka-java", "3.9.0", Leader{"orders", 0, 1, 4})
		},
		Truth: Truth{Duplicates: []Duplicate{{
			Topic: "orders", Cause: "epoch-bump", Verdict: "confirmed", Pairs: [][]int64{{500, 502}, {501, 503}},
			Trigger: NoTrigger,
		}}},
	},
	{
		Name:  "thread-replaced",
		About: "a thread dies with a batch unanswered; the one that replaces it, of another client id, works on from the last commit: what was acknowledged comes again too",
		Twin:  "two-producers-of-one-name",
		Tell:  threadReplaced,
		Truth: Truth{Duplicates: []Duplicate{{
			Topic: "counts", Cause: "application-resend", Verdict: "confirmed", Pairs: [][]int64{{12, 16}, {13, 17}},
		}}, Counts: map[string]int64{"application_repeats": 2}},
	},
	{
		Name:  "mirrored-again-in-another-cut",
		About: "a reader of a mirror's target: a new instance copies the tail again, cut and compressed in another way",
		Twin:  "fetch-only-fresh-sequences",
		Tell: func(s *Scenario) {
			c := meet(s, "reader-a", 1, "apache-kafka-java", "3.9.0", Leader{"dc1.rows", 0, 1, 1})
			b := Batch{Topic: "dc1.rows", Codec: LZ4, Records: s.Records("row 1", "row 2", "row 3")}
			s.Advance(time.Minute)
			two, three := b, b
			two.Codec, three.Codec = Zstd, Zstd
			two.Records, three.Records = b.Records[1:2], b.Records[2:]
			read(c, 13, b.As(5, 0, 0).At(10, 1), two.As(6, 0, 0).At(13, 1), three.As(6, 0, 1).At(14, 1))
		},
		Truth: Truth{Duplicates: []Duplicate{{
			Topic: "dc1.rows", Cause: "unknown", Verdict: "confirmed", Pairs: [][]int64{{11, 13}, {12, 14}},
		}}},
	},
}

// purged has a repartition topic whose consumer deletes what it has read, and with it all that the broker knows of the producer.
func purged(s *Scenario) {
	const topic = "counts-repartition"
	c := meet(s, "counts-producer", 1, "", "", Leader{topic, 0, 1, 0})
	send(c, 7, s.batch(topic, 0, "c 1").As(5, 0, 0), OK(10))
	send(c, 7, s.batch(topic, 0, "c 2").As(5, 0, 1), OK(11))
	b := s.batch(topic, 0, "c 3")
	c.ClientDeaf = true
	c.Produce(7, allAcks, b.As(5, 0, 2)).Answer(OK(12))
	reader := s.Connect("counts-consumer", 1)
	read(reader, 11, b.As(5, 0, 2).At(12, 0))
	s.Advance(30 * time.Second)
	c.Reset()
	c = s.Connect("counts-producer", 1)
	send(c, 7, b.As(5, 0, 2), Refused(UnknownProducerID))
	s.Advance(retryAfter)
	send(c, 7, b.As(5, 0, 0), OK(13))
	again := Stored(b.As(5, 0, 0).At(13, 0))
	again.LogStartOffset = 13
	reader.Fetch(11, From{Topic: topic, Offset: 13}).Answer(again)
}

// lastReplica has a log that ends at offset 12 replaced by one that ends at 10.
func lastReplica(s *Scenario) {
	c := meet(s, "client-a", 1, "apache-kafka-java", "4.1.0", Leader{"orders", 0, 1, 5})
	send(c, 11, s.batch("orders", 0, "order 1").As(7, 0, 0), OK(10))
	send(c, 11, s.batch("orders", 0, "order 2").As(7, 0, 1), OK(11))
	b := s.batch("orders", 0, "order 3")
	p := c.Produce(11, allAcks, b.As(7, 0, 2))
	s.Advance(time.Second)
	p.Answer(AppendedBut(NotLeader, 12).NamingLeader(2, 6))
	c = s.Connect("client-a", 2)
	send(c, 11, b.As(7, 0, 2), Refused(OutOfOrderSequence))
	again := b.As(7, 1, 0)
	send(c, 11, again, OK(10))
	next := s.batch("orders", 0, "order 4", "order 5", "order 6").As(7, 1, 1)
	send(c, 11, next, OK(11))
	read(s.Connect("reader-a", 2), 17, again.At(10, 6), next.At(11, 6))
}

// restored has a log that ends at offset 12, of leader epoch 7, put back to one that ends at 10, of leader epoch 5.
func restored(s *Scenario) {
	c := meet(s, "client-a", 1, "librdkafka", "2.6.1", Leader{"orders", 0, 1, 7})
	before, b := s.batch("orders", 0, "order 1").As(7, 0, 0), s.batch("orders", 0, "order 2")
	send(c, 9, before, OK(11))
	c.Produce(9, allAcks, b.As(7, 0, 1))
	read(s.Connect("reader-a", 1), 12, before.At(11, 7), b.As(7, 0, 1).At(12, 7))
	s.Advance(time.Second)
	c.ServerReset()
	s.Advance(10 * time.Minute)
	other := s.batch("orders", 0, "order 3", "order 4", "order 5").As(99, 0, 0)
	send(meet(s, "client-b", 1, "librdkafka", "2.6.1", Leader{"orders", 0, 1, 5}), 9, other, OK(10))
	again := b.As(7, 1, 0)
	send(s.Connect("client-a", 1), 9, again, OK(13))
	read(s.Connect("reader-b", 1), 12, other.At(10, 5), again.At(13, 5))
}

// anyBroker has a batch, of a producer id or none (-1), lost with its connection to broker 1 and sent again to broker 2.
func anyBroker(s *Scenario, producerID int64) {
	identity := func(b Batch, sequence int32) Batch {
		if producerID < 0 {
			return b
		}
		return b.As(producerID, 0, sequence)
	}
	c := meet(s, "client-a", 1, "librdkafka", "2.6.1", Leader{"clicks", 0, 1, 0})
	before, b := identity(s.batch("clicks", 0, "click 1"), 0), identity(s.batch("clicks", 0, "click 2"), 1)
	send(c, 9, before, OK(10))
	c.Produce(9, allAcks, b)
	s.Advance(5 * time.Second)
	c.Reset()
	c = meet(s, "client-a", 2, "librdkafka", "2.6.1", Leader{"clicks", 0, 2, 0})
	log := []Batch{before.At(10, 0), b.At(11, 0)}
	if producerID < 0 {
		send(c, 9, b, OK(12))
		log = append(log, b.At(12, 0))
	} else {
		send(c, 9, b, Deduplicated(b.At(11, 0)))
	}
	read(meet(s, "reader-a", 3, "librdkafka", "2.6.1", Leader{"clicks", 0, 3, 0}), 12, log...)
	read(meet(s, "reader-b", 1, "librdkafka", "2.6.1", Leader{"clicks", 0, 1, 0}), 12, log...)
}

// threadReplaced has two batches of a dead thread written again by its successor.
func threadReplaced(s *Scenario) {
	counts := Leader{"counts", 0, 1, 0}
	c := meet(s, "app-thread-1-producer", 1, "apache-kafka-java", "3.9.0", counts)
	c.InitProducerID(4, -1, -1).Answer(5, 0)
	one, two := s.batch("counts", 0, "c 1", "c 2"), s.batch("counts", 0, "c 3", "c 4")
	send(c, 11, one.As(5, 0, 0), OK(10))
	c.Produce(11, allAcks, two.As(5, 0, 2))
	s.Advance(time.Second)
	c.Reset()
	s.Advance(time.Second)
	c = s.Dial(Dial{ClientID: "app-thread-2-producer", Broker: 1, Client: s.client("app-thread-1-producer")})
	c.InitProducerID(4, -1, -1).Answer(6, 0)
	p, q := c.Produce(11, allAcks, one.As(6, 0, 0)), c.Produce(11, allAcks, two.As(6, 0, 2))
	s.Advance(latency)
	p.Answer(OK(14))
	q.Answer(OK(16))
	read(s.Connect("reader-a", 1), 13, two.As(5, 0, 2).At(12, 0), one.As(6, 0, 0).At(14, 0), two.As(6, 0, 2).At(16, 0))
}
