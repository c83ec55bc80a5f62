package analysis

import "testing"

// Section 3 of the rules of verdicts: how sure a finding is.
func TestVerdicts(t *testing.T) {
	runCases(t, []historyCase{
		{
			name:    "confirmed: a consumer's Fetch sighting of each copy",
			history: `r1 fetch t/0 10=-:ab 12=-:ab`,
			want:    `confirmed blind-retry t/0 10>12 11>13`,
		},
		{
			name:    "confirmed: a replica's sighting once a high watermark above it is seen",
			history: `f1 fetch t/0 hw=10 follower=2 10=-:ab 12=-:ab; f1 fetch t/0 hw=14 follower=2`,
			want:    `confirmed blind-retry t/0 10>12 11>13`,
		},
		{
			name:    "probable: a replica's sighting above the high watermark",
			history: `f1 fetch t/0 hw=10 follower=2 10=-:ab 12=-:ab; f1 fetch t/0 hw=11 follower=2`,
			want:    `probable blind-retry t/0 10>12 11>13`,
			doubt:   DoubtFirstCopyMayBeTruncated,
		},
		{
			name:    "probable: a reader of unknown kind above the high watermark",
			history: `f1 fetch t/0 hw=10 reader=unknown 10=-:ab 12=-:ab`,
			want:    `probable blind-retry t/0 10>12 11>13`,
		},
		{
			name:    "confirmed: an OK answer to acks=all for each copy",
			history: `p1 > t/0 -:ab; p1 < =10 unacked; p1 rst; p1' > t/0 -:ab; p1' < =12`,
			want:    `confirmed blind-retry t/0 10>12 11>13`,
			counts:  `appended 2`,
		},
		{
			name:    "probable: an OK to acks=1",
			history: `p1 > t/0 -:ab acks=1; p1 < =10 unacked; p1 rst; p1' > t/0 -:ab acks=1; p1' < =12`,
			want:    `probable blind-retry t/0 10>12 11>13`,
			counts:  `appended 2`,
		},
		{
			name:    "confirmed: error 20",
			history: `p1 > t/0 -:ab; p1 < 20=10; p1 > t/0 -:ab; p1 < 19; p1 > t/0 -:ab; p1 < =12`,
			want:    `confirmed blind-retry t/0 10>12 11>13`,
			counts:  `appended 1, rejected 1`,
		},
		{
			name:    "probable: error 7 with an offset, the later copy acknowledged",
			history: `p1 > t/0 -:ab; p1 < 7=10; p1 > t/0 -:ab; p1 < =12`,
			want:    `probable blind-retry t/0 10>12 11>13`,
			counts:  `appended 1`,
			doubt:   DoubtFirstCopyMayBeTruncated,
		},
		{
			name:    "probable: error 6 with an offset, the later copy fetched",
			history: `p1 > t/0 7/0/5:ab; p1 < 6=10; p2 > t/0 7/1/0:ab; r2 fetch t/0 hw=14 12=7/1/0:ab`,
			want:    `probable epoch-bump t/0 10>12 11>13 7/0>7/1 by nothing`,
			counts:  `epoch_bumps 1`,
		},
		{
			name:    "twin: nothing acknowledges or shows the later copy",
			history: `p1 > t/0 -:ab; p1 < 20=10; p1 > t/0 -:ab; p1 rst`,
			counts:  `unacknowledged 1`,
		},
		{
			name:    "twin: the later copy was refused",
			history: `p1 > t/0 -:ab; p1 < 20=10; p1 > t/0 -:ab; p1 < 87`,
			counts:  `rejected 1`,
		},
		{
			name:    "probable: the acknowledged offsets leave a gap of exactly the first unacknowledged batches' records",
			history: `p1 > t/0 -:z; p1 < =9; p1 > t/0 -:ab; p1 rst; p1' > t/0 -:ab; p1' < =12`,
			want:    `probable blind-retry t/0 10>12 11>13`,
			counts:  `appended 2`,
			doubt:   DoubtOffsetsByGap,
		},
		{
			name:    "possible: no answer and nothing known of the offsets",
			history: `p1 > t/0 -:ab; p1 rst; p1' > t/0 -:ab; p1' < =12`,
			want:    `possible blind-retry t/0 ?>12 ?>13`,
			counts:  `appended 1`,
			doubt:   DoubtFirstCopyFateUnknown,
		},
		{
			name:    "possible: error 6 with -1 after it had been sent to the old leader too",
			history: `p1 > t/0 7/0/5:a; p1 rst; p2 > t/0 7/0/5:a; p2 < 6; p2 > t/0 7/1/0:a; p2 < =12`,
			want:    `possible epoch-bump t/0 ?>12 7/0>7/1 by connection-lost on t/0`,
			counts:  `appended 1, rejected 1, epoch_bumps 1`,
		},
		{
			name:    "possible: no answer within the usual time on a connection that lives on",
			history: `p1 > t/0 -:a; @5000 p1' > t/0 -:a; p1' < =11`,
			want:    `possible blind-retry t/0 ?>11`,
			counts:  `appended 1`,
		},
		{
			name:    "twin: a later copy under an identity by which the broker can recognise it",
			history: `p1 > t/0 7/0/5:a; p1 rst; p1' > t/0 7/0/5:a; p1' < =12`,
			counts:  `appended 1`,
		},
		{
			// The second answer knows better than the first.
			name:    "a copy's fate is the best that any of its sends shows",
			history: `p1 > t/0 7/0/0:a; p1 < 7=10; p1 > t/0 7/0/0:a; p1 < 6; p1 > t/0 7/0/0:a; p1 < 20=10; p1 > t/0 7/1/0:a; p1 < =11`,
			want:    `confirmed epoch-bump t/0 10>11 7/0>7/1 by nothing`,
			counts:  `appended 1, rejected 1, epoch_bumps 1`,
		},
		{
			name:    "fetched decides over an answer that is missing",
			history: `p1 > t/0 7/0/5:a; p1 rst; p1' > t/0 7/1/0:a; p1' < =11; r1 fetch t/0 hw=12 10=7/0/5:a`,
			want:    `confirmed epoch-bump t/0 10>11 7/0>7/1 by connection-lost on t/0`,
			counts:  `appended 1, epoch_bumps 1`,
		},
		{
			name:    "twin: refused at every send seen, the batch before it is acknowledged in the capture",
			history: `p1 > t/0 7/0/5:z; p1 < =9; p1 > t/0 7/0/6:a; p1 < 6; p1 > t/0 7/1/0:a; p1 < =20`,
			counts:  `appended 2, rejected 1, epoch_bumps 1`,
		},
		{
			name:    "refused at every send seen, and the batch before it is not in the capture: possible",
			history: `p1 > t/0 7/0/6:a; p1 < 6; p1 > t/0 7/1/0:a; p1 < =20`,
			want:    `possible epoch-bump t/0 ?>20 7/0>7/1 by nothing`,
			counts:  `appended 1, rejected 1, epoch_bumps 1`,
			doubt:   DoubtEarlierSendMayBeHidden,
		},
		{
			name:    "refused, the batch before it acknowledged, but the client's stream has a gap in between: possible",
			history: `p1 > t/0 7/0/5:z; p1 < =9; p1 gap client; p1 > t/0 7/0/6:a; p1 < 6; q1 > t/0 -:x; q1 < =15; p1 > t/0 7/1/0:a; p1 < =20`,
			want:    `possible epoch-bump t/0 ?>20 7/0>7/1 by nothing`,
			counts:  `appended 3, rejected 1, epoch_bumps 1`,
		},
		{
			name:    "twin: the gap is inside a known message, nothing can be hidden in it",
			history: `p1 > t/0 7/0/5:z; p1 < =9; p1 gap client inside; p1 > t/0 7/0/6:a; p1 < 6; p1 > t/0 7/1/0:a; p1 < =20`,
			counts:  `appended 2, rejected 1, epoch_bumps 1`,
		},
		{
			name:    "twin: the gap is in a stream of another client",
			history: `p1 > t/0 7/0/5:z; p1 < =9; q1 > u/0 -:q; q1 < =1; q1 gap client; p1 > t/0 7/0/6:a; p1 < 6; p1 > t/0 7/1/0:a; p1 < =20`,
			counts:  `appended 3, rejected 1, epoch_bumps 1`,
		},
		{
			name:    "refused with a hidden earlier send and an offset gap of exactly its size: probable",
			history: `p1 > t/0 7/0/5:z; p1 < =9; p1 gap client; p1 > t/0 7/0/6:a; p1 < 6; p1 > t/0 7/1/0:a; p1 < =11`,
			want:    `probable epoch-bump t/0 10>11 7/0>7/1 by nothing`,
			counts:  `appended 2, rejected 1, epoch_bumps 1`,
		},
		{
			name:    "twin: refused with a hidden earlier send, and no room",
			history: `p1 > t/0 7/0/5:z; p1 < =9; p1 gap client; p1 > t/0 7/0/6:a; p1 < 6; p1 > t/0 7/1/0:a; p1 < =10`,
			counts:  `appended 2, rejected 1, epoch_bumps 1`,
		},
		{
			name:    "offset gap: lower bound by a high watermark seen before",
			history: `r1 fetch t/0 hw=10; p1 > t/0 -:ab; p1 rst; p1' > t/0 -:ab; p1' < =12`,
			want:    `probable blind-retry t/0 10>12 11>13`,
			counts:  `appended 1`,
		},
		{
			name:    "offset gap: lower bound by a lower sequence of the same producer",
			history: `p1 > t/0 7/0/5:z; p1 > t/0 7/0/6:ab; p1 < =9; p1 rst; p1' > t/0 7/1/0:ab; p1' < =12`,
			want:    `probable epoch-bump t/0 10>12 11>13 7/0>7/1 by connection-lost on t/0`,
			counts:  `appended 2, epoch_bumps 1`,
		},
		{
			name:    "offset gap: every offset known to be another record's is taken out",
			history: `p1 > t/0 -:z; p1 < =9; p1 > t/0 -:ab; q1 > t/0 -:xy; q1 < =10; p1 rst; p1' > t/0 -:ab; p1' < =14`,
			want:    `probable blind-retry t/0 12>14 13>15`,
			counts:  `appended 3`,
		},
		{
			name:    "offset gap: every offset known to be a transaction marker's is taken out",
			history: `p1 > t/0 -:z; p1 < =9; p1 > t/0 -:ab; p1 rst; p1' > t/0 -:ab; p1' < =13; r1 fetch t/0 hw=15 10=8/0:commit`,
			want:    `probable blind-retry t/0 11>13 12>14`,
			counts:  `appended 2`,
		},
		{
			name:    "offset gap: the first unknown batches in sequence order",
			history: `p1 > t/0 7/0/5:z; p1 < =9; p1 > t/0 7/0/6:a; p1 > t/0 7/0/7:bc; p1 rst; p1' > t/0 7/1/0:abc; p1' < =13`,
			want:    `probable epoch-bump t/0 10>13 11>14 12>15 7/0>7/1 by connection-lost on t/0`,
			counts:  `appended 2, epoch_bumps 1`,
		},
		{
			name:    "offset gap: of two unknown batches only the first has its room",
			history: `p1 > t/0 7/0/5:z; p1 < =9; p1 > t/0 7/0/6:a; p1 > t/0 7/0/7:bc; p1 rst; p1' > t/0 7/1/0:abc; p1' < =11`,
			want:    `probable epoch-bump t/0 10>11 7/0>7/1 by connection-lost on t/0`,
			counts:  `appended 2, epoch_bumps 1`,
		},
		{
			name:    "offset gap: another hole tells of another writer: possible",
			history: `p1 > t/0 -:z; p1 < =5; p1 > t/0 -:y; p1 < =9; p1 > t/0 -:ab; p1 rst; p1' > t/0 -:ab; p1' < =12`,
			want:    `possible blind-retry t/0 ?>12 ?>13`,
			counts:  `appended 3`,
		},
		{
			name:    "offset gap: more places than the first unknown batches' records: possible",
			history: `p1 > t/0 -:z; p1 < =9; p1 > t/0 -:ab; p1 rst; p1' > t/0 -:ab; p1' < =13`,
			want:    `possible blind-retry t/0 ?>13 ?>14`,
			counts:  `appended 2`,
		},
		{
			name:    "offset gap: two holes are not contiguous: possible",
			history: `p1 > t/0 -:z; p1 < =9; p1 > t/0 -:ab; q1 > t/0 -:x; q1 < =11; p1 rst; p1' > t/0 -:ab; p1' < =13`,
			want:    `possible blind-retry t/0 ?>13 ?>14`,
			counts:  `appended 3`,
		},
		{
			name:    "twin: no room",
			history: `p1 > t/0 7/0/5:z; p1 < =9; p1 > t/0 7/0/6:ab; p1 rst; p1' > t/0 7/1/0:ab; p1' < =10`,
			counts:  `appended 2, epoch_bumps 1`,
		},
		{
			name:    "twin: no room for all of the first copy's records",
			history: `p1 > t/0 7/0/5:z; p1 < =9; p1 > t/0 7/0/6:ab; p1 rst; p1' > t/0 7/1/0:ab; p1' < =11`,
			counts:  `appended 2, epoch_bumps 1`,
		},
		{
			name:    "a producer without id can be appended late, after the later copy",
			history: `p1 > t/0 -:z; p1 < =9; p1 > t/0 -:ab; @5000 p1' > t/0 -:ab; p1' < =10; p1' > t/0 -:c; p1' < =14`,
			want:    `probable blind-retry t/0 12>10 13>11`,
			counts:  `appended 3`,
		},
		{
			name:    "twin: without id, no room before nor behind the later copy",
			history: `p1 > t/0 -:z; p1 < =9; p1 > t/0 -:ab; @5000 p1' > t/0 -:ab; p1' < =10; p1' > t/0 -:c; p1' < =12`,
			counts:  `appended 3`,
		},
		{
			name:    "twin: truncated: a Fetch shows other content at its offset",
			history: `p1 > t/0 7/0/5:a; p1 < 6=10; p2 > t/0 7/1/0:a; p2 < =11; r2 fetch t/0 hw=12 10=8/0/0:x 11=7/1/0:a`,
			counts:  `appended 1, epoch_bumps 1`,
		},
		{
			name:    "twin: truncated: an OK for another batch at that offset after it",
			history: `p1 > t/0 7/0/5:a; p1 < 6=10; q2 > t/0 -:x; q2 < =10; p2 > t/0 7/1/0:a; p2 < =11`,
			counts:  `appended 2, epoch_bumps 1`,
		},
		{
			name:    "twin: truncated: an OK for another batch at that offset before it",
			history: `q2 > t/0 -:x; q2 < =10; p1 > t/0 7/0/5:a; p1 < 6=10; p2 > t/0 7/1/0:a; p2 < =11`,
			counts:  `appended 2, epoch_bumps 1`,
		},
		{
			name:    "twin: truncated: an acks=1 OK whose place a later OK takes",
			history: `p1 > t/0 7/0/5:a acks=1; p1 < =10 unacked; p1 rst; q2 > t/0 -:x; q2 < =10; p2 > t/0 7/1/0:a acks=1; p2 < =11`,
			counts:  `appended 3, epoch_bumps 1`,
		},
		{
			name:    "records the capture lacks are compared by CRC, and the finding says so",
			history: `p1 > t/0 -:ab%cut; p1 < 20=10; p1 > t/0 -:ab%cut; p1 < =12`,
			want:    `confirmed blind-retry t/0 10>12 11>13`,
			counts:  `appended 1`,
			doubt:   DoubtContentNotCompared,
		},
		{
			name:    "twin: a batch with a wrong CRC is an oddity, not evidence",
			history: `r1 fetch t/0 hw=14 10=7/0/5:ab%bad%crc5 12=7/0/5:ab%bad%crc6`,
		},
	})
}

func TestReportVerdict(t *testing.T) {
	for _, tc := range []struct {
		story, history string
		least          Verdict
		want           ReportVerdict
	}{
		{"at least one probable finding", `p1 > t/0 -:a; p1 < 7=10; p1 > t/0 -:a; p1 < =11`, Possible, Duplicates},
		{"only possible ones", `p1 > t/0 -:a; p1 rst; p1' > t/0 -:a; p1' < =11`, Possible, Suspected},
		{"possible ones below the least verdict asked for", `p1 > t/0 -:a; p1 rst; p1' > t/0 -:a; p1' < =11`, Probable, Clean},
		{"none", `p1 > t/0 -:a; p1 < =10`, Possible, Clean},
	} {
		r := judge(observe(t, tc.history))
		r.Coverage.ProducedBatches = 1
		if have := r.Verdict(tc.least); have != tc.want {
			t.Errorf("%s: have %s, want %s", tc.story, have, tc.want)
		}
	}
	if have := judge(nil).Verdict(Possible); have != Inconclusive {
		t.Errorf("not one batch could be decoded: have %s", have)
	}
}
