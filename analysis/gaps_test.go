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

// Without a producer id a batch may have been appended late, behind its retry. A hole there is another batch's where gaps may have made it.
func TestHolesThatGapsMayHaveMade(t *testing.T) {
	runCases(t, []historyCase{
		{
			name:    "no gap, no other batch: appended late",
			history: `p1 > t/0 -:x; p1 < =60; p1 > t/0 -:a; @5000 p1 rst; p1' > t/0 -:a; p1' < =61; p1' > t/0 -:b; p1' < =63`,
			want:    `probable blind-retry t/0 62>61`, counts: `appended 3`,
		},
		{
			name:    "twin: its client sent what is hidden, when the hole came about",
			history: `p1 > t/0 -:x; p1 < =60; p1 > t/0 -:a; @5000 p1 rst; p1' > t/0 -:a; p1' < =61; p1' gap client; p1' > t/0 -:b; p1' < =63`,
			want:    `possible blind-retry t/0 ?>61`, counts: `appended 3`,
		},
		{
			name: "twin: another batch of then has no answer in the capture",
			history: `p1 > t/0 -:x; p1 < =60; p1 > t/0 -:a; @5000 p1 rst; p1' > t/0 -:a; p1' < =61
				p1' > t/0 -:c; p1' gap server; p1' < ?; p1' > t/0 -:b; p1' < =63`,
			want: `possible blind-retry t/0 ?>61`, counts: `appended 3, unacknowledged 1`,
		},
		{
			name:    "twin: its request was answered, and so was read before",
			history: `p1 > t/0 -:x; p1 < =60; p1 gap client; p1 > t/0 -:a; p1 < 6; p1' > t/0 -:a; p1' < =61; p1' > t/0 -:b; p1' < =63`,
			counts:  `appended 3, rejected 1`,
		},
		{
			name: "the answer to a request that is hidden names a place in the hole",
			history: `p1 > t/0 -:x; p1 < =9; p1 > t/0 -:a; p1 > t/0 -:b; p1 > t/0 -:c; @60000 p1 rst
				p1' stray t/0 =12; p1' > t/0 -:b; p1' < =13; p1' > t/0 -:c; p1' < =14`,
			want: `possible blind-retry t/0 ?>13
				possible blind-retry t/0 ?>14`, counts: `appended 3, unacknowledged 1`,
		},
		{
			name: "a later answer on its connection shows that one was not captured",
			history: `p1 > t/0 -:x; p1 < =9; p1 > t/0 -:a; p1 > t/0 -:b; p1 > t/0 -:c; @60000 p1 rst
				p1' > t/0 -:a; p1' < ?; p1' > t/0 -:b; p1' < =13; p1' > t/0 -:c; p1' < =14`,
			want: `possible blind-retry t/0 ?>13
				possible blind-retry t/0 ?>14`, counts: `appended 3, unacknowledged 1`,
		},
	})
}
