package analysis

import "testing"

// An offset gap is given to a batch only where the sequences show that its client sent nothing else there.
func TestGapsBeforeALaterEpochsSequences(t *testing.T) {
	runCases(t, []historyCase{
		{
			name: "what the new epoch began with is hidden",
			history: `p1 > t/0 7/0/0:a; p1 < =10; p1 > t/0 7/0/1:b; p1 < 6; p1 > t/0 7/0/2:c; p1 gap server; p1 < ?
				p1 gap client; p1 > t/0 7/1/1:c; p1 < =12`,
			want: `possible epoch-bump t/0 ?>12 7/0>7/1 by nothing`, counts: `appended 2, rejected 1, epoch_bumps 1`,
		},
		{
			name: "twin: the new epoch begins with the copy",
			history: `p1 > t/0 7/0/0:a; p1 < =10; p1 > t/0 7/0/1:b; p1 < 6; p1 > t/0 7/0/2:c; p1 gap server; p1 < ?
				p1 gap client; p1 > t/0 7/1/0:c; p1 < =12`,
			want: `probable epoch-bump t/0 11>12 7/0>7/1 by nothing`, counts: `appended 2, rejected 1, epoch_bumps 1`,
		},
	})
}
