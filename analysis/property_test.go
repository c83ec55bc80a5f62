package analysis

import (
	"slices"
	"strconv"
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

// The order of what unrelated connections show at one time cannot matter.
func TestOrderOfUnrelatedConnections(t *testing.T) {
	for seed := range uint64(worlds) {
		a, b := newWorldBeside(seed, 0), newWorldBeside(seed+1000, 1)
		a.run(5, a.tellFalse)
		b.run(5, b.tellFalse)
		one, other := judge(observe(t, interleave(a, b))), judge(observe(t, interleave(b, a)))
		if have, want := describe(one), describe(other); have != want || one.Counts != other.Counts {
			t.Fatalf("seed %d: once\n%s\n%s\nthen\n%s\n%s", seed, have, describeCounts(one.Counts), want, describeCounts(other.Counts))
		}
		have, want := found(one), slices.Concat(a.truth, b.truth)
		slices.Sort(have)
		slices.Sort(want)
		if !slices.Equal(have, want) {
			t.Fatalf("seed %d: have\n%s\nwant\n%s", seed, strings.Join(have, "\n"), strings.Join(want, "\n"))
		}
	}
}

// interleave merges two worlds by time; a goes first where times are equal.
func interleave(a, b *world) string {
	type timed struct {
		at   int
		line string
	}
	var all []timed
	for _, line := range slices.Concat(a.lines, b.lines) {
		at, _ := strconv.Atoi(strings.Fields(line)[0][1:])
		all = append(all, timed{at, line})
	}
	slices.SortStableFunc(all, func(x, y timed) int { return x.at - y.at })
	var lines []string
	for _, one := range all {
		lines = append(lines, one.line)
	}
	return strings.Join(lines, "\n")
}
