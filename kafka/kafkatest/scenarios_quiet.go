package kafkatest

import (
	"encoding/binary"
	"time"
)

// quietCases look like duplicates and are none.
var quietCases = []Case{
	{
		Name:  "aborted-then-sent-again",
		About: "a transaction is aborted after an answer 7 and its records are sent again in the next one",
		Twin:  "application-resend",
		Tell:  aborted,
	},
	{
		Name:  "transactions-v2",
		About: "EndTxn 5 raises the epoch at the end of each transaction, and sequences begin at 0 again",
		Twin:  "bump-with-init-producer-id",
		Tell:  transactionsV2,
		Truth: Truth{Counts: map[string]int64{"epoch_bumps": 0}},
	},
	{
		Name:  "sequence-wrap",
		About: "sequences go on at 0 after 2147483647 in the same epoch, once inside a batch",
		Twin:  "bump-across-wrap",
		Tell:  sequenceWrap,
	},
	{
		Name:  "too-large-then-split",
		About: "a batch is refused with 10 and stored in two halves with its own sequences",
		Twin:  "bump-recut",
		Tell:  split,
	},
	{
		Name:  "log-append-time-rewrite",
		About: "the broker writes its own time, so that Produce and Fetch show two CRCs for one offset",
		Twin:  "bump-log-append-time",
		Tell:  rewritten,
		Truth: Truth{Counts: map[string]int64{"deduplicated": 0}},
	},
	{
		Name:  "broker-recompresses",
		About: "the broker stores with its own codec, so that Produce and Fetch show two CRCs for one offset; later the batch is compacted",
		Twin:  "fetch-only-blind-retry",
		Tell:  recompressed,
	},
	{
		Name:  "acks-zero",
		About: "acks=0: no answer ever comes, and one payload is repeated",
		Twin:  "blind-retry-acks-one",
		Tell:  acksZero,
	},
	{
		Name:  "torn-request",
		About: "the connection ends in the middle of a request, which the broker therefore never had; it is sent again",
		Twin:  "blind-retry-lost-connection",
		Tell:  torn,
	},
	{
		Name:  "sent-behind-the-servers-end",
		About: "a broker closes an idle connection, and the client notices that only when it writes to it: the request never arrived, the resend is the first copy",
		Twin:  "blind-retry-lost-connection",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "ruby-kafka", "0.7.0", Leader{"orders", 0, 1, 2})
			send(c, 7, s.batch("orders", 0, "order 1"), OK(10))
			s.Advance(10 * time.Minute)
			c.ServerClose()
			s.Advance(30 * time.Second)
			b := s.batch("orders", 0, "order 2")
			c.Produce(7, allAcks, b)
			c.ServerReset()
			s.Advance(retryAfter)
			send(s.Connect("client-a", 1), 7, b, OK(15))
		},
	},
	{
		Name:  "topic-created-again",
		About: "a topic is deleted and created again; the same batch is written to both, at the same offset",
		Twin:  "blind-retry-topic-ids",
		Tell:  createdAgain,
	},
	{
		Name:  "internal-topic",
		About: "a follower copies __consumer_offsets, in which one commit stands twice",
		Twin:  "fetch-only-blind-retry",
		Tell:  internal,
	},
	{
		Name:  "mirrored-topic",
		About: "a mirror reads a topic and writes the same records to another one",
		Twin:  "fetch-only-two-producers",
		Tell:  mirrored,
	},
	{
		Name:  "two-epochs-alive",
		About: "after a refusal a Java client renumbers one partition; the other goes on under the old epoch",
		Twin:  "bump-with-init-producer-id",
		Tell:  twoEpochs,
	},
}

func aborted(s *Scenario) {
	c := meet(s, "client-a", 1, "librdkafka", "2.6.1", Leader{"transfers", 0, 1, 4})
	c.TransactionalID = "transfers-1"
	c.InitProducerID(4, -1, -1).Answer(2000, 0)
	b := txn(s, "transfers", "transfer 1", "transfer 2")
	first, again := b.As(2000, 0, 0), b.As(2000, 0, 2)
	c.AddPartitionsToTxn(3, 2000, 0, "transfers", 0).Answer()
	p := c.Produce(9, allAcks, first)
	s.Advance(time.Second)
	p.Answer(AppendedBut(RequestTimedOut, 200))
	c.EndTxn(3, 2000, 0, false).Answer(-1, -1)
	abort := Marker("transfers", 0, 2000, 0, false, s.Now().UnixMilli())
	s.Advance(retryAfter)
	c.AddPartitionsToTxn(3, 2000, 0, "transfers", 0).Answer()
	send(c, 9, again, OK(203))
	c.EndTxn(3, 2000, 0, true).Answer(-1, -1)
	commit := Marker("transfers", 0, 2000, 0, true, s.Now().UnixMilli())

	stored := Stored(first.At(200, 4), abort.At(202, 4), again.At(203, 4), commit.At(205, 4))
	from := From{Topic: "transfers", Offset: 200}
	s.Connect("reader-a", 1).Fetch(12, from).Answer(stored)
	committed := s.Connect("reader-b", 1)
	committed.ReadCommitted = true
	stored.Aborted = []Aborted{{ProducerID: 2000, FirstOffset: 200}}
	committed.Fetch(12, from).Answer(stored)
}

