package analysis

import "testing"

// Where a log is seen to hold other content than before, it was cut back there: what stood behind is gone, answered or fetched.
func TestOtherContentShowsACut(t *testing.T) {
	const bumped = `appended 2, epoch_bumps 1`
	runCases(t, []historyCase{
		{
			name: "twin: 7 with an offset behind an acknowledged batch whose place another one has",
			history: `p1 > t/0 7/0/0:b; p1 < =104; p1 > t/0 7/0/1:f; p1 < 7=105; r2 fetch t/0 hw=105 104=9/0/0:x^18;
				p2 > t/0 7/1/0:f; p2 < =106; r2 fetch t/0 hw=107 106=7/1/0:f^18`,
			counts: bumped,
		},
		{
			name: "the same batch is still there",
			history: `p1 > t/0 7/0/0:b; p1 < =104; p1 > t/0 7/0/1:f; p1 < 7=105; r2 fetch t/0 hw=105 104=7/0/0:b^18;
				p2 > t/0 7/1/0:f; p2 < =106`,
			want: `probable epoch-bump t/0 105>106 7/0>7/1 by nothing`, counts: bumped,
		},
		{
			name: "twin: an OK that the client has not seen, and an unclean election",
			history: `p1 > t/0 7/0/0:b; p1 < =104; p1 > t/0 7/0/1:f; p1 < =105 unacked; p1 rst; r2 fetch t/0 hw=105 104=9/0/0:x^18;
				p2 > t/0 7/1/0:f; p2 < =106`,
			counts: `appended 3, epoch_bumps 1`,
		},
		{
			name: "twin: fetched behind an acknowledged batch, under one leader epoch",
			history: `p1 > t/0 7/0/0:b; p1 < =104; r1 fetch t/0 hw=106 105=7/0/1:f^0; r1 fetch t/0 hw=105 104=9/0/0:x^0;
				p1 > t/0 7/1/0:f; p1 < =106`,
			counts: bumped,
		},
		{
			name: "twin: acknowledged behind what was fetched",
			history: `r1 fetch t/0 hw=105 104=8/0/0:b^17; p1 > t/0 7/0/1:f; p1 < 7=105; r2 fetch t/0 hw=105 104=9/0/0:x^18;
				p2 > t/0 7/1/0:f; p2 < =106`,
			counts: `appended 1, epoch_bumps 1`,
		},
		{
			// Both wait at a leader that is cut off; another one takes offset 104 meanwhile.
			name: "twin: 7 with an offset, behind another whose place an earlier OK has",
			history: `p1 > t/0 7/0/0:e; q1 > t/0 8/0/0:f; o2 > t/0 9/0/0:x; o2 < =104; @30000 p1 < 7=104; q1 < 7=105;
				q2 > t/0 8/1/0:f; q2 < =106`,
			counts: bumped,
		},
		{
			name: "the first copy was appended after the cut: its answer comes after that to the other content",
			history: `o1 > t/0 6/0/0:o; o1 < =104; q2 > t/0 9/0/0:x; q2 < =104; p2 > t/0 7/0/1:f; p2 < 7=105;
				p2 > t/0 7/1/0:f; p2 < =106; r2 fetch t/0 hw=107 104=9/0/0:x^18`,
			want: `probable epoch-bump t/0 105>106 7/0>7/1 by nothing`, counts: `appended 3, epoch_bumps 1`,
		},
		{
			name:    "the first copy stands where other content was fetched before it was sent",
			history: `r1 fetch t/0 hw=106 105=6/0/0:o^17; p2 > t/0 7/0/1:f; p2 < =105 unacked; p2 rst; p2' > t/0 7/1/0:f; p2' < =106`,
			want:    `confirmed epoch-bump t/0 105>106 7/0>7/1 by nothing`, counts: bumped,
		},
		{
			name: "twin: it is fetched after it was sent: the leader that answered was cut off",
			history: `p1 > t/0 7/0/1:f; r2 fetch t/0 hw=106 105=6/0/0:o^18; p1 < 7=105; p2 > t/0 7/1/0:f; p2 < =106;
				r2 fetch t/0 hw=106 105=6/0/0:o^18`,
			counts: `appended 1, epoch_bumps 1`,
		},
		{
			name: "the copies of the next leader are read before the other content below them",
			history: `r1 fetch t/0 hw=103 102=6/0/0:o^17; r2 fetch t/0 hw=104 103=7/0/0:f^18; s2 fetch t/0 hw=104 102=9/0/0:x^18;
				r2 fetch t/0 hw=105 104=7/1/0:f^18`,
			want: `confirmed epoch-bump t/0 103>104 7/0>7/1 by nothing`,
		},
		{
			name:    "both were read from the log, one after the other, before it was cut back",
			history: `r1 fetch t/0 hw=11 10=7/0/0:f^3; r1 fetch t/0 hw=12 11=7/1/0:f^3; r2 fetch t/0 hw=11 10=9/0/0:x^4`,
			want:    `confirmed epoch-bump t/0 10>11 7/0>7/1 by nothing`,
		},
		{
			name:    "twin: a follower had the first; it may have gone before the second came",
			history: `f1 fetch t/0 hw=10 follower=2 10=7/0/0:f^3; r2 fetch t/0 hw=12 11=7/1/0:f^4; r2 fetch t/0 hw=12 10=9/0/0:x^4`,
		},
		{
			name:    "a follower had both, and the high watermark reached them before they went",
			history: `f1 fetch t/0 hw=10 follower=2 10=7/0/0:f^3 11=7/1/0:f^3; f1 fetch t/0 hw=12 follower=2; f2 fetch t/0 hw=12 follower=1 10=9/0/0:xy^4`,
			want:    `confirmed epoch-bump t/0 10>11 7/0>7/1 by nothing`,
		},
		{
			name:    "twin: the high watermark that reaches there is of the next leader, which has others there",
			history: `f1 fetch t/0 hw=10 follower=2 10=7/0/0:f^3 11=7/1/0:f^3; f2 fetch t/0 hw=12 follower=1 10=9/0/0:xy^4`,
		},
		{
			name:    "what was lost does not count when the rest is told apart",
			history: `r1 fetch t/0 hw=106 105=7/0/0:f^17; r2 fetch t/0 hw=108 105=9/0/0:x^18 106=7/1/0:f^18 107=7/2/0:f^18`,
			want:    `confirmed epoch-bump t/0 106>107 7/1>7/2 by nothing`,
		},
		{
			name: "twin: a leader that is none any more goes on showing the first copy",
			history: `s1 fetch t/0 hw=106 105=7/0/0:f^17; r2 fetch t/0 hw=106 105=9/0/0:x^18; p2 > t/0 7/1/0:f; p2 < =106;
				r2 fetch t/0 hw=107 106=7/1/0:f^18; s1 fetch t/0 hw=106 105=7/0/0:f^17`,
			counts: `appended 1`,
		},
		{
			name: "twin: it shows what it acknowledged when all else has been read at the next leader",
			history: `p1 > t/0 7/0/0:a acks=1; p1 < =10 unacked; p1 rst; p2 > t/0 7/1/0:a acks=1; p2 < =11
				r2 fetch t/0 hw=12 10=8/0/5:z^4 11=7/1/0:a^4; s1 fetch t/0 hw=11 10=7/0/0:a^3`,
			counts: `appended 2, epoch_bumps 1, leader_changes 1`,
		},
		{
			name:    "twin: it shows it for the first time",
			history: `r2 fetch t/0 hw=106 105=9/0/0:x^18; s1 fetch t/0 hw=106 105=7/0/0:f^17; p2 > t/0 7/1/0:f; p2 < =106`,
			counts:  `appended 1`,
		},
	})
}

