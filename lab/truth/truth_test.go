package truth

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kdupscan/kdupscan/lab/cluster"
	"github.com/kdupscan/kdupscan/lab/proxy"
)

var start = time.Unix(1, 0)

// at is a batch of the log with one record, of the value and of one time.
func at(offset, producer int64, epoch int16, sequence int32, value string) cluster.Batch {
	return cluster.Batch{
		Topic: "orders", BaseOffset: offset, LastOffset: offset, ProducerID: producer, ProducerEpoch: epoch, BaseSequence: sequence, LastSequence: sequence,
		CRC: uint32(0xc0000000 + offset), Records: []cluster.Record{{Value: value, Timestamp: 7}},
	}
}

// sent is an entry of the journal, answered at once.
func sent(second int, partition int32, producer int64, epoch int16, code int16, offset int64) proxy.Batch {
	t := start.Add(time.Duration(second) * time.Second)
	return proxy.Batch{
		Topic: "orders", Partition: partition, Acks: -1, ProducerID: producer, ProducerEpoch: epoch, SentAt: t, Answered: true, AnsweredAt: t,
		Error: code, Offset: offset, AppendTime: -1,
	}
}

func TestOf(t *testing.T) {
	aborted := at(1, 7, 0, 1, "b")
	aborted.Aborted = true
	restamped := at(1, -1, 0, -1, "a")
	restamped.Records[0].Timestamp = 9
	recognised := sent(2, 0, 7, 0, 0, 0)
	recognised.AppendTime = 7
	for _, c := range []struct {
		name    string
		log     []cluster.Batch
		journal []proxy.Batch
		want    []string
		counts  Counts
	}{
		{"every value once", []cluster.Batch{at(0, 7, 0, 0, "a"), at(1, 7, 0, 1, "b")}, nil, nil, Counts{}},
		{"a retry that was recognised", []cluster.Batch{at(0, 7, 0, 0, "a")}, []proxy.Batch{sent(1, 0, 7, 0, 7, 0), recognised}, nil, Counts{Deduplicated: 1}},
		{"a blind retry", []cluster.Batch{at(0, -1, 0, -1, "a"), at(1, -1, 0, -1, "a")}, nil, []string{"orders/0 [0 1] blind-retry"}, Counts{}},
		{"a retry with a new time", []cluster.Batch{at(0, -1, 0, -1, "a"), restamped}, nil, []string{"orders/0 [0 1] application-resend"}, Counts{}},
		{
			"a bump after 45 elsewhere", []cluster.Batch{at(0, 7, 0, 0, "a"), at(1, 7, 1, 0, "a")},
			[]proxy.Batch{sent(1, 0, 7, 0, 6, 0), sent(2, 1, 7, 0, 45, -1), sent(3, 1, 7, 0, 45, -1), sent(4, 0, 7, 1, 0, 1)},
			[]string{"orders/0 [0 1] epoch-bump after 45 on orders/1"}, Counts{Appended: 1, Rejected: 2, EpochBumps: 1},
		},
		{
			"a bump that no answer forced", []cluster.Batch{at(0, 7, 0, 0, "a"), at(1, 7, 1, 0, "a")},
			[]proxy.Batch{sent(1, 0, 7, 0, 6, 0), sent(2, 0, 7, 1, 0, 1)},
			[]string{"orders/0 [0 1] epoch-bump"}, Counts{Appended: 1, EpochBumps: 1},
		},
		{"the broker appends twice", []cluster.Batch{at(0, 7, 0, 0, "a"), at(1, 7, 0, 0, "a")}, nil, []string{"orders/0 [0 1] broker-dedup-failure"}, Counts{}},
		{"an aborted transaction sent again", []cluster.Batch{at(0, 7, 0, 0, "a"), aborted, at(2, 7, 1, 0, "b")}, nil, nil, Counts{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			truth := Of(c.log, c.journal, false)
			var have []string
			for _, d := range truth.Duplicates {
				have = append(have, d.String())
			}
			if !slices.Equal(have, c.want) || truth.Counts != c.counts {
				t.Errorf("have %q, %+v; want %q, %+v", have, truth.Counts, c.want, c.counts)
			}
		})
	}
}

