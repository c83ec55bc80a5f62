package kafkatest

import "time"

// logCases turn on what a log does: the order of arrival, compaction, a new beginning.
var logCases = []Case{
	{
		Name:  "late-original",
		About: "a batch without id is held up on its way; the client sends again over another connection, and the first one arrives behind that",
		Twin:  "late-ok-deduplicated",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "librdkafka", "1.9.2", Leader{"logs", 0, 1, 0})
			b := s.batch("logs", 0, "line 1")
			before := s.batch("logs", 0, "line 0")
			send(c, 7, before, OK(9))
			p := c.Produce(7, allAcks, b)
			s.Advance(time.Minute)
			again := s.Connect("client-a", 1)
			send(again, 7, b, OK(10))
			s.Advance(time.Second)
			p.Answer(OK(11))
		},
		Truth: blind("logs", 0, "confirmed", []int64{11, 10}),
	},
	{
		Name:  "retried-message-by-message",
		About: "7 with an offset; the messages come due for retry at different times and in another order",
		Twin:  "blind-retry-refused",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "librdkafka", "1.9.2", Leader{"logs", 0, 1, 0})
			b := s.batch("logs", 0, "line 1", "line 2", "line 3")
			p := c.Produce(7, allAcks, b)
			s.Advance(time.Second)
			p.Answer(AppendedBut(RequestTimedOut, 10))
			one, two := b, b
			one.Records, two.Records = b.Records[:1], b.Records[1:]
			send(c, 7, two, OK(13))
			send(c, 7, one, OK(15))
			read(s.Connect("reader-a", 1), 11, b.At(10, 0), two.At(13, 0), one.At(15, 0))
		},
		Truth: blind("logs", 0, "confirmed", []int64{11, 13}, []int64{12, 14}, []int64{10, 15}),
	},
	{
		Name:  "reordered-retry-stored",
		About: "three requests in flight: 7 with an offset for the first, OK for the others; the first one again behind them",
		Twin:  "reordered-retry",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "librdkafka", "1.9.2", Leader{"logs", 0, 1, 0})
			a, b, d := s.batch("logs", 0, "line 1"), s.batch("logs", 0, "line 2"), s.batch("logs", 0, "line 3")
			p, q, r := c.Produce(7, allAcks, a), c.Produce(7, allAcks, b), c.Produce(7, allAcks, d)
			s.Advance(time.Second)
			p.Answer(AppendedBut(RequestTimedOut, 9))
			q.Answer(OK(10))
			r.Answer(OK(11))
			s.Advance(retryAfter)
			send(c, 7, a, OK(12))
			read(s.Connect("reader-a", 1), 11, a.At(9, 0), b.At(10, 0), d.At(11, 0), a.At(12, 0))
		},
		Truth: blind("logs", 0, "confirmed", []int64{9, 12}),
	},
	{
		Name:  "reordered-retry",
		About: "the same, but the first was refused",
		Twin:  "reordered-retry-stored",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "librdkafka", "1.9.2", Leader{"logs", 0, 1, 0})
			a, b, d := s.batch("logs", 0, "line 1"), s.batch("logs", 0, "line 2"), s.batch("logs", 0, "line 3")
			p, q, r := c.Produce(7, allAcks, a), c.Produce(7, allAcks, b), c.Produce(7, allAcks, d)
			s.Advance(latency)
			p.Answer(Refused(NotLeader))
			q.Answer(OK(10))
			r.Answer(OK(11))
			s.Advance(retryAfter)
			send(c, 7, a, OK(12))
			read(s.Connect("reader-a", 1), 11, b.At(10, 0), d.At(11, 0), a.At(12, 0))
		},
	},
	{
		Name:  "hole-by-compaction",
		About: "an unanswered batch comes again; the place it may have had is empty in a log that was compacted, so it proves nothing",
		Twin:  "lost-connection-no-room",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "librdkafka", "1.9.2", Leader{"profiles", 0, 1, 0})
			before, b, next := s.batch("profiles", 0, "p 0"), s.batch("profiles", 0, "p 1"), s.batch("profiles", 0, "p 2")
			send(c, 7, before, OK(10))
			c.ServerDeaf = true
			c.Produce(7, allAcks, b)
			s.Advance(time.Minute)
			c.Reset()
			c = s.Connect("client-a", 1)
			send(c, 7, b, OK(12)) // 11 is another writer's
			send(c, 7, next, OK(13))
			s.Advance(time.Minute)
			read(s.Connect("reader-a", 1), 11, before.At(10, 0), b.At(12, 0), next.At(13, 0))
		},
		Truth: blind("profiles", 0, "possible", []int64{UnknownOffset, 12}),
	},
	{
		Name:  "cut-back-before-the-retry",
		About: "acks=1: the leader dies with its newest batches, the last of them unanswered; the next leader stores the resend where an acknowledged one had been",
		Twin:  "blind-retry-acks-one",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "librdkafka", "1.5.0", Leader{"orders", 0, 1, 2})
			produce := func(c *Conn, b Batch, offset int64) {
				p := c.Produce(7, 1, b)
				s.Advance(latency)
				p.Answer(OK(offset))
			}
			produce(c, s.batch("orders", 0, "order 1"), 10)
			produce(c, s.batch("orders", 0, "order 2"), 11)
			b := s.batch("orders", 0, "order 3")
			c.Produce(7, 1, b)
			s.Advance(time.Second)
			c.ServerReset()
			produce(meet(s, "client-a", 2, "librdkafka", "1.5.0", Leader{"orders", 0, 2, 3}), b, 11)
		},
	},
	{
		Name:  "topic-recreated-between-retries",
		About: "a topic is deleted and created again while a batch is unanswered; the new one is another topic id",
		Twin:  "bump-after-expiry",
		Tell:  func(s *Scenario) { recreatedBetween(s, 13, UnknownTopicID) },
	},
	{
		Name:  "topic-recreated-between-retries-by-name",
		About: "the same with names in Produce, and the ids from Metadata",
		Twin:  "bump-after-expiry",
		Tell:  func(s *Scenario) { recreatedBetween(s, 9, UnknownTopic) },
	},
	{
		Name:  "share-group-shows-both",
		About: "a bump after a lost answer; only the members of a share group read, and are shown both copies",
		Twin:  "share-group-redelivery",
		Tell: func(s *Scenario) {
			b := s.batch("orders", 0, "order 1")
			c := meet(s, "client-a", 1, "librdkafka", "2.6.1", Leader{"orders", 0, 1, 2})
			c.Produce(9, allAcks, b.As(5, 0, 0))
			s.Advance(time.Minute)
			c.Reset()
			c = s.Connect("client-a", 1)
			send(c, 9, b.As(5, 1, 0), OK(11))
			s.Connect("member-a", 1).ShareFetch(1, "group-a", "orders", 0).Answer(1, b.As(5, 0, 0).At(10, 2))
			s.Connect("member-b", 1).ShareFetch(1, "group-a", "orders", 0).Answer(1, b.As(5, 1, 0).At(11, 2))
		},
		Truth: Truth{Duplicates: []Duplicate{{
			Topic: "orders", Partition: 0, Cause: "epoch-bump", Verdict: "confirmed", Pairs: [][]int64{{10, 11}},
		}}},
	},
	{
		Name:  "share-group-redelivery",
		About: "a member of a share group does not acknowledge in time, so that another one is given the same offsets",
		Twin:  "share-group-shows-both",
		Tell: func(s *Scenario) {
			b := s.batch("orders", 0, "order 1", "order 2")
			c := meet(s, "client-a", 1, "librdkafka", "2.6.1", Leader{"orders", 0, 1, 2})
			send(c, 9, b, OK(10))
			s.Connect("member-a", 1).ShareFetch(2, "group-a", "orders", 0).Answer(1, b.At(10, 2))
			s.Advance(30 * time.Second)
			s.Connect("member-b", 1).ShareFetch(2, "group-a", "orders", 0).Answer(2, b.At(10, 2))
		},
	},
	{
		Name:  "stored-twice-by-the-broker",
		About: "one request, one answer, and the batch stands at two offsets",
		Twin:  "late-ok-deduplicated",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "kgo", "1.4", Leader{"orders", 0, 1, 2})
			b := s.batch("orders", 0, "order 1").As(5, 0, 0)
			send(c, 9, b, OK(10))
			read(s.Connect("reader-a", 1), 12, b.At(10, 2), b.At(11, 2))
		},
		Truth: Truth{Duplicates: []Duplicate{
			{Topic: "orders", Cause: "broker-dedup-failure", Verdict: "confirmed", Pairs: [][]int64{{10, 11}}},
		}},
	},
	{
		Name:  "two-of-three-in-flight-appended",
		About: "three requests without id are lost with their connection and come again; the offsets leave room for the first two",
		Twin:  "lost-connection-no-room",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "librdkafka", "1.9.2", Leader{"logs", 0, 1, 0})
			before := s.batch("logs", 0, "line 0")
			send(c, 7, before, OK(9))
			all := []Batch{s.batch("logs", 0, "line 1"), s.batch("logs", 0, "line 2"), s.batch("logs", 0, "line 3")}
			for _, b := range all {
				c.Produce(7, allAcks, b)
			}
			s.Advance(time.Minute)
			c.Reset()
			c = s.Connect("client-a", 1)
			for i, b := range all {
				send(c, 7, b, OK(12+int64(i)))
			}
		},
		Truth: Truth{Duplicates: []Duplicate{
			{Topic: "logs", Cause: "blind-retry", Verdict: "probable", Pairs: [][]int64{{10, 12}}},
			{Topic: "logs", Cause: "blind-retry", Verdict: "probable", Pairs: [][]int64{{11, 13}}},
		}},
	},
	{
		Name:  "log-without-producers",
		About: "the broker keeps its log in another format: readers are shown no producer ids, and what was stored twice is told by its place alone",
		Twin:  "log-without-producers-recognised",
		Tell:  func(s *Scenario) { withoutProducers(s, OK(502), 502) },
		Truth: Truth{Duplicates: []Duplicate{{
			Topic: "orders", Cause: "broker-dedup-failure", Verdict: "confirmed", Pairs: [][]int64{{500, 502}, {501, 503}},
		}}},
	},
	{
		Name:  "log-without-producers-recognised",
		About: "the same, and the broker recognises the retry",
		Twin:  "log-without-producers",
		Tell:  func(s *Scenario) { withoutProducers(s, OK(500)) },
	},
	{
		Name:  "reader-by-id-alone",
		About: "names in Produce, ids in Fetch, and no Metadata: equal bytes at equal offsets tie the two, so that each pair is told once",
		Twin:  "blind-retry-refused",
		Tell: func(s *Scenario) {
			c := s.Connect("client-a", 1)
			before, b := s.batch("sensors", 0, "16.0"), s.batch("sensors", 0, "16.5")
			send(c, 9, before, OK(54))
			p := c.Produce(9, allAcks, b)
			s.Advance(time.Second)
			p.Answer(AppendedBut(RequestTimedOut, 55))
			s.Advance(retryAfter)
			send(c, 9, b, OK(56))
			read(s.Connect("reader-a", 1), 17, before.At(54, 4), b.At(55, 4), b.At(56, 4))
		},
		Truth: blind("sensors", 0, "confirmed", []int64{55, 56}),
	},
}

