package analysis

import "testing"

// Section 1 of the rules of verdicts: what the protocol does.
func TestProtocolRules(t *testing.T) {
	runCases(t, []historyCase{
		{
			// The old leader appended before it lost its place; the client renumbers what it takes for not persisted.
			name:    "R1 an error with base_offset >= 0 says appended on that leader",
			history: `p1 > t/0 7/0/5:ab; p1 < 6=100; p2 > t/0 7/1/0:ab; p2 < =102`,
			want:    `probable epoch-bump t/0 100>102 101>103 7/0>7/1 by nothing`,
			counts:  `appended 1, epoch_bumps 1`,
		},
		{
			name:    "R1 twin: an error raised before the append carries -1",
			history: `p1 > t/0 7/0/0:ab; p1 < 6; p2 > t/0 7/1/0:ab; p2 < =102`,
			counts:  `appended 1, rejected 1, epoch_bumps 1`,
		},
		{
			name:    "R1 twin: every negative offset means none",
			history: `p1 > t/0 7/0/0:ab; p1 < 6=-9223372036854775808; p2 > t/0 7/1/0:ab; p2 < =102`,
			counts:  `appended 1, rejected 1, epoch_bumps 1`,
		},
		{
			// Of three in flight only the one being worked on has an offset; the client renumbers all three.
			name: "R1 of several in flight one gets 6 with its offset, the others 6 with -1",
			history: `p1 > t/0 7/0/0:a; p1 > t/0 7/0/1:b; p1 > t/0 7/0/2:c; p1 < 6=100; p1 < 6; p1 < 6
				p2 > t/0 7/1/0:abc; p2 < =101`,
			want:   `probable epoch-bump t/0 100>101 7/0>7/1 by nothing`,
			counts: `appended 1, rejected 2, epoch_bumps 1`,
		},
		{
			name:    "R2 error 20 comes once the high watermark has reached the batch: committed",
			history: `p1 > t/0 7/0/5:ab; p1 < 20=100; p1 > t/0 7/1/0:ab; p1 < =102`,
			want:    `confirmed epoch-bump t/0 100>102 101>103 7/0>7/1 by nothing`,
			counts:  `appended 1, epoch_bumps 1`,
		},
		{
			name:    "R2 error 7 with an offset may still be truncated",
			history: `p1 > t/0 7/0/5:ab; p1 < 7=100; p1 > t/0 7/1/0:ab; p1 < =102`,
			want:    `probable epoch-bump t/0 100>102 101>103 7/0>7/1 by nothing`,
			counts:  `appended 1, epoch_bumps 1`,
		},
		{
			name:    "R2 twin: the later OK has the first copy's offset: stored anew there, one copy, also under a new epoch",
			history: `p1 > t/0 7/0/5:ab; p1 < 6=100; p2 > t/0 7/1/0:ab; p2 < =100`,
			counts:  `appended 1, epoch_bumps 1`,
		},
		{
			name:    "R2 twin: the same under the same epoch is a new append, not a deduplicated retry",
			history: `p1 > t/0 7/0/5:ab; p1 < 6=100; p2 > t/0 7/0/5:ab; p2 < =100`,
			counts:  `appended 1`,
		},
		{
			name:    "R2 a later Fetch decides: the first copy survived",
			history: `p1 > t/0 7/0/5:ab; p1 < 6=100; p2 > t/0 7/1/0:ab; p2 < =102; r2 fetch t/0 hw=104 100=7/0/5:ab 102=7/1/0:ab`,
			want:    `confirmed epoch-bump t/0 100>102 101>103 7/0>7/1 by nothing`,
			counts:  `appended 1, epoch_bumps 1`,
		},
		{
			name:    "R2 twin: a later Fetch decides: another batch stands there",
			history: `p1 > t/0 7/0/5:ab; p1 < 6=100; p2 > t/0 7/1/0:ab; p2 < =102; r2 fetch t/0 hw=104 100=8/0/0:xy 102=7/1/0:ab`,
			counts:  `appended 1, epoch_bumps 1`,
		},
		{
			// The retry of the first batch comes after five more: the leader knows it no longer.
			name: "R3 the sixth-last batch gets 45",
			history: `p1 > t/0 7/0/0:z; p1 < =99; p1 > t/0 7/0/1:a; p1 rst
				p1' > t/0 7/0/2:b; p1' < =101; p1' > t/0 7/0/3:c; p1' < =102; p1' > t/0 7/0/4:d; p1' < =103
				p1' > t/0 7/0/5:e; p1' < =104; p1' > t/0 7/0/6:f; p1' < =105
				p1' > t/0 7/0/1:a; p1' < 45; p1' > t/0 7/1/0:a; p1' < =106`,
			want:   `probable epoch-bump t/0 100>106 7/0>7/1 by error 45 on t/0`,
			counts: `appended 7, rejected 1, epoch_bumps 1`,
		},
		{
			name:    "R3 twin: other records under the same sequences are answered OK and never stored",
			history: `p1 > t/0 7/0/5:ab; p1 < =100; p1 > t/0 7/0/5:xy; p1 < =100~10`,
			counts:  `appended 1`,
		},
		{
			name:    "R3 twin: the same last batch sent again and again is one batch",
			history: `p1 > t/0 7/0/5:ab; p1 < =100 unacked; p1 rst; p1' > t/0 7/0/5:ab; p1' < =100~ unacked; p1' rst; p1'' > t/0 7/0/5:ab; p1'' < =100~`,
			counts:  `appended 1, deduplicated 2`,
		},
		{
			name:    "R4 twin: the original offset and a log append time on a CreateTime topic mark a deduplicated retry",
			history: `p1 > t/0 7/0/0:a; p1 < =99; p1 > t/0 7/0/1:b; p1 rst; p1' > t/0 7/0/1:b; p1' < =100~`,
			counts:  `appended 1, deduplicated 1`,
		},
		{
			name:    "R4 twin: on a LogAppendTime topic only the original offset tells",
			history: `p1 > t/0 7/0/0:a; p1 < =99~500 unacked; p1 rst; p1' > t/0 7/0/0:a; p1' < =99~500; p1' > t/0 7/0/1:b; p1' < =100~600`,
			counts:  `appended 2, deduplicated 1`,
		},
		{
			name:    "R4 twin: content that differs behind the same identity is a record lost, not deduplicated",
			history: `p1 > t/0 7/0/0:z; p1 < =99; p1 > t/0 7/0/1:a; p1 < =100; p1 > t/0 7/0/1:b; p1 < =100~40`,
			counts:  `appended 2`,
		},
		{
			name:    "R5 twin: a retry with other batch boundaries is answered 45 and not stored",
			history: `p1 > t/0 7/0/0:ab; p1 rst; p1' > t/0 7/0/0:a; p1' < 45`,
			counts:  `rejected 1, unacknowledged 1`,
		},
		{
			name:    "R5 a retry with other batch boundaries, refused, then renumbered",
			history: `p1 > t/0 7/0/0:ab; p1 rst; p1' > t/0 7/0/0:a; p1' < 45; p1' > t/0 7/1/0:ab; p1' < =102`,
			want:    `possible epoch-bump t/0 ?>102 ?>103 7/0>7/1 by error 45 on t/0`,
			counts:  `appended 1, rejected 1, epoch_bumps 1`,
		},
		{
			name:    "R6 an epoch may jump",
			history: `p1 > t/0 7/0/5:ab; p1 < 7=100; p1 > t/0 7/4/0:ab; p1 < =102`,
			want:    `probable epoch-bump t/0 100>102 101>103 7/0>7/4 by nothing`,
			counts:  `appended 1, epoch_bumps 1`,
		},
		{
			name:    "R6 twin: an unknown producer id may start anywhere, an epoch may jump",
			history: `p1 > t/0 7/3/50:a; p1 < =10; p1 > t/0 7/9/0:b; p1 < =11`,
			counts:  `appended 2, epoch_bumps 1`,
		},
		{
			// Fenced by a newer epoch: 47 is not retriable and forced the bump.
			name:    "R6 an older epoch is answered 47",
			history: `p1 > t/0 7/0/5:ab; p1 < 7=100; p1 > t/0 7/0/5:ab; p1 < 47; p1 > t/0 7/1/0:ab; p1 < =102`,
			want:    `probable epoch-bump t/0 100>102 101>103 7/0>7/1 by error 47 on t/0`,
			counts:  `appended 1, rejected 1, epoch_bumps 1`,
		},
		{
			name:    "R7 twin: 46 does not prove storage",
			history: `p1 > t/0 7/0/0:ab; p1 < 46`,
			counts:  `deduplicated 1`,
		},
		{
			name:    "R8 a resend under a new epoch has another CRC with equal records",
			history: `p1 > t/0 7/0/5:ab%crc1; p1 < 7=100; p1 > t/0 7/1/0:ab%crc2; p1 < =102`,
			want:    `probable epoch-bump t/0 100>102 101>103 7/0>7/1 by nothing`,
			counts:  `appended 1, epoch_bumps 1`,
		},
		{
			name:    "R8 twin: equal CRC of other records under a new epoch is chance",
			history: `p1 > t/0 7/0/5:ab%crc1; p1 < 7=100; p1 > t/0 7/1/0:xy%crc1; p1 < =102`,
			counts:  `appended 1, epoch_bumps 1`,
		},
		{
			// The fault is on t/5, the copy on t/12.
			name: "R9 a fault on one partition duplicates records of another",
			history: `p1 > t/12 7/0/5:a; p1 < 6=100; p2 > t/5 7/0/9:x; p2 < 45
				p2 > t/12 7/1/0:a; p2 < =101; p2 > t/5 7/1/0:y; p2 < =50`,
			want:   `probable epoch-bump t/12 100>101 7/0>7/1 by error 45 on t/5`,
			counts: `appended 2, rejected 1, epoch_bumps 1`,
		},
		{
			name: "R9 a message that expires while possibly sent has the same effect",
			history: `p1 > t/5 7/0/9:x; p2 > t/12 7/0/5:a; p2 < 6=100
				@300000 p2 > t/12 7/1/0:a; p2 < =101`,
			want:   `probable epoch-bump t/12 100>101 7/0>7/1 by no-answer on t/5`,
			counts: `appended 1, unacknowledged 1, epoch_bumps 1`,
		},
		{
			// Java rewrites the failed partition only; the other goes on under the old epoch.
			name: "R9 twin: two epochs of one producer id live at once are no fault",
			history: `p1 > t/0 7/0/0:a; p1 < =1; p1 > t/1 7/0/0:b; p1 < 45; p1 > t/1 7/1/0:b; p1 > t/0 7/0/1:c; p1 < =1; p1 < =2
				p1 > t/0 7/0/2:d; p1 < =3; p1 > t/1 7/1/1:e; p1 < =2`,
			counts: `appended 5, rejected 1, epoch_bumps 1`,
		},
		{
			name:    "R10 a batch that wraps from 2147483647 to 0 is written again",
			history: `p1 > t/0 7/0/2147483647:ab; p1 < 20=100; p1 > t/0 7/1/0:ab; p1 < =102`,
			want:    `confirmed epoch-bump t/0 100>102 101>103 7/0>7/1 by nothing`,
			counts:  `appended 1, epoch_bumps 1`,
		},
		{
			name:    "R10 twin: sequences wrap within an epoch, once inside a batch",
			history: `p1 > t/0 7/0/2147483645:a; p1 < =9; p1 > t/0 7/0/2147483646:bcd; p1 < =10; p1 > t/0 7/0/1:e; p1 < =13`,
			counts:  `appended 3`,
		},
		{
			name:    "R10 epoch 32767 cannot be bumped: a new producer id follows",
			history: `p1 > t/0 7/32767/5:a; p1 < 7=10; p1 init 8/0 from=7/32767; p1 > t/0 8/0/0:a; p1 < =11`,
			want:    `probable new-producer-id t/0 10>11 7/32767>8/0 by init-producer-id`,
			counts:  `appended 1`,
		},
		{
			name: "R11 twin: the epoch rises at every transaction end",
			history: `p1 init 7/0 txn=x; p1 > t/0 7/0/0:a%txn txn=x; p1 < =10; p1 end 7/0 commit; p1 ended 7/1
				p1 > t/0 7/1/0:b%txn txn=x; p1 < =12; p1 end 7/1 abort; p1 ended 7/2; p1 > t/0 7/2/0:c%txn txn=x; p1 < =14
				r1 fetch t/0 hw=15 10=7/0/0:a%txn 11=7/1:commit 12=7/1/0:b%txn 13=7/2:abort 14=7/2/0:c%txn`,
			counts: `appended 3`,
		},
		{
			name: "R11 a committed transaction with a batch that the broker stored twice",
			history: `p1 init 7/0 txn=x; p1 > t/0 7/0/0:a%txn txn=x; p1 rst; p1' > t/0 7/0/0:a%txn txn=x; p1' < =11; p1' end 7/0 commit; p1' ended 7/1
				r1 fetch t/0 hw=13 10=7/0/0:a%txn 11=7/0/0:a%txn 12=7/1:commit`,
			want:   `confirmed broker-dedup-failure t/0 10>11`,
			counts: `appended 1`,
		},
		{
			name:    "R12 internal topics are left out of the verdicts",
			history: `p1 > __consumer_offsets/0 -:a; p1 rst; p1' > __consumer_offsets/0 -:a; p1' < =10; r1 fetch __consumer_offsets/0 hw=11 9=-:a 10=-:a`,
		},
		{
			name:    "R12 twin of an internal topic: a name with one underscore is a topic as any other",
			history: `p1 > _offsets/0 -:a; p1 rst; p1' > _offsets/0 -:a; p1' < =10; r1 fetch _offsets/0 hw=11 9=-:a 10=-:a`,
			want:    `confirmed blind-retry _offsets/0 9>10`,
			counts:  `appended 1`,
		},
		{
			name:    "R13 Metadata gives the name on another connection and later",
			history: `p1 > #5/0 7/0/5:a; p1 < 20=10; p1 > #5/0 7/1/0:a; p1 < =11; m1 topic t#5`,
			want:    `confirmed epoch-bump t/0 10>11 7/0>7/1 by nothing`,
			counts:  `appended 1, epoch_bumps 1`,
		},
		{
			name:    "R13 Produce by name, Fetch by id",
			history: `m1 topic t#5; p1 > t/0 -:a; p1 rst; p1' > t/0 -:a; p1' < =11; r1 fetch #5/0 hw=12 10=-:a 11=-:a`,
			want:    `confirmed blind-retry t/0 10>11`,
			counts:  `appended 1`,
		},
		{
			name:    "R13 twin: two topic ids are two topics",
			history: `p1 > #5/0 7/0/0:a; p1 < 20=10; p1 > #6/0 7/1/0:a; p1 < =11`,
			counts:  `appended 1, epoch_bumps 1`,
		},
		{
			name:    "R15 twin: the broker rewrote the batch (LogAppendTime): the CRC differs at one offset",
			history: `p1 > t/0 -:ab; p1 < =10~900; p1 > t/0 7/0/0:cd; p1 < =12~910; r1 fetch t/0 hw=14 10=-:ab~900 12=7/0/0:cd~910`,
			counts:  `appended 2`,
		},
		{
			name:    "R15 twin: the broker rewrote the batch (compression.type, down-conversion to magic 1, compaction)",
			history: `p1 > t/0 -:abcd; p1 < =10; r1 fetch t/0 hw=14 10=-:abcd%lz4; s1 fetch t/0 hw=14 10=-:abcd; o1 fetch t/0 hw=14 10=-:abcd%m1; q1 fetch t/0 hw=14 10=-:a..d`,
			counts:  `appended 1`,
		},
		{
			name:    "R15 a rewritten batch is joined by producer id, epoch, sequence and offset, and its copy too",
			history: `p1 > t/0 7/0/5:ab; p1 < 6=10~900; p2 > t/0 7/1/0:ab; p2 < =12~950; r1 fetch t/0 hw=14 10=7/0/5:ab%lz4~900 12=7/1/0:ab%lz4~950`,
			want:    `confirmed epoch-bump t/0 10>12 11>13 7/0>7/1 by nothing`,
			counts:  `appended 1, epoch_bumps 1`,
		},
		{
			name:    "R16 twin: seeing that offset again is the same record",
			history: `r1 fetch t/0 hw=12 10=-:ab; s1 fetch t/0 hw=12 10=-:ab; r1 fetch t/0 hw=12 10=-:ab; f2 fetch t/0 hw=12 follower=2 10=-:ab`,
		},
		{
			name:    "R16 twin: the same offset with other content under another leader epoch is truncation",
			history: `r1 fetch t/0 hw=12 10=7/0/0:ab^3; r2 fetch t/0 hw=14 10=8/0/0:xy^4 12=7/1/0:ab^4`,
		},
		{
			name:    "R17 the id decides: -1 with base sequence 0 is a producer without idempotence",
			history: `p1 > t/0 -0:ab; p1 rst; p1' > t/0 -0:ab; p1' < =12; r1 fetch t/0 hw=14 10=-0:ab 12=-0:ab`,
			want:    `confirmed blind-retry t/0 10>12 11>13`,
			counts:  `appended 1`,
		},
		{
			name:    "R17 twin: producer id 0 is an id",
			history: `p1 > t/0 0/0/0:ab; p1 rst; p1' > t/0 0/0/0:ab; p1' < =10~; r1 fetch t/0 hw=12 10=0/0/0:ab`,
			counts:  `deduplicated 1`,
		},
		{
			name:    "R17 librdkafka merges a blind retry with newer records",
			history: `p1 > t/0 -:a; p1 rst; p1' > t/0 -:ab; p1' < =11; r1 fetch t/0 hw=13 10=-:a 11=-:ab`,
			want:    `confirmed blind-retry t/0 10>11`,
			counts:  `appended 1`,
		},
		{
			// The paused leader answers 6 for the first batch, becomes leader, sees the second first.
			name:    "R17 twin: a natural incident answers 6 with -1 and 45, and nothing was stored",
			history: `p1 > t/0 7/0/0:a; p1 > t/0 7/0/1:b; p1 < 6; p1 < 45; p1 > t/0 7/1/0:a; p1 > t/0 7/1/1:b; p1 < =1; p1 < =2`,
			counts:  `appended 2, rejected 2, epoch_bumps 1`,
		},
		{
			name:    "R17 twin: __cluster_metadata has an id of its own",
			history: `f1 topic #9; r1 fetch __cluster_metadata/0 hw=3 1=-:a 2=-:a`,
		},
	})
}
