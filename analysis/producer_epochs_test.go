package analysis

import "testing"

// A batch waits where its broker does, and those of later epochs go to other brokers meanwhile: epochs come in any order.
func TestEpochsInAnyOrder(t *testing.T) {
	runCases(t, []historyCase{
		{
			name: "the batch of an epoch that was passed over comes last",
			history: `p1 > t/0 7/0/0:a t/1 7/0/0:b; p1 < =10 =20; p1 > t/0 7/2/0:c; p2 > t/1 7/1/0:d; p2 < =21; p2 > t/1 7/2/0:e
				p1 < =11; p2 < =22`,
			counts: `appended 5, epoch_bumps 2`,
		},
		{
			name:    "the lowest one comes last",
			history: `p1 > t/0 7/2/0:a; p1 < =10; p2 > t/1 7/1/0:b; p2 < =20; p2 > t/1 7/0/0:c; p2 < =21; p1 > t/0 7/2/1:d; p1 < =11`,
			counts:  `appended 4, epoch_bumps 2`,
		},
		{
			name:    "a retry of the old epoch is no rise, nor is what follows it",
			history: `p1 > t/0 7/0/0:a; p2 > t/1 7/1/0:b; p2 < =20; p1 rst; p1' > t/0 7/0/0:a; p1' < =10; p2 > t/1 7/1/1:c; p2 < =21`,
			counts:  `appended 3, epoch_bumps 1`,
		},
		{
			name: "the start of an application is none, though a process that was fenced sends once more",
			history: `p1 init 7/5 txn=x; p1 > t/0 7/5/0:a%txn txn=x; p1 < =10; q1 > t/0 7/4/0:b%txn txn=x; q1 < 47
				p1 > t/0 7/5/1:c%txn txn=x; p1 < =11; p1 end 7/5 commit`,
			counts: `appended 2, rejected 1`,
		},
		{
			name: "a copy under an epoch that is on the wire before the one between",
			history: `p1 > t/0 7/0/0:a t/1 7/0/0:b; p1 < 7=10 =20; p1 > t/0 7/2/0:a; p2 > t/1 7/1/0:d; p2 < =21; p1 < =11; p2 > t/1 7/2/0:e
				p2 < =22; r1 fetch t/0 hw=12 10=7/0/0:a 11=7/2/0:a`,
			want:   `confirmed epoch-bump t/0 10>11 7/0>7/2 by nothing`,
			counts: `appended 4, epoch_bumps 2`,
		},
	})
}