// recreatedBetween has a topic deleted and created again between a batch that nobody answered and its resend.
func recreatedBetween(s *Scenario, version, gone int16) {
	devices := Leader{"devices", 0, 1, 0}
	c := meet(s, "client-a", 1, "apache-kafka-java", "4.1.0", devices)
	b := s.batch("devices", 0, "on")
	send(c, version, s.batch("devices", 0, "off").As(5, 0, 0), OK(0))
	c.Produce(version, allAcks, b.As(5, 0, 1))
	s.Advance(30 * time.Second)
	c.Reset()
	c = s.Connect("client-a", 1)
	admin := s.Connect("admin-a", 2)
	deleting := admin.DeleteTopics(6, "devices")
	send(c, version, b.As(5, 0, 1), Refused(gone))
	deleting.Answer()
	admin.CreateTopics(7, "devices").Answer()
	c.Metadata(12, "devices").Answer(devices)
	send(c, version, b.As(5, 1, 0), OK(0))
	send(c, version, s.batch("devices", 0, "dimmed").As(5, 1, 1), OK(1))
}

// withoutProducers has a batch of a producer with an id lost with its connection and sent again; readers are shown what stands there without
// an identity.
func withoutProducers(s *Scenario, retried Answer, further ...int64) {
	c := meet(s, "client-a", 1, "apache-kafka-java", "3.4.0", Leader{"orders", 0, 1, -1})
	before, b := s.batch("orders", 0, "order 1"), s.batch("orders", 0, "order 2", "order 3")
	send(c, 8, before.As(5, 0, 0), OK(499))
	c.Produce(8, allAcks, b.As(5, 0, 1))
	s.Advance(time.Second)
	c.Reset()
	c = meet(s, "client-a", 1, "apache-kafka-java", "3.4.0", Leader{"orders", 0, 1, -1})
	send(c, 8, b.As(5, 0, 1), retried)
	log := []Batch{before.At(499, -1), b.At(500, -1)}
	for _, offset := range further {
		log = append(log, b.At(offset, -1))
	}
	read(s.Connect("reader-a", 1), 11, log...)
}
