package analysis

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
)

// With little memory older history is dropped, which is noted; what was kept is judged as before: true worlds stay clean, no
// record is confirmed that was not written twice, none is reported twice, and two runs are equal.
func TestEviction(t *testing.T) {
	dropped := false
	for seed := range uint64(worlds) {
		w := newWorld(seed)
		tell := w.tellTrue
		if seed%2 == 1 {
			tell = w.tellFalse
		}
		w.run(10, tell)
		all := observe(t, w.history())
		r, noted := judgeWithin(40<<10, all)
		again, _ := judgeWithin(40<<10, all)
		if !reflect.DeepEqual(r, again) {
			t.Fatalf("seed %d: two results of one history", seed)
		}
		dropped = dropped || noted
		wellFormed(t, r)
		pairs := found(r)
		slices.Sort(pairs)
		if len(slices.Compact(slices.Clone(pairs))) != len(pairs) {
			t.Fatalf("seed %d: a record is reported twice: %q", seed, pairs)
		}
		for _, f := range r.Findings {
			for _, pair := range found(&Result{Findings: []Finding{f}}) {
				if f.Verdict == Confirmed && !w.twicePlaced(pair) {
					t.Fatalf("seed %d: %s is false\n%s", seed, describe(&Result{Findings: []Finding{f}}), w.history())
				}
			}
		}
	}
	if !dropped {
		t.Error("no history was dropped")
	}
}

// twicePlaced reports whether a record was written twice at the places of a pair, whatever the cause: with the sends forgotten,
// a reader's view alone may name another one.
func (w *world) twicePlaced(pair string) bool {
	_, places, _ := strings.Cut(pair, " ")
	return slices.ContainsFunc(w.truth, func(one string) bool { return strings.HasSuffix(one, " "+places) })
}

// judgeWithin judges with bounded memory and tells whether a note says that history was dropped.
func judgeWithin(memory int64, all []kafka.Observation) (*Result, bool) {
	noted := false
	c := New(Options{Memory: memory, Note: func(n pcap.Note) { noted = noted || n.Code == LimitWindowEvicted }})
	for _, o := range all {
		c.Observe(o)
	}
	return c.Finish(), noted
}

// TestFull: more history is let in where histories are very many, up to three times the budget, and where much could not be dropped.
func TestFull(t *testing.T) {
	for _, c := range []struct {
		used, left int64
		histories  int
		full       bool
	}{
		{used: 100 << 20, full: false},
		{used: 100<<20 + 1, full: true},
		{used: 102 << 20, histories: 1024, full: false},
		{used: 102<<20 + 1, histories: 1024, full: true},
		{used: 300 << 20, histories: 1 << 30, full: false},
		{used: 300<<20 + 1, histories: 1 << 30, full: true},
		{used: 115 << 20, left: 90 << 20, full: false},
		{used: 115<<20 + 1, left: 90 << 20, full: true},
	} {
		w := window{budget: 100 << 20, used: c.used, left: c.left}
		if have := w.full(c.histories); have != c.full {
			t.Errorf("%+v: %t", c, have)
		}
	}
}
