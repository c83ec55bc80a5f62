package analysis

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
)

// fetchOnly links records that the log shows twice and whose sends, of one copy at least, are not in the capture.
// Only distinctive content counts, and of transactions only what is shown to be committed: what a producer writes again after an abort is
// no duplicate.
func (c *chains) fetchOnly() {
	if !c.severalClients() && !slices.ContainsFunc(c.p.batches, func(b *batch) bool { return len(b.sends) == 0 && !b.info.Control() }) {
		return
	}
	for _, pair := range c.equalPairs() {
		first, later := pair.first, pair.later
		if n := c.lookup(later); n != nil && n.prev != nil {
			continue
		}
		if n := c.lookup(first); n != nil && len(n.next) > 0 {
			continue
		}
		if cause := c.fetchedCause(first, later); cause != "" {
			c.link(c.node(first), c.node(later), cause)
		}
	}
}

// equalPairs returns the records of equal content and timestamp that stand at exactly two offsets, in the order of the later
// one's.
func (c *chains) equalPairs() []pair {
	var pairs []pair
	for _, o := range c.repeated().all {
		entries := o.inOneLog()
		if len(entries) != 2 {
			continue
		}
		a, b := entries[0], entries[1]
		x, y := c.storedAt(a), c.storedAt(b)
		if x == NoOffset || y == NoOffset || x == y || !c.sameTimestamp(a, b) || !a.b.fate().beside(b.b.fate()) {
			continue
		}
		if x > y {
			a, b = b, a
		}
		pairs = append(pairs, pair{a, b, max(x, y)})
	}
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(a.at, b.at) })
	return pairs
}

// pair is a record that the log shows twice.
type pair struct {
	first, later entry
	at           int64 // where the later one stands
}

// inOneLog returns the records of a content, without those that a log has lost that was cut back where there are more than two.
func (o *occurrence) inOneLog() []entry {
	if o.count <= 2 || o.count > len(o.entries) {
		return o.entries[:min(o.count, len(o.entries))]
	}
	return slices.DeleteFunc(slices.Clone(o.entries), func(e entry) bool { return e.b.fate().void != nil })
}

// storedAt returns where a record stands for all readers, NoOffset if that is not shown.
func (c *chains) storedAt(e entry) int64 {
	f := e.b.fate()
	if f.offset == NoOffset || f.grade < appended || e.b.info.Transactional() && c.outcome(e.b, f) != committed {
		return NoOffset
	}
	return f.offset + int64(e.delta)
}

func (c *chains) sameTimestamp(a, b entry) bool {
	x, _ := a.record()
	y, _ := b.record()
	if c.p.timestamps == logAppendTime {
		return !createdApart(a.b, b.b)
	}
	return x.Timestamp == y.Timestamp && x.Timestamp >= 0
}

// createdApart reports whether the headers of two batches show that their records were created at different times. A broker that
// writes its own time into a batch leaves the base timestamp alone, unless it builds the batch anew.
func createdApart(a, b *batch) bool {
	x, y := created(a.info), created(b.info)
	return x >= 0 && y >= 0 && x != y && a.count() == b.count()
}

// created returns when the client created the first record of a batch, in ms; -1 unknown.
func created(b *kafka.Batch) int64 {
	if b.LogAppendTime() && b.BaseTimestamp == b.MaxTimestamp {
		return -1
	}
	return b.BaseTimestamp
}

// fetchedCause tells the cause of a pair that the log shows, "" for none.
func (c *chains) fetchedCause(first, later entry) Cause {
	f, l := first.b, later.b
	if len(f.sends) > 0 && len(l.sends) > 0 && !movedOn(f, l) {
		return "" // the Produce traffic tells, and it told nothing
	}
	switch {
	case f.idempotent() && l.idempotent() && f.id.producer == l.id.producer:
		if f.id.epoch < l.id.epoch && !c.endedByEpoch(f, l) {
			return EpochBump
		}
		return "" // fresh sequences in one epoch, or the next transaction
	case f.idempotent() != l.idempotent() || l.copiedFrom(f):
		return ""
	case !f.idempotent():
		if c.wholeAgain(first, later) && !f.unanswerable() && !l.unanswerable() {
			return BlindRetry
		}
		return ""
	}
	if len(f.sends) > 0 && len(l.sends) == 0 && !f.openAt(forever) {
		return ""
	}
	if len(f.sends) > 0 && len(l.sends) > 0 && f.fate().grade < stored {
		return "" // it is not shown
	}
	if c.readWithGaps() || len(l.sends) == 0 && c.mayBeCopied(f, l) {
		return "" // with content alone to go by, a third copy in a gap would undo it
	}
	return UnknownCause
}

// severalClients reports whether batches that may have failed and others came to the partition from several addresses under one name.
func (c *chains) severalClients() bool {
	if c.index == nil || len(c.index.batches) == 0 {
		return false
	}
	addresses := map[string]netip.Addr{}
	var last *link
	return slices.ContainsFunc(c.p.sends, func(s *send) bool {
		if s.link == last {
			return false
		}
		last = s.link
		cl := last.client()
		known, met := addresses[cl.id]
		addresses[cl.id] = cl.addr
		return cl.id != "" && met && known != cl.addr
	})
}

