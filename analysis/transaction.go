package analysis

import (
	"cmp"
	"slices"
	"sort"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
)

// outcome is the end of the transaction that a batch belongs to.
type outcome uint8

const (
	outcomeUnknown outcome = iota
	committed
	aborted
)

// abortedIn reports whether the batch belongs to a transaction that was aborted, or whose commit nothing shows while its
// producer moved on to another epoch: a client aborts before it does that.
func (c *chains) abortedIn(b *batch, f fate) bool {
	if !b.info.Transactional() {
		return false
	}
	switch c.outcome(b, f) {
	case committed:
		return false
	case aborted:
		return true
	}
	for a := range c.p.aborted {
		if a.ProducerID == b.id.producer && f.offset >= 0 && a.FirstOffset <= f.offset {
			return true
		}
	}
	return c.producers.get(b.p.cluster, b.id.producer).top > b.id.epoch
}

// outcome tells how the transaction of a batch ended.
func (c *chains) outcome(b *batch, f fate) outcome {
	pr := c.producers.get(b.p.cluster, b.id.producer)
	late := b.id.base == 0 && pr.cameBehindItsAbort(b.id.epoch, c.markersOf(pr), f.offset, b.first.Time)
	shown, whole := c.markerBehind(pr, b, f)
	if shown == committed && whole && f.source == OffsetFromFetch {
		return committed // the log decides, whatever the client asked for: an EndTxn that comes late may end the next transaction, too
	}
	return pr.outcomeOf(b.id.epoch, shown, b.first.Time, len(b.sends) > 0 && !late)
}

// markerBehind returns what the first marker behind a batch says. A commit has the epoch of the batch or, with transactions of version 2, the
// one after it; any other is that of a later transaction, and so may be one with offsets before it that nobody was seen to read.
// whole says that of a commit it is known what stands at every offset from the batch to it. Then it is the batch's, whatever its
// epoch: a transaction that was prepared (KIP-939) outlives its producer's epochs.
func (c *chains) markerBehind(pr *producer, b *batch, f fate) (shown outcome, whole bool) {
	markers := c.markersOf(pr)
	first, found := firstBehind(markers, f.offset)
	switch {
	case !found:
		return outcomeUnknown, false
	case !first.commit:
		return aborted, false
	case pr.markersLost && markers[0].offset > f.offset:
		return outcomeUnknown, false
	}
	hidden := c.p.holes(c.p.known().holes, f.offset+int64(b.count()), first.offset)
	whole = len(hidden) == 0
	next := first.epoch == b.id.epoch || first.epoch == b.id.epoch+1
	if !next && (!whole || f.source != OffsetFromFetch) || slices.ContainsFunc(hidden, func(h hole) bool { return !c.p.readOver(h) }) {
		return outcomeUnknown, false
	}
	return committed, whole
}

// endedByEpoch reports whether a transaction's end stands between a batch and a later one and raised the epoch, as transactions of version 2
// do: its marker has the next one. Where none is seen between the two, it may be at an offset that nobody was seen to read.
func (c *chains) endedByEpoch(b, later *batch) bool {
	from, to := b.fate().offset, later.fate().offset
	m, found := firstBehind(c.markersOf(c.producers.get(b.p.cluster, b.id.producer)), from)
	if !b.info.Transactional() || !found || m.epoch <= b.id.epoch {
		return false
	}
	return m.offset < to || len(c.p.holes(c.p.known().holes, from+int64(b.count()), to)) > 0
}

// markersOf returns the markers of a producer that stand in the partition, by offset.
func (c *chains) markersOf(pr *producer) []marker {
	own, known := c.markers[pr]
	if known || len(pr.markers) == 0 {
		return own
	}
	for _, m := range pr.markers {
		if m.partition == c.p.number && c.p.isTopic(m.topic) {
			own = append(own, m)
		}
	}
	slices.SortStableFunc(own, func(a, b marker) int { return cmp.Compare(a.offset, b.offset) })
	if c.markers == nil {
		c.markers = map[*producer][]marker{}
	}
	c.markers[pr] = own
	return own
}

// firstBehind returns the first marker behind an offset.
func firstBehind(markers []marker, offset int64) (first marker, found bool) {
	i := sort.Search(len(markers), func(i int) bool { return markers[i].offset > offset })
	if offset < 0 || i == len(markers) {
		return marker{}, false
	}
	return markers[i], true
}

// outcomeOf tells how the transaction ended that a batch of the epoch belongs to, sent at a time (where that is known), by what the marker
// behind it shows. An EndTxn that asks for an abort decides even when its answer is lost, and so does an abort marker; then a commit;
// then an InitProducerId, which ends what is open.
func (pr *producer) outcomeOf(epoch int16, shown outcome, sent pcap.Timestamp, hasSend bool) outcome {
	asked := outcomeUnknown
	if hasSend {
		asked = pr.askedFor(epoch, sent)
	}
	switch {
	case asked == aborted || shown == aborted:
		return aborted
	case asked == committed || shown == committed:
		return committed
	}
	if hasSend && slices.ContainsFunc(pr.grants, func(g *kafka.ProducerGranted) bool { return g.At.Time > sent }) {
		return aborted
	}
	return outcomeUnknown
}

// cameBehindItsAbort reports whether the first batch of an epoch reached the log so late that the marker of its own transaction stands in front
// of it. There it is part of the producer's next one (what KIP-890 prevents).
func (pr *producer) cameBehindItsAbort(epoch int16, markers []marker, offset int64, sent pcap.Timestamp) bool {
	return slices.ContainsFunc(markers, func(m marker) bool { return !m.commit && m.epoch == epoch && m.offset < offset }) &&
		!slices.ContainsFunc(pr.endings, func(e *kafka.TransactionEnding) bool {
			return !e.Commit && e.ProducerEpoch == epoch && e.At.Time <= sent
		})
}

// askedFor returns what the first EndTxn or WriteTxnMarkers after a time asks for: a commit of the epoch, or an abort of it or of a
// later one that fences it.
func (pr *producer) askedFor(epoch int16, sent pcap.Timestamp) outcome {
	for _, e := range pr.endings {
		if e.At.Time > sent && (e.ProducerEpoch == epoch || !e.Commit && e.ProducerEpoch > epoch) {
			return outcomeFrom(e.Commit)
		}
	}
	return outcomeUnknown
}

func outcomeFrom(commit bool) outcome {
	if commit {
		return committed
	}
	return aborted
}
