package analysis

import "testing"

// Section 2 of the rules of verdicts: when two records are the same.
func TestSamenessRules(t *testing.T) {
	runCases(t, []historyCase{
		{
			name:    "S1 on LogAppendTime topics compare without the timestamp",
			history: `r1 fetch t/0 hw=14 10=7/0/5:ab~500 12=7/1/0:ab~600`,
			want:    `confirmed epoch-bump t/0 10>12 11>13 7/0>7/1 by nothing`,
		},
		{
			name:    "S1 twin: on a CreateTime topic another create timestamp is another record",
			history: `r1 fetch t/0 hw=14 10=7/0/5:a1b1 12=7/1/0:a2b2`,
		},
		{
			name:    "S2 no answer, a lost connection: the client believes it failed",
			history: `p1 > t/0 -:a; p1 rst; p1' > t/0 -:a; p1' < =11`,
			want:    `possible blind-retry t/0 ?>11`,
			counts:  `appended 1`,
		},
		{
			name:    "S2 twin: an OK that the client's TCP acknowledged before the resend: the application's own business",
			history: `p1 > t/0 7/0/0:a; p1 < =10; p1 > t/0 7/1/0:a; p1 < =11`,
			counts:  `appended 2, application_repeats 1, epoch_bumps 1`,
		},
		{
			name:    "S2 an OK that leaves a broker and is never acknowledged was not seen",
			history: `p1 > t/0 7/0/0:a; p1 < =10 unacked; p1 rst; p1' > t/0 7/1/0:a; p1' < =11`,
			want:    `confirmed epoch-bump t/0 10>11 7/0>7/1 by nothing`,
			counts:  `appended 2, epoch_bumps 1`,
		},
		{
			name:    "S2 an OK that came after the resend",
			history: `p1 > t/0 7/0/0:a; @5000 p1' > t/0 7/1/0:a; p1 < =10; p1' < =11`,
			want:    `confirmed epoch-bump t/0 10>11 7/0>7/1 by nothing`,
			counts:  `appended 2, epoch_bumps 1`,
		},
		{
			name:    "S2 an OK that is acknowledged after the resend",
			history: `p1 > t/0 7/0/0:a; p1 < =10 unacked; @5000 p1' > t/0 7/1/0:a; p1 ack; p1' < =11`,
			want:    `confirmed epoch-bump t/0 10>11 7/0>7/1 by nothing`,
			counts:  `appended 2, epoch_bumps 1`,
		},
		{
			name:    "S2 an answer that a gap of the capture may have swallowed is unknown, and the finding says so",
			history: `p1 > t/0 7/0/5:a; p1 gap server; p1 < ?; p1 > t/0 7/1/0:a; p1 < =11`,
			want:    `possible epoch-bump t/0 ?>11 7/0>7/1 by nothing`,
			counts:  `appended 1, epoch_bumps 1`,
			doubt:   DoubtAnswerMayBeHidden,
		},
		{
			name:    "S2 an OK was seen, and a gap may have swallowed what would show that the client had it",
			history: `p1 > t/0 7/0/5:a; p1 < =10 unacked; p1 gap client; p1 rst; p1' > t/0 7/1/0:a; p1' < =11`,
			want:    `confirmed epoch-bump t/0 10>11 7/0>7/1 by nothing`,
			counts:  `appended 2, epoch_bumps 1`,
			doubt:   DoubtAnswerMayBeHidden,
		},
		{
			name:    "S2 an answer that could not be read is unknown",
			history: `p1 > t/0 7/0/5:a; p1 < unread; p1 > t/0 7/1/0:a; p1 < =11`,
			want:    `possible epoch-bump t/0 ?>11 7/0>7/1 by nothing`,
			counts:  `appended 1, epoch_bumps 1`,
			doubt:   DoubtAnswerMayBeHidden,
		},
		{
			name:    "S2 twin: acks=0 counts as acknowledged at the send",
			history: `p1 > t/0 -:a acks=0; p1 rst; p1' > t/0 -:a acks=0; r1 fetch t/0 hw=12 10=-:a 11=-:a`,
			counts:  `application_repeats 1`,
		},
		{
			name: "S3 the client may cut batches anew under a new identity",
			history: `p1 > t/0 7/0/5:ab; p1 > t/0 7/0/7:cd; p1 < 7=10; p1 < 7=12
				p1 > t/0 7/1/0:abc; p1 > t/0 7/1/3:d; p1 < =14; p1 < =17`,
			want:   `probable epoch-bump t/0 10>14 11>15 12>16 13>17 7/0>7/1 by nothing`,
			counts: `appended 2, epoch_bumps 1`,
		},
		{
			name:    "S3 records may be missing from the resent run (expired) and new ones may follow",
			history: `p1 > t/0 7/0/5:abc; p1 < 7=10; p1 > t/0 7/1/0:acde; p1 < =13`,
			want:    `probable epoch-bump t/0 10>13 12>14 7/0>7/1 by nothing`,
			counts:  `appended 1, epoch_bumps 1`,
		},
		{
			name:    "S3 twin: only new records follow",
			history: `p1 > t/0 7/0/5:abc; p1 < 7=10; p1 > t/0 7/1/0:def; p1 < =13`,
			counts:  `appended 1, epoch_bumps 1`,
		},
		{
			// Two of four equal records came again: the first two by sequence.
			name:    "S4 content need not be unique: pair in sequence order, each first copy with at most one later copy",
			history: `p1 > t/0 7/0/5:aaaa; p1 < 7=10; p1 > t/0 7/1/0:aa; p1 < =14`,
			want:    `probable epoch-bump t/0 10>14 11>15 7/0>7/1 by nothing`,
			counts:  `appended 1, epoch_bumps 1`,
		},
		{
			name:    "S4 each first copy with at most one later copy, more only where the content is distinctive",
			history: `p1 > t/0 7/0/5:a; p1 < 20=10; p1 > t/0 7/1/0:a; p1 < 20=11; p1 > t/0 7/2/0:a; p1 < =12`,
			want:    `confirmed epoch-bump t/0 10>11>12 7/0>7/2 by nothing`,
			counts:  `appended 1, epoch_bumps 2`,
		},
		{
			name:    "S4 twin: never pair two records of one batch",
			history: `p1 > t/0 7/0/0:aa; p1 < =10; p1 > t/0 -:bb; p1 < =12; r1 fetch t/0 hw=14 10=7/0/0:aa 12=-:bb`,
			counts:  `appended 2, application_repeats 2`,
		},
		{
			name:    "S4 twin: two batches in flight together under fresh sequences of one epoch",
			history: `p1 > t/0 7/0/0:aaa; p1 > t/0 7/0/3:aaa; p1 < =10; p1 < =13`,
			counts:  `appended 2`,
		},
		{
			name:    "S5 same producer id but another epoch: epoch-bump",
			history: `r1 fetch t/0 hw=14 10=7/0/5:ab 12=7/1/0:ab`,
			want:    `confirmed epoch-bump t/0 10>12 11>13 7/0>7/1 by nothing`,
		},
		{
			name:    "S5 same producer id, epoch and sequence: broker-dedup-failure",
			history: `r1 fetch t/0 hw=14 10=7/0/5:ab 12=7/0/5:ab`,
			want:    `confirmed broker-dedup-failure t/0 10>12 11>13`,
		},
		{
			name:    "S5 no producer id and the whole batch equal: blind-retry",
			history: `r1 fetch t/0 hw=14 10=-:ab 12=-:ab`,
			want:    `confirmed blind-retry t/0 10>12 11>13`,
		},
		{
			name:    "S5 twin: no producer id and only a part of the batch equal",
			history: `r1 fetch t/0 hw=14 10=-:ab 12=-:ac`,
		},
		{
			name:    "S5 another producer id: unknown",
			history: `r1 fetch t/0 hw=14 10=7/0/5:ab 12=8/0/0:ab`,
			want:    `confirmed unknown t/0 10>12 11>13`,
		},
		{
			name:    "S5 another producer id, and Produce traffic tells",
			history: `p1 > t/0 7/0/5:ab; p1 rst; p1' > t/0 8/0/0:ab; p1' < =12; r1 fetch t/0 hw=14 10=7/0/5:ab 12=8/0/0:ab`,
			want:    `confirmed new-producer-id t/0 10>12 11>13 7/0>8/0 by connection-lost on t/0`,
			counts:  `appended 1`,
		},
		{
			name:    "S5 twin: content that occurs more than twice in the partition is not distinctive",
			history: `r1 fetch t/0 hw=13 10=-:a 11=-:a 12=-:a`,
		},
		{
			name:    "S5 twin: fresh sequences in the same epoch",
			history: `r1 fetch t/0 hw=14 10=7/0/5:ab 12=7/0/7:ab`,
		},
		{
			name: "S6 retries of one record count once",
			history: `p1 > t/0 7/0/0:a; p1 rst; p2 > t/0 7/0/0:a; p2 < 6; p3 > t/0 7/0/0:a; p3 < 6
				@900 p1' > t/0 7/0/1:a!; p1' < =11; r1 fetch t/0 hw=12 10=7/0/0:a10 11=7/0/1:a900`,
			want:   `confirmed application-resend t/0 10>11`,
			counts: `appended 1, rejected 2`,
		},
		{
			name: "S6 twin: another logical record has the content",
			history: `p1 > t/0 7/0/0:a; p1 rst; p1' > t/0 7/0/1:a500; p1' < =11; @900 p1' > t/0 7/0/2:a!; p1' < =12
				r1 fetch t/0 hw=13 10=7/0/0:a10 11=7/0/1:a500 12=7/0/2:a900`,
			counts: `appended 2`,
		},
		{
			name:    "S7 a whole batch byte-equal though the first was acknowledged: a send repeated as a whole",
			history: `p1 > t/0 -:ab; p1 < =10; p1 > t/0 -:ab; p1 < =12`,
			want:    `confirmed blind-retry t/0 10>12 11>13`,
			counts:  `appended 2`,
		},
		{
			name:    "S7 twin: content that is not distinctive",
			history: `p1 > t/0 -:ab; p1 < =10; p1 > t/0 -:ab; p1 < =12; p1 > t/0 -:ab; p1 < =14`,
			counts:  `appended 3`,
		},
		{
			name:    "S7 twin: another timestamp, the first acknowledged",
			history: `p1 > t/0 -:ab; p1 < =10; @500 p1 > t/0 -:a!b!; p1 < =12`,
			counts:  `appended 2`,
		},
		{
			name:    "S7 twin: not with acks=0",
			history: `p1 > t/0 -:ab acks=0; p1 > t/0 -:ab acks=0`,
			counts:  `application_repeats 2`,
		},
		{
			name:    "S7 twin: with a producer id equal records under fresh sequences are the application's",
			history: `p1 > t/0 7/0/0:ab; p1 < =10; p1 > t/0 7/0/2:ab; p1 < =12`,
			counts:  `appended 2, application_repeats 2`,
		},
		{
			name:    "S7 equal key, value and headers with a new timestamp after a failed first attempt: application-resend",
			history: `p1 > t/0 -:a; p1 < 7=10; @500 p1 > t/0 -:a!; p1 < =11`,
			want:    `probable application-resend t/0 10>11`,
			counts:  `appended 1`,
		},
		{
			name:    "S8 equal producer id, epoch, sequence, CRC and base offset tie id and name together",
			history: `p1 > t/0 7/0/5:a; p1 < 7=10; p1 > t/0 7/1/0:a; p1 < =11; r1 fetch #5/0 hw=12 10=7/0/5:a 11=7/1/0:a`,
			want:    `confirmed epoch-bump t/0 10>11 7/0>7/1 by nothing`,
			counts:  `appended 1, epoch_bumps 1`,
		},
		{
			name:    "S8 twin: another base offset ties nothing",
			history: `p1 > t/0 7/0/5:a; p1 < =10; r1 fetch #5/0 hw=32 30=7/0/5:a`,
			counts:  `appended 1`,
		},
		{
			name:    "S8 a client that fetches one unresolved id and commits offsets under one unresolved name",
			history: `p1 > t/0 -:a; p1 rst; p1' > t/0 -:a; p1' < =11; r1 fetch #5/0 hw=12 10=-:a 11=-:a; r1 commits t/0 12`,
			want:    `confirmed blind-retry t/0 10>11`,
			counts:  `appended 1`,
		},
		{
			name:    "S8 twin: a member of a share group that commits offsets does so of another topic",
			history: `p1 > t/0 -:a; p1 rst; p1' > t/0 -:a; p1' < =11; r1 fetch #5/0 shared 10=-:b 11=-:b; r1 commits t/0 12`,
			want: `possible blind-retry t/0 ?>11
				confirmed blind-retry #5/0 10>11`,
			counts: `appended 1`,
		},
		{
			name:    "S8 twin: a client that commits under two names ties nothing",
			history: `p1 > t/0 -:a; p1 < =10; p1 > u/0 -:a; p1 < =10; r1 fetch #5/0 hw=12 10=-:b 11=-:c; r1 commits t/0 12; r1 commits u/0 12`,
			counts:  `appended 2`,
		},
		{
			name:    "S9 another partition is another finding",
			history: `p1 > t/0 7/0/5:a t/1 7/0/8:b; p1 < 7=10 7=20; p1 > t/0 7/1/0:a t/1 7/1/0:b; p1 < =11 =21`,
			want: `probable epoch-bump t/0 10>11 7/0>7/1 by nothing
				probable epoch-bump t/1 20>21 7/0>7/1 by nothing`,
			counts: `appended 2, epoch_bumps 1`,
		},
		{
			name:    "S9 records of one fault with unlike verdicts are separate findings",
			history: `p1 > t/0 7/0/5:a; p1 > t/0 7/0/6:b; p1 < 20=10; p1 < 7=11; p1 > t/0 7/1/0:ab; p1 < =12`,
			want: `confirmed epoch-bump t/0 10>12 7/0>7/1 by nothing
				probable epoch-bump t/0 11>13 7/0>7/1 by nothing`,
			counts: `appended 1, epoch_bumps 1`,
		},
		{
			name:    "S9 all records that one bump wrote again there are one finding",
			history: `p1 > t/0 7/0/5:a; p1 > t/0 7/0/6:b; p1 < 7=10; p1 < 7=11; p1 > t/0 7/1/0:a; p1 > t/0 7/1/1:b; p1 < =12; p1 < =13`,
			want:    `probable epoch-bump t/0 10>12 11>13 7/0>7/1 by nothing`,
			counts:  `appended 2, epoch_bumps 1`,
		},
		{
			name:    "S9 two retried batches are two faults",
			history: `p1 > t/0 -:a; p1 < 20=10; p1 > t/0 -:a; p1 < =11; p1 > t/0 -:b; p1 < 20=12; p1 > t/0 -:b; p1 < =13`,
			want: `confirmed blind-retry t/0 10>11
				confirmed blind-retry t/0 12>13`,
			counts: `appended 2`,
		},
	})
}
