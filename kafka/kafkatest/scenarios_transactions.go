package kafkatest

import "time"

// transactionCases are transactions that end in unusual ways.
var transactionCases = []Case{
	{
		Name:  "aborted-v2-then-sent-again",
		About: "an abort by EndTxn 5 raises the epoch, and the records go out again under that: no bump",
		Twin:  "late-batch-joins-next-transaction",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "apache-kafka-java", "4.1.0", Leader{"transfers", 0, 1, 4})
			c.TransactionalID = "transfers-1"
			c.InitProducerID(5, -1, -1).Answer(2000, 0)
			b := txn(s, "transfers", "transfer 1")
			p := c.Produce(12, allAcks, b.As(2000, 0, 0))
			s.Advance(time.Second)
			p.Answer(AppendedBut(RequestTimedOut, 200))
			c.EndTxn(5, 2000, 0, false).Answer(2000, 1)
			s.Advance(retryAfter)
			send(c, 12, b.As(2000, 1, 0), OK(202))
			c.EndTxn(5, 2000, 1, true).Answer(2000, 2)
			read(s.Connect("reader-a", 1), 12, b.As(2000, 0, 0).At(200, 4), Marker("transfers", 0, 2000, 1, false, 1).At(201, 4),
				b.As(2000, 1, 0).At(202, 4), Marker("transfers", 0, 2000, 2, true, 2).At(203, 4))
		},
		Truth: Truth{Counts: map[string]int64{"epoch_bumps": 0}},
	},
	{
		Name:  "aborted-v2-at-a-reader",
		About: "the same at a reader, who sees only the markers",
		Twin:  "fetch-only-bump",
		Tell: func(s *Scenario) {
			c := meet(s, "reader-a", 1, "apache-kafka-java", "4.1.0", Leader{"transfers", 0, 1, 4})
			b := txn(s, "transfers", "transfer 1")
			read(c, 12, b.As(2000, 0, 0).At(200, 4), Marker("transfers", 0, 2000, 1, false, 1).At(201, 4),
				b.As(2000, 1, 0).At(202, 4), Marker("transfers", 0, 2000, 2, true, 2).At(203, 4))
		},
	},
	{
		Name:  "transactions-v2-without-coordinator",
		About: "the coordinator is a broker that was not captured: epochs rise and nothing tells why",
		Twin:  "bump-with-init-producer-id",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "apache-kafka-java", "4.1.0", Leader{"transfers", 0, 1, 4})
			c.TransactionalID = "transfers-1"
			for e := range int16(3) {
				b := txn(s, "transfers", "sum "+string('1'+rune(e)))
				send(c, 12, b.As(2000, e, 0), OK(200+2*int64(e)))
			}
		},
		Truth: Truth{Counts: map[string]int64{"epoch_bumps": 0}},
	},
	{
		Name:  "aborted-v2-without-coordinator",
		About: "the same, and what was aborted goes out again",
		Twin:  "bump-with-init-producer-id",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "apache-kafka-java", "4.1.0", Leader{"transfers", 0, 1, 4})
			c.TransactionalID = "transfers-1"
			b := txn(s, "transfers", "transfer 1")
			p := c.Produce(12, allAcks, b.As(2000, 0, 0))
			s.Advance(time.Second)
			p.Answer(AppendedBut(RequestTimedOut, 200))
			s.Advance(retryAfter)
			send(c, 12, b.As(2000, 1, 0), OK(202))
		},
		Truth: Truth{Counts: map[string]int64{"epoch_bumps": 0}},
	},
	{
		Name:  "end-of-transaction-repeated",
		About: "the answer to EndTxn 5 is lost and the request sent again",
		Twin:  "bump-with-init-producer-id",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "apache-kafka-java", "4.1.0", Leader{"transfers", 0, 1, 4})
			c.TransactionalID = "transfers-1"
			c.InitProducerID(5, -1, -1).Answer(2000, 0)
			b := txn(s, "transfers", "transfer 1")
			send(c, 12, b.As(2000, 0, 0), OK(200))
			c.EndTxn(5, 2000, 0, true)
			s.Advance(time.Second)
			c.Reset()
			c = s.Connect("client-a", 1)
			c.TransactionalID = "transfers-1"
			c.EndTxn(5, 2000, 0, true).Answer(2000, 1)
			b.Records = s.Records("transfer 2")
			send(c, 12, b.As(2000, 1, 0), OK(202))
		},
		Truth: Truth{Counts: map[string]int64{"epoch_bumps": 0}},
	},
	{
		Name:  "late-batch-joins-next-transaction",
		About: "a batch is held up on its way and arrives behind the marker that aborted it; the next transaction writes the records again and commits both",
		Twin:  "hanging-transaction",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "apache-kafka-java", "3.4.0", Leader{"transfers", 0, 1, 4})
			c.TransactionalID = "transfers-1"
			c.InitProducerID(4, -1, -1).Answer(2000, 0)
			b := txn(s, "transfers", "transfer 1")
			c.AddPartitionsToTxn(3, 2000, 0, "transfers", 0).Answer()
			stuck := s.Connect("client-a", 1)
			stuck.TransactionalID = "transfers-1"
			stuck.Produce(9, allAcks, b.As(2000, 0, 0))
			s.Advance(2 * time.Minute)
			stuck.Reset()
			c.EndTxn(3, 2000, 0, false).Answer(-1, -1)
			c.InitProducerID(4, 2000, 0).Answer(2000, 1)
			c.AddPartitionsToTxn(3, 2000, 1, "transfers", 0).Answer()
			send(c, 9, b.As(2000, 1, 0), OK(202))
			c.EndTxn(3, 2000, 1, true).Answer(-1, -1)
			read(s.Connect("reader-a", 1), 12, Marker("transfers", 0, 2000, 0, false, 1).At(200, 4), b.As(2000, 0, 0).At(201, 4),
				b.As(2000, 1, 0).At(202, 4), Marker("transfers", 0, 2000, 1, true, 2).At(203, 4))
		},
		Truth: Truth{Duplicates: []Duplicate{{
			Topic: "transfers", Cause: "epoch-bump", Verdict: "confirmed", Pairs: [][]int64{{201, 202}},
		}}},
	},
	{
		Name:  "late-end-commits-the-next",
		About: "an EndTxn that was held up commits the next transaction, too; the client meets 48, takes its record for failed and writes it again",
		Twin:  "aborted-then-sent-again",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "apache-kafka-java", "3.4.0", Leader{"transfers", 0, 1, 4})
			c.TransactionalID = "transfers-1"
			c.InitProducerID(4, -1, -1).Answer(2000, 0)
			a, b := txn(s, "transfers", "t 1"), txn(s, "transfers", "t 2")
			send(c, 9, a.As(2000, 0, 0), OK(200))
			d := s.Connect("client-a", 1)
			d.TransactionalID = "transfers-1"
			d.EndTxn(3, 2000, 0, true)
			s.Advance(time.Second)
			d.Reset()
			c.EndTxn(3, 2000, 0, true).Answer(-1, -1)
			p := c.Produce(9, allAcks, b.As(2000, 0, 1))
			s.Advance(time.Second)
			p.Answer(AppendedBut(RequestTimedOut, 202))
			c.EndTxn(3, 2000, 0, false).Refuse(InvalidTxnState)
			c.InitProducerID(4, 2000, 0).Answer(2000, 1)
			send(c, 9, b.As(2000, 1, 0), OK(204))
			c.EndTxn(3, 2000, 1, true).Answer(-1, -1)
			r := s.Connect("reader-a", 1)
			r.ReadCommitted = true
			read(r, 12, a.As(2000, 0, 0).At(200, 4), Marker("transfers", 0, 2000, 0, true, 1).At(201, 4), b.As(2000, 0, 1).At(202, 4),
				Marker("transfers", 0, 2000, 0, true, 2).At(203, 4), b.As(2000, 1, 0).At(204, 4), Marker("transfers", 0, 2000, 1, true, 3).At(205, 4))
		},
		Truth: Truth{Duplicates: []Duplicate{{
			Topic: "transfers", Cause: "epoch-bump", Verdict: "confirmed", Pairs: [][]int64{{202, 204}},
		}}},
	},
	{
		Name:  "hanging-transaction",
		About: "the same, but another transactional id writes the records again, and the late batch is never committed",
		Twin:  "late-batch-joins-next-transaction",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "apache-kafka-java", "3.4.0", Leader{"transfers", 0, 1, 4})
			c.TransactionalID = "transfers-1"
			c.InitProducerID(4, -1, -1).Answer(2000, 0)
			a := txn(s, "transfers", "t 1")
			c.AddPartitionsToTxn(3, 2000, 0, "transfers", 0).Answer()
			c.Produce(9, allAcks, a.As(2000, 0, 0))
			s.Advance(2 * time.Minute)
			c.Reset()
			c = s.Connect("client-a", 1)
			c.TransactionalID = "transfers-2"
			c.InitProducerID(4, -1, -1).Answer(2001, 0)
			send(c, 9, a.As(2001, 0, 0), OK(202))
			c.EndTxn(3, 2001, 0, true).Answer(-1, -1)
			read(s.Connect("reader-a", 1), 12, Marker("transfers", 0, 2000, 1, false, 1).At(200, 4), a.As(2000, 0, 0).At(201, 4),
				a.As(2001, 0, 0).At(202, 4), Marker("transfers", 0, 2001, 0, true, 1).At(203, 4))
		},
	},
	{
		Name:  "transaction-timed-out",
		About: "the coordinator aborts under an epoch of its own; the client meets 47, asks for the next epoch and writes all again",
		Twin:  "bump-after-47",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "apache-kafka-java", "3.4.0", Leader{"transfers", 0, 1, 4})
			c.TransactionalID = "transfers-1"
			c.InitProducerID(4, -1, -1).Answer(2000, 0)
			a, b := txn(s, "transfers", "t 1"), txn(s, "transfers", "t 2")
			p := c.Produce(9, allAcks, a.As(2000, 0, 0))
			s.Advance(time.Minute)
			p.Answer(AppendedBut(RequestTimedOut, 200))
			send(c, 9, b.As(2000, 0, 1), Refused(InvalidProducerEpoch))
			c.InitProducerID(4, 2000, 0).Answer(2000, 2)
			send(c, 9, a.As(2000, 2, 0), OK(202))
			send(c, 9, b.As(2000, 2, 1), OK(203))
			c.EndTxn(3, 2000, 2, true).Answer(-1, -1)
			read(s.Connect("reader-a", 1), 12, a.As(2000, 0, 0).At(200, 4), Marker("transfers", 0, 2000, 1, false, 1).At(201, 4),
				a.As(2000, 2, 0).At(202, 4), b.As(2000, 2, 1).At(203, 4), Marker("transfers", 0, 2000, 2, true, 1).At(204, 4))
		},
	},
	{
		Name:  "committed-after-all",
		About: "a restored process commits what the last one had left, with the same producer id, and writes it again under another",
		Twin:  "open-transaction-of-a-dead-process",
		Tell: func(s *Scenario) {
			c := meet(s, "sink-a", 1, "apache-kafka-java", "3.4.0", Leader{"results", 0, 1, 1})
			c.TransactionalID = "sink-0-1"
			c.InitProducerID(4, -1, -1).Answer(3000, 0)
			a := txn(s, "results", "r 1")
			c.Produce(9, allAcks, a.As(3000, 0, 0))
			s.Advance(200 * time.Millisecond)
			c.Reset()
			s.Advance(5 * time.Second)
			c = meet(s, "sink-a", 1, "apache-kafka-java", "3.4.0", Leader{"results", 0, 1, 1})
			c.TransactionalID = "sink-0-1"
			c.EndTxn(3, 3000, 0, true).Answer(-1, -1)
			d := s.Connect("sink-a", 1)
			d.TransactionalID = "sink-0-2"
			d.InitProducerID(4, -1, -1).Answer(3001, 0)
			send(d, 9, a.As(3001, 0, 0), OK(52))
			d.EndTxn(3, 3001, 0, true).Answer(-1, -1)
			read(s.Connect("reader-a", 1), 12, a.As(3000, 0, 0).At(50, 1), Marker("results", 0, 3000, 0, true, 1).At(51, 1),
				a.As(3001, 0, 0).At(52, 1), Marker("results", 0, 3001, 0, true, 1).At(53, 1))
		},
		Truth: Truth{Duplicates: []Duplicate{{Topic: "results", Cause: "new-producer-id", Verdict: "confirmed", Pairs: [][]int64{{50, 52}}}}},
	},
	{
		Name:  "committed-twice-at-a-reader",
		About: "a reader sees the same record in two transactions, both committed, under two producer ids; nothing tells why",
		Twin:  "aborted-v2-at-a-reader",
		Tell: func(s *Scenario) {
			c := meet(s, "reader-a", 1, "apache-kafka-java", "3.4.0", Leader{"results", 0, 1, 1})
			c.ReadCommitted = true
			a := txn(s, "results", "r 1")
			read(c, 12, a.As(3000, 0, 0).At(50, 1), Marker("results", 0, 3000, 0, true, 1).At(51, 1),
				a.As(3001, 0, 0).At(52, 1), Marker("results", 0, 3001, 0, true, 1).At(53, 1))
		},
		Truth: Truth{Duplicates: []Duplicate{{Topic: "results", Cause: "unknown", Verdict: "confirmed", Pairs: [][]int64{{50, 52}}}}},
	},
	{
		Name:  "application-resend-in-a-transaction",
		About: "the application writes a record again inside the transaction while the answer is outstanding; both are committed",
		Twin:  "aborted-then-sent-again",
		Tell: func(s *Scenario) {
			c := meet(s, "client-a", 1, "librdkafka", "2.6.1", Leader{"orders", 0, 1, 2})
			c.TransactionalID = "orders-1"
			c.InitProducerID(4, -1, -1).Answer(2000, 0)
			b := txn(s, "orders", "order 1")
			p := c.Produce(9, allAcks, b.As(2000, 0, 0))
			s.Advance(2 * time.Second)
			again := txn(s, "orders", "order 1")
			q := c.Produce(9, allAcks, again.As(2000, 0, 1))
			s.Advance(latency)
			p.Answer(OK(10))
			q.Answer(OK(11))
			c.EndTxn(3, 2000, 0, true).Answer(-1, -1)
		},
		Truth: Truth{Duplicates: []Duplicate{
			{Topic: "orders", Cause: "application-resend", Verdict: "confirmed", Pairs: [][]int64{{10, 11}}},
		}},
	},
}

// txn returns a batch of a transaction, without identity.
func txn(s *Scenario, topic string, values ...string) Batch {
	return Batch{Topic: topic, Transactional: true, Records: s.Records(values...)}
}
