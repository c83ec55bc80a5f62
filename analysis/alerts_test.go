package analysis

import (
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/kdupscan/kdupscan/kafka"
)

// given feeds a history observation by observation and asks for alerts behind each. It fails where a report of that moment would
// show what has not been given, or not with that verdict, and where something is given twice.
func given(t *testing.T, history string) map[string]Verdict {
	t.Helper()
	all := map[string]Verdict{}
	c := New(Options{})
	for _, o := range observe(t, history) {
		c.Observe(o)
		for _, a := range c.Alerts() {
			was, known := all[a.Key]
			if known != a.Rose || known && was >= a.Finding.Verdict {
				t.Errorf("%s: %v after %v (given: %v)", a.Key, a.Finding.Verdict, was, known)
			}
			all[a.Key] = a.Finding.Verdict
		}
		j := newJudgement(c)
		j.run()
		for _, f := range j.found {
			if have, known := all[f.key()]; !known || have < f.Verdict {
				t.Fatalf("after frame %d: %s %v is not given (%v, %v)\n%s", o.Where().At.Number, f.key(), f.Verdict, known, have, history)
			}
		}
	}
	return all
}

// TestAlertsAtOnce: whatever the story, an alert comes with the observation that proves it.
func TestAlertsAtOnce(t *testing.T) {
	n := 0
	for seed := range uint64(worlds / 3) {
		w := newWorld(seed)
		tell := w.tellTrue
		if seed%2 == 1 {
			tell = w.tellFalse
		}
		w.run(3, tell)
		n += len(given(t, w.history()))
	}
	if n == 0 {
		t.Error("no world had a finding")
	}
}

func TestAlerts(t *testing.T) {
	for _, c := range []struct {
		name, history string
		want          map[Cause]Verdict
		given         int // alerts; 0: one for each cause
	}{
		{
			name: "misrouted: nothing else went wrong",
			history: `p1 > t/0 7/0/11:x; p1 < =9; p1 > t/0 7/0/12:ab; p1 < =10; p1 > u/3 7/0/99:y; p1 < =500
				p1 > u/3 7/0/12:ab; p1 < =501; p1 > u/3 7/0/100:z; p1 < =503`,
			want: map[Cause]Verdict{MisroutedBatch: Confirmed},
		},
		{
			name: "misrouted: the neighbour that shows it comes later",
			history: `p1 > t/0 7/0/11:x; p1 < =9; p1 > t/0 7/0/12:ab; p1 < =10; p2 > u/3 7/0/12:ab; p2 < =501
				p2 > u/3 7/0/99:y; p2 < =503`,
			want: map[Cause]Verdict{MisroutedBatch: Confirmed},
		},
		{
			name: "misrouted: surer once a consumer has both",
			history: `p1 > t/0 7/0/11:x acks=1; p1 < =9; p1 > t/0 7/0/12:ab acks=1; p1 < =10; p1 > u/3 7/0/99:y acks=1; p1 < =500
				p1 > u/3 7/0/12:ab acks=1; p1 < =501; r1 fetch t/0 hw=12 9=7/0/11:x 10=7/0/12:ab; r1 fetch u/3 hw=503 500=7/0/99:y 501=7/0/12:ab`,
			want: map[Cause]Verdict{MisroutedBatch: Confirmed}, given: 2,
		},
		{
			name:    "fetched alone: another epoch",
			history: `r1 fetch t/0 hw=20 10=7/0/5:abc; r1 fetch t/0 hw=20 13=7/1/0:abc`,
			want:    map[Cause]Verdict{EpochBump: Confirmed},
		},
		{
			name:    "fetched alone: batches cut anew",
			history: `r1 fetch t/0 hw=20 10=7/0/5:ab 12=7/0/7:cd; r1 fetch t/0 hw=20 14=7/1/0:xabcd`,
			want:    map[Cause]Verdict{EpochBump: Confirmed},
		},
		{
			name:    "fetched alone: no producer id",
			history: `r1 fetch t/0 hw=20 10=-:ab; r2 fetch t/0 hw=20 10=-:ab; r2 fetch t/0 hw=20 12=-:ab`,
			want:    map[Cause]Verdict{BlindRetry: Confirmed},
		},
		{
			name:    "fetched alone: the broker forgot",
			history: `r1 fetch t/0 hw=20 10=7/0/5:ab; r1 fetch t/0 hw=20 12=7/0/5:ab`,
			want:    map[Cause]Verdict{BrokerDedupFailure: Confirmed},
		},
		{
			name:    "fetched alone: by a follower, then beyond the high watermark",
			history: `r1 fetch t/0 hw=9 follower=2 10=7/0/5:ab 12=7/1/0:ab; r1 fetch t/0 hw=14 follower=2`,
			want:    map[Cause]Verdict{EpochBump: Confirmed}, given: 2,
		},
		{
			name:    "fetched alone: another producer",
			history: `r1 fetch t/0 hw=20 10=7/0/5:ab; r1 fetch t/0 hw=20 12=8/0/0:ab`,
			want:    map[Cause]Verdict{UnknownCause: Confirmed},
		},
		{
			name:    "twin of fetched alone: content that comes often",
			history: `r1 fetch t/0 hw=20 10=7/0/5:a; r1 fetch t/0 hw=20 11=7/0/6:a; r1 fetch t/0 hw=20 12=8/0/7:a; r1 fetch t/0 hw=20 13=9/0/7:a`,
		},
		{
			name:    "fetched alone: two transactions, the marker of the first one last",
			history: `r1 fetch t/0 hw=16 10=7/0/0:ab%txn; r1 fetch t/0 hw=16 13=8/0/0:ab%txn 15=8/0:commit; r2 fetch t/0 hw=16 12=7/0:commit`,
			want:    map[Cause]Verdict{UnknownCause: Confirmed},
		},
		{
			name:    "twin of fetched alone: the first one was aborted",
			history: `r1 fetch t/0 hw=16 10=7/0/0:ab%txn; r1 fetch t/0 hw=16 13=8/0/0:ab%txn 15=8/0:commit; r2 fetch t/0 hw=16 12=7/0:abort`,
		},
		{
			name:    "without an id, the first acknowledged",
			history: `p1 > t/0 -:ab; p1 < =10; p1 > t/0 -:ab; p1 < =12`,
			want:    map[Cause]Verdict{BlindRetry: Confirmed},
		},
		{
			name:    "surer half an hour later",
			history: `p1 > t/0 -:ab; p1 < 7=10; p1 > t/0 -:ab; p1 < =12; @1800000 r1 fetch t/0 hw=14 10=-:ab 12=-:ab`,
			want:    map[Cause]Verdict{BlindRetry: Confirmed}, given: 2,
		},
		{
			name:    "a broker that hangs: neither an answer nor an end",
			history: `p1 > t/0 7/0/5:a; @900 p2 > t/0 7/1/0:a; p2 < =11`,
			want:    map[Cause]Verdict{EpochBump: Possible},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.given = max(c.given, len(c.want))
			have, n := map[Cause]Verdict{}, 0
			correlator := New(Options{})
			for _, o := range observe(t, c.history) {
				correlator.Observe(o)
				for _, a := range correlator.Alerts() {
					have[a.Finding.Cause] = a.Finding.Verdict
					n++
				}
			}
			if !maps.Equal(have, c.want) || n != c.given {
				t.Errorf("%d alerts: %v, want %d: %v", n, have, c.given, c.want)
			}
			given(t, c.history)
		})
	}
}

