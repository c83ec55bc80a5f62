package analysis

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/kdupscan/kdupscan/kafka"
)

// A capture that lacks answers (and says so) or lacks the readers of a true world never shows a copy beyond doubt, and the
// records it confirms in a false world are among those that were written twice.
func TestLossyCaptures(t *testing.T) {
	for seed := range uint64(worlds) {
		w := newWorld(seed)
		tell := w.tellTrue
		if seed%2 == 1 {
			tell = w.tellFalse
		}
		w.run(6, tell)
		r := judge(lose(observe(t, w.history()), rand.New(rand.NewPCG(seed, 4))))
		wellFormed(t, r)
		for _, f := range r.Findings {
			if f.Verdict != Confirmed {
				continue
			}
			for _, pair := range found(&Result{Findings: []Finding{f}}) {
				if !slices.Contains(w.truth, pair) {
					t.Fatalf("seed %d: %s\n\n%s", seed, describe(r), w.history())
				}
			}
		}
	}
}

// lose drops answers to Produce requests, leaving gaps, and all sight of some offsets.
func lose(all []kafka.Observation, r *rand.Rand) []kafka.Observation {
	var kept []kafka.Observation
	lost := map[*kafka.Request]bool{}
	for _, o := range all {
		switch o := o.(type) {
		case *kafka.BatchAnswered:
			if r.IntN(4) == 0 {
				lost[o.Request] = true
				kept = append(kept, &kafka.GapSeen{Seen: o.Seen, Bytes: 100, Hidden: true})
				continue
			}
		case *kafka.AnswerAcked:
			if lost[o.Request] {
				continue
			}
		case *kafka.BatchFetched:
			if o.Batch.BaseOffset%3 == 0 {
				continue
			}
		}
		kept = append(kept, o)
	}
	return kept
}