// A topic that was deleted and created again counts its leader epochs from 0: times tell what came later.
func TestLeaderEpochsBeginAnew(t *testing.T) {
	runCases(t, []historyCase{
		{
			name:    "twin: at once",
			history: `r1 fetch t/0 hw=3 1=7/0/1:b^5 2=7/0/2:f^5; @5000 r1 fetch t/0 hw=3 0=8/0/0:f^0 1=8/0/1:x^0 2=8/0/2:y^0`,
		},
		{
			name:    "twin: after a minute",
			history: `r1 fetch t/0 hw=3 1=7/0/1:b^5 2=7/0/2:f^5; @60000 r1 fetch t/0 hw=3 0=8/0/0:f^0 1=8/0/1:x^0 2=8/0/2:y^0`,
		},
		{
			name:    "twin: the second log is longer already, and nobody reads it from its start",
			history: `r1 fetch t/0 hw=3 2=7/0/0:f^5; @60000 r1 fetch t/0 hw=6 4=7/1/0:x^0 5=7/1/1:f^0`,
		},
		{
			name:    "both are in the second log",
			history: `r1 fetch t/0 hw=3 1=7/0/1:b^5 2=7/0/2:f^5; @60000 r1 fetch t/0 hw=3 0=8/0/0:y^0 1=8/0/1:x^0 2=8/1/0:x^0`,
			want:    `confirmed epoch-bump t/0 1>2 8/0>8/1 by nothing`,
		},
		{
			name:    "both were in the first log",
			history: `r1 fetch t/0 hw=3 1=7/0/1:b^5 2=7/1/0:b^5; @60000 r1 fetch t/0 hw=3 0=8/0/0:y^0 1=8/0/1:x^0 2=8/0/2:z^0`,
			want:    `confirmed epoch-bump t/0 1>2 7/0>7/1 by nothing`,
		},
	})
}

