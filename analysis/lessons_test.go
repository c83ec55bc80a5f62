package analysis

import "testing"

// Lessons of public reports: what happened there, reduced to its steps.
func TestPublicLessons(t *testing.T) {
	runCases(t, []historyCase{
		{
			// Fatal in the client, nothing stored.
			name:    "librdkafka 3584: 6, then 45 for the very same first sequence",
			history: `p1 > t/0 7/0/0:ab; p1 < 6; p2 > t/0 7/0/0:ab; p2 < 45`,
			counts:  `rejected 2`,
		},
		{
			// a expires; b goes out with another first sequence.
			name:    "librdkafka 2163: the rest of an unanswered batch gets 45, then a new epoch: a resend need not have the old borders",
			history: `p1 > t/0 7/0/5:z; p1 < =9; p1 > t/0 7/0/6:ab; p1 rst; @300000 p1' > t/0 7/0/7:b; p1' < 45; p1' > t/0 7/1/0:b; p1' < =12`,
			want:    `probable epoch-bump t/0 11>12 7/0>7/1 by error 45 on t/0`,
			counts:  `appended 2, rejected 1, epoch_bumps 1`,
		},
		{
			name:    "librdkafka 2163 twin: the rest gets 45 and is given up",
			history: `p1 > t/0 7/0/5:z; p1 < =9; p1 > t/0 7/0/6:ab; p1 rst; @300000 p1' > t/0 7/0/7:b; p1' < 45`,
			counts:  `appended 1, rejected 1, unacknowledged 1`,
		},
		{
			name:    "librdkafka 4736: retries of single messages come due at different times, the batch cannot be rebuilt",
			history: `p1 > t/0 7/0/0:abc; p1 rst; p1' > t/0 7/0/0:a; p1' < 45; p1' > t/0 7/0/1:b; p1' < 45; p1' > t/0 7/0/2:c; p1' < 45`,
			counts:  `rejected 3, unacknowledged 1`,
		},
		{
			name: "librdkafka 3712: the client counts from 0 again in the same epoch: answered OK, lost",
			history: `p1 > t/0 7/0/0:a; p1 < =10; p1 > t/0 7/0/1:b; p1 < =11; m1 topic t
				p1 > t/0 7/0/0:x; p1 < =10~10`,
			counts: `appended 2`,
		},
		{
			// Once as it was, once cut anew with a newer record.
			name:    "librdkafka 1390: the lost request goes out twice: two later copies, no first one needed",
			history: `p1 > t/0 -:ab; p1 rst; p1' > t/0 -:ab; p1' > t/0 -:abc; p1' < =10; p1' < =12; r1 fetch t/0 hw=15 10=-:ab 12=-:abc`,
			want:    `confirmed blind-retry t/0 10>12 11>13`,
			counts:  `appended 2`,
		},
		{
			// The first request waited in the socket buffer; the application sent the record again at 60 s.
			name:    "librdkafka 1476: a request arrives long after the application was told it had failed",
			history: `@1000 p1 > t/0 -:a; @61000 p1' > t/0 -:a!; p1' < =10; @90000 p1 < =11`,
			want:    `confirmed application-resend t/0 11>10`,
			counts:  `appended 2`,
		},
		{
			name:    "librdkafka 4637: a reader resumes at a stale position: the same offsets again",
			history: `r1 fetch t/0 hw=14 10=-:ab 12=-:cd; r1 commits t/0 14; r1 fetch t/0 hw=14 10=-:ab 12=-:cd`,
		},
		{
			name:    "kafkajs 353: log append time set, base offset of an earlier request, other payload",
			history: `p1 > t/0 7/0/0:a; p1 < =10; p1 > t/0 7/0/1:b; p1 < =11; p1 > t/0 7/0/0:c; p1 < =10~10`,
			counts:  `appended 2`,
		},
		{
			name: "platformatic 326: many sends under one sequence, as many CRCs, one offset: records lost, none twice",
			history: `p1 > t/0 7/0/0:a; p1 > t/0 7/0/0:b; p1 > t/0 7/0/0:c; p1 > t/0 7/0/0:d
				p1 < =10; p1 < =10~10; p1 < =10~10; p1 < =10~10; r1 fetch t/0 hw=11 10=7/0/0:a`,
			counts: `appended 1`,
		},
		{
			// Broker 2 failed; the send is repeated to broker 1 too, which had said OK.
			name:    "kafkajs 22: the whole send is repeated to all brokers, also to those that had said OK",
			history: `p1 > t/0 -:a; p2 > t/1 -:b; p1 < =10; p2 rst; p1 > t/0 -:a; p3 > t/1 -:b; p1 < =11; p3 < =20`,
			want: `confirmed blind-retry t/0 10>11
				possible blind-retry t/1 ?>20`,
			counts: `appended 3`,
		},
		{
			name:    "franz-go 846: OK with base offset -1 exists; never compute record offsets from it",
			history: `p1 > t/0 7/0/5:ab; p1 < 7=10; p1 > t/0 7/1/0:ab; p1 < =-1`,
			want:    `probable epoch-bump t/0 10>? 11>? 7/0>7/1 by nothing`,
			counts:  `appended 1, epoch_bumps 1`,
		},
		{
			name:    "franz-go 846 twin: OK with base offset -1 for every batch",
			history: `p1 > t/0 7/0/0:ab; p1 < =-1; p1 > t/0 7/0/2:c; p1 < =-1`,
			counts:  `appended 2`,
		},
		{
			name:    "KAFKA-15591: the first batch of a new partition is answered 6, the second is stored, every retry of the first gets 45 for good",
			history: `p1 > t/0 7/0/0:a; p1 > t/0 7/0/1:b; p1 < 6; p1 < =0; p1 > t/0 7/0/0:a; p1 < 45; p1 > t/0 7/0/0:a; p1 < 45`,
			counts:  `appended 1, rejected 3`,
		},
		{
			name: "KAFKA-12152: a client that resets one partition only gets 45 on each other one: a cascade of bumps without any second copy",
			history: `p1 > t/0 7/0/0:a t/1 7/0/0:b t/2 7/0/0:c; p1 < =1 =1 =1
				p1 > t/0 7/1/0:d t/1 7/1/1:e; p1 < =2 45; p1 > t/1 7/2/0:e t/2 7/2/1:f; p1 < =2 45; p1 > t/2 7/3/0:f; p1 < =2`,
			counts: `appended 6, rejected 2, epoch_bumps 3`,
		},
		{
			name:    "KAFKA-13598: producer id -1 is what counts, never the client's version",
			history: `p1 is apache-kafka-java 3.0.0; p1 > t/0 -:ab; p1 < 20=10; p1 > t/0 -:ab; p1 < =12`,
			want:    `confirmed blind-retry t/0 10>12 11>13`,
			counts:  `appended 1`,
		},
		{
			name:    "KAFKA-7866: two different batches at one offset: a broken log, not a duplicate",
			history: `r1 fetch t/0 hw=12 10=7/0/0:ab^3; r1 fetch t/0 hw=12 10=8/0/0:xy^3`,
		},
		{
			name:    "KAFKA-14704: one Fetch sighting on an old leader epoch, then other content",
			history: `p1 > t/0 7/0/5:a; p1 < 6=10; r1 fetch t/0 hw=11 10=7/0/5:a^3; p2 > t/0 7/1/0:a; p2 < =12; r2 fetch t/0 hw=13 10=8/0/0:xy^4 12=7/1/0:a^4`,
			counts:  `appended 1, epoch_bumps 1, leader_changes 1`,
		},
		{
			name:    "redpanda 4366: a broker's log claims that one request was handled twice; on the wire there is one request",
			history: `p1 > t/0 7/0/0:a; p1 < =10; r1 fetch t/0 hw=11 10=7/0/0:a`,
			counts:  `appended 1`,
		},
		{
			name:    "nisshi 742: 46 for a batch that was never written",
			history: `p1 > t/0 7/0/0:a; p1 < 46; p1 > t/0 7/0/1:b; p1 < =10; r1 fetch t/0 hw=11 10=7/0/1:b`,
			counts:  `appended 1, deduplicated 1`,
		},
		{
			name:    "sarama 3354: a batch without sequence in the middle of a numbered run",
			history: `p1 > t/0 7/0/0:a; p1 < =10; p1 > t/0 -0:b; p1 < =11; p1 > t/0 7/0/1:c; p1 < =12`,
			counts:  `appended 3`,
		},
		{
			// The application's call timed out at 10 s; the writer's own batch still went out, and then the new one.
			name:    "kafka-go 1427: the application sends again, and the writer's own batch still goes out behind its back",
			history: `@1000 p1 > t/0 -:a; @11000 p1' > t/0 -:a!; p1 < =10; p1' < =11`,
			want:    `confirmed application-resend t/0 10>11`,
			counts:  `appended 2`,
		},
		{
			// Ten parts, one refused; all are sent again in smaller parts.
			name: "deimos 24: after one refused part all are sent again in smaller parts, also those that had been accepted",
			history: `p1 > t/0 -:ab; p1 > t/0 -:cd; p1 > t/0 -:ef; p1 < =10; p1 < 10; p1 < =12
				@500 p1 > t/0 -:a!; p1 > t/0 -:b!; p1 > t/0 -:c!; p1 > t/0 -:d!; p1 > t/0 -:e!; p1 > t/0 -:f!
				p1 < =14; p1 < =15; p1 < =16; p1 < =17; p1 < =18; p1 < =19`,
			counts: `appended 8, rejected 1`,
		},
		{
			name:    "aiokafka 1017: two sequence numbers that this leader has never seen, then 45 without end",
			history: `p2 > t/0 7/0/7:a; p2 < 45; p2 > t/0 7/0/7:a; p2 < 45; p2 > t/0 7/0/7:a; p2 < 45`,
			counts:  `rejected 3`,
		},
		{
			// A late EndTxn of the first transaction commits the second, which the client takes for failed and writes again.
			name: "KAFKA-17754: an EndTxn that comes late ends the next transaction",
			history: `p1 init 7/0 txn=x; p1 > t/0 7/0/0:a%txn txn=x; p1 < =10; p1 end 7/0 commit; p1' end 7/0 commit; p1' ended -
				p1 > t/0 7/0/1:b%txn txn=x; p1 < 7=12; p1 end 7/0 abort; p1 init 7/1 txn=x from=7/0
				p1 > t/0 7/1/0:b%txn txn=x; p1 < =14; p1 end 7/1 commit; p1 ended -
				r1 fetch t/0 hw=16 committed 10=7/0/0:a%txn 11=7/0:commit 12=7/0/1:b%txn 13=7/0:commit 14=7/1/0:b%txn 15=7/1:commit`,
			want:   `confirmed epoch-bump t/0 12>14 7/0>7/1 by nothing`,
			counts: `appended 2, epoch_bumps 1`,
		},
		{
			name: "KAFKA-17754 twin: the late one is an abort",
			history: `p1 init 7/0 txn=x; p1 > t/0 7/0/0:a%txn txn=x; p1 < =10; p1 end 7/0 abort; p1' end 7/0 abort; p1' ended -
				p1 > t/0 7/0/1:b%txn txn=x; p1 < 7=12; p1 end 7/0 commit; p1 init 7/1 txn=x from=7/0
				p1 > t/0 7/1/0:b%txn txn=x; p1 < =14; p1 end 7/1 commit; p1 ended -
				r1 fetch t/0 hw=16 10=7/0/0:a%txn 11=7/0:abort 12=7/0/1:b%txn 13=7/0:abort 14=7/1/0:b%txn 15=7/1:commit`,
			counts: `appended 2, epoch_bumps 1`,
		},
		{
			name: "KAFKA-17754 twin: one marker was not read; the commit is the next transaction's",
			history: `p1 init 7/0 txn=x; p1 > t/0 7/0/0:b%txn txn=x; p1 < 7=12; p1 end 7/0 abort; p1 ended -
				p1 > t/0 7/0/1:b%txn txn=x; p1 < =14; p1 end 7/0 commit; p1 ended -; r1 fetch t/0 hw=16 12=-:b%m1 14=-:b%m1; s1 fetch t/0 hw=16 15=7/0:commit`,
			counts: `appended 1`,
		},
		{
			name:    "KAFKA-18660: the epoch of a transactional producer rolls over into another id; the coordinator is not captured",
			history: `p1 > t/0 42/32766/0:ab%txn txn=x; p1 < 7=10; p1 > t/0 73/0/0:ab%txn txn=x; p1 < =13`,
			counts:  `appended 1`,
		},
		{
			name:    "KAFKA-18660 twin: a reader sees that both were committed",
			history: `r1 fetch t/0 hw=16 10=42/32766/0:ab%txn 12=42/32767:commit 13=73/0/0:ab%txn 15=73/1:commit`,
			want:    `confirmed unknown t/0 10>13 11>14`,
		},
		{
			// The log keeps messages, not batches: readers are given batches without a producer.
			name:    "kop 1007: readers are shown no producer id, and the broker does not recognise a retry",
			history: `p1 > t/0 7/0/5:z; p1 < =9; p1 > t/0 7/0/6:ab; p1 rst; p1' > t/0 7/0/6:ab; p1' < =12; r1 fetch t/0 hw=14 9=-:z 10=-:ab 12=-:ab`,
			want:    `confirmed broker-dedup-failure t/0 10>12 11>13`,
			counts:  `appended 2`,
		},
		{
			name:    "kop 1007: the retry comes under a new epoch, and readers are shown messages one by one",
			history: `p1 > t/0 7/0/5:z; p1 < =9; p1 > t/0 7/0/6:ab; p1 rst; p1' > t/0 7/1/0:ab; p1' < =12; r1 fetch t/0 hw=14 9=-:z 10=-:a 11=-:b 12=-:a 13=-:b`,
			want:    `confirmed epoch-bump t/0 10>12 11>13 7/0>7/1 by connection-lost on t/0`,
			counts:  `appended 2, epoch_bumps 1`,
		},
		{
			name:    "kop 1007 twin: the retry is recognised",
			history: `p1 > t/0 7/0/5:z; p1 < =9; p1 > t/0 7/0/6:ab; p1 rst; p1' > t/0 7/0/6:ab; p1' < =10; r1 fetch t/0 hw=12 9=-:z 10=-:ab`,
			counts:  `appended 2`,
		},
		{
			name:    "kop 1007 twin: the first send was refused, and who wrote the others was not captured",
			history: `p1 > t/0 7/0/5:z; p1 < =9; p1 > t/0 7/0/6:ab; p1 < 6; p1 > t/0 7/0/6:ab; p1 < =10; r1 fetch t/0 hw=14 9=-:z 10=-:ab 12=-:ab`,
			counts:  `appended 2, rejected 1`,
		},
		{
			// The id of a producer was given to another one: the batches of each are taken for the other's, and a bump fences.
			name: "redpanda 15054: after a recovery the cluster gives out producer ids again",
			history: `p1 init 7/0; q1 init 7/0; p1 > t/0 7/0/0:a; p1 < =10; q1 > t/0 7/0/0:x; q1 < =10~10; q1 > t/0 7/0/1:y; q1 < =11
				p1 > t/0 7/0/1:b; p1 rst; p1' > t/0 7/0/1:b; p1' < =11~; p1' > t/0 7/0/3:c; p1' < 45; p1' init 7/1 from=7/0; p1' > t/0 7/1/0:c; p1' < =12
				q1 > t/0 7/0/2:w; q1 < 47; q1 init 7/2 from=7/0; q1 > t/0 7/2/0:w; q1 < =13`,
			counts: `appended 4, rejected 2, epoch_bumps 2`,
		},
		{
			// InitProducerId for the next epoch is refused (49) for good; the application begins anew with another producer.
			name: "azure-event-hubs-for-kafka 261: after timeouts the producer gets no new epoch, and the application makes a new one",
			history: `p1 init 7/0; p1 > t/0 7/0/0:z; p1 < =9; p1 > t/0 7/0/1:a; @5100 p1 rst; p1' > t/0 7/0/1:a; @10300 p1' rst; p1'' init 7/1 from=7/0 err=49
				@20000 p1'' init 8/0; p1'' > t/0 8/0/0:a!; p1'' < =11`,
			want:   `probable application-resend t/0 10>11`,
			counts: `appended 2`,
		},
	})
}
