package kafkatest

import "time"

// markerCases turn on which marker ends a transaction.
var markerCases = []Case{
	{
		Name:  "abort-two-epochs-on",
		About: "a new process fences an open transaction, and the abort raises the epoch again: a reader sees its marker two epochs on, and the records once more",
		Twin:  "prepared-and-kept",
		Tell: func(s *Scenario) {
			c := meet(s, "reader-a", 1, "apache-kafka-java", "4.0.0", Leader{"transfers", 0, 1, 4})
			b := txn(s, "transfers", "t 1", "t 2")
			read(c, 13, b.As(2000, 3, 0).At(200, 4), Marker("transfers", 0, 2000, 5, false, 1).At(202, 4),
				b.As(2000, 6, 0).At(203, 4), Marker("transfers", 0, 2000, 7, true, 2).At(205, 4))
		},
	},
	{
		Name:  "prepared-and-kept",
		About: "a process dies with a prepared transaction; the next one has it committed, two epochs on, and writes its records again",
		Twin:  "abort-two-epochs-on",
		Tell: func(s *Scenario) {
			c := meet(s, "sink-a", 1, "apache-kafka-java", "4.2.0", Leader{"results", 0, 1, 1})
			c.TransactionalID = "sink-0"
			b := txn(s, "results", "r 1", "r 2")
			c.Produce(12, allAcks, b.As(3000, 0, 0))
			s.Advance(200 * time.Millisecond)
			c.Reset()
			s.Advance(5 * time.Second)
			c = meet(s, "sink-a", 1, "apache-kafka-java", "4.2.0", Leader{"results", 0, 1, 1})
			c.TransactionalID = "sink-0"
			c.EndTxn(5, 3000, 1, true).Answer(3000, 2)
			send(c, 12, b.As(3000, 2, 0), OK(53))
			c.EndTxn(5, 3000, 2, true).Answer(3000, 3)
			r := s.Connect("reader-a", 1)
			r.ReadCommitted = true
			read(r, 13, b.As(3000, 0, 0).At(50, 1), Marker("results", 0, 3000, 2, true, 1).At(52, 1),
				b.As(3000, 2, 0).At(53, 1), Marker("results", 0, 3000, 3, true, 1).At(55, 1))
		},
		Truth: Truth{Duplicates: []Duplicate{{
			Topic: "results", Cause: "epoch-bump", Verdict: "confirmed", Pairs: [][]int64{{50, 53}, {51, 54}},
		}}},
	},
	{
		Name:  "marker-written-twice",
		About: "between brokers: the answer to WriteTxnMarkers is lost and the request repeated, so that the abort stands in the log twice",
		Twin:  "prepared-and-kept",
		Tell: func(s *Scenario) {
			coordinator := meet(s, "broker-3", 1, "", "", Leader{"transfers", 0, 1, 4})
			b := txn(s, "transfers", "t 1")
			abort := Marker("transfers", 0, 2000, 0, false, 1)
			coordinator.WriteTxnMarkers(1, abort, false)
			s.Advance(30 * time.Second)
			coordinator.Reset()
			coordinator = s.Connect("broker-3", 1)
			coordinator.WriteTxnMarkers(1, abort, false).Answer()
			follower := s.Connect("broker-2", 1)
			follower.ReplicaID = 2
			read(follower, 13, b.As(2000, 0, 0).At(200, 4), abort.At(201, 4), abort.At(202, 4), b.As(2000, 1, 0).At(203, 4))
			commit := Marker("transfers", 0, 2000, 1, true, 2)
			coordinator.WriteTxnMarkers(1, commit, true).Answer()
			read(follower, 13, commit.At(204, 4))
		},
	},
	{
		Name:  "late-batch-at-a-reader",
		About: "a reader of everything sees a batch behind the abort of its transaction; the next one writes it again, and one commit ends both",
		Twin:  "aborted-v2-at-a-reader",
		Tell: func(s *Scenario) {
			c := meet(s, "reader-a", 1, "apache-kafka-java", "3.4.0", Leader{"transfers", 0, 1, 4})
			b := txn(s, "transfers", "t 1", "t 2")
			b.Codec = Snappy
			read(c, 13, Marker("transfers", 0, 2000, 0, false, 1).At(200, 4), b.As(2000, 0, 0).At(201, 4),
				b.As(2000, 1, 0).At(203, 4), Marker("transfers", 0, 2000, 1, true, 2).At(205, 4))
		},
		Truth: Truth{Duplicates: []Duplicate{{
			Topic: "transfers", Cause: "epoch-bump", Verdict: "confirmed", Pairs: [][]int64{{201, 203}, {202, 204}},
			Trigger: NoTrigger,
		}}},
	},
	{
		Name:  "overlapping-transactions",
		About: "a group's position is lost although the commit went through: another worker reads the same input again and commits first",
		Twin:  "overlapping-transactions-aborted",
		Tell:  func(s *Scenario) { overlapping(s, true) },
		Truth: Truth{Duplicates: []Duplicate{{Topic: "results", Cause: "unknown", Verdict: "confirmed", Pairs: [][]int64{{60, 61}}}}},
	},
	{
		Name:  "overlapping-transactions-aborted",
		About: "the same, and the first worker's transaction times out",
		Twin:  "overlapping-transactions",
		Tell:  func(s *Scenario) { overlapping(s, false) },
	},
}

// overlapping shows a reader of everything the same record in two transactions of two producers; that of the first ends last.
func overlapping(s *Scenario, commit bool) {
	c := meet(s, "reader-a", 1, "apache-kafka-java", "3.9.0", Leader{"results", 0, 1, 1})
	b := txn(s, "results", "r 1")
	read(c, 13, b.As(3000, 0, 0).At(60, 1), b.As(3001, 0, 0).At(61, 1), Marker("results", 0, 3001, 0, true, 1).At(62, 1))
	s.Advance(time.Minute)
	last := Marker("results", 0, 3000, 0, true, 2)
	if !commit {
		last = Marker("results", 0, 3000, 1, false, 2)
	}
	read(c, 13, last.At(63, 1))
}
