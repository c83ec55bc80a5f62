package kafkatest

import "time"

// retryCases are repetitions that no broker can recognise, or that one should have recognised, and their twins.
var retryCases = []Case{
	{
		Name:  "blind-retry-after-7",
		About: "a producer without id gets 7 with an offset and sends the same bytes again",
		Twin:  "blind-retry-refused",
		Tell:  func(s *Scenario) { blindRetry(s, false, AppendedBut(RequestTimedOut, 55), 57) },
		Truth: blind("sensors", 1, "probable", []int64{55, 57}, []int64{56, 58}),
	},
	{
		Name:  "blind-retry-after-7-fetched",
		About: "the same, and a reader sees both copies",
		Twin:  "blind-retry-refused",
		Tell:  func(s *Scenario) { blindRetry(s, true, AppendedBut(RequestTimedOut, 55), 57) },
		Truth: blind("sensors", 1, "confirmed", []int64{55, 57}, []int64{56, 58}),
	},
	{
		Name:  "blind-retry-after-20",
		About: "20 with an offset, then two refusals (19), then OK: both copies are committed by the answers alone",
		Twin:  "blind-retry-refused",
		Tell: func(s *Scenario) {
			blindRetry(s, false, AppendedBut(NotEnoughReplicasAfter, 55), 57, Refused(NotEnoughReplicas), Refused(NotEnoughReplicas))
		},
		Truth: blind("sensors", 1, "confirmed", []int64{55, 57}, []int64{56, 58}),
	},
	{
		Name:  "given-up-after-20",
		About: "20 with an offset twice, and the client has no retries left: two copies, both committed, none acknowledged",
		Twin:  "blind-retry-refused",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "kafka-python", "1.4.3", Leader{"sensors", 0, 1, 4})
			b := s.batch("sensors", 0, "16.5", "17.0")
			for _, base := range []int64{55, 57} {
				send(c, 7, b, AppendedBut(NotEnoughReplicasAfter, base))
				s.Advance(retryAfter)
			}
		},
		Truth: blind("sensors", 0, "confirmed", []int64{55, 57}, []int64{56, 58}),
	},
	{
		Name:  "blind-retry-refused",
		About: "every refusal came before the append, so sending again is right",
		Twin:  "blind-retry-after-20",
		Tell: func(s *Scenario) {
			blindRetry(s, false, Refused(NotEnoughReplicas), 55, Refused(NotEnoughReplicas), Refused(NotLeader))
		},
	},
	{
		Name:  "blind-retry-lost-connection",
		About: "the broker dies before it answers; the same bytes go to the new leader; a reader sees both copies",
		Twin:  "lost-connection-no-room",
		Tell:  func(s *Scenario) { lostConnection(s, 102, true) },
		Truth: blind("parcels", 6, "confirmed", []int64{102, 104}, []int64{103, 105}),
	},
	{
		Name:  "blind-retry-offset-gap",
		About: "as before without a reader: the acknowledged offsets leave exactly two places for the unanswered batch",
		Twin:  "lost-connection-no-room",
		Tell:  func(s *Scenario) { lostConnection(s, 102, false) },
		Truth: blind("parcels", 6, "probable", []int64{102, 104}, []int64{103, 105}),
	},
	{
		Name:  "lost-connection-no-room",
		About: "as before, but the acknowledged offsets leave no place: the unanswered batch was never appended",
		Twin:  "blind-retry-offset-gap",
		Tell:  func(s *Scenario) { lostConnection(s, -1, false) },
	},
	{
		Name:  "blind-retry-acks-one",
		About: "the OK to acks=1 leaves the broker and never reaches the client, which sends again over a new connection",
		Twin:  "acks-zero",
		Tell:  acksOne,
		Truth: blind("clicks", 0, "probable", []int64{30, 31}),
	},
	{
		Name:  "blind-retry-late-ok",
		About: "the client gives up after two seconds and sends again on another connection; the first OK comes after that",
		Twin:  "late-ok-deduplicated",
		Tell:  func(s *Scenario) { lateOK(s, 0, OK(62)) },
		Truth: blind("sensors", 2, "confirmed", []int64{60, 62}, []int64{61, 63}),
	},
	{
		Name:  "late-ok-deduplicated",
		About: "the same with a producer id: the leader recognises the retry",
		Twin:  "blind-retry-late-ok",
		Tell:  func(s *Scenario) { lateOK(s, 90, Answer{}) },
		Truth: Truth{Counts: map[string]int64{"deduplicated": 1}},
	},
	{
		Name:  "blind-retry-magic-1",
		About: "an old client: a compressed message set of magic 1, answered 7 with its offset, goes out again; a reader sees both wrappers",
		Twin:  "magic-0-refused",
		Tell:  func(s *Scenario) { oldFormat(s, MessageSet1, AppendedBut(RequestTimedOut, 700), 702) },
		Truth: blind("legacy", 0, "confirmed", []int64{700, 702}, []int64{701, 703}),
	},
	{
		Name:  "magic-0-refused",
		About: "a message set of magic 0 is refused before the append and sent again",
		Twin:  "blind-retry-magic-1",
		Tell:  func(s *Scenario) { oldFormat(s, MessageSet0, Refused(NotLeader), 700) },
	},
	{
		Name:  "blind-retry-topic-ids",
		About: "Produce 13 and Fetch 17 name the topic by its id only; another client's Metadata gives the name, later",
		Twin:  "topic-created-again",
		Tell:  topicIDs,
		Truth: blind("devices", 0, "confirmed", []int64{10, 11}),
	},
	{
		Name:  "broker-dedup-failure",
		About: "the answer is lost; the new leader has no producer state and appends the exact retry a second time",
		Twin:  "exact-retry-deduplicated",
		Tell:  func(s *Scenario) { exactRetry(s, false) },
		Truth: Truth{Duplicates: []Duplicate{{
			Topic: "metrics", Partition: 0, Cause: "broker-dedup-failure", Verdict: "confirmed", Pairs: [][]int64{{114231, 114233}, {114232, 114234}},
		}}},
	},
	{
		Name:  "exact-retry-deduplicated",
		About: "the answer is lost; the exact retry is recognised: the original offset, and a log append time",
		Twin:  "broker-dedup-failure",
		Tell:  func(s *Scenario) { exactRetry(s, true) },
		Truth: Truth{Counts: map[string]int64{"deduplicated": 1}},
	},
	{
		Name:  "retry-after-20-recognised",
		About: "20 with an offset, then the exact retry is recognised",
		Twin:  "bump-after-20",
		Tell:  recognisedAfter20,
		Truth: Truth{Counts: map[string]int64{"deduplicated": 1}},
	},
}