func transactionsV2(s *Scenario) {
	c := meet(s, "client-a", 1, "apache-kafka-java", "4.1.0", Leader{"transfers", 0, 1, 4})
	c.TransactionalID = "transfers-1"
	c.InitProducerID(5, -1, -1).Answer(2000, 0)
	var stored []Batch
	offset := int64(300)
	for epoch := int16(0); epoch < 3; epoch++ {
		b := Batch{Topic: "transfers", ProducerID: 2000, ProducerEpoch: epoch, Transactional: true,
			Records: s.Records("transfer " + string('1'+rune(epoch)))}
		send(c, 12, b, OK(offset))
		c.EndTxn(5, 2000, epoch, true).Answer(2000, epoch+1)
		marker := Marker("transfers", 0, 2000, epoch+1, true, s.Now().UnixMilli())
		stored = append(stored, b.At(offset, 4), marker.At(offset+1, 4))
		offset += 2
		s.Advance(retryAfter)
	}
	read(s.Connect("reader-a", 1), 12, stored...)
}

func sequenceWrap(s *Scenario) {
	c := meet(s, "client-a", 1, "kgo", "1.22.3", Leader{"ticks", 0, 1, 1})
	b := Batch{Topic: "ticks", ProducerID: 311, BaseSequence: 2147483645}
	offset := int64(5000)
	for _, values := range [][]string{{"tick 1", "tick 2"}, {"tick 3", "tick 4"}, {"tick 5", "tick 6"}} {
		b.Records = s.Records(values...)
		send(c, 9, b, OK(offset))
		offset += 2
		b = b.As(311, 0, int32((int64(b.LastSequence())+1)&0x7fffffff))
	}
}

func split(s *Scenario) {
	c := meet(s, "client-a", 1, "apache-kafka-java", "3.9.0", Leader{"ledger", 0, 1, 1})
	whole := Batch{Topic: "ledger", ProducerID: 96, Codec: Zstd, Records: s.Records("entry 1", "entry 2", "entry 3", "entry 4")}
	send(c, 10, whole, Refused(MessageTooLarge))
	first, second := whole.As(96, 0, 0), whole.As(96, 0, 2)
	first.Records, second.Records = whole.Records[:2], whole.Records[2:]
	send(c, 10, first, OK(800))
	send(c, 10, second, OK(802))
}

func rewritten(s *Scenario) {
	c := meet(s, "client-a", 1, "librdkafka", "2.6.1", Leader{"audit", 0, 1, 8})
	b := Batch{Topic: "audit", ProducerID: 512, Records: s.Records("login 1", "login 2")}
	s.Advance(latency)
	appended := s.Now().UnixMilli()
	send(c, 9, b, OK(40).Timed(appended))
	stored := b.Timed(appended).At(40, 8)
	read(s.Connect("reader-a", 1), 12, stored)
	reader := s.Connect("reader-b", 1)
	read(reader, 12, stored)
	reader.Fetch(12, From{Topic: "audit", Offset: 42}).Answer(Stored().Below(42))
}

func recompressed(s *Scenario) {
	c := meet(s, "client-a", 1, "librdkafka", "2.6.1", Leader{"profiles", 0, 1, 8})
	b := Batch{Topic: "profiles", Codec: Snappy, Records: s.Records("a", "b", "c")}
	for i := range b.Records {
		b.Records[i].Key = []byte{byte('k'), byte('0' + i)}
	}
	send(c, 9, b, OK(900))
	stored := b.Recompressed(LZ4).At(900, 8)
	read(s.Connect("reader-a", 1), 12, stored)
	s.Advance(time.Minute)
	read(s.Connect("reader-b", 1), 12, stored.Compacted(0, 2))
}