// What brokers make of a batch, or another log's content, cuts nothing back.
func TestOtherLooksAreNoCut(t *testing.T) {
	const twice = `confirmed epoch-bump t/0 10>12 11>13 7/0>7/1 by nothing`
	runCases(t, []historyCase{
		{
			name:    "a reader of an old version, and after it another of a new one, message by message",
			history: `r1 fetch t/0 hw=14 12=7/1/0:fg^3; o1 fetch t/0 hw=14 10=-:f%m1 11=-:g%m1; s1 fetch t/0 hw=14 10=7/0/0:fg^3`,
			want:    twice,
		},
		{
			name: "a reader of an old version goes on from the middle of a batch",
			history: `p1 > t/0 7/0/0:fg; p1 < =10 unacked; p1 rst; p1' > t/0 7/1/0:fg; p1' < =12
				r1 fetch t/0 hw=14 11=-:g%m1 12=-:f%m1 13=-:g%m1`,
			want: twice, counts: `appended 2, epoch_bumps 1`,
		},
		{
			name: "twin: it finds another record there",
			history: `p1 > t/0 7/0/0:fg; p1 < 7=10; p2 > t/0 7/1/0:fg; p2 < =12
				r1 fetch t/0 hw=14 11=-:x%m1 12=-:f%m1 13=-:g%m1`,
			counts: `appended 1, epoch_bumps 1`,
		},
		{
			name:    "two clusters behind one address, one after the other",
			history: `r1 fetch t/0 hw=14 10=7/0/0:fg^3 12=7/1/0:fg^3; s1 fetch t/0 hw=12 9=9/0/0:x^8 10=9/0/1:y^8`,
			want:    twice,
		},
		{
			name: "by turns",
			history: `r1 fetch t/0 hw=14 10=7/0/0:fg^3; s1 fetch t/0 hw=12 9=9/0/0:x^3 10=9/0/1:y^3;
				r1 fetch t/0 hw=14 10=7/0/0:fg^3 12=7/1/0:fg^3`,
			want: twice,
		},
		{
			name: "compaction has left the first copy's batch empty",
			history: `p1 > t/0 7/0/0:fg; p1 < =10 unacked; p1 rst; p1' > t/0 7/1/0:fg; p1' < =12;
				@60000 r1 fetch t/0 hw=14 10=7/0/0:..^3 12=7/1/0:fg^3`,
			want: twice, counts: `appended 2, epoch_bumps 1`,
		},
		{
			name:    "twin: the empty batch there is another producer's",
			history: `p1 > t/0 7/0/0:fg; p1 < 7=10; p2 > t/0 7/1/0:fg; p2 < =12; @60000 r2 fetch t/0 hw=14 10=9/0/0:..^4 12=7/1/0:fg^4`,
			counts:  `appended 1, epoch_bumps 1`,
		},
		{
			name: "a transaction marker behind what was acknowledged",
			history: `o1 > t/0 6/0/0:o%txn txn=x; o1 < =8; p1 > t/0 7/0/0:fg; p1 < 7=10; r1 fetch t/0 hw=10 8=6/0/0:o%txn^3 9=6/0:commit^3;
				p1 > t/0 7/1/0:fg; p1 < =12`,
			want: `probable epoch-bump t/0 10>12 11>13 7/0>7/1 by nothing`, counts: `appended 2, epoch_bumps 1`,
		},
	})
}

