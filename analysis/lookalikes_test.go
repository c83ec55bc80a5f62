package analysis

import "testing"

// Section 5 of the rules of verdicts: what must stay silent, with the fault it resembles beside it.
func TestLookAlikes(t *testing.T) {
	runCases(t, []historyCase{
		{
			name: "1 the same offsets fetched by consumers, followers, rack-local readers, and re-read",
			history: `p1 > t/0 7/0/0:ab; p1 < =10; r1 fetch t/0 hw=12 10=7/0/0:ab; s1 fetch t/0 hw=12 10=7/0/0:ab; f1 fetch t/0 hw=12 follower=2 10=7/0/0:ab
				g2 fetch t/0 hw=12 10=7/0/0:ab; r1' fetch t/0 hw=12 10=7/0/0:ab; r1' commits t/0 12; r1' fetch t/0 hw=12 10=7/0/0:ab`,
			counts: `appended 1`,
		},
		{
			name:    "2 NAT shows one exchange under two address pairs",
			history: `p1 > t/0 -:ab; n1 > t/0 -:ab nat=p1; p1 < =10; n1 < =10`,
			counts:  `appended 1`,
		},
		{
			name:    "2 a proxy ends TCP and passes on the same correlation id, client id and bytes",
			history: `p1 > t/0 -:ab; n2 > t/0 -:ab proxy=p1; n2 < =10; p1 < =10`,
			counts:  `appended 1`,
		},
		{
			name:    "2 twin: no proxy: the first connection had its answer before",
			history: `p1 > t/0 -:ab; p1 < 7=10; p2 > t/0 -:ab proxy=p1; p2 < =12`,
			want:    `probable blind-retry t/0 10>12 11>13`,
			counts:  `appended 1`,
		},
		{
			name:    "2 twin: no proxy: another offset was answered",
			history: `p1 > t/0 -:ab; p2 > t/0 -:ab proxy=p1; p1 < =10; @500 p2 < =12`,
			counts:  `appended 2, application_repeats 2`,
		},
		{
			name: "3 retries that were rejected or deduplicated",
			history: `p1 > t/0 7/0/0:a; p1 < =9; p1 > t/0 7/0/1:b; p1 < 6; p2 > t/0 7/0/1:b; p2 < 19; p2 > t/0 7/0/1:b; p2 < =10 unacked
				p2 rst; p2' > t/0 7/0/1:b; p2' < =10~; p2' > t/0 7/0/1:b; p2' < 46`,
			counts: `appended 2, deduplicated 2, rejected 2`,
		},
		{
			name:    "4 equal keys and values that the application sent on purpose",
			history: `p1 > t/0 7/0/0:a; p1 < =10; @300 p1 > t/0 7/0/1:a!; p1 < =11; @900 p1 > t/0 7/0/2:a!; p1 < =12`,
			counts:  `appended 3`,
		},
		{
			name: "5 a transaction that was aborted and its records sent again",
			history: `p1 init 7/0 txn=x; p1 > t/0 7/0/0:ab%txn txn=x; p1 < 7=10; p1 end 7/0 abort; p1 ended 7/1
				p1 > t/0 7/1/0:ab%txn txn=x; p1 < =13; p1 end 7/1 commit; p1 ended 7/2
				r1 fetch t/0 hw=16 10=7/0/0:ab%txn 12=7/1:abort 13=7/1/0:ab%txn 15=7/2:commit`,
			counts: `appended 1`,
		},
		{
			name:    "5 the answer to the abort was lost",
			history: `p1 init 7/0 txn=x; p1 > t/0 7/0/0:ab%txn txn=x; p1 < 7=10; p1 end 7/0 abort; p1 rst; p1' init 7/1 txn=x; p1' > t/0 7/1/0:ab%txn txn=x; p1' < =13`,
			counts:  `appended 1`,
		},
		{
			name:    "5 at a reader: the answer lists the aborted transaction",
			history: `r1 fetch t/0 hw=14 committed aborted=7@10 10=7/0/0:ab%txn 12=7/1:abort 13=7/1/0:ab%txn`,
		},
		{
			name:    "5 fenced by a new instance: the ABORT marker carries a higher epoch",
			history: `p1 > t/0 7/0/0:ab%txn txn=x; p1 < =10; q1 init 7/1 txn=x; q1 > t/0 7/1/0:ab%txn txn=x; q1 < =13; r1 fetch t/0 hw=15 10=7/0/0:ab%txn 12=7/1:abort 13=7/1/0:ab%txn`,
			counts:  `appended 2, application_repeats 2`,
		},
		{
			name: "5 twin: both were committed",
			history: `p1 init 7/0 txn=x; p1 > t/0 7/0/0:ab%txn txn=x; p1 < =10 unacked; p1 rst; p1' > t/0 7/0/0:ab%txn txn=x; p1' < =12; p1' end 7/0 commit; p1' ended -
				r1 fetch t/0 hw=15 10=7/0/0:ab%txn 12=7/0/0:ab%txn 14=7/0:commit`,
			want:   `confirmed broker-dedup-failure t/0 10>12 11>13`,
			counts: `appended 2`,
		},
		{
			name:    "6 equal records in two topics (mirroring)",
			history: `p1 > t/0 -:ab; p1 < =10; r1 fetch t/0 hw=12 10=-:ab; r1 > u/0 -:ab; r1 < =50; s1 fetch u/0 hw=52 50=-:ab`,
			counts:  `appended 2`,
		},
		{
			name:    "6 equal records in two clusters",
			history: `r1 cluster A 1; r2 cluster B 2; p1 > t/0 -:ab; p1 < =10; r1 fetch t/0 hw=12 10=-:ab; r2 > t/0 -:ab; r2 < =50; s2 fetch t/0 hw=52 50=-:ab`,
			counts:  `appended 2`,
		},
		{
			name:    "6 a topic deleted and created again (another topic id; offsets restart)",
			history: `m1 topic t#5; r1 fetch t/0 hw=1 0=-:a; m1 delete t; m1 topic t#6; r1 fetch t/0 hw=2 0=-:z 1=-:a`,
		},
		{
			name:    "6 a topic deleted and created again, ids unknown",
			history: `r1 fetch t/0 hw=1 0=-:a; m1 delete t; r1 fetch t/0 hw=2 0=-:z 1=-:a`,
		},
		{
			name:    "6 twin: not deleted in between",
			history: `r1 fetch t/0 hw=1 0=-:a; r1 fetch t/0 hw=2 1=-:a`,
			want:    `confirmed blind-retry t/0 0>1`,
		},
		{
			name:    "7 a fresh start: sequence 0 in an epoch that InitProducerId gave",
			history: `p1 init 7/0; p1 > t/0 7/0/0:a; p1 < =10; p1' init 7/1; p1' > t/0 7/1/0:b; p1' < =11`,
			counts:  `appended 2`,
		},
		{
			name:    "8 acks=0: no answer is normal",
			history: `p1 > t/0 -:a acks=0; @900 p1 > t/0 -:a! acks=0; p1 rst; p1' > t/0 -:a10 acks=0`,
		},
		{
			name:    "8 a Produce cut off by a closed connection was never appended",
			history: `p1 > t/0 -:ab torn; p1 rst; p1' > t/0 -:ab; p1' < =10`,
			counts:  `appended 1`,
		},
		{
			name:    "8 twin: the request was whole",
			history: `p1 > t/0 -:ab; p1 rst; p1' > t/0 -:ab; p1' < =10`,
			want:    `possible blind-retry t/0 ?>10 ?>11`,
			counts:  `appended 1`,
		},
		{
			name:    "9 another group's offset numbers; requests pipelined over several connections of one client",
			history: `p1 > t/0 7/0/0:a; p2 > t/1 7/0/0:b; p1 > t/0 7/0/1:c; p2 < =7; p1 < =10; p1 < =11; r1 commits t/0 11; s1 commits t/0 3`,
			counts:  `appended 3`,
		},
		{
			name:    "10 a batch split after MESSAGE_TOO_LARGE (10) and sent again in parts",
			history: `p1 > t/0 7/0/0:abcd; p1 < 10; p1 > t/0 7/0/0:ab; p1 > t/0 7/0/2:cd; p1 < =10; p1 < =12`,
			counts:  `appended 2, rejected 1`,
		},
		{
			name:    "10 a batch without id split after MESSAGE_TOO_LARGE (10)",
			history: `p1 > t/0 -:abcd; p1 < 10; p1 > t/0 -:ab; p1 > t/0 -:cd; p1 < =10; p1 < =12`,
			counts:  `appended 2, rejected 1`,
		},
		{
			name: "10 twin: nobody answered the batch before it was too large, and the log has it whole",
			history: `p1 > t/0 7/0/5:z; p1 < =9; p1 > t/0 7/0/6:abcd; p1 rst; p1' > t/0 7/0/6:abcd; p1' < 10
				p1' > t/0 7/0/6:ab; p1' > t/0 7/0/8:cd; p1' < 45; p1' < 45; p1' > t/0 7/1/0:ab; p1' > t/0 7/1/2:cd; p1' < =14; p1' < =16`,
			want:   `probable epoch-bump t/0 10>14 11>15 12>16 13>17 7/0>7/1 by error 45 on t/0`,
			counts: `appended 3, rejected 3, epoch_bumps 1`,
		},
		{
			name:    "11 a first copy that the new leader truncated: the offset later holds other content",
			history: `p1 > t/0 7/0/5:ab; p1 < 6=10; f2 fetch t/0 follower=3 hw=10 10=7/0/5:ab^3; p2 > t/0 7/1/0:ab; p2 < =12; r2 fetch t/0 hw=14 10=8/0/0:xy^4 12=7/1/0:ab^4`,
			counts:  `appended 1, epoch_bumps 1, leader_changes 1`,
		},
		{
			name:    "12 internal topics by a Metadata flag",
			history: `m1 topic secret internal; r1 fetch secret/0 hw=12 10=-:a 11=-:a`,
		},
		{
			name:    "12 internal topics when only their id is seen: their record keys have a known format",
			history: `f1 fetch #9/0 follower=2 hw=12 10=-:a%keys 11=-:a%keys`,
		},
		{
			name:    "12 twin: some keys have another format",
			history: `f1 fetch #9/0 follower=2 hw=13 10=-:a%keys 11=-:a%keys 12=-:b`,
			want:    `confirmed blind-retry #9/0 10>11`,
		},
		{
			name:    "12 control batches (transaction markers)",
			history: `r1 fetch t/0 hw=14 10=7/0:commit 11=7/0:commit 12=7/0:abort 13=7/0:abort`,
		},
		{
			name:    "13 equal content sent twice within the time that answers usually take",
			history: `p1 > t/0 7/0/0:a; p1 > t/0 7/0/1:a; p1 < =10; p1 < =11`,
			counts:  `appended 2, application_repeats 1`,
		},
		{
			name:    "13 two equal records of one batch",
			history: `p1 > t/0 7/0/0:aa; p1 < =10`,
			counts:  `appended 1, application_repeats 1`,
		},
		{
			name:    "13 equal content sent twice at once without a producer id",
			history: `p1 > t/0 -:a; p1 > t/0 -:a; p1 < =10; p1 < =11`,
			counts:  `appended 2, application_repeats 1`,
		},
	})
}

