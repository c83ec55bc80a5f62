package report

import (
	"strings"
	"testing"

	"github.com/kdupscan/kdupscan/analysis"
)

// What rules out a retry by the client is only said where it is so.
func TestRuledOutOfResends(t *testing.T) {
	type id struct {
		producer int64
		epoch    int16
	}
	for _, tc := range []struct {
		first, later id
		want         string
	}{
		{id{7, 0}, id{7, 0}, "the sequences are fresh"},
		{id{7, 0}, id{7, 1}, "the timestamps are new"},
		{id{-1, -1}, id{-1, -1}, "the timestamps are new"},
		{id{7, 0}, id{9, 0}, "another producer sent them"},
		{id{7, 0}, id{-1, -1}, "another producer sent them"},
	} {
		f := analysis.Finding{Cause: analysis.ApplicationResend}
		for _, of := range []id{tc.first, tc.later} {
			f.Copies = append(f.Copies, analysis.Copy{Batches: []analysis.CopyBatch{{ProducerID: of.producer, ProducerEpoch: of.epoch}}})
		}
		if have := ruledOut(&f); !strings.HasPrefix(have, "Ruled out: a retry by the client ("+tc.want+"), and") {
			t.Errorf("%v and %v: %s", tc.first, tc.later, have)
		}
	}
}
