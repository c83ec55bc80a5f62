package analysis

import (
	"slices"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
)

// resends links records that a client wrote again because it believed the first attempt failed: under a new epoch, a new
// producer id, or without one.
func (c *chains) resends() {
	c.index = findSuspects(c.p)
	if len(c.index.batches) == 0 {
		return
	}
	for _, l := range c.p.batches {
		if len(l.sends) == 0 || l.info.Control() || !evidence(l.info) || !c.index.openBefore(l) && !c.ghostsOf(l) {
			continue
		}
		c.match(l)
		if !c.linked(l) {
			c.matchWhole(l)
		}
	}
	c.timelessRetries()
}

// ghostsOf reports whether batches of the same producer were seen in the log but not on their way to it.
func (c *chains) ghostsOf(l *batch) bool {
	return l.idempotent() && len(c.p.batches) > 0 && len(c.p.batches[len(c.p.batches)-1].sends) == 0
}

// match links each record of a batch to the first copy with the lowest sequence behind the previous pick.
func (c *chains) match(l *batch) {
	var last *node
	for _, r := range l.records {
		later := entry{l, r.Delta}
		if n := c.lookup(later); n != nil && n.prev != nil {
			c.node(later) // linked by an earlier cut of the batch
			continue
		}
		first, cause := c.pick(l, r, last)
		if first == nil {
			continue
		}
		c.link(first, c.node(later), cause)
		last = first
	}
}

// pick chooses the first copy of a record of l: of the latest epoch, and the first one that is free.
func (c *chains) pick(l *batch, r kafka.Record, last *node) (*node, Cause) {
	var best *node
	var bestCause Cause
	consider := func(e entry) {
		if cause := resendCause(e.b, l); cause != "" {
			if n := c.node(e); best == nil || preferred(n, best, last) {
				best, bestCause = n, cause
			}
		}
	}
	if same := c.index.exact[recordKey{r.Content, r.Timestamp}]; same != nil {
		for _, one := range same.all {
			if l.idempotent() && one.of(l) {
				c.joinCut(one, entry{l, r.Delta})
			} else if e, ok := c.free(one, l); ok {
				consider(e)
			}
		}
	}
	if c.p.timestamps == logAppendTime {
		for _, e := range c.index.likely(r.Content) {
			if len(e.b.sends) == 0 && !createdApart(e.b, l) && len(c.node(e).next) == 0 {
				consider(e) // its timestamp is the broker's
			}
		}
	}
	return best, bestCause
}

// joinCut makes one record of those that a producer sent in batches of different borders: what became of it, and whether it was
// acknowledged, is told by all of them.
func (c *chains) joinCut(r *series, again entry) {
	key := c.key(again)
	for _, e := range slices.Backward(r.entries[max(0, len(r.entries)-maxTries):]) {
		if before(e.b, again.b) && c.key(e) == key {
			c.node(e)
			c.node(again)
		}
	}
}

// openAt reports whether the client had seen no OK at a time for any batch that carried the record.
func (c *chains) openAt(e entry, t pcap.Timestamp) bool {
	n := c.lookup(e)
	return e.b.openAt(t) && (n == nil || !slices.ContainsFunc(n.entries, func(cut entry) bool { return !cut.b.openAt(t) }))
}

// maxTries bounds how many records of a series are looked at for one that may be a first copy at the time: those in flight are few.
const maxTries = 16

// free returns the first record of a series that l may have written again: one that has no later copy yet, or one whose content
// is distinctive, so that it was written again twice.
func (c *chains) free(r *series, l *batch) (entry, bool) {
	for r.next < len(r.entries) && c.spent(r.entries[r.next], l) {
		r.next++
	}
	for _, e := range r.entries[r.next:min(len(r.entries), r.next+maxTries)] {
		if n := c.lookup(e); (n == nil || len(n.next) == 0) && resendCause(e.b, l) != "" && c.openAt(e, l.first.Time) {
			return e, true
		}
	}
	for i := r.next - 1; i >= 0 && i >= r.next-maxTries; i-- {
		if n := c.lookup(r.entries[i]); n != nil && len(n.next) > 0 && c.distinctive(n, 1) && !sameRound(n.next, l) {
			return r.entries[i], true
		}
	}
	return entry{}, false
}

