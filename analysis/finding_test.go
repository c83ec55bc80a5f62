package analysis

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kdupscan/kdupscan/kafka"
)

// The whole story of a leader change: the finding's copies, evidence and timeline.
func TestFindingTellsItsStory(t *testing.T) {
	r := judge(observe(t, `
		m1 leader t/0 1 17
		@100 p1 > t/0 7/0/5:ab%lz4; @110 p1 < 6=100; @110 m2 leader t/0 2 18
		@120 p2 > t/0 7/0/5:ab%lz4; @130 p2 < 6; @140 p2 > t/0 7/0/5:ab%lz4; @150 p2 < 6
		@160 q3 > u/3 7/0/9:x; @170 q3 < 45
		@200 p1 init 7/1 from=7/0
		@210 p2 > t/0 7/1/0:ab%lz4; @220 p2 < =102
		@300 r2 fetch t/0 hw=104 100=7/0/5:ab%lz4^17 102=7/1/0:ab%lz4^18
		@400 s2 fetch t/0 hw=104 100=7/0/5:ab%lz4^17 102=7/1/0:ab%lz4^18`))
	if len(r.Findings) != 1 {
		t.Fatal(describe(r))
	}
	f := r.Findings[0]
	steps := timelineOf(&f)
	want := []string{
		"100 produce-request copy 1", "110 produce-response 6=100 copy 1", "110 leader-change",
		"120 produce-request copy 1 +1", "130 produce-response 6 copy 1 +1",
		"170 produce-response 45", "200 init-producer-id 0", "210 produce-request copy 2", "220 produce-response 0=102 copy 2",
		"300 fetch-response 0=100 copy 1", "300 fetch-response 0=102 copy 2",
	}
	if !slices.Equal(steps, want) {
		t.Errorf("timeline\nhave %s\nwant %s", strings.Join(steps, "\n     "), strings.Join(want, "\n     "))
	}
	for i, c := range []struct {
		base, last int64
		epoch      int32
		batch      CopyBatch
	}{
		{100, 101, 17, CopyBatch{ProducerID: 7, BaseSequence: 5, LastSequence: 6, BaseOffset: 100, LastOffset: 101}},
		{102, 103, 18, CopyBatch{ProducerID: 7, ProducerEpoch: 1, LastSequence: 1, BaseOffset: 102, LastOffset: 103}},
	} {
		have := f.Copies[i]
		batch := have.Batches[0]
		batch.CRC = 0
		if have.BaseOffset != c.base || have.LastOffset != c.last || have.OffsetSource != OffsetFromFetch || have.LeaderEpoch != c.epoch || batch != c.batch {
			t.Errorf("copy %d: %+v", i+1, have)
		}
	}
	if in := f.Inferred; !in.AcksKnown || in.Acks != -1 || !in.Idempotent || in.TransactionalID || in.Codec != kafka.LZ4 || in.ClientID != "p" || in.MaxInFlight != 1 {
		t.Errorf("inferred %+v", in)
	}
	if f.Bump.Local || f.Bump.Trigger.At.Server.String() != "10.9.0.3:9092" || len(f.Doubts) > 0 {
		t.Errorf("bump %+v, doubts %v", f.Bump, f.Doubts)
	}
}

// How a copy's offsets are known.
func TestOffsetSource(t *testing.T) {
	for _, tc := range []struct {
		history       string
		first, second OffsetSource
	}{
		{`p1 > t/0 -:a; p1 < 7=10; p1 > t/0 -:a; p1 < =11`, OffsetFromErrorAnswer, OffsetFromAnswer},
		{`p1 > t/0 -:a; p1 < 7=10; p1 > t/0 -:a; p1 < =11; r1 fetch t/0 hw=12 10=-:a 11=-:a`, OffsetFromFetch, OffsetFromFetch},
		{`r1 fetch t/0 hw=10; p1 > t/0 -:a; p1 rst; p1' > t/0 -:a; p1' < =11`, OffsetFromGap, OffsetFromAnswer},
		{`p1 > t/0 -:a; p1 rst; p1' > t/0 -:a; p1' < =11`, "", OffsetFromAnswer},
	} {
		r := judge(observe(t, tc.history))
		if len(r.Findings) != 1 || r.Findings[0].Copies[0].OffsetSource != tc.first || r.Findings[0].Copies[1].OffsetSource != tc.second {
			t.Errorf("%s: %s", tc.history, describe(r))
		}
	}
}

