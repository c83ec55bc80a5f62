package kafkatest

import (
	"net/netip"
	"time"
)

// lookalikeCases look like duplicates and are none: what reports on other systems tell of, and what two systems in one capture make
// look like one.
var lookalikeCases = []Case{
	{
		Name:  "mirror-of-equal-name",
		About: "a mirror reads a topic of one cluster and writes it under its name to another one; no Metadata tells the clusters apart",
		Twin:  "fetch-only-two-producers",
		Tell:  func(s *Scenario) { mirrorOfEqualName(s, 71, 72) },
	},
	{
		Name:  "mirror-of-equal-name-without-ids",
		About: "the same without producer ids, so that the bytes are equal",
		Twin:  "fetch-only-blind-retry",
		Tell:  func(s *Scenario) { mirrorOfEqualName(s, 0, 0) },
	},
	{
		Name:  "written-again-by-its-reader",
		About: "a worker reads a record and puts it at the end of the same topic, with its timestamp",
		Twin:  "fetch-only-two-producers",
		Tell:  requeued,
	},
	{
		Name:  "two-producers-of-one-name",
		About: "two processes on one host with one client id write the same events at the same time",
		Twin:  "new-producer-id-after-45",
		Tell:  twoOfOneName,
	},
	{
		Name:  "relaying-proxy",
		About: "a proxy passes requests on under correlation ids of its own, some of them late",
		Twin:  "relaying-proxy-retry",
		Tell:  func(s *Scenario) { relayed(s, false) },
		Truth: Truth{Counts: map[string]int64{"deduplicated": 0, "appended": 2, "application_repeats": 0}},
	},
	{
		Name:  "topic-recreated-unseen",
		About: "names only: a topic is deleted and created again unseen, and its last record comes again, at offset 0",
		Twin:  "blind-retry-magic-1",
		Tell:  func(s *Scenario) { recreatedUnseen(s, true) },
	},
	{
		Name:  "topic-recreated-unseen-at-a-reader",
		About: "the same at a reader",
		Twin:  "fetch-only-two-producers",
		Tell:  func(s *Scenario) { recreatedUnseen(s, false) },
	},
	{
		Name:  "topic-recreated-unseen-at-other-offsets",
		About: "the same, at offsets that the capture has not shown before: only the high watermark tells",
		Twin:  "fetch-only-two-producers",
		Tell:  recreatedElsewhere,
	},
	{
		Name:  "log-cut-back",
		About: "an unclean election: the first copy has been fetched, then another producer's record stands there",
		Twin:  "bump-after-45-elsewhere",
		Tell:  cutBack,
	},
	{
		Name:  "epoch-ended-before-first-copy",
		About: "6 with an offset; the next leader says that the epoch of the first one ends there: it never had the first copy",
		Twin:  "epoch-ended-behind-first-copy",
		Tell:  func(s *Scenario) { epochEnded(s, 102) },
	},
	{
		Name:  "acks-one-truncated",
		About: "acks=1: the leader dies with the first copy, another client's record takes its place",
		Twin:  "blind-retry-acks-one",
		Tell:  acksOneTruncated,
	},
	{
		Name:  "undated-heartbeats",
		About: "magic 0: equal messages each second, one unanswered though appended; the next one is no retry",
		Twin:  "blind-retry-magic-1",
		Tell:  func(s *Scenario) { heartbeats(s, MessageSet0, 6, 3) },
	},
	{
		Name:  "undated-heartbeats-acknowledged",
		About: "two equal records without timestamps, each acknowledged",
		Twin:  "blind-retry-acks-one",
		Tell:  func(s *Scenario) { heartbeats(s, RecordBatch, 2, -1) },
	},
	{
		Name:  "heartbeats-log-append-time",
		About: "a reader of a topic with LogAppendTime sees two equal records under two epochs that were created at different times",
		Twin:  "fetch-only-bump",
		Tell:  timedHeartbeats,
	},
	{
		Name:  "sequences-counted-anew",
		About: "a client counts from 0 again in the same epoch, and its payload is always the same",
		Twin:  "broker-dedup-failure",
		Tell:  func(s *Scenario) { countedAnew(s, true) },
	},
	{
		Name:  "sequences-counted-anew-at-a-reader",
		About: "the same at a reader",
		Twin:  "fetch-only-dedup-failure",
		Tell:  func(s *Scenario) { countedAnew(s, false) },
	},
	{
		Name:  "open-transaction-of-a-dead-process",
		About: "a process dies inside a transaction; the next one writes the same records under another transactional id",
		Twin:  "new-producer-id-after-45",
		Tell:  deadTransaction,
	},
	{
		Name:  "fenced-instance",
		About: "another instance takes over a transactional id, which aborts the open transaction, and writes the same records",
		Twin:  "bump-with-init-producer-id",
		Tell:  fenced,
	},
	{
		Name:  "old-format-message-by-message",
		About: "a reader of an old version is shown two equal messages of one batch one after the other",
		Twin:  "fetch-only-blind-retry",
		Tell: func(s *Scenario) {
			c := s.Connect("reader-a", 1)
			c.Metadata(1, "orders").Answer(Leader{"orders", 0, 1, 2})
			read(c, 3, Batch{Topic: "orders", Format: MessageSet1, Records: s.Records("order 1", "order 1")}.At(20, 0))
			s.Advance(retryAfter)
			read(c, 3, Batch{Topic: "orders", Format: MessageSet1, Records: s.Records("order 2")}.At(22, 0))
		},
	},
}

