package kafkatest

import (
	"slices"
	"time"
)

// reportCases are duplicates as reports on clients, brokers and proxies tell of them.
var reportCases = []Case{
	{
		Name:  "relaying-proxy-retry",
		About: "a proxy with correlation ids of its own drops its client while the broker appends; the client sends again through the proxy",
		Twin:  "relaying-proxy",
		Tell:  func(s *Scenario) { relayed(s, true) },
		Truth: blind("sensors", 0, "confirmed", []int64{55, 56}),
	},
	{
		Name:  "same-id-in-another-cluster",
		About: "7 with an offset, then a bump; another cluster has a producer of the same id, and that one is told 45",
		Twin:  "two-epochs-alive",
		Tell:  sameIDElsewhere,
		Truth: Truth{
			Duplicates: []Duplicate{{
				Topic: "audit", Partition: 0, Cause: "epoch-bump", Verdict: "probable", Pairs: [][]int64{{11, 12}},
				Bump:    &Bump{ProducerID: 1000, FromEpoch: 0, ToEpoch: 1, Local: true},
				Trigger: NoTrigger,
			}},
			Counts: map[string]int64{"epoch_bumps": 1},
		},
	},
	{
		Name:  "bump-at-an-old-reader",
		About: "the first copy was never answered; a reader of an old version is shown both, converted to a format without producer id",
		Twin:  "old-format-message-by-message",
		Tell:  oldReader,
		Truth: Truth{Duplicates: []Duplicate{{
			Topic: "orders", Partition: 0, Cause: "epoch-bump", Verdict: "confirmed", Pairs: [][]int64{{11, 12}},
			Bump: &Bump{ProducerID: 5, FromEpoch: 0, ToEpoch: 1, Local: true},
		}}},
	},
	{
		Name:  "error-without-offset-stored",
		About: "a broker answers 7 without an offset and stores the batch in the end; a reader sees both copies",
		Twin:  "blind-retry-refused",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "librdkafka", "2.6.1", Leader{"orders", 0, 1, 17})
			b := Batch{Topic: "orders", Records: s.Records("order 1")}
			p := c.Produce(7, allAcks, b)
			s.Advance(10 * time.Second)
			p.Answer(Refused(RequestTimedOut))
			s.Advance(retryAfter)
			send(c, 7, b, OK(11))
			read(s.Connect("reader-a", 1), 11, b.At(10, 17), b.At(11, 17))
		},
		Truth: blind("orders", 0, "confirmed", []int64{10, 11}),
	},
	{
		Name:  "three-copies",
		About: "7 with an offset, twice, then OK: three copies",
		Twin:  "blind-retry-refused",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 2, "librdkafka", "2.6.1", Leader{"sensors", 1, 2, 4})
			b := Batch{Topic: "sensors", Partition: 1, Records: s.Records("16.5", "17.0")}
			for _, answer := range []Answer{AppendedBut(RequestTimedOut, 55), AppendedBut(RequestTimedOut, 57), OK(59)} {
				p := c.Produce(7, allAcks, b)
				s.Advance(time.Second)
				p.Answer(answer)
				s.Advance(retryAfter)
			}
			read(s.Connect("reader-a", 2), 11, b.At(55, 4), b.At(57, 4), b.At(59, 4))
		},
		Truth: blind("sensors", 1, "confirmed", []int64{55, 57, 59}, []int64{56, 58, 60}),
	},
	{
		Name:  "retry-merged-with-newer-records",
		About: "an unanswered batch without id goes out again in front of newer records, under another CRC",
		Twin:  "lost-connection-no-room",
		Tell: func(s *Scenario) {
			retriedAs(s, Batch{Topic: "clicks", Records: s.Records("click 1", "click 2")}, func(b Batch) Batch {
				b.Records = slices.Concat(b.Records, s.Records("click 3", "click 4"))
				return b
			}, None)
		},
		Truth: blind("clicks", 0, "confirmed", []int64{1, 3}, []int64{2, 4}),
	},
	{
		Name:  "retry-recompressed-by-the-broker",
		About: "an unanswered batch without id is sent again; the broker stores both copies with another codec",
		Twin:  "broker-recompresses",
		Tell: func(s *Scenario) {
			retriedAs(s, Batch{Topic: "clicks", Codec: Snappy, Records: s.Records("click 1", "click 2")}, func(b Batch) Batch { return b }, Zstd)
		},
		Truth: blind("clicks", 0, "confirmed", []int64{1, 3}, []int64{2, 4}),
	},
	{
		Name:  "fetch-only-retry-log-append-time",
		About: "a reader of a topic with LogAppendTime sees one whole batch without id at two places, each with the broker's time",
		Twin:  "heartbeats-log-append-time",
		Tell: func(s *Scenario) {
			c := meet(s, "reader-a", 1, "librdkafka", "2.6.1", Leader{"orders", 0, 1, 2})
			b := Batch{Topic: "orders", Records: s.Records("order 1", "order 2")}
			s.Advance(latency)
			first := b.Timed(s.Now().UnixMilli()).At(20, 2)
			s.Advance(time.Second)
			read(c, 12, first, b.Timed(s.Now().UnixMilli()).At(22, 2))
		},
		Truth: blind("orders", 0, "confirmed", []int64{20, 22}, []int64{21, 23}),
	},
	{
		Name:  "application-resend-after-7",
		About: "the client has no retries left after 7 with an offset; the application makes a new record of the same content",
		Twin:  "same-payload-on-purpose",
		Tell: func(s *Scenario) {
			c := meet(s, "logger-a", 1, "apache-kafka-java", "2.5.1", Leader{"logs", 0, 1, 0})
			b := Batch{Topic: "logs", Records: s.Records("line 1")}
			p := c.Produce(8, allAcks, b)
			s.Advance(30 * time.Second)
			p.Answer(AppendedBut(RequestTimedOut, 10))
			s.Advance(retryAfter)
			b.Records = s.Records("line 1")
			send(c, 8, b, OK(11))
		},
		Truth: resent("logs", 0, "probable", []int64{10, 11}),
	},
	{
		Name:  "whole-send-repeated",
		About: "one of two brokers times out, and the client repeats the send to both, also to the one that had said OK",
		Twin:  "acks-zero",
		Tell:  wholeSend,
		Truth: Truth{Duplicates: []Duplicate{
			{Topic: "orders", Partition: 0, Cause: "blind-retry", Verdict: "confirmed", Pairs: [][]int64{{5, 6}}},
			{Topic: "orders", Partition: 1, Cause: "blind-retry", Verdict: "probable", Pairs: [][]int64{{8, 9}}},
		}},
	},
	{
		Name:  "bump-of-tombstones",
		About: "records with keys alone: 7 with an offset, -1 for the next batch, then both keys again under a new epoch",
		Twin:  "retry-after-20-recognised",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "librdkafka", "2.6.1", Leader{"profiles", 0, 1, 2})
			b := Batch{Topic: "profiles", Records: s.Records("", "")}
			b.Records[0].Key, b.Records[0].Value = []byte("user 1"), nil
			b.Records[1].Key, b.Records[1].Value = []byte("user 2"), nil
			p := c.Produce(9, allAcks, b.As(5, 0, 0))
			s.Advance(time.Second)
			p.Answer(AppendedBut(RequestTimedOut, 10))
			next := Batch{Topic: "profiles", Records: s.Records("user 3")}
			send(c, 9, next.As(5, 0, 2), Refused(UnknownServerError))
			send(c, 9, b.As(5, 1, 0), OK(12))
		},
		Truth: Truth{Duplicates: []Duplicate{{
			Topic: "profiles", Partition: 0, Cause: "epoch-bump", Verdict: "probable", Pairs: [][]int64{{10, 12}, {11, 13}},
			Bump:    &Bump{ProducerID: 5, FromEpoch: 0, ToEpoch: 1, Local: true},
			Trigger: &Trigger{ErrorCode: UnknownServerError, Topic: "profiles", Partition: 0},
		}}},
	},
	{
		Name:  "bump-on-two-partitions",
		About: "7 with an offset on two partitions, 45 on a third: the bump writes both again, in one request",
		Twin:  "two-epochs-alive",
		Tell:  twoPartitions,
		Truth: Truth{Duplicates: []Duplicate{
			{
				Topic: "orders", Partition: 0, Cause: "epoch-bump", Verdict: "probable", Pairs: [][]int64{{10, 11}},
				Bump:    &Bump{ProducerID: 5, FromEpoch: 0, ToEpoch: 1},
				Trigger: &Trigger{ErrorCode: OutOfOrderSequence, Topic: "orders", Partition: 2},
			},
			{
				Topic: "orders", Partition: 1, Cause: "epoch-bump", Verdict: "probable", Pairs: [][]int64{{20, 21}},
				Bump:    &Bump{ProducerID: 5, FromEpoch: 0, ToEpoch: 1},
				Trigger: &Trigger{ErrorCode: OutOfOrderSequence, Topic: "orders", Partition: 2},
			},
		}},
	},
}

