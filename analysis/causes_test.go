package analysis

import "testing"

// Section 4 of the rules of verdicts: a row of the table of causes each, and its near misses.
func TestCauses(t *testing.T) {
	runCases(t, []historyCase{
		{
			name:    "epoch-bump: not answered at all, then under e' > e from sequence 0",
			history: `p1 > t/0 7/0/5:z; p1 < =9; p1 > t/0 7/0/6:a; p1 rst; p1' > t/0 7/2/0:a; p1' < =11`,
			want:    `probable epoch-bump t/0 10>11 7/0>7/2 by connection-lost on t/0`,
			counts:  `appended 2, epoch_bumps 1`,
		},
		{
			// A restart of the process with its unsent records kept: the same address and client id, another producer id.
			name:    "new-producer-id: another producer id of the same client",
			history: `p1 > t/0 7/0/5:a; p1 < 7=10; p1 rst; p1' init 8/0; p1' > t/0 8/0/0:a; p1' < =11`,
			want:    `probable new-producer-id t/0 10>11 7/0>8/0 by init-producer-id`,
			counts:  `appended 1`,
		},
		{
			name:    "twin of new-producer-id: another client",
			history: `p1 > t/0 7/0/5:a; p1 < 7=10; q1 > t/0 8/0/0:a; q1 < =11`,
			counts:  `appended 1, application_repeats 1`,
		},
		{
			name:    "blind-retry: magic 1, no answer",
			history: `p1 > t/0 -:ab%m1; p1 rst; p1' > t/0 -:ab%m1; p1' < =12; r1 fetch t/0 hw=14 10=-:a%m1 11=-:b%m1 12=-:a%m1 13=-:b%m1`,
			want:    `confirmed blind-retry t/0 10>12 11>13`,
			counts:  `appended 1`,
		},
		{
			name:    "blind-retry: error 6 with an offset",
			history: `p1 > t/0 -:ab; p1 < 6=10; p2 > t/0 -:ab; p2 < =12`,
			want:    `probable blind-retry t/0 10>12 11>13`,
			counts:  `appended 1`,
		},
		{
			name:    "twin of blind-retry: error 6 without an offset was never appended",
			history: `p1 > t/0 -:ab; p1 < 6; p2 > t/0 -:ab; p2 < =12`,
			counts:  `appended 1, rejected 1`,
		},
		{
			name:    "twin of blind-retry: another client's equal records",
			history: `p1 > t/0 -:ab; p1 < 7=10; q1 > t/0 -:ab; q1 < =12`,
			counts:  `appended 1, application_repeats 2`,
		},
		{
			name:    "broker-dedup-failure: both places confirmed by answers",
			history: `p1 > t/0 7/0/5:a; p1 < =10 unacked; p1 rst; p2 > t/0 7/0/5:a; p2 < =11`,
			want:    `confirmed broker-dedup-failure t/0 10>11`,
			counts:  `appended 2`,
		},
		{
			name:    "broker-dedup-failure: a retry after the broker forgot the producer id",
			history: `p1 > t/0 7/0/5:ab; p1 rst; @9000 p1' > t/0 7/0/5:ab; p1' < =12; r1 fetch t/0 hw=14 10=7/0/5:ab 12=7/0/5:ab`,
			want:    `confirmed broker-dedup-failure t/0 10>12 11>13`,
			counts:  `appended 1`,
		},
		{
			name:    "twin of broker-dedup-failure: 6 with an offset and then OK at a higher one is truncation and a new append",
			history: `p1 > t/0 7/0/5:a; p1 < 6=10; p2 > t/0 7/0/5:a; p2 < =11`,
			counts:  `appended 1`,
		},
		{
			name:    "twin of broker-dedup-failure: the first place holds other content",
			history: `p1 > t/0 7/0/5:a acks=1; p1 < =10 unacked; p1 rst; p2 > t/0 7/0/5:a acks=1; p2 < =11; r2 fetch t/0 hw=12 10=8/0/0:x 11=7/0/5:a`,
			counts:  `appended 2`,
		},
		{
			name: "misrouted-batch: by its neighbours the sequence belongs to the one and not to the other",
			history: `p1 > t/0 7/0/11:x; p1 < =9; p1 > t/0 7/0/12:ab; p1 < =10; p1 > u/3 7/0/99:y; p1 < =500
				p1 > u/3 7/0/12:ab; p1 < =501`,
			want:   `confirmed misrouted-batch u/3 10>501 11>502 from t/0`,
			counts: `appended 4`,
		},
		{
			name: "twin of misrouted-batch: equal batches again and again on the same pair are a broadcast in lockstep",
			history: `p1 > t/0 7/0/1:a; p1 < =10; p1 > u/0 7/0/1:a; p1 < =50; p1 > t/0 7/0/2:b; p1 < =11; p1 > u/0 7/0/2:b; p1 < =51
				p1 > t/0 7/0/3:c; p1 < =12; p1 > u/0 7/0/3:c; p1 < =52`,
			counts: `appended 6`,
		},
		{
			name: "twin of misrouted-batch: on many partitions, a broadcast",
			history: `p1 > t/0 7/0/0:a; p1 < =10; p1 > t/0 7/0/1:b; p1 < =11; p1 > t/1 7/0/50:z; p1 < =1; p1 > t/1 7/0/0:a; p1 < =10
				p1 > t/2 7/0/60:y; p1 < =2; p1 > t/2 7/0/0:a; p1 < =10`,
			counts: `appended 6`,
		},
		{
			name:    "twin of misrouted-batch: a missing neighbour proves nothing",
			history: `p1 > t/0 7/0/11:x; p1 < =9; p1 > t/0 7/0/12:ab; p1 < =10; p1 > u/3 7/0/12:ab; p1 < =501`,
			counts:  `appended 3`,
		},
		{
			name:    "application-resend: the first attempt failed visibly, again under fresh sequences of the same epoch",
			history: `p1 > t/0 7/0/5:a; p1 < 7=10; @400 p1 > t/0 7/0/6:a!; p1 < =11`,
			want:    `probable application-resend t/0 10>11`,
			counts:  `appended 1`,
		},
		{
			name:    "application-resend: unanswered for 100 ms when the later record came",
			history: `p1 > t/0 7/0/5:a; @200 p1 > t/0 7/0/6:a!; p1 < =10; p1 < =11`,
			want:    `confirmed application-resend t/0 10>11`,
			counts:  `appended 2`,
		},
		{
			name:    "twin of application-resend: unanswered for less than 100 ms",
			history: `p1 > t/0 7/0/5:a; @60 p1 > t/0 7/0/6:a!; p1 < =10; p1 < =11`,
			counts:  `appended 2`,
		},
		{
			// Created while the first was fresh, then held back by the client's queue.
			name:    "twin of application-resend: its create time is what counts, not its send",
			history: `p1 > t/0 7/0/5:a; @500 p1 > t/0 7/0/6:a60; p1 < =10; p1 < =11`,
			counts:  `appended 2`,
		},
		{
			// The client's clock is an hour ahead of the capture's.
			name:    "application-resend: the create time is corrected by the client's smallest send minus create time",
			history: `p1 > t/0 7/0/5:a3600010; @600 p1 > t/0 7/0/6:a3600600; p1 < =10; p1 < =11`,
			want:    `confirmed application-resend t/0 10>11`,
			counts:  `appended 2`,
		},
		{
			name:    "twin of application-resend: the same clock, created at once",
			history: `p1 > t/0 7/0/5:a3600010; @600 p1 > t/0 7/0/6:a3600050; p1 < =10; p1 < =11`,
			counts:  `appended 2`,
		},
		{
			name:    "application-resend: from another producer of the same client address",
			history: `p1 > t/0 7/0/5:a; p1 < 20=10; @400 p.q1 > t/0 9/0/0:a!; p.q1 < =11`,
			want:    `confirmed application-resend t/0 10>11`,
			counts:  `appended 1`,
		},
		{
			name:    "twin of application-resend: from another address",
			history: `p1 > t/0 7/0/5:a; p1 < 20=10; @400 q1 > t/0 9/0/0:a!; q1 < =11`,
			counts:  `appended 1`,
		},
		{
			name:    "application-resend: without a producer id",
			history: `p1 > t/0 7/0/5:a; p1 < 20=10; @400 p1 > t/0 -:a!; p1 < =11`,
			want:    `confirmed application-resend t/0 10>11`,
			counts:  `appended 1`,
		},
		{
			name:    "application-resend: a later epoch, new timestamp",
			history: `p1 > t/0 7/0/5:a; p1 < 20=10; @400 p1 > t/0 7/1/0:a!; p1 < =11`,
			want:    `confirmed application-resend t/0 10>11`,
			counts:  `appended 1, epoch_bumps 1`,
		},
		{
			name:    "twin of application-resend: distinctive content only",
			history: `p1 > t/0 7/0/4:a; p1 < =9; @200 p1 > t/0 7/0/5:a!; p1 < 7=10; @400 p1 > t/0 7/0/6:a!; p1 < =11`,
			counts:  `appended 2`,
		},
		{
			name:    "twin of application-resend: the first attempt was acknowledged",
			history: `p1 > t/0 7/0/5:a; p1 < =10; @400 p1 > t/0 7/0/6:a!; p1 < =11`,
			counts:  `appended 2`,
		},
		{
			name:    "twin of application-resend: the first attempt was refused and never stored",
			history: `p1 > t/0 7/0/0:a; p1 < 10; @400 p1 > t/0 7/0/0:a!; p1 < =11`,
			counts:  `appended 1, rejected 1`,
		},
		{
			name:    "unknown: two copies are shown, nothing tells why",
			history: `r1 fetch t/0 hw=12 10=7/0/3:a 11=9/4/8:a`,
			want:    `confirmed unknown t/0 10>11`,
		},
		{
			name:    "twin of unknown: with and without a producer id",
			history: `r1 fetch t/0 hw=12 10=7/0/3:a 11=-:a`,
		},
		{
			// Identity-based causes are judged first, or the constant payload would be taken for the application's.
			name:    "a constant payload: epoch-bump before application-resend",
			history: `p1 > t/0 7/0/5:a; p1 > t/0 7/0/6:a; p1 < 7=10; p1 < 7=11; @900 p1 > t/0 7/1/0:a; p1 > t/0 7/1/1:a; p1 < =12; p1 < =13`,
			want:    `probable epoch-bump t/0 10>12 11>13 7/0>7/1 by nothing`,
			counts:  `appended 2, epoch_bumps 1`,
		},
	})
}

