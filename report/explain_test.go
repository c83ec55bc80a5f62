package report

import (
	"strings"
	"testing"

	"github.com/kdupscan/kdupscan/analysis"
)

// Of batches without a producer id nothing can be said by their sequences.
func TestResendsAreExplainedByWhatTheyCarry(t *testing.T) {
	resend := func(first, later int64) *analysis.Finding {
		return &analysis.Finding{Cause: analysis.ApplicationResend, Copies: []analysis.Copy{
			{Batches: []analysis.CopyBatch{{ProducerID: first}}}, {Batches: []analysis.CopyBatch{{ProducerID: later}}},
		}}
	}
	for _, c := range []struct {
		name         string
		first, later int64
		sequences    bool
	}{
		{"one producer", 5, 5, true},
		{"two producers", 5, 6, true},
		{"without ids", -1, -1, false},
		{"the first without an id", -1, 5, false},
		{"the later without an id", 5, -1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := resend(c.first, c.later)
			for _, said := range []string{follows(f), ruledOut(f)} {
				if strings.Contains(said, "sequences") != c.sequences {
					t.Errorf("speaks of sequences, or does not: %s", said)
				}
			}
		})
	}
}
