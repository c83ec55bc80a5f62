package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
)

// historyCase is a history and what it must show. Near-miss twins, which must stay silent, have no want.
type historyCase struct {
	name    string
	history string
	want    string    // findings as describe words them, a line each
	counts  string    // non-zero counts as describeCounts words them
	doubt   pcap.Code // one that the first finding must have
}

func runCases(t *testing.T, cases []historyCase) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			result := judge(observe(t, tc.history))
			if have, want := describe(result), trimLines(tc.want); have != want {
				t.Errorf("findings\nhave %s\nwant %s\n%s", have, want, trimLines(tc.history))
			}
			if have := describeCounts(result.Counts); have != tc.counts {
				t.Errorf("counts\nhave %s\nwant %s\n%s", have, tc.counts, trimLines(tc.history))
			}
			if tc.doubt != "" && (len(result.Findings) == 0 || !slices.Contains(result.Findings[0].Doubts, tc.doubt)) {
				t.Errorf("the doubt %s is missing", tc.doubt)
			}
			wellFormed(t, result)
		})
	}
}

// judge gives observations to a fresh correlator.
func judge(all []kafka.Observation) *Result {
	c := New(Options{})
	for _, o := range all {
		c.Observe(o)
	}
	return c.Finish()
}

func trimLines(text string) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// describe words findings: verdict, cause, topic/partition, offsets of each record's copies (? unknown, - absent), and for a
// bump the identities and the trigger.
//
//	probable epoch-bump t/0 100>102 101>103 7/0>7/1 by error 45 on u/5
func describe(r *Result) string {
	var lines []string
	for _, f := range r.Findings {
		words := []string{verdictNames[f.Verdict], string(f.Cause), placeName(f.Topic, f.Partition)}
		for _, rec := range f.Records {
			var offsets []string
			for _, o := range rec.Offsets {
				switch {
				case o.Absent:
					offsets = append(offsets, "-")
				case o.Offset == NoOffset:
					offsets = append(offsets, "?")
				default:
					offsets = append(offsets, fmt.Sprint(o.Offset))
				}
			}
			words = append(words, strings.Join(offsets, ">"))
		}
		if f.Cause == MisroutedBatch {
			words = append(words, "from", placeName(f.Copies[0].Topic, f.Copies[0].Partition))
		}
		if b := f.Bump; b != nil {
			to := b.ProducerID
			if b.NewProducerID >= 0 {
				to = b.NewProducerID
			}
			words = append(words, fmt.Sprintf("%d/%d>%d/%d by %s", b.ProducerID, b.FromEpoch, to, b.ToEpoch, describeTrigger(b.Trigger)))
		}
		lines = append(lines, strings.Join(words, " "))
	}
	return strings.Join(lines, "\n")
}

var verdictNames = map[Verdict]string{Possible: "possible", Probable: "probable", Confirmed: "confirmed"}

func placeName(t kafka.Topic, partition int32) string {
	name := t.Name
	if name == "" {
		name = fmt.Sprintf("#%d", t.ID[15])
	}
	return fmt.Sprintf("%s/%d", name, partition)
}

func describeTrigger(t *Trigger) string {
	switch {
	case t == nil:
		return "nothing"
	case t.Kind == TriggerProduceError:
		return fmt.Sprintf("error %d on %s", t.ErrorCode, placeName(t.Topic, t.Partition))
	case t.Partition < 0:
		return string(t.Kind)
	}
	return fmt.Sprintf("%s on %s", t.Kind, placeName(t.Topic, t.Partition))
}

// describeCounts words the counts that are not zero.
func describeCounts(c Counts) string {
	var words []string
	for _, one := range []struct {
		name string
		n    int64
	}{
		{"appended", c.Appended}, {"deduplicated", c.Deduplicated}, {"rejected", c.Rejected},
		{"unacknowledged", c.Unacknowledged}, {"application_repeats", c.ApplicationRepeats},
		{"epoch_bumps", c.EpochBumps}, {"leader_changes", c.LeaderChanges},
	} {
		if one.n != 0 {
			words = append(words, fmt.Sprintf("%s %d", one.name, one.n))
		}
	}
	return strings.Join(words, ", ")
}

// wellFormed asserts what every result keeps to, whatever its history.
func wellFormed(t testing.TB, r *Result) {
	t.Helper()
	for i, f := range r.Findings {
		switch {
		case f.Verdict < Possible || f.Verdict > Confirmed:
			t.Errorf("finding %d: verdict %d", i, f.Verdict)
		case len(f.Copies) < 2 || f.RecordCount == 0 || len(f.Records) != min(f.RecordCount, MaxListedRecords):
			t.Errorf("finding %d: %d copies, %d records, %d listed", i, len(f.Copies), f.RecordCount, len(f.Records))
		case i > 0 && f.LaterAt < r.Findings[i-1].LaterAt:
			t.Errorf("finding %d is out of order", i)
		case (f.Bump != nil) != (f.Cause == EpochBump || f.Cause == NewProducerID):
			t.Errorf("finding %d: %s with bump %v", i, f.Cause, f.Bump)
		}
		for _, rec := range f.Records {
			if len(rec.Offsets) != len(f.Copies) {
				t.Errorf("finding %d: %d offsets for %d copies", i, len(rec.Offsets), len(f.Copies))
			}
			for k, o := range rec.Offsets {
				if o.Offset < NoOffset || slices.Contains(rec.Offsets[:k], o) && o.Offset != NoOffset && f.Cause != MisroutedBatch {
					t.Errorf("finding %d: offsets %v", i, rec.Offsets)
				}
			}
		}
		sorted := slices.IsSortedFunc(f.Timeline, func(a, b Event) int { return cmp.Compare(a.At.Time, b.At.Time) })
		if len(f.Timeline) == 0 || !sorted {
			t.Errorf("finding %d: its timeline is empty or out of order", i)
		}
	}
}
