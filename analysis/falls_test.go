package analysis

import "testing"

// A fall of the high watermark that lasts shows a log cut back or begun anew. What stood in it together is still told.
func TestFallsOfHighWatermark(t *testing.T) {
	const twice = `confirmed unknown t/0 0>1003`
	runCases(t, []historyCase{
		{
			name:    "twin: another log of the same name",
			history: `r1 fetch t/0 hw=1004 1003=7/0/0:a; @60000 r1 fetch t/0 hw=1 0=8/0/0:a`,
		},
		{
			name: "twin: it grows, a follower reads it too, and minutes later it is larger than the first",
			history: `r1 fetch t/0 hw=1004 1003=7/0/0:a; @60000 r1 fetch t/0 hw=1 0=8/0/0:a; @300000 f1 fetch t/0 hw=300 follower=2;
				@400000 r1 fetch t/0 hw=450; @500000 r1 fetch t/0 hw=2000`,
		},
		{
			name:    "twin: written and read",
			history: `p1 > t/0 7/0/0:a; p1 < =1003; r1 fetch t/0 hw=1004 1003=7/0/0:a; @60000 r1 fetch t/0 hw=1 0=8/0/0:a`,
			counts:  `appended 1`,
		},
		{
			name:    "both were in the first log",
			history: `r1 fetch t/0 hw=104 100=7/0/0:a 102=7/1/0:a; @60000 r1 fetch t/0 hw=1 0=8/0/0:b`,
			want:    `confirmed epoch-bump t/0 100>102 7/0>7/1 by nothing`,
		},
		{
			name:    "both were in the first log, which was cut back between them",
			history: `r1 fetch t/0 hw=1004 10=7/0/0:a 1003=8/0/0:a; @60000 r1 fetch t/0 hw=50`,
			want:    `confirmed unknown t/0 10>1003`,
		},
		{
			name:    "both were in the first log; an append shows the second",
			history: `r1 fetch t/0 hw=104 100=7/0/0:a 102=7/1/0:a; @60000 p1 > t/0 -:x; p1 < =0`,
			want:    `confirmed epoch-bump t/0 100>102 7/0>7/1 by nothing`,
			counts:  `appended 1`,
		},
		{
			name:    "both are in the second log",
			history: `r1 fetch t/0 hw=1004 1003=9/0/0:b; @60000 r1 fetch t/0 hw=3 0=7/0/0:a 2=7/1/0:a`,
			want:    `confirmed epoch-bump t/0 0>2 7/0>7/1 by nothing`,
		},
		{
			name:    "a short fall: answers that came late",
			history: `r1 fetch t/0 hw=1004 1003=7/0/0:a; @9000 r1 fetch t/0 hw=1 0=8/0/0:a`,
			want:    twice,
		},
		{
			name:    "made up for: a leader that knew less at first",
			history: `r1 fetch t/0 hw=1004 1003=7/0/0:a; @60000 r1 fetch t/0 hw=1 0=8/0/0:a; @61000 r1 fetch t/0 hw=1004`,
			want:    twice,
		},
		{
			name:    "a small fall",
			history: `r1 fetch t/0 hw=1004 1003=7/0/0:a; @60000 r1 fetch t/0 hw=900 0=8/0/0:a`,
			want:    twice,
		},
		{
			name:    "another server's mark: a follower that begins anew",
			history: `r1 fetch t/0 hw=1004 1003=7/0/0:a; @60000 r2 fetch t/0 hw=1 0=8/0/0:a`,
			want:    twice,
		},
		{
			name:    "a follower begins anew, and the leader still has all",
			history: `r1 fetch t/0 hw=1004 1003=7/0/0:a; @60000 r1 fetch t/0 hw=1 0=8/0/0:a; s2 fetch t/0 hw=1004`,
			want:    twice,
		},
		{
			name:    "seen again afterwards",
			history: `r1 fetch t/0 hw=1004 1003=7/0/0:a; @60000 r1 fetch t/0 hw=1 0=8/0/0:a; @61000 s2 fetch t/0 1003=7/0/0:a`,
			want:    twice,
		},
	})
}
