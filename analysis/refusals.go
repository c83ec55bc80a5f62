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
	since := b.first.Time
	run := b
	for steps := 0; run.id.base != 0; steps++ {
		run = run.predecessor()
		if run == nil || steps > len(b.p.batches) { // hostile sequences can run in a ring
			return false
		}
		since = min(since, run.first.Time)
		if run.answeredOK(b.lastSent()) {
			break
		}
	}
	return !b.p.j.gapOf(b, since, b.lastSent())
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

// findGaps sorts the connections with gaps by their clients.
func (j *judgement) findGaps() {
	j.gaps = map[client][]*link{}
	for _, l := range j.c.gapped {
		j.gaps[l.client()] = append(j.gaps[l.client()], l)
	}
}

// gapOf reports whether a stream of the batch's client has a gap within a time.
func (j *judgement) gapOf(b *batch, since, until pcap.Timestamp) bool {
	cl, _ := b.client()
	return slices.ContainsFunc(j.gaps[cl], func(l *link) bool { return l.gapBetween(since, until) })
}