// A suspicion of a batch without an answer is no mistake where the brokers may still append it, and one elsewhere.
func TestSuspicion(t *testing.T) {
	journal := []proxy.Batch{{ProducerID: -1, CRC: 0xabc}}
	var r Report
	text := `{"verdict":"suspected","findings":[{"id":"F1","verdict":"possible","copies":[{"batches":[{"crc":"0x00000abc"}]},{"batches":[]}]}]}`
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	if have := Of(nil, journal, false).Compare(&r); len(have) == 0 {
		t.Error("a suspicion where all is known")
	}
	open := Of(nil, journal, false)
	open.Open = Unanswered(journal)
	if have := open.Compare(&r); len(have) != 0 {
		t.Errorf("differences %q", have)
	}
}

// What nobody could read on the wire is told by the log: only a batch that was written again had no answer.
func TestAcknowledged(t *testing.T) {
	log := []cluster.Batch{at(0, -1, -1, -1, "a"), at(1, -1, -1, -1, "b"), at(2, -1, -1, -1, "b")}
	journal := Acknowledged(log)
	if len(journal) != 3 || !journal[0].Answered || journal[1].Answered || !journal[2].Answered {
		t.Errorf("journal %+v", journal)
	}
	if c := Of(log, journal, false).Counts; c != (Counts{Appended: 2}) {
		t.Errorf("counts %+v", c)
	}
}

// TestCompare: a report that says something else than the log is told so.
func TestCompare(t *testing.T) {
	truth := Of([]cluster.Batch{at(0, -1, 0, -1, "a"), at(1, -1, 0, -1, "a")}, nil, false)
	topic, offset := "orders", int64(0)
	right := func() *Report {
		r := &Report{Verdict: "duplicates"}
		f := Finding{ID: "F1", Verdict: "confirmed", Cause: "blind-retry", Topic: &topic, Copies: make([]Copy, 1)}
		f.Records = append(f.Records, struct{ Offsets []any }{[]any{0.0, 1.0}})
		f.Copies[0].Batches = append(f.Copies[0].Batches, CopyBatch{ProducerID: -1, BaseSequence: -1, LastSequence: -1, CRC: "0xc0000000", BaseOffset: &offset, LastOffset: &offset})
		r.Findings = append(r.Findings, f)
		return r
	}
	for _, c := range []struct {
		name  string
		spoil func(*Report)
		want  string // in some difference; "": there is none
	}{
		{"right", func(*Report) {}, ""},
		{"verdict", func(r *Report) { r.Verdict = "clean" }, "verdict clean"},
		{"count", func(r *Report) { r.Counts = map[string]int64{"appended": 1} }, "appended: 1"},
		{"cause", func(r *Report) { r.Findings[0].Cause = "unknown" }, "not true"},
		{"offset", func(r *Report) { r.Findings[0].Records[0].Offsets[1] = 2.0 }, "not reported: orders/0 [0 1] blind-retry"},
		{"unknown offset", func(r *Report) { r.Findings[0].Records[0].Offsets[1] = nil }, "not true"},
		{"less than confirmed", func(r *Report) { r.Findings[0].Verdict = "probable" }, "probable"},
		{"twice", func(r *Report) { r.Findings = append(r.Findings, r.Findings[0]) }, "not true"},
		{"missing", func(r *Report) { r.Findings = nil }, "not reported"},
		{"CRC", func(r *Report) { r.Findings[0].Copies[0].Batches[0].CRC = "0xc0000001" }, "the log has"},
		{"gap", func(r *Report) { r.Coverage.Gaps.Count = 1 }, "1 gaps"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := right()
			c.spoil(r)
			have := strings.Join(truth.Compare(r), "\n")
			if c.want == "" && have != "" || !strings.Contains(have, c.want) {
				t.Errorf("differences %q, want %q", have, c.want)
			}
		})
	}
}