func sameIDElsewhere(s *Scenario) {
	c := meet(s, "client-a", 1, "librdkafka", "2.6.1", Leader{"audit", 0, 1, 3})
	other := s.Dial(Dial{ClientID: "client-b", Server: elsewhere})
	own, brokers := s.ClusterID, s.Brokers
	s.ClusterID, s.Brokers = "cluster-b", 0
	other.Metadata(12, "metrics").Answer(Leader{"metrics", 0, 1, 3})
	s.ClusterID, s.Brokers = own, brokers

	b := Batch{Topic: "audit", ProducerID: 1000, Records: s.Records("login 1")}
	metric := Batch{Topic: "metrics", ProducerID: 1000, Records: s.Records("cpu 1")}
	send(c, 9, b, OK(10))
	send(other, 9, metric, OK(90))
	lost := b.As(1000, 0, 1)
	lost.Records = s.Records("login 2")
	p := c.Produce(9, allAcks, lost)
	s.Advance(time.Second)
	p.Answer(AppendedBut(RequestTimedOut, 11))
	metric.Records = s.Records("cpu 2")
	send(other, 9, metric.As(1000, 0, 3), Refused(OutOfOrderSequence))
	s.Advance(retryAfter)
	send(c, 9, lost.As(1000, 1, 0), OK(12))
}