// blind is the truth of a blind retry.
func blind(topic string, partition int32, verdict string, pairs ...[]int64) Truth {
	return Truth{Duplicates: []Duplicate{{Topic: topic, Partition: partition, Cause: "blind-retry", Verdict: verdict, Pairs: pairs}}}
}

// resent is the truth of records that their application wrote again.
func resent(topic string, partition int32, verdict string, pairs ...[]int64) Truth {
	return Truth{Duplicates: []Duplicate{{Topic: topic, Partition: partition, Cause: "application-resend", Verdict: verdict, Pairs: pairs}}}
}

func blindRetry(s *Scenario, fetched bool, first Answer, base int64, refusals ...Answer) {
	c := meet(s, "client-a", 2, "librdkafka", "2.6.1", Leader{"sensors", 1, 2, 4})
	b := Batch{Topic: "sensors", Partition: 1, Records: s.Records("16.0")}
	send(c, 7, b, OK(54))
	b.Records = s.Records("16.5", "17.0")
	p := c.Produce(7, allAcks, b)
	s.Advance(time.Second)
	p.Answer(first)
	for _, refusal := range refusals {
		s.Advance(retryAfter)
		send(c, 7, b, refusal)
	}
	s.Advance(retryAfter)
	send(c, 7, b, OK(base))
	if fetched {
		read(s.Connect("reader-a", 2), 11, b.At(first.BaseOffset, 4), b.At(base, 4))
	}
}

// lostConnection: first is the offset of the unanswered batch, -1 where it was never appended.
func lostConnection(s *Scenario, first int64, fetched bool) {
	c := meet(s, "client-a", 1, "sarama", "1.61.1", Leader{"parcels", 6, 1, 10})
	b := Batch{Topic: "parcels", Partition: 6, ZeroSequence: true, Codec: Gzip, Records: s.Records("parcel 1", "parcel 2")}
	send(c, 7, b, OK(100))
	lost, next := b, b
	lost.Records = s.Records("parcel 3", "parcel 4")
	c.ServerDeaf = first < 0
	c.Produce(7, allAcks, lost)
	s.Advance(100 * time.Millisecond)
	c.ServerReset()

	base := int64(102)
	if first >= 0 {
		base = 104
	}
	c = meet(s, "client-a", 2, "sarama", "1.61.1", Leader{"parcels", 6, 2, 11})
	send(c, 7, lost, OK(base))
	next.Records = s.Records("parcel 5")
	send(c, 7, next, OK(base+2))
	reader := s.Connect("reader-a", 2)
	switch {
	case fetched:
		read(reader, 11, b.At(100, 10), lost.At(first, 10), lost.At(base, 11), next.At(base+2, 11))
	case first < 0: // the whole log: nor was it appended late
		read(reader, 11, b.At(100, 10), lost.At(base, 11), next.At(base+2, 11))
	}
}