// elsewhere is a broker of a second cluster.
var elsewhere = netip.AddrPortFrom(netip.AddrFrom4([4]byte{203, 0, 113, 5}), brokerPort)

func mirrorOfEqualName(s *Scenario, source, mirror int64) {
	in := s.Connect("mirror-a", 1)
	out := s.Dial(Dial{ClientID: "mirror-a", Server: elsewhere})
	for i, value := range []string{"order 1", "order 2"} {
		b := Batch{Topic: "orders", Records: s.Records(value)}
		read(in, 12, b.As(source, 0, int32(500+i)).At(int64(20+i), 2))
		send(out, 9, b.As(mirror, 0, int32(i)), OK(int64(37+i)))
		s.Advance(retryAfter)
	}
}

func requeued(s *Scenario) {
	b := Batch{Topic: "jobs", Records: s.Records("job 1", "job 2")}
	in := meet(s, "worker-a", 1, "librdkafka", "2.6.1", Leader{"jobs", 0, 1, 2})
	read(in, 12, b.As(71, 0, 500).At(20, 2))
	s.Advance(time.Second)
	again := b.As(72, 0, 0)
	again.Records = b.Records[1:]
	send(s.Connect("worker-a", 1), 9, again, OK(22))
	read(in, 12, again.At(22, 2))
}

func twoOfOneName(s *Scenario) {
	a := meet(s, "producer-1", 1, "apache-kafka-java", "3.9.0", Leader{"events", 0, 1, 2})
	b := s.Connect("producer-1", 1)
	for i, value := range []string{"event 1", "event 2", "event 3", "event 4"} {
		event := Batch{Topic: "events", Records: s.Records(value)}
		p := a.Produce(9, allAcks, event.As(501, 0, int32(i)))
		s.Advance(time.Millisecond)
		q := b.Produce(9, allAcks, event.As(502, 0, int32(i)))
		s.Advance(latency)
		p.Answer(OK(int64(10 + 2*i)))
		q.Answer(OK(int64(11 + 2*i)))
		s.Advance(20 * time.Millisecond)
	}
}