// A bump says whether an InitProducerId exchange was seen, and where the new identity was first seen.
func TestBumpLocal(t *testing.T) {
	for _, tc := range []struct {
		history string
		local   bool
		at      int64
	}{
		{`p1 > t/0 7/0/5:a; p1 < 7=10; @500 p1 > t/0 7/1/0:a; p1 < =11`, true, 500},
		{`p1 > t/0 7/0/5:a; p1 < 7=10; @300 p1 init 7/1 from=7/0; @500 p1 > t/0 7/1/0:a; p1 < =11`, false, 300},
		{`p1 > t/0 7/0/5:a; p1 < 7=10; @300 p1 init 7/1 from=7/0 err=51; @500 p1 > t/0 7/1/0:a; p1 < =11`, true, 500},
		{`p1 > t/0 7/0/5:a; p1 < 7=10; @300 p1 > u/1 7/1/0:b; @500 p1 > t/0 7/1/0:a; p1 < =2; p1 < =11`, true, 300},
	} {
		r := judge(observe(t, tc.history))
		if len(r.Findings) != 1 || r.Findings[0].Bump == nil {
			t.Errorf("%s: have %s", tc.history, describe(r))
			continue
		}
		b := r.Findings[0].Bump
		if at := int64(b.FirstSeen.Time)/1e6 - epochMillis; b.Local != tc.local || at != tc.at {
			t.Errorf("%s: local %v first seen at %d, want %v at %d", tc.history, b.Local, at, tc.local, tc.at)
		}
	}
}