// movedOn reports whether one of two batches had failed in the eyes of its client when the other was first sent from another address under
// that client's name: a process was started anew elsewhere with what it had not got rid of, or address translation gave it another address.
// Two processes of one name are at work beside each other, and a proxy that passed on the one passes on other clients' too.
func movedOn(f, l *batch) bool {
	if before(l, f) {
		f, l = l, f
	}
	x, _ := f.client()
	y, _ := l.client()
	return x.addr != y.addr && x.id == y.id && x.id != "" && f.openAt(l.first.Time) && f.givenUpAt(l.first.Time) &&
		!f.p.adjacent().clients.overlap(x, y) && !f.p.overlapHidden(x, y) &&
		!f.passedOnFrom(y.addr) && !l.passedOnFrom(x.addr)
}

// overlapHidden reports whether gaps of the capture may hide that two clients were at work beside each other.
func (p *partition) overlapHidden(one, other client) bool {
	a, b := p.adjacent().clients[one], p.adjacent().clients[other]
	return a != nil && b != nil && (within(p.j.gaps[one].requests, b[0], forever) || within(p.j.gaps[other].requests, 0, a[1]))
}

// passedOnFrom reports whether a host passed the batch on.
func (b *batch) passedOnFrom(host netip.Addr) bool {
	return slices.ContainsFunc(b.sends[0].legs, func(leg *send) bool { return leg.link.Client.Addr() == host })
}

// unanswerable reports whether a send of the batch asked for no answer.
func (b *batch) unanswerable() bool {
	return slices.ContainsFunc(b.sends, func(s *send) bool { return s.sent.Acks == 0 })
}

// readWithGaps reports whether the capture lacks answers to those who read the partition, from their first sight of it on or, where a request
// shows that they read before, until then.
func (c *chains) readWithGaps() bool {
	if !c.readKnown {
		c.readKnown = true
		c.readGaps = slices.ContainsFunc(c.p.sightings, func(s *sighting) bool {
			return s.link.answerMayBeHidden(s.firstSight()+1) || s.link.readUnheard(s.firstSight())
		})
	}
	return c.readGaps
}

// clocksApart is how far the clocks of the hosts on which a capture was made may be apart.
const clocksApart = pcap.Timestamp(100e6)

// copiedFrom reports whether l was written by a process that had read f: a mirror or an application that hands records on, perhaps to
// another cluster's topic of the same name.
func (b *batch) copiedFrom(f *batch) bool {
	cl, sent := b.client()
	return sent && len(f.sends) == 0 && slices.ContainsFunc(f.views, func(v view) bool {
		return v.link.Client.Addr() == cl.addr && v.firstSight() <= b.first.Time+clocksApart
	})
}

// mayBeCopied reports whether a process that had read f may have sent l where the capture has a gap.
func (c *chains) mayBeCopied(f, l *batch) bool {
	return slices.ContainsFunc(f.views, func(v view) bool {
		return within(c.p.j.writersGaps[v.link.Client.Addr()], v.firstSight(), l.first.Time)
	})
}

// wholeAgain reports whether a batch without a producer id came again as a whole. Fetch answers show old message sets message by
// message: two equal ones may be of one set, unless a neighbour of the first came again beside the second.
func (c *chains) wholeAgain(first, later entry) bool {
	f, l := first.b, later.b
	if c.p.timestamps == logAppendTime {
		at := created(f.info)
		return at >= 0 && at == created(l.info) && len(f.records) == len(l.records) && sameRecords(f.records, l.records, false)
	}
	if !wholeEqual(f, l) {
		return false
	}
	if f.info.Magic >= 2 || len(f.sends) > 0 || len(l.sends) > 0 || f.info.Codec() != kafka.None {
		return true
	}
	return c.neighbourCameAgain(first, later, -1) || c.neighbourCameAgain(first, later, 1)
}

// neighbourCameAgain reports whether the message of other content at a distance from the first stands at that distance from the later
// one too.
func (c *chains) neighbourCameAgain(first, later entry, distance int64) bool {
	a, b := c.p.sightingAt(c.storedAt(first)+distance), c.p.sightingAt(c.storedAt(later)+distance)
	return a != nil && b != nil && a != b && sameRecords(a.batch.Records, b.batch.Records, true) && !sameRecords(a.batch.Records, first.b.records, true)
}

func (p *partition) sightingAt(offset int64) *sighting {
	i, ok := slices.BinarySearchFunc(p.sightings, offset, func(s *sighting, at int64) int { return cmp.Compare(s.batch.BaseOffset, at) })
	if !ok {
		return nil
	}
	return p.sightings[i]
}

// wholeEqual reports whether two batches hold the same records with the same timestamps.
func wholeEqual(a, b *batch) bool {
	return len(a.records) == len(b.records) && sameRecords(a.records, b.records, true)
}