func acksOne(s *Scenario) {
	c := meet(s, "client-a", 1, "apache-kafka-java", "3.9.0", Leader{"clicks", 0, 1, 0})
	b := Batch{Topic: "clicks", Codec: SnappyXerial, Records: s.Records("click 1")}
	c.ClientDeaf = true
	p := c.Produce(11, 1, b)
	s.Advance(latency)
	p.Answer(OK(30))
	s.Advance(30 * time.Second)
	c.Reset()
	c = s.Connect("client-a", 1)
	p = c.Produce(11, 1, b)
	s.Advance(latency)
	p.Answer(OK(31))
}

func lateOK(s *Scenario, producerID int64, second Answer) {
	c := meet(s, "client-a", 1, "librdkafka", "2.6.1", Leader{"sensors", 2, 1, 4})
	b := Batch{Topic: "sensors", Partition: 2, ProducerID: producerID, Codec: Snappy, Records: s.Records("4.1", "4.2")}
	if producerID != 0 {
		second = Deduplicated(b.At(60, 4))
	}
	slow := c.Produce(9, allAcks, b)
	s.Advance(2 * time.Second)
	again := s.Connect("client-a", 1).Produce(9, allAcks, b)
	s.Advance(latency)
	slow.Answer(OK(60))
	again.Answer(second)
}

func oldFormat(s *Scenario, format Format, first Answer, base int64) {
	c := s.Connect("client-a", 1)
	c.Metadata(0, "legacy").Answer(Leader{"legacy", 0, 1, 0})
	b := Batch{Topic: "legacy", Format: format, Codec: Gzip, Records: s.Records("row 1")}
	version, readVersion := int16(2), int16(3)
	if format == MessageSet0 {
		version, readVersion = 1, 1
	}
	before := b
	send(c, version, before, OK(699))
	b.Records = s.Records("row 2", "row 3")
	p := c.Produce(version, allAcks, b)
	s.Advance(time.Second)
	p.Answer(first)
	s.Advance(retryAfter)
	send(c, version, b, OK(base))
	stored := []Batch{before.At(699, 0)}
	if first.BaseOffset >= 0 {
		stored = append(stored, b.At(first.BaseOffset, 0))
	}
	read(s.Connect("reader-a", 1), readVersion, append(stored, b.At(base, 0))...)
}

func topicIDs(s *Scenario) {
	c := s.Connect("client-a", 1)
	b := Batch{Topic: "devices", Records: s.Records("on")}
	p := c.Produce(13, allAcks, b)
	s.Advance(time.Second)
	p.Answer(AppendedBut(RequestTimedOut, 10))
	s.Advance(retryAfter)
	send(c, 13, b, OK(11))
	read(s.Connect("reader-a", 1), 17, b.At(10, 2), b.At(11, 2))
	s.Connect("monitor-a", 2).Metadata(13, "devices").Answer(Leader{"devices", 0, 1, 2})
}

func exactRetry(s *Scenario, recognised bool) {
	c := meet(s, "client-a", 1, "librdkafka", "2.6.1", Leader{"metrics", 0, 1, 20})
	b := Batch{Topic: "metrics", ProducerID: 4400, BaseSequence: 10, Records: s.Records("cpu 1", "cpu 2")}
	c.ClientDeaf = true
	p := c.Produce(9, allAcks, b)
	s.Advance(latency)
	p.Answer(OK(114231))
	s.Advance(time.Minute)
	c.ServerReset()

	c = meet(s, "client-a", 2, "librdkafka", "2.6.1", Leader{"metrics", 0, 2, 21})
	if recognised {
		send(c, 9, b, Deduplicated(b.At(114231, 20)))
		return
	}
	send(c, 9, b, OK(114233))
	read(s.Connect("reader-a", 2), 12, b.At(114231, 20), b.At(114233, 21))
}

func recognisedAfter20(s *Scenario) {
	c := meet(s, "client-a", 1, "librdkafka", "2.6.1", Leader{"payments", 3, 1, 9})
	b := Batch{Topic: "payments", Partition: 3, ProducerID: 42, ProducerEpoch: 4, Records: s.Records("payment 1", "payment 2")}
	p := c.Produce(8, allAcks, b)
	s.Advance(50 * time.Millisecond)
	p.Answer(AppendedBut(NotEnoughReplicasAfter, 900))
	s.Advance(retryAfter)
	send(c, 8, b, Deduplicated(b.At(900, 9)))
}
