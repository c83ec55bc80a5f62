package analysis

import (
	"testing"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
)

// What undoes an answer's place may be hidden in a gap: the first copy's fate is unknown then.
func TestPlacesThatGapsMayUndo(t *testing.T) {
	runCases(t, []historyCase{
		{
			name:    "acks=1; what may have taken its place at the next leader is hidden",
			history: `p1 > t/0 7/0/0:a acks=1; p1 < =10 unacked; p1 rst; q2 gap client; p2 > t/0 7/1/0:a; p2 < =11`,
			want:    `possible epoch-bump t/0 ?>11 7/0>7/1 by nothing`, counts: `appended 2, epoch_bumps 1`,
		},
		{
			name:    "twin: what is hidden went to another server",
			history: `p1 > t/0 7/0/0:a acks=1; p1 < =10 unacked; p1 rst; q3 gap client; p2 > t/0 7/1/0:a; p2 < =11`,
			want:    `probable epoch-bump t/0 10>11 7/0>7/1 by nothing`, counts: `appended 2, epoch_bumps 1`,
		},
		{
			name:    "twin: it is the producer's own, and its sequences have no hole",
			history: `p1 > t/0 7/0/0:a acks=1; p1 < =10 unacked; p1 rst; p2 gap client; p2 > t/0 7/1/0:a; p2 < =11`,
			want:    `probable epoch-bump t/0 10>11 7/0>7/1 by nothing`, counts: `appended 2, epoch_bumps 1`,
		},
		{
			name:    "twin: it may stand between the two",
			history: `p1 > t/0 7/0/0:a acks=1; p1 < =10 unacked; p1 rst; q2 gap client; p2 > t/0 7/1/0:a; p2 < =12`,
			want:    `probable epoch-bump t/0 10>12 7/0>7/1 by nothing`, counts: `appended 2, epoch_bumps 1`,
		},
		{
			name: "a later leader's record stands below it; a gap may hide what was there before",
			history: `p1 leader t/0 1 17; p1 gap client; p1 > t/0 7/0/1:a; p1 < 7=105
				r2 fetch t/0 hw=105 104=9/0/0:x^18; p2 > t/0 7/1/0:a; p2 < =106`,
			want: `possible epoch-bump t/0 ?>106 7/0>7/1 by nothing`, counts: `appended 1, epoch_bumps 1`,
		},
		{
			name: "twin: its own leader's record",
			history: `p1 leader t/0 1 17; p1 gap client; p1 > t/0 7/0/1:a; p1 < 7=105
				r2 fetch t/0 hw=105 104=9/0/0:x^17; p2 > t/0 7/1/0:a; p2 < =106`,
			want: `probable epoch-bump t/0 105>106 7/0>7/1 by nothing`, counts: `appended 1, epoch_bumps 1`,
		},
		{
			name: "twin: nothing is hidden; its leader's epoch may have risen unseen",
			history: `p1 leader t/0 1 17; p1 > t/0 7/0/1:a; p1 < 7=105
				r2 fetch t/0 hw=105 104=9/0/0:x^18; p2 > t/0 7/1/0:a; p2 < =106`,
			want: `probable epoch-bump t/0 105>106 7/0>7/1 by nothing`, counts: `appended 1, epoch_bumps 1`,
		},
		{
			name:    "the next leader gave its place to a request that is hidden, though there is room behind it",
			history: `p1 > t/0 7/0/0:a; p1 < 6=10; q2 gap client; q2 stray t/0 =10; p2 > t/0 7/1/0:a; p2 < =12`,
			want:    `possible epoch-bump t/0 ?>12 7/0>7/1 by nothing`, counts: `appended 1, epoch_bumps 1`,
		},
		{
			name:    "twin: it gave the place behind it",
			history: `p1 > t/0 7/0/0:a; p1 < 6=10; q2 gap client; q2 stray t/0 =11; p2 > t/0 7/1/0:a; p2 < =12`,
			want:    `probable epoch-bump t/0 10>12 7/0>7/1 by nothing`, counts: `appended 1, epoch_bumps 1`,
		},
		{
			name:    "twin: the same leader gave it again, to a retry",
			history: `p1 > t/0 7/0/0:a; p1 < 7=10; p1' gap client; p1' stray t/0 =10~; p2 > t/0 7/1/0:a; p2 < =12`,
			want:    `probable epoch-bump t/0 10>12 7/0>7/1 by nothing`, counts: `appended 1, epoch_bumps 1`,
		},
		{
			name:    "the next leader had a batch before that it left no other room, and no packet shows its answer",
			history: `p1 > t/0 7/0/0:a; p1 < 6=10; q2 > t/0 9/0/0:x; p2 > t/0 7/1/0:a; p2 < =11`,
			want:    `possible epoch-bump t/0 ?>11 7/0>7/1 by nothing`, counts: `appended 1, unacknowledged 1, epoch_bumps 1`,
		},
		{
			name:    "twin: there is room behind it",
			history: `p1 > t/0 7/0/0:a; p1 < 6=10; q2 > t/0 9/0/0:x; p2 > t/0 7/1/0:a; p2 < =12`,
			want:    `probable epoch-bump t/0 10>12 7/0>7/1 by nothing`, counts: `appended 1, unacknowledged 1, epoch_bumps 1`,
		},
		{
			name:    "twin: its connection was lost",
			history: `p1 > t/0 7/0/0:a; p1 < 6=10; q2 > t/0 9/0/0:x; q2 rst; p2 > t/0 7/1/0:a; p2 < =11`,
			want:    `probable epoch-bump t/0 10>11 7/0>7/1 by nothing`, counts: `appended 1, unacknowledged 1, epoch_bumps 1`,
		},
		{
			name:    "recognised as a retry of what is hidden, which may have been another record",
			history: `p1 gap client; p1 > t/0 7/0/0:b; p1 < =10~ unacked; p1 rst; p1' > t/0 7/0/1:b; p1' < =11`,
			want:    `possible application-resend t/0 ?>11`, counts: `appended 1, deduplicated 1`,
		},
		{
			name:    "recognised as a retry after another record under the same sequence, whose answer is hidden",
			history: `p1 > t/0 7/0/0:a; p1 gap server; p1 < ?; p1 > t/0 7/0/0:b; p1 < =10~ unacked; p1 rst; p1' > t/0 7/0/1:b; p1' < =11`,
			want:    `possible application-resend t/0 ?>11`, counts: `appended 1, deduplicated 1, unacknowledged 1`,
		},
		{
			name:    "twin: what it is a retry of was seen",
			history: `p1 > t/0 7/0/0:b; p1 gap server; p1 < ?; p1 gap client; p1 > t/0 7/0/0:b; p1 < =10~ unacked; p1 rst; p1' > t/0 7/0/1:b; p1' < =11`,
			want:    `confirmed application-resend t/0 10>11`, counts: `appended 1, deduplicated 1`,
		},
		{
			name:    "twin: nothing is hidden",
			history: `p1 > t/0 7/0/0:b; p1 < =10~ unacked; p1 rst; p1' > t/0 7/0/1:b; p1' < =11`,
			want:    `confirmed application-resend t/0 10>11`, counts: `appended 1, deduplicated 1`,
		},
	})
}

// A third copy may stand in an answer to a reader that was not captured. Before the first one that was, only requests tell of such.
func TestFetchWithoutAnAnswer(t *testing.T) {
	const fetch, metadata = 1, 3
	for key, want := range map[int16]string{fetch: "", metadata: "confirmed unknown t/0 10>12"} {
		observations := observe(t, `@1000 r1 fetch t/0 hw=13 10=7/0/5:a 12=8/0/0:a`)
		for _, o := range observations {
			if closed, ok := o.(*kafka.LinkClosed); ok {
				asked := pcap.Ref{Number: 1, Time: pcap.Timestamp(epochMillis * 1e6)}
				closed.Unanswered = []*kafka.Request{{Seen: kafka.Seen{Link: closed.Link, First: asked, At: asked}, APIKey: key}}
			}
		}
		if have := describe(judge(observations)); have != want {
			t.Errorf("API key %d unanswered: have %q, want %q", key, have, want)
		}
	}
}