// spent reports whether a record can be no first copy of l or of anything sent after it.
func (c *chains) spent(e entry, l *batch) bool {
	if n := c.lookup(e); n != nil && len(n.next) > 0 {
		return true
	}
	return len(e.b.sends) > 0 && !c.openAt(e, l.first.Time)
}

// sameRound reports whether a first copy was already paired with a record of the batch.
func sameRound(next []*node, l *batch) bool {
	for _, n := range next {
		for _, e := range n.entries {
			if e.b == l {
				return true
			}
		}
	}
	return false
}

// resendCause tells under which cause l can be the resend of a record of f, "" if it cannot.
func resendCause(f, l *batch) Cause {
	if f == l || len(f.sends) > 0 && (!before(f, l) || !f.openAt(l.first.Time)) {
		return ""
	}
	switch {
	case f.idempotent() && l.idempotent() && f.id.producer == l.id.producer:
		if f.id.epoch < l.id.epoch {
			return EpochBump
		}
	case f.idempotent() && l.idempotent():
		if sameClient(f, l) && f.givenUpAt(l.first.Time) && !f.goesOnBeside(l) {
			return NewProducerID
		}
	case !f.idempotent() && !l.idempotent():
		if sameClient(f, l) && f.givenUpAt(l.first.Time) && !f.goesOnBeside(l) {
			return BlindRetry
		}
	}
	return ""
}

// givenUpAt reports whether a client may have taken the batch for failed by t: it had failed visibly, or its answer was overdue. Of a
// batch that is only known by Fetch nothing is known.
func (b *batch) givenUpAt(t pcap.Timestamp) bool {
	return len(b.sends) == 0 || b.failedBefore(t) || b.staleAt(t)
}

// goesOnBeside reports whether new batches came to the partition from f's producer when l's was in use already: a client that takes another
// producer id uses the old one for retries alone from then on, so these are two producers that are called alike. Without ids two connections
// to one server tell them apart: a client sends over one.
func (b *batch) goesOnBeside(l *batch) bool {
	at := b.p.adjacent()
	if b.idempotent() {
		return at.producers.overlap(b.id.producer, l.id.producer)
	}
	x, y := b.sends[0].link, l.sends[0].link
	return x != y && x.Server == y.Server && at.links.overlap(x, y)
}

// preferred reports whether n is the better first copy: of the latest epoch, behind the previous pick, of the lowest sequence.
func preferred(n, best, last *node) bool {
	a, b := n.entries[0].b, best.entries[0].b
	if a.id.producer != b.id.producer || a.id.epoch != b.id.epoch {
		if a.id.producer == b.id.producer {
			return a.id.epoch > b.id.epoch
		}
		return before(b, a)
	}
	if last != nil {
		behindA, behindB := behind(last, n), behind(last, best)
		if behindA != behindB {
			return behindA
		}
	}
	return behind(n, best)
}

// behind reports whether b comes after a in the order of sequences, or of sends without one.
func behind(a, b *node) bool {
	x, y := a.entries[0], b.entries[0]
	if x.b.idempotent() && y.b.idempotent() && x.b.id.producer == y.b.id.producer && x.b.id.epoch == y.b.id.epoch {
		return kafka.SequenceDistance(a.key.sequence, b.key.sequence) > 0
	}
	if x.b != y.b {
		return before(x.b, y.b)
	}
	return x.delta < y.delta
}

// matchWhole links a batch by its header where the capture lacks the records of one of the two.
func (c *chains) matchWhole(l *batch) {
	same := c.index.whole[l.whole()]
	for _, f := range same[:min(len(same), maxRivals)] {
		if len(l.records) > 0 && len(f.records) > 0 {
			continue // their content has been compared
		}
		if cause := resendCause(f, l); cause != "" && !c.usedWhole(f) {
			c.linkWhole(f, l, cause)
			return
		}
	}
}

func (c *chains) usedWhole(f *batch) bool {
	n := c.lookup(entry{f, 0})
	return n != nil && len(n.next) > 0
}

// maxWholeRecords bounds how many records of a batch are paired by the header alone: its count is not checked against records
// that the capture lacks.
const maxWholeRecords = 1 << 16

// linkWhole links all records of two equal batches.
func (c *chains) linkWhole(f, l *batch, cause Cause) {
	for d := range min(l.count(), maxWholeRecords) {
		c.link(c.node(entry{f, d}), c.node(entry{l, d}), cause)
	}
}