// A broadcast to two partitions, or to many, is judged until it is known for one.
func TestBroadcastIsLeftAlone(t *testing.T) {
	for _, partitions := range []int{2, 3, 12} {
		c := New(Options{})
		for _, o := range observe(t, broadcast(partitions, 50)) {
			c.Observe(o)
			c.Alerts()
		}
		w := &c.alerted.watch
		if pairs := w.strayed(c); len(pairs) > 0 || len(w.shared) > sharedPerPair*partitions*partitions {
			t.Errorf("%d partitions: pairs %v to judge, %d batches shared", partitions, pairs, len(w.shared))
		}
		if len(w.echoing) > 0 {
			t.Errorf("%d partitions: echoes in %v", partitions, slices.Collect(maps.Keys(w.echoing)))
		}
	}
}

// broadcast sends batches to several partitions in lockstep, so that they have equal sequences everywhere.
func broadcast(partitions, batches int) string {
	var text strings.Builder
	for n := range batches {
		for p := range partitions {
			fmt.Fprintf(&text, "p1 > t/%d 7/0/%d:%c; p1 < =%d\n", p, n, '一'+rune(n), 10*p+n)
		}
	}
	return text.String()
}

// A trace may be another's. It is no number of a history then.
func TestTraceOfSomethingElse(t *testing.T) {
	c := New(Options{})
	w := &c.alerted.watch
	w.look(c)
	for _, o := range observe(t, "p1 > t/0 7/0/0:a; p1 < =0; p1 > t/1 7/0/1:b; p1 < =1") {
		if sent, ok := o.(*kafka.BatchSent); ok {
			w.memory.first(maphash.Comparable(w.seed, sentBatch{identity: identityOf(sent.Batch), crc: sent.Batch.CRC}), valueMask)
		}
		c.Observe(o)
	}
	if alerts := c.Alerts(); len(alerts) > 0 || len(w.shared) > 0 {
		t.Errorf("alerts %v, shared %v", alerts, w.shared)
	}
}

// Histories that were let go of are let go of here too, and what stays is looked at once more.
func TestWatchLetsGo(t *testing.T) {
	c := New(Options{})
	w := &c.alerted.watch
	w.look(c)
	for range maxShared + 8 {
		w.seen[&history{}] = &looked{}
	}
	for _, o := range observe(t, "p1 > t/0 7/0/0:a; p1 < =0") {
		c.Observe(o)
		c.Alerts()
	}
	if len(w.seen) != 1 {
		t.Errorf("%d histories are remembered", len(w.seen))
	}
}
