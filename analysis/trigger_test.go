package analysis

import "testing"

// What forced a bump. The base story: t/0 has a batch answered 7 with its offset that comes again under epoch 1.
func TestTriggers(t *testing.T) {
	bump := func(before, after string) string {
		return `p1 > t/0 7/0/5:a; p1 < 7=10; ` + before + `; @400000 p1 > t/0 7/1/0:a; p1 < =11; ` + after
	}
	found := func(trigger string) string { return `probable epoch-bump t/0 10>11 7/0>7/1 by ` + trigger }
	runCases(t, []historyCase{
		{
			name:    "45 on another partition, connection and broker",
			history: bump(`p2 > u/5 7/0/9:x; p2 < 45`, ``),
			want:    found(`error 45 on u/5`), counts: `appended 1, rejected 1, epoch_bumps 1`,
		},
		{
			name:    "59 UNKNOWN_PRODUCER_ID",
			history: bump(`p2 > u/5 7/0/9:x; p2 < 59`, ``),
			want:    found(`error 59 on u/5`), counts: `appended 1, rejected 1, epoch_bumps 1`,
		},
		{
			name:    "-1 UNKNOWN_SERVER_ERROR",
			history: bump(`p2 > u/5 7/0/9:x; p2 < -1`, ``),
			want:    found(`error -1 on u/5`), counts: `appended 1, rejected 1, epoch_bumps 1`,
		},
		{
			name:    "a non-retriable code",
			history: bump(`p2 > u/5 7/0/9:x; p2 < 87`, ``),
			want:    found(`error 87 on u/5`), counts: `appended 1, rejected 1, epoch_bumps 1`,
		},
		{
			name:    "the servers of one topic id name different clusters, as a damaged answer may: the new epoch's send is still there",
			history: `p1 cluster A; p9 cluster B; p1 > #1/0 7/0/5:a; p1 < 7=10; @400000 p9 > #1/0 7/1/0:a; p9 < =11`,
			want:    `probable epoch-bump #1/0 10>11 7/0>7/1 by nothing`, counts: `appended 1`,
		},
		{
			name:    "twin: a retriable code forces nothing",
			history: bump(`p2 > u/5 7/0/9:x; p2 < 3; p2 > u/5 7/0/9:x; p2 < =1`, ``),
			want:    found(`nothing`), counts: `appended 2, rejected 1, epoch_bumps 1`,
		},
		{
			name:    "among several the earliest",
			history: bump(`p2 > u/5 7/0/9:x; p2 < 45; p2 > v/6 7/0/4:y; p2 < 59`, ``),
			want:    found(`error 45 on u/5`), counts: `appended 1, rejected 2, epoch_bumps 1`,
		},
		{
			name:    "after which no newly sent batch of the old epoch was answered OK",
			history: bump(`p2 > u/5 7/0/9:x; p2 < 45; p2 > u/6 7/0/0:z; p2 < =1; p2 > v/6 7/0/4:y; p2 < 59`, ``),
			want:    found(`error 59 on v/6`), counts: `appended 2, rejected 2, epoch_bumps 1`,
		},
		{
			name:    "an OK to a batch sent before the error does not count",
			history: bump(`p3 > u/6 7/0/0:z; p2 > u/5 7/0/9:x; p2 < 45; p3 < =1`, ``),
			want:    found(`error 45 on u/5`), counts: `appended 2, rejected 1, epoch_bumps 1`,
		},
		{
			name:    "before the first send of the new epoch",
			history: bump(`p2 > u/5 7/0/9:x; p2 < =3`, `p2 > u/5 7/0/10:y; p2 < 45`),
			want:    found(`nothing`), counts: `appended 2, rejected 1, epoch_bumps 1`,
		},
		{
			name:    "before the InitProducerId",
			history: bump(`p1 init 7/1 from=7/0; p2 > u/5 7/0/9:x; p2 < 45`, ``),
			want:    found(`nothing`), counts: `appended 1, rejected 1, epoch_bumps 1`,
		},
		{
			name:    "of the producer id only",
			history: bump(`q2 > u/5 8/0/9:x; q2 < 45`, ``),
			want:    found(`nothing`), counts: `appended 1, rejected 1, epoch_bumps 1`,
		},
		{
			name:    "of the old epoch only",
			history: `p2 > u/5 7/0/9:x; p2 < 45; p1 > t/0 7/1/5:a; p1 < 7=10; p1 > t/0 7/2/0:a; p1 < =11`,
			want:    `probable epoch-bump t/0 10>11 7/1>7/2 by nothing`, counts: `appended 1, rejected 1, epoch_bumps 2`,
		},
		{
			name:    "else the batch left unanswered whose records never come again (expired)",
			history: bump(`p2 > u/5 7/0/9:x`, ``),
			want:    found(`no-answer on u/5`), counts: `appended 1, unacknowledged 1, epoch_bumps 1`,
		},
		{
			name:    "twin: unanswered, and its records come again",
			history: bump(`p2 > u/5 7/0/9:x`, `p2' > u/5 7/1/0:x; p2' < =7`),
			want:    found(`nothing`) + "\n" + `possible epoch-bump u/5 ?>7 7/0>7/1 by nothing`, counts: `appended 2, epoch_bumps 1`,
		},
		{
			name:    "an expired batch before the lost connection",
			history: bump(`p2 > u/5 7/0/9:x; p2 rst`, ``),
			want:    found(`no-answer on u/5`), counts: `appended 1, unacknowledged 1, epoch_bumps 1`,
		},
		{
			name:    "if none, the lost connection",
			history: bump(`p2 > u/5 7/0/9:x; p2 rst; p3 > u/5 7/0/9:x; p3 < =4~`, ``),
			want:    found(`connection-lost on u/5`), counts: `appended 1, deduplicated 1, epoch_bumps 1`,
		},
		{
			name:    "an error before the expired batch",
			history: bump(`p2 > u/5 7/0/9:x; p3 > v/1 7/0/2:y; p3 < 45`, ``),
			want:    found(`error 45 on v/1`), counts: `appended 1, rejected 1, unacknowledged 1, epoch_bumps 1`,
		},
		{
			name:    "a batch of another partition was never answered",
			history: `p1 > t/0 7/0/0:x; p1 < =9; p1 > t/0 7/0/1:a; @100 p2 > t/1 7/0/0:b; p2 < 7=20; p2 > t/1 7/1/0:b; p2 < =21`,
			want:    `probable epoch-bump t/1 20>21 7/0>7/1 by no-answer on t/0`,
			counts:  `appended 2, unacknowledged 1, epoch_bumps 1`,
		},
		{
			name:    "twin: a gap may have swallowed the answer",
			history: `p1 > t/0 7/0/0:x; p1 < =9; p1 > t/0 7/0/1:a; @100 p1 gap server; p2 > t/1 7/0/0:b; p2 < 7=20; p2 > t/1 7/1/0:b; p2 < =21`,
			want:    `probable epoch-bump t/1 20>21 7/0>7/1 by nothing`,
			counts:  `appended 2, unacknowledged 1, epoch_bumps 1`,
		},
		{
			name:    "a batch that was too large",
			history: `p2 > t/1 7/0/0:b; p2 < 7=20; p1 > t/0 7/0/1:acd; p1 < 10; p2 > t/1 7/1/0:b; p2 < =21`,
			want:    `probable epoch-bump t/1 20>21 7/0>7/1 by error 10 on t/0`,
			counts:  `appended 1, rejected 1, epoch_bumps 1`,
		},
		{
			name:    "twin: it came again in parts, of which the last one was captured",
			history: `p2 > t/1 7/0/0:b; p2 < 7=20; p1 > t/0 7/0/1:acd; p1 < 10; p1 > t/0 7/0/3:d; p1 < =11; p2 > t/1 7/1/0:b; p2 < =21`,
			want:    `probable epoch-bump t/1 20>21 7/0>7/1 by nothing`,
			counts:  `appended 2, rejected 1, epoch_bumps 1`,
		},
	})
}
