package analysis

import (
	"testing"

	"github.com/kdupscan/kdupscan/kafka"
)

// Processes that are called alike, and proxies and addresses that many of them share.
func TestAlike(t *testing.T) {
	runCases(t, []historyCase{
		{
			name: "two replicas of one name write the same; one was slow once",
			history: `p1 > t/0 -:a; q.p1 > t/0 -:b; q.p1 < =9; @500 q.p1 > t/0 -:a; q.p1 < =11; p1 < =10; p1 > t/0 -:c; p1 < =12
				r1 fetch t/0 hw=13 9=-:b 10=-:a 11=-:a 12=-:c`,
			counts: `appended 4, application_repeats 1`,
		},
		{
			name: "the same with producer ids",
			history: `p1 > t/0 7/0/0:a; q.p1 > t/0 8/0/0:b; q.p1 < =9; @500 q.p1 > t/0 8/0/1:a; q.p1 < =11; p1 < =10; p1 > t/0 7/0/1:c; p1 < =12
				r1 fetch t/0 hw=13 9=8/0/0:b 10=7/0/0:a 11=8/0/1:a 12=7/0/1:c`,
			counts: `appended 4, application_repeats 1`,
		},
		{
			name: "twin: the first process is not seen again",
			history: `p1 > t/0 7/0/0:a; @500 p1 rst; q.p1 > t/0 8/0/0:a; q.p1 < =11; q.p1 > t/0 8/0/1:b; q.p1 < =12
				r1 fetch t/0 hw=13 10=7/0/0:a 11=8/0/0:a 12=8/0/1:b`,
			want:   `confirmed unknown t/0 10>11`,
			counts: `appended 2`,
		},
		{
			name:    "two processes behind one translated address: each has its connection",
			history: `p1 > t/0 -:a; @50 p1' > t/0 -:a; p1' < =11; p1 < 7=10; p1 > t/0 -:b; p1 < =12; @600 p1' > t/0 -:b; p1' < =13`,
			counts:  `appended 3, application_repeats 2`,
		},
		{
			name:    "twin: one process sends again over another connection",
			history: `p1 > t/0 -:a; @50 p1 < 7=10; p1' > t/0 -:a; p1' < =11; p1' > t/0 -:b; p1' < =12`,
			want:    `probable blind-retry t/0 10>11`,
			counts:  `appended 2`,
		},
		{
			name: "two clients of one name behind one proxy",
			history: `p1 > t/0 -:a; x.p2 > t/0 -:a proxy=p1; x.p2 < 7=10; p1 < 7=10; q.p1 > t/0 -:a; x.p2' > t/0 -:a proxy=q.p1; x.p2' < =11; q.p1 < =11
				p1 > t/0 -:b; x.p2 > t/0 -:b proxy=p1; x.p2 < =12; p1 < =12`,
			counts: `appended 2, application_repeats 1`,
		},
		{
			name: "twin: of each of the two only one side of the proxy was captured",
			history: `x.p2 > t/0 -:a; x.p2 < 7=10; q.p1 > t/0 -:a; q.p1 < =11
				p1 > t/0 -:b; x.p2 > t/0 -:b proxy=p1; x.p2 < =12; p1 < =12`,
			counts: `appended 2, application_repeats 1`,
		},
		{
			name:    "twin: one of them tries again",
			history: `p1 > t/0 -:a; x.p2 > t/0 -:a proxy=p1; x.p2 < 7=10; p1 < 7=10; p1 > t/0 -:a; x.p2 > t/0 -:a proxy=p1; x.p2 < =11; p1 < =11`,
			want:    `probable blind-retry t/0 10>11`,
			counts:  `appended 1`,
		},
		{
			name:    "one place, and two clients whose batches may stand there",
			history: `p1 > t/0 -:x; p1 < =9; p1 > t/0 -:a; q1 > t/0 -:b; @2000 p1 rst; q1 rst; p1' > t/0 -:a; p1' < =11; q1' > t/0 -:b; q1' < =12`,
			want: `possible blind-retry t/0 ?>11
				possible blind-retry t/0 ?>12`,
			counts: `appended 3`,
		},
		{
			name: "the same with producer ids",
			history: `p1 > t/0 5/0/0:x; p1 < =9; q1 > t/0 6/0/0:y; q1 < =10; p1 > t/0 5/0/1:a; q1 > t/0 6/0/1:b; @2000 p1 rst; q1 rst
				p1' > t/0 5/1/0:a; p1' < =12; q1' > t/0 6/1/0:b; q1' < =13`,
			want: `possible epoch-bump t/0 ?>12 5/0>5/1 by connection-lost on t/0
				possible epoch-bump t/0 ?>13 6/0>6/1 by connection-lost on t/0`,
			counts: `appended 4, epoch_bumps 2`,
		},
		{
			name:    "twin: one client",
			history: `p1 > t/0 -:x; p1 < =9; p1 > t/0 -:a; p1 > t/0 -:b; @2000 p1 rst; p1' > t/0 -:a; p1' < =11; p1' > t/0 -:b; p1' < =12`,
			want:    `probable blind-retry t/0 10>11`,
			counts:  `appended 3`,
		},
		{
			name:    "a mirror between two brokers whose clocks differ: it wrote before it had read",
			history: `p1 > t/0 -:x; p1 < =36; p1 > t/0 -:a; p1 < =37; p.r2 fetch t/0 hw=21 20=-:a`,
			counts:  `appended 2`,
		},
		{
			name:    "twin: it read a second later",
			history: `p1 > t/0 -:x; p1 < =36; p1 > t/0 -:a; p1 < =37; @1000 p.r2 fetch t/0 hw=21 20=-:a`,
			want:    `confirmed blind-retry t/0 20>37`,
			counts:  `appended 2`,
		},
	})
}

// Some clients leave the largest timestamp of the header empty; brokers store and tell the right one.
func TestRetryWithoutLargestTimestamp(t *testing.T) {
	all := observe(t, `p1 > t/0 7/0/0:a; p1 < =9; p1 > t/0 7/0/1:b; p1 rst; p1' > t/0 7/0/1:b; p1' < =10~; p1' > t/0 7/0/2:c; p1' < =11`)
	for _, o := range all {
		if s, ok := o.(*kafka.BatchSent); ok {
			s.Batch.MaxTimestamp = -1
		}
	}
	if have, want := describeCounts(judge(all).Counts), "appended 2, deduplicated 1"; have != want {
		t.Errorf("have %s, want %s", have, want)
	}
}