func oldReader(s *Scenario) {
	c := meet(s, "client-a", 1, "librdkafka", "2.6.1", Leader{"orders", 0, 1, 2})
	b := Batch{Topic: "orders", Records: s.Records("order 1")}.As(5, 0, 0)
	send(c, 7, b, OK(10))
	lost := b.As(5, 0, 1)
	lost.Records = s.Records("order 2")
	c.Produce(7, allAcks, lost)
	s.Advance(5*time.Minute + time.Second)
	c.Reset()
	c = s.Connect("client-a", 1)
	send(c, 7, lost.As(5, 1, 0), OK(12))
	converted := func(b Batch, offset int64) Batch {
		b.Format, b.ProducerID = MessageSet1, 0
		return b.At(offset, 0)
	}
	read(s.Connect("reader-a", 1), 3, converted(b, 10), converted(lost, 11), converted(lost, 12))
}

// retriedAs: b stands at offset 1, unanswered, and as again makes it behind that. stored is the topic's codec, None the producer's.
func retriedAs(s *Scenario, b Batch, again func(Batch) Batch, stored Codec) {
	c := meet(s, "client-a", 1, "librdkafka", "1.9.2", Leader{b.Topic, 0, 1, 0})
	before := b
	before.Records = s.Records("click 0")
	send(c, 7, before, OK(0))
	c.Produce(7, allAcks, b)
	s.Advance(time.Minute)
	c.Reset()
	c = s.Connect("client-a", 1)
	second := again(b)
	send(c, 7, second, OK(3))
	log := []Batch{before.At(0, 0), b.At(1, 0), second.At(3, 0)}
	for i := range log {
		if stored != None {
			log[i] = log[i].Recompressed(stored)
		}
	}
	read(s.Connect("reader-a", 1), 11, log...)
}

func wholeSend(s *Scenario) {
	c := meet(s, "client-a", 1, "kafkajs", "2.2.4", Leader{"orders", 0, 1, 0}, Leader{"orders", 1, 2, 0})
	other := s.Connect("client-a", 2)
	b := Batch{Topic: "orders", ZeroSequence: true, Records: s.Records("order 1")}
	second := b
	second.Partition, second.Records = 1, s.Records("order 2")
	p, q := c.Produce(7, allAcks, b), other.Produce(7, allAcks, second)
	s.Advance(latency)
	p.Answer(OK(5))
	s.Advance(30 * time.Second)
	q.Answer(AppendedBut(RequestTimedOut, 8))
	s.Advance(300 * time.Millisecond)
	p, q = c.Produce(7, allAcks, b), other.Produce(7, allAcks, second)
	s.Advance(latency)
	p.Answer(OK(6))
	q.Answer(OK(9))
}

func twoPartitions(s *Scenario) {
	c := meet(s, "client-a", 1, "librdkafka", "2.6.1", Leader{"orders", 0, 1, 2}, Leader{"orders", 1, 1, 2}, Leader{"orders", 2, 1, 2})
	batch := func(partition, sequence int32, value string) Batch {
		return Batch{Topic: "orders", Partition: partition, Records: s.Records(value)}.As(5, 0, sequence)
	}
	one, two := batch(0, 4, "order 1"), batch(1, 9, "order 2")
	p, q := c.Produce(9, allAcks, one), c.Produce(9, allAcks, two)
	s.Advance(time.Second)
	p.Answer(AppendedBut(RequestTimedOut, 10))
	q.Answer(AppendedBut(RequestTimedOut, 20))
	send(c, 9, batch(2, 7, "order 3"), Refused(OutOfOrderSequence))
	c.InitProducerID(4, 5, 0).Answer(5, 1)
	p = c.Produce(9, allAcks, one.As(5, 1, 0), two.As(5, 1, 0))
	s.Advance(latency)
	p.Answer(OK(11), OK(21))
}