// In a log that was cut back, room for a batch that nobody answered is counted from the cut on.
func TestRoomBehindACut(t *testing.T) {
	const old = `r1 fetch t/0 hw=54 50=6/0/0:o^3 51=6/0/1:n^3 52=6/0/2:m^3 53=6/0/3:l^3; `
	const counts = `appended 2, epoch_bumps 1`
	runCases(t, []historyCase{
		{
			name:    "twin: no room",
			history: old + `p2 > t/0 7/0/0:x; p2 < =50; p2 > t/0 7/0/1:f; p2 rst; p2' > t/0 7/1/0:f; p2' < =51`,
			counts:  counts,
		},
		{
			name:    "room for one",
			history: old + `p2 > t/0 7/0/0:x; p2 < =50; p2 > t/0 7/0/1:f; p2 rst; p2' > t/0 7/1/0:f; p2' < =52`,
			want:    `probable epoch-bump t/0 51>52 7/0>7/1 by connection-lost on t/0`, counts: counts,
		},
		{
			name: "it was sent before that: where a leader had it may be gone",
			history: `p1 > t/0 7/0/0:o; p1 < =50; p1 > t/0 7/0/1:f; p1 rst; r2 fetch t/0 hw=51 50=9/0/0:x^4;
				p2 > t/0 7/1/0:f; p2 < =52`,
			want: `possible epoch-bump t/0 ?>52 7/0>7/1 by connection-lost on t/0`, counts: counts,
		},
		{
			name: "twin: requests in flight on one connection, of which the next leader has nothing",
			history: `p1 > t/0 -:a acks=1; p1 > t/0 -:b acks=1; p1 > t/0 -:c acks=1; p1 < =10 unacked; p1 < =11 unacked; p1 rst
				p2 > t/0 -:a acks=1; p2 < =10; p2 > t/0 -:b acks=1; p2 < =11; p2 > t/0 -:c acks=1; p2 < =12`,
			counts: `appended 5`,
		},
		{
			name: "of which it has the first",
			history: `p1 > t/0 -:a acks=1; p1 > t/0 -:b acks=1; p1 > t/0 -:c acks=1; p1 < =10 unacked; p1 < =11 unacked; p1 rst
				p2 > t/0 -:a acks=1; p2 < =11; p2 > t/0 -:b acks=1; p2 < =12; p2 > t/0 -:c acks=1; p2 < =13`,
			want:   `probable blind-retry t/0 10>11`,
			counts: `appended 5`,
		},
		{
			name:    "twin: without a producer id",
			history: old + `p2 > t/0 -:x; p2 < =50; p2 > t/0 -:f; p2 rst; p2' > t/0 -:f; p2' < =51; p2' > t/0 -:y; p2' < =52`,
			counts:  `appended 3`,
		},
	})
}