// Findings list the first thousand records and count all.
func TestLongFindingsAreCut(t *testing.T) {
	c := newCapture()
	b := c.batch(-1, -1, -1, 0)
	n := MaxListedRecords + 500
	b.Records, b.LastOffsetDelta, b.RecordCount = nil, int32(n-1), int32(n)
	for i := range n {
		b.Records = append(b.Records, kafka.Record{Content: kafka.Fingerprint{Hi: 1, Lo: uint64(i)}, Delta: int32(i)})
	}
	c.answer(c.send(0, b), 20, 100)
	c.answer(c.send(0, b), 0, 5000)
	r := judge(c.all)
	if len(r.Findings) != 1 || r.Findings[0].RecordCount != n || len(r.Findings[0].Records) != MaxListedRecords || r.Findings[0].Copies[1].LastOffset != 5000+int64(n)-1 {
		t.Errorf("have %d findings", len(r.Findings))
	}
}

// The producers of a report: who used which id, and under which epochs.
func TestProducers(t *testing.T) {
	r := judge(observe(t, `p1 is librdkafka 2.6.1; p1 init 7/0 txn=x; p1 > t/0 7/0/0:a%txn txn=x; p1 < =10; p2 > t/0 7/2/0:b%txn txn=x; p2 < =12
		q1 > t/0 9/0/0:c; q1 < =14; r1 fetch t/0 hw=16 15=5/0/0:d`))
	var have []string
	for _, p := range r.Producers {
		id := "-"
		if p.TransactionalID != nil {
			id = *p.TransactionalID
		}
		have = append(have, fmt.Sprintf("%d %v %s %s %s %d", p.ProducerID, p.Epochs, p.ClientID, p.Software, id, len(p.Addresses)))
	}
	if want := []string{"7 [0 2] p librdkafka 2.6.1 x 2", "9 [0] q  - 1"}; !slices.Equal(have, want) {
		t.Errorf("have %q, want %q", have, want)
	}
}

// Repeats name the partitions, the most first.
func TestRepeats(t *testing.T) {
	r := judge(observe(t, `p1 > t/1 7/0/0:aa t/2 7/0/0:bbcc; p1 < =1 =1`))
	have := ""
	for _, repeat := range r.Repeats {
		have += fmt.Sprintf("%s:%d ", placeName(repeat.Topic, repeat.Partition), repeat.Records)
	}
	if have != "t/2:2 t/1:1 " {
		t.Errorf("have %s", have)
	}
}

// timelineOf returns a line per event of a finding's story: when, what, the answer's code and offset, whose copy.
func timelineOf(f *Finding) []string {
	var steps []string
	for _, e := range f.Timeline {
		step := fmt.Sprintf("%d %s", int64(e.At.Time)/1e6-epochMillis, e.Kind)
		if e.HasError {
			step += fmt.Sprintf(" %d", e.ErrorCode)
		}
		if e.Offset != NoOffset {
			step += fmt.Sprintf("=%d", e.Offset)
		}
		if e.Copy > 0 {
			step += fmt.Sprintf(" copy %d", e.Copy)
		}
		if e.Repeat > 0 {
			step += fmt.Sprintf(" +%d", e.Repeat)
		}
		if e.Unheard {
			step += " unheard"
		}
		steps = append(steps, step)
	}
	return steps
}