func acksZero(s *Scenario) {
	c := meet(s, "client-a", 1, "sarama", "1.61.1", Leader{"clicks", 0, 1, 0})
	b := Batch{Topic: "clicks", ZeroSequence: true, Records: s.Records("click 1")}
	for range 4 {
		c.Produce(7, 0, b)
		s.Advance(retryAfter)
	}
	c.Close()
}

func torn(s *Scenario) {
	c := meet(s, "client-a", 1, "librdkafka", "2.6.1", Leader{"parcels", 6, 1, 10})
	b := Batch{Topic: "parcels", Partition: 6, Records: s.Records("parcel 1", "parcel 2")}
	whole := c.Encode(c.NewProduce(7, allAcks, b))
	c.Write(whole[:len(whole)-10])
	c.Reset()
	c = s.Connect("client-a", 1)
	send(c, 7, b, OK(100))
	read(s.Connect("reader-a", 1), 11, b.At(100, 10))
}

func createdAgain(s *Scenario) {
	admin, c, reader := s.Connect("admin-a", 1), s.Connect("client-a", 1), s.Connect("reader-a", 1)
	b := Batch{Topic: "devices", Records: s.Records("on")}
	for range 2 {
		admin.CreateTopics(7, "devices").Answer()
		admin.Metadata(12, "devices").Answer(Leader{"devices", 0, 1, 0})
		send(c, 13, b, OK(0))
		read(reader, 17, b.At(0, 0))
		s.Advance(time.Minute)
		admin.DeleteTopics(6, "devices").Answer()
	}
}

func internal(s *Scenario) {
	// The key of an offset commit: version 1, group, topic, partition.
	key := binary.BigEndian.AppendUint16(nil, 1)
	for _, text := range []string{"group-a", "orders"} {
		key = binary.BigEndian.AppendUint16(key, uint16(len(text)))
		key = append(key, text...)
	}
	key = binary.BigEndian.AppendUint32(key, 0)
	// Its value: version 3, offset, leader epoch, metadata, commit time.
	value := binary.BigEndian.AppendUint16(nil, 3)
	value = binary.BigEndian.AppendUint64(value, 21)
	value = binary.BigEndian.AppendUint32(value, 2)
	value = binary.BigEndian.AppendUint16(value, 0)
	value = binary.BigEndian.AppendUint64(value, uint64(s.Now().UnixMilli()))

	b := Batch{Topic: "__consumer_offsets", Partition: 17}
	b.Records = []Record{{Key: key, Value: value, Timestamp: s.Now().UnixMilli()}}
	c := meet(s, "broker-2", 1, "", "", Leader{"__consumer_offsets", 17, 1, 3})
	c.ReplicaID = 2
	read(c, 12, b.At(70, 3))
	read(c, 12, b.At(71, 3))
}

func mirrored(s *Scenario) {
	b := Batch{Topic: "orders", Records: s.Records("order 1", "order 2")}
	source := b.As(71, 0, 500)
	copied := b.As(72, 0, 0)
	copied.Topic = "dc1.orders"
	c := meet(s, "client-a", 1, "librdkafka", "2.6.1", Leader{"orders", 0, 1, 2}, Leader{"dc1.orders", 0, 1, 2})
	send(c, 9, source, OK(20))
	mirror := s.Connect("mirror-a", 1)
	read(mirror, 12, source.At(20, 2))
	send(mirror, 9, copied, OK(7))
	read(s.Connect("reader-a", 1), 12, copied.At(7, 2))
}

func twoEpochs(s *Scenario) {
	c := meet(s, "client-a", 1, "apache-kafka-java", "3.9.0", Leader{"invoices", 0, 1, 3}, Leader{"invoices", 1, 1, 3})
	c.InitProducerID(4, -1, -1).Answer(17, 0)
	p0 := Batch{Topic: "invoices", Partition: 0, ProducerID: 17, Records: s.Records("invoice 1")}
	p1 := Batch{Topic: "invoices", Partition: 1, ProducerID: 17, Records: s.Records("invoice 2")}
	send(c, 9, p0, OK(3100))
	send(c, 9, p1, OK(60))
	refused := p0.As(17, 0, 1)
	refused.Records = s.Records("invoice 3")
	send(c, 9, refused, Refused(OutOfOrderSequence))
	goesOn := p1.As(17, 0, 1)
	goesOn.Records = s.Records("invoice 4")
	send(c, 9, refused.As(17, 1, 0), OK(3101))
	send(c, 9, goesOn, OK(61))
}
