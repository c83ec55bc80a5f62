package analysis

import (
	"slices"
	"strings"
	"testing"
)

const worlds = 120

// Brokers and clients that leave each record in the log once never give a finding.
func TestTrueWorldsAreClean(t *testing.T) {
	for seed := range uint64(worlds) {
		w := newWorld(seed)
		w.run(12, w.tellTrue)
		if have := describe(judge(observe(t, w.history()))); have != "" {
			t.Fatalf("seed %d: found\n%s\n\n%s", seed, have, w.history())
		}
	}
}

// Exactly the records that were written twice are found, each with its cause, and once a reader has seen the logs they are
// confirmed.
func TestFalseWorldsAreFound(t *testing.T) {
	for seed := range uint64(worlds) {
		w := newWorld(seed)
		w.run(6, w.tellFalse)
		r := judge(observe(t, w.history()))
		have, want := found(r), slices.Clone(w.truth)
		slices.Sort(have)
		slices.Sort(want)
		if !slices.Equal(have, want) {
			t.Fatalf("seed %d: have\n%s\nwant\n%s\n\n%s", seed, strings.Join(have, "\n"), strings.Join(want, "\n"), w.history())
		}
		wellFormed(t, r)
		for _, f := range r.Findings {
			if f.Verdict != Confirmed {
				t.Fatalf("seed %d: not confirmed: %s\n\n%s", seed, describe(r), w.history())
			}
		}
	}
}