func TestTimeline(t *testing.T) {
	for _, c := range []struct {
		name, history string
		want          []string
	}{
		{
			name:    "an OK that never reached the client: its connection's end is why the record came again",
			history: `@100 p1 > t/0 -:a; @110 p1 < =10 unacked; @200 p1 rst; @300 p1' > t/0 -:a; @310 p1' < =11`,
			want: []string{
				"100 produce-request copy 1", "110 produce-response 0=10 copy 1", "200 connection-lost copy 1 unheard",
				"300 produce-request copy 2", "310 produce-response 0=11 copy 2",
			},
		},
		{
			name:    "three batches that waited on one connection: it is lost once",
			history: `@90 p1 > t/0 -:z; @95 p1 < =9; @100 p1 > t/0 -:a; @110 p1 > t/0 -:b; @200 p1 rst; @300 p1' > t/0 -:ab; @310 p1' < =12`,
			want: []string{
				"100 produce-request copy 1", "110 produce-request copy 1", "200 connection-lost copy 1",
				"300 produce-request copy 2", "310 produce-response 0=12 copy 2",
			},
		},
		{
			name: "the retry has other borders and is answered 45: it carried the copy, too",
			history: `@90 p1 > t/0 7/0/0:z; @95 p1 < =9; @100 p1 > t/0 7/0/1:a; @200 p1 rst; @300 p1' > t/0 7/0/1:ab; @310 p1' < 45
				@320 p1' init 7/1 from=7/0; @330 p1' > t/0 7/1/0:ab; @340 p1' < =11`,
			want: []string{
				"100 produce-request copy 1", "200 connection-lost copy 1", "300 produce-request copy 1", "310 produce-response 45 copy 1",
				"320 init-producer-id 0", "330 produce-request copy 2", "340 produce-response 0=11 copy 2",
			},
		},
		{
			name: "the retry of a copy is answered 45, which forces the bump: told once",
			history: `@90 p1 > t/0 7/0/0:z; @95 p1 < =9; @100 p1 > t/0 7/0/1:a; @200 p1 rst; @300 p1' > t/0 7/0/1:a; @310 p1' < 45
				@320 p1' init 7/1 from=7/0; @330 p1' > t/0 7/1/0:a; @340 p1' < =11`,
			want: []string{
				"100 produce-request copy 1", "200 connection-lost copy 1", "300 produce-request copy 1", "310 produce-response 45 copy 1",
				"320 init-producer-id 0", "330 produce-request copy 2", "340 produce-response 0=11 copy 2",
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := judge(observe(t, c.history))
			if len(r.Findings) != 1 {
				t.Fatal(describe(r))
			}
			if have := timelineOf(&r.Findings[0]); !slices.Equal(have, c.want) {
				t.Errorf("timeline\nhave %s\nwant %s", strings.Join(have, "\n     "), strings.Join(c.want, "\n     "))
			}
		})
	}
}

// A client that sends again does so over another connection, on which it may not say its name, and has less to do.
func TestSettingsAreThoseOfTheClient(t *testing.T) {
	lost := `p1 is librdkafka 1.9.2; p1 > t/0 -:z; p1 < =9; p1 > t/0 -:a; p1 > t/0 -:b; p1 rst; `
	for _, c := range []struct {
		name, history, software string
		inFlight                int
	}{
		{"its own connections", lost + `p1' > t/0 -:ab; p1' < =12`, "librdkafka 1.9.2", 2},
		{"another name since", lost + `p1' is librdkafka 2.0.0; p1' > t/0 -:ab; p1' < =12`, "librdkafka 2.0.0", 2},
		{"another client of the host", lost + `@9000 p.q1 > t/0 -:a!; p.q1 < =12; p.q1 > t/0 -:b!; p.q1 < =13; r1 fetch t/0 hw=14 9=-:z 10=-:a 11=-:b`, "", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := judge(observe(t, c.history))
			if len(r.Findings) == 0 {
				t.Fatal(describe(r))
			}
			for _, f := range r.Findings {
				if in := f.Inferred; in.Software != c.software || in.MaxInFlight != c.inFlight {
					t.Errorf("%q, %d in flight; want %q, %d", in.Software, in.MaxInFlight, c.software, c.inFlight)
				}
			}
		})
	}
}
