package analysis

import (
	"slices"
	"sort"

	"github.com/kdupscan/kdupscan/pcap"
)

// A batch that was refused at every send seen may have been sent before, where the capture does not show it.

// refusalCertain reports whether a batch that was refused at every send seen cannot have an earlier send that the capture
// lacks: the run of sequences that it belongs to is seen from a batch on that was acknowledged, or from the start of its
// epoch, and no stream of its client has a gap since.
func (b *batch) refusalCertain() bool {
	if !b.idempotent() {
		// Without sequences nothing tells what came before. A late start alone is no reason to suspect a hidden send.
		return !b.p.j.gapOf(b, 0, b.lastSent()) || !b.p.j.gapOf(b, b.previousOK(), b.lastSent())
	}
	since, run := b.first.Time, b
	for range maxLookBack {
		at := run.anchor()
		if at.batch == nil {
			return false
		}
		since = min(since, at.since)
		if at.batch.id.base == 0 || at.batch.answeredOK(b.lastSent()) {
			return !b.p.j.gapOf(b, since, b.lastSent())
		}
		run = at.batch
	}
	return false
}

// anchor is where a run of sequences is known to begin.
type anchor struct {
	batch *batch         // nil: the run breaks off
	since pcap.Timestamp // when the first batch of the run was first sent
}

// anchor goes back from b by sequence to a batch that a leader took, or to the start of the epoch. What is found is kept for each
// batch on the way.
func (b *batch) anchor() anchor {
	var way []*batch
	var at anchor
	for run := b; ; {
		if w := run.known(); w.anchorKnown {
			at = w.anchor
			break
		}
		way = append(way, run)
		if run.id.base == 0 {
			at = anchor{run, run.first.Time}
			break
		}
		if run = run.predecessor(); run == nil {
			break
		}
		if len(run.views) > 0 || run.named() || run.acknowledgedSomewhere() {
			at = anchor{run, run.first.Time}
			break
		}
	}
	for _, run := range slices.Backward(way) {
		at.since = min(at.since, run.first.Time)
		w := run.known()
		w.anchor, w.anchorKnown = at, true
	}
	return at
}

// answeredOK reports whether an OK for the batch was seen by t.
func (b *batch) answeredOK(t pcap.Timestamp) bool {
	return slices.ContainsFunc(b.sends, func(s *send) bool {
		a := s.reply()
		return a != nil && a.ErrorCode == 0 && a.At.Time <= t
	})
}

func (b *batch) lastSent() pcap.Timestamp { return b.sends[len(b.sends)-1].sent.At.Time }

// previousOK returns when the client last sent a batch to the partition that was acknowledged before b, 0 if none was seen. Only
// the latest batches are looked at.
func (b *batch) previousOK() pcap.Timestamp {
	own := sort.Search(len(b.p.batches), func(i int) bool { return b.p.batches[i].first.Time > b.first.Time || len(b.p.batches[i].sends) == 0 })
	for i := own - 1; i >= 0 && i >= own-maxLookBack; i-- {
		if o := b.p.batches[i]; o != b && !o.idempotent() && before(o, b) && sameClient(o, b) && o.answeredOK(b.lastSent()) {
			return o.first.Time
		}
	}
	return 0
}

// maxLookBack is more batches than one client has in flight on a partition.
const maxLookBack = 1000