// relayed: with a fault, the proxy drops its client before it has the answer.
func relayed(s *Scenario, fault bool) {
	proxy := netip.AddrFrom4([4]byte{203, 0, 113, 1})
	correlation := int32(77)
	connect := func() (front, back *Conn) {
		correlation += 10
		return s.Dial(Dial{ClientID: "client-a", Server: netip.AddrPortFrom(proxy, brokerPort)}),
			s.Dial(Dial{ClientID: "client-a", Broker: 1, Client: proxy, CorrelationID: correlation})
	}
	front, back := connect()
	b := Batch{Topic: "sensors", Records: s.Records("16.5")}
	p := front.Produce(7, allAcks, b)
	s.Advance(150 * time.Millisecond)
	q := back.Produce(7, allAcks, b)
	s.Advance(latency)
	next := b
	if fault {
		front.ServerReset()
		q.Answer(OK(55))
		s.Advance(retryAfter)
		front, back = connect()
	} else {
		q.Answer(OK(55))
		p.Answer(OK(55))
		s.Advance(retryAfter)
		next.Records = s.Records("17.0")
	}
	p, q = front.Produce(7, allAcks, next), back.Produce(7, allAcks, next)
	s.Advance(latency)
	q.Answer(OK(56))
	p.Answer(OK(56))
	read(s.Connect("reader-a", 1), 11, b.At(55, 4), next.At(56, 4))
}

func recreatedUnseen(s *Scenario, produced bool) {
	c, reader := s.Connect("client-a", 1), s.Connect("reader-a", 1)
	var log []Batch
	for i, value := range []string{"on", "off", "on 2", "off 2"} {
		b := Batch{Topic: "devices", Records: s.Records(value)}
		if produced {
			send(c, 9, b, OK(int64(i)))
		} else {
			b = b.As(5, 0, int32(i))
		}
		log = append(log, b.At(int64(i), 0))
	}
	read(reader, 11, log...)
	s.Advance(time.Minute)
	again := log[3]
	if produced {
		send(c, 9, again, OK(0))
	} else {
		again = again.As(6, 0, 0)
	}
	read(reader, 11, again.At(0, 0))
}

func cutBack(s *Scenario) {
	c := meet(s, "client-a", 1, "librdkafka", "2.6.1", Leader{"orders", 0, 1, 17})
	b := Batch{Topic: "orders", ProducerID: 7, Records: s.Records("order 1")}
	send(c, 9, b, OK(101))
	lost := b.As(7, 0, 1)
	lost.Records = s.Records("order 2")
	p := c.Produce(9, allAcks, lost)
	s.Advance(latency)
	read(s.Connect("reader-a", 1), 12, b.At(101, 17), lost.At(102, 17))
	s.Advance(time.Second)
	p.Answer(AppendedBut(RequestTimedOut, 102))

	c = meet(s, "client-a", 2, "librdkafka", "2.6.1", Leader{"orders", 0, 2, 18})
	other := Batch{Topic: "orders", ProducerID: 99, Records: s.Records("order 3")}
	send(s.Connect("client-b", 2), 9, other, OK(102))
	again := lost.As(7, 1, 0)
	send(c, 9, again, OK(103))
	read(s.Connect("reader-b", 2), 12, other.At(102, 18), again.At(103, 18))
}

func acksOneTruncated(s *Scenario) {
	produce := func(c *Conn, b Batch, offset int64) {
		p := c.Produce(11, 1, b)
		s.Advance(latency)
		p.Answer(OK(offset))
	}
	c := meet(s, "client-a", 1, "apache-kafka-java", "3.9.0", Leader{"clicks", 0, 1, 0})
	b := Batch{Topic: "clicks", Records: s.Records("click 1")}
	c.ClientDeaf = true
	produce(c, b, 30)
	s.Advance(15 * time.Second)
	moved := meet(s, "client-b", 2, "apache-kafka-java", "3.9.0", Leader{"clicks", 0, 2, 1})
	s.Advance(15 * time.Second)
	c.Reset()
	other := Batch{Topic: "clicks", Records: s.Records("click 2")}
	produce(moved, other, 30)
	produce(s.Connect("client-a", 2), b, 31)
	read(s.Connect("reader-a", 2), 12, other.At(30, 1), b.At(31, 1))
}