// The counts of a report.
func TestCounts(t *testing.T) {
	runCases(t, []historyCase{
		{
			name:    "appended: OK answers that are new batches",
			history: `p1 > t/0 -:ab u/0 -:c; p1 < =10 =20; p1 > t/0 -:d; p1 < =-1`,
			counts:  `appended 3`,
		},
		{
			name:    "deduplicated: 46",
			history: `p1 > t/0 7/0/5:a; p1 < =10 unacked; p1 rst; p1' > t/0 7/0/5:a; p1' < 46`,
			counts:  `appended 1, deduplicated 1`,
		},
		{
			name:    "deduplicated: the one that was sent first, and held up until the other had been appended",
			history: `p1 > t/0 7/0/5:a; @3000 p2 > t/0 7/0/5:a; p2 < =10; p1 < =10~`,
			counts:  `appended 1, deduplicated 1`,
		},
		{
			name:    "rejected: answers with an error and no offset; one with an offset is none",
			history: `p1 > t/0 -:a; p1 < 3; p1 > t/0 -:a; p1 < 7=10`,
			counts:  `rejected 1`,
		},
		{
			name:    "unacknowledged: batches whose fate is unknown at the end, no later copy",
			history: `p1 > t/0 -:a; p1 > t/0 -:b; p1 < =10; p1 > u/0 -:q; p1 > u/0 -:s; p1 rst; r1 fetch u/0 hw=1 0=-:q`,
			counts:  `appended 1, unacknowledged 2`,
		},
		{
			name:    "unacknowledged: not with acks=0, not where the request was torn",
			history: `p1 > t/0 -:a acks=0; p1 > t/0 -:b torn; p1 rst`,
		},
		{
			name:    "application_repeats: records, not batches",
			history: `p1 > t/0 7/0/0:abc; p1 < =10; p1 > t/0 7/0/3:abc; p1 < =13`,
			counts:  `appended 2, application_repeats 3`,
		},
		{
			name:    "epoch_bumps: rises of a producer's epoch, once over all partitions",
			history: `p1 > t/0 7/0/0:a; p1 < =10; p1 > t/0 7/1/0:b t/1 7/1/0:c; p1 < =11 =5; p1 > t/0 7/2/0:d; p1 < =12; p1 > t/1 7/1/1:e; p1 < =6`,
			counts:  `appended 5, epoch_bumps 2`,
		},
		{
			name:    "epoch_bumps: an InitProducerId that names the old epoch is a bump",
			history: `p1 init 7/0; p1 > t/0 7/0/0:a; p1 < =10; p1 init 7/1 from=7/0; p1 > t/0 7/1/0:b; p1 < =11`,
			counts:  `appended 2, epoch_bumps 1`,
		},
		{
			name:    "epoch_bumps twin: at a transaction's end or an InitProducerId at start",
			history: `p1 init 7/3 txn=x; p1 > t/0 7/3/0:a%txn txn=x; p1 < =10; p1 end 7/3 commit; p1 ended 7/4; p1 > t/0 7/4/0:b%txn txn=x; p1 < =12`,
			counts:  `appended 2`,
		},
		{
			name:    "leader_changes: partitions whose leader or leader epoch is seen to rise",
			history: `m1 leader t/0 1 5; m1 leader t/1 1 5; m1 leader t/2 1 -1; m1 leader t/0 2 6; m1 leader t/0 3 7; m1 leader t/2 2 -1`,
			counts:  `leader_changes 2`,
		},
		{
			name:    "leader_changes twin: stale metadata after the change",
			history: `m1 leader t/0 2 6; m2 leader t/0 1 5; m1 leader t/0 2 6`,
		},
	})
}
