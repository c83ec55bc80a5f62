package analysis

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kdupscan/kdupscan/kafka"
)

// A commit marker says of a batch before it what the first marker behind the batch says: none may stand between the two that nobody was seen
// to read.
func TestMarkersBehindABatch(t *testing.T) {
	runCases(t, []historyCase{
		{
			name:    "the reader goes on from the batch to its marker",
			history: `r1 fetch t/0 hw=11 10=7/0/0:a%txn; r1 fetch t/0 hw=34 11=7/0/1:x%txn 12=7/0:commit 13=8/0/0:a%txn 14=8/0:commit`,
			want:    `confirmed unknown t/0 10>13`,
		},
		{
			name:    "compaction took what stood in between",
			history: `r1 fetch t/0 hw=34 10=7/0/0:a%txn 12=7/0:commit 13=8/0/0:a%txn 14=8/0:commit`,
			want:    `confirmed unknown t/0 10>13`,
		},
		{
			name: "twin: the reader leaves before the marker, an abort, and the next one begins behind it",
			history: `r1 fetch t/0 hw=11 10=7/0/0:a%txn; r1 fin
				s1 fetch t/0 hw=34 30=7/0/5:x%txn 31=7/0:commit 32=8/0/0:a%txn 33=8/0:commit`,
		},
		{
			name: "twin: of a process that was started anew since",
			history: `r1 fetch t/0 hw=11 10=7/0/0:a%txn; r1 fin
				s1 fetch t/0 hw=34 30=7/0/5:x%txn 31=7/0:commit 32=7/1/0:a%txn 33=7/1:commit`,
		},
		{
			name: "twin: the abort is in a gap",
			history: `r1 fetch t/0 hw=11 10=7/0/0:a%txn; r1 gap server
				r1 fetch t/0 hw=34 30=7/0/5:x%txn 31=7/0:commit 32=7/1/0:a%txn 33=7/1:commit`,
		},
		{
			name: "a prepared transaction is committed by the next process, two epochs later",
			history: `p1 > t/0 7/0/0:a%txn txn=x; p1 < =10 unacked; p1 rst; p1' end 7/1 commit; p1' ended 7/2
				p1' > t/0 7/2/0:a%txn txn=x; p1' < =12; p1' end 7/2 commit; p1' ended 7/3
				r1 fetch t/0 hw=14 10=7/0/0:a%txn 11=7/2:commit 12=7/2/0:a%txn 13=7/3:commit`,
			want:   `confirmed epoch-bump t/0 10>12 7/0>7/2 by nothing`,
			counts: `appended 2`,
		},
		{
			name: "twin: before that commit, an offset that nobody read may have the abort of the first",
			history: `p1 > t/0 7/0/0:a%txn txn=x; p1 < =10 unacked; p1 rst; p1' end 7/1 commit; p1' ended 7/2
				p1' > t/0 7/2/0:a%txn txn=x; p1' < =13; p1' end 7/2 commit; p1' ended 7/3
				r1 fetch t/0 hw=11 10=7/0/0:a%txn; s1 fetch t/0 hw=15 12=7/2:commit 13=7/2/0:a%txn 14=7/3:commit`,
			counts: `appended 2`,
		},
		{
			name: "twin: the producer aborts at a coordinator that was not captured and has the epoch after that, which its commit has, too",
			history: `p1 > t/0 7/0/0:a%txn txn=x; p1 < =10 unacked; p1 rst; p1' > t/0 7/1/0:a%txn txn=x; p1' < =12
				r1 fetch t/0 hw=14 12=7/1/0:a%txn 13=7/1:commit`,
			counts: `appended 2, epoch_bumps 1`,
		},
		{
			name:    "a late batch joins the next transaction: at a reader no end of one stands between the two epochs",
			history: `r1 fetch t/0 hw=15 10=7/0:abort 11=7/0/0:a%txn 12=8/0/0:x 13=7/1/0:a%txn 14=7/1:commit`,
			want:    `confirmed epoch-bump t/0 11>13 7/0>7/1 by nothing`,
		},
		{
			name:    "twin: nobody read what stands between them",
			history: `r1 fetch t/0 hw=15 10=7/0:abort 11=7/0/0:a%txn; s1 fetch t/0 hw=15 13=7/1/0:a%txn 14=7/1:commit`,
		},
		{
			name: "twin: another producer takes over, and the first one commits something later",
			history: `p1 > t/0 7/0/0:a%txn txn=x; p1 < =10 unacked; p1 rst; p1' > t/0 8/0/0:a%txn txn=y; p1' < =12
				r1 fetch t/0 hw=30 12=8/0/0:a%txn 13=8/0:commit 20=7/0/4:x%txn 21=7/0:commit`,
			counts: `appended 2`,
		},
	})
}

// Of a producer with many transactions only the latest markers are kept: the first one behind a batch may be none of these.
func TestMarkersLost(t *testing.T) {
	p := &partition{topic: scaleTopic}
	at := func(offset int64) marker {
		return marker{control: control{commit: true, topic: scaleTopic, offset: offset}}
	}
	pr := &producer{markersLost: true, markers: []marker{at(20), at(30)}}
	c := newChains(p, nil)
	p.log = &claims{all: []claim{{from: 0, to: 40}}, furthest: []int64{40}}
	b := &batch{p: p, info: &kafka.Batch{Magic: 2}}
	before, _ := c.markerBehind(pr, b, fate{offset: 15})
	if behind, _ := c.markerBehind(pr, b, fate{offset: 25}); before != outcomeUnknown || behind != committed {
		t.Error("markers behind offset 15 may have been dropped, those behind 25 have not")
	}
}

// A finding about records in transactions rests on their commits: the story names where each was read first.
func TestStoryNamesCommits(t *testing.T) {
	const open = `r1 fetch t/0 hw=14 10=7/0/0:a%txn 11=8/0/0:a%txn 12=8/0:commit`
	for history, want := range map[string]string{
		open + `; r1 fetch t/0 hw=14 13=7/0:commit; s1 fetch t/0 hw=14 13=7/0:commit`: "8/0@12 in 2, 7/0@13 in 3",
		open + ` 13=7/0:commit`: "8/0@12 in 2, 7/0@13 in 2",
	} {
		result := judge(observe(t, history))
		if len(result.Findings) != 1 {
			t.Fatalf("%d findings", len(result.Findings))
		}
		f := &result.Findings[0]
		var have []string
		for _, e := range f.Timeline {
			if e.Kind == EventTransactionEnd {
				have = append(have, fmt.Sprintf("%d/%d@%d in %d", e.ProducerID, e.ProducerEpoch, e.Offset, e.At.Number))
			}
		}
		if strings.Join(have, ", ") != want {
			t.Errorf("have %v, want %v", have, want)
		}
		if !f.Inferred.TransactionalID {
			t.Error("only a producer with a transactional id writes transactional batches")
		}
	}
}