// heartbeats sends n equal messages; the connection is lost before the answer to the one of the given number.
func heartbeats(s *Scenario, format Format, n, unanswered int) {
	c := s.Connect("pinger", 1)
	b := Batch{Topic: "beats", Format: format, Records: []Record{{Value: []byte("up"), Timestamp: -1}}}
	version := int16(7)
	if format == MessageSet0 {
		version = 1
	}
	for i := range n {
		p := c.Produce(version, 1, b)
		s.Advance(latency)
		if i == unanswered {
			s.Advance(400 * time.Millisecond)
			c.Reset()
			c = s.Connect("pinger", 1)
		} else {
			p.Answer(OK(int64(i)))
		}
		s.Advance(time.Second)
	}
}

func timedHeartbeats(s *Scenario) {
	c := meet(s, "reader-a", 1, "librdkafka", "2.6.1", Leader{"beats", 0, 1, 2})
	for i := range 2 {
		b := Batch{Topic: "beats", Records: s.Records("up")}.As(9, int16(i), 0)
		s.Advance(latency)
		read(c, 12, b.Timed(s.Now().UnixMilli()).At(int64(20+i), 2))
		s.Advance(10 * time.Second)
	}
}

func countedAnew(s *Scenario, produced bool) {
	c := meet(s, "client-a", 1, "librdkafka", "1.8.2", Leader{"beats", 0, 1, 0})
	for i := range 6 {
		b := Batch{Topic: "beats", Records: s.Records("up")}.As(9, 0, int32(i%3))
		if produced {
			send(c, 7, b, OK(int64(i)))
		} else {
			read(c, 11, b.At(int64(i), 0))
		}
		s.Advance(time.Second)
	}
}

func deadTransaction(s *Scenario) {
	c := meet(s, "sink-a", 1, "apache-kafka-java", "3.4.0", Leader{"results", 0, 1, 1})
	c.TransactionalID = "sink-0-1"
	c.InitProducerID(4, -1, -1).Answer(3000, 0)
	b := txn(s, "results", "result 1", "result 2")
	c.Produce(9, allAcks, b.As(3000, 0, 0))
	s.Advance(200 * time.Millisecond)
	c.Reset()
	s.Advance(5 * time.Second)
	c = meet(s, "sink-a", 1, "apache-kafka-java", "3.4.0", Leader{"results", 0, 1, 1})
	c.TransactionalID = "sink-0-2"
	c.InitProducerID(4, -1, -1).Answer(3001, 0)
	send(c, 9, b.As(3001, 0, 0), OK(52))
	c.EndTxn(3, 3001, 0, true).Answer(-1, -1)
}

func fenced(s *Scenario) {
	old := meet(s, "client-a", 1, "apache-kafka-java", "3.9.0", Leader{"transfers", 0, 1, 4})
	old.TransactionalID = "transfers-1"
	old.InitProducerID(4, -1, -1).Answer(2000, 0)
	b := Batch{Topic: "transfers", ProducerID: 2000, Transactional: true, Records: s.Records("transfer 1")}
	send(old, 9, b, OK(300))
	c := meet(s, "client-b", 1, "apache-kafka-java", "3.9.0", Leader{"transfers", 0, 1, 4})
	c.TransactionalID = "transfers-1"
	c.InitProducerID(4, -1, -1).Answer(2000, 2) // epoch 1 wrote the abort marker
	send(c, 9, b.As(2000, 2, 0), OK(302))
	c.EndTxn(3, 2000, 2, true).Answer(-1, -1)
	next := b.As(2000, 0, 1)
	next.Records = s.Records("transfer 2")
	send(old, 9, next, Refused(InvalidProducerEpoch))
}
