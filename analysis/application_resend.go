package analysis

import (
	"slices"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
)

// applicationResends links records that an application wrote again under a fresh identity after the first attempt failed
// visibly, or had been unanswered for the usual time. Only distinctive content counts.
func (c *chains) applicationResends() {
	if c.index == nil || len(c.index.batches) == 0 {
		return
	}
	for _, l := range c.p.batches {
		if len(l.sends) == 0 || l.info.Control() || !c.index.openBefore(l) {
			continue
		}
		for _, r := range l.records {
			c.resentBy(l, r)
		}
	}
	for _, n := range c.inOrder {
		if n.cause == ApplicationResend && !c.distinctive(n, 0) {
			c.unlink(n)
		}
	}
}

func (c *chains) resentBy(l *batch, r kafka.Record) {
	later := entry{l, r.Delta}
	if n := c.lookup(later); n != nil && n.prev != nil {
		return
	}
	key := c.key(later)
	var best *node
	for _, e := range c.index.likely(r.Content) {
		first, ok := e.record()
		if !ok || c.key(e) == key || !before(e.b, l) || !c.openAt(e, l.first.Time) || !freshIdentity(e.b, l) {
			continue
		}
		came := l.first.Time
		if cl, known := l.client(); known && r.Timestamp != first.Timestamp {
			came = min(came, pcap.Timestamp((r.Timestamp+c.p.j.delays[cl])*1e6))
		}
		if !e.b.failedBefore(came) && (!e.b.staleAt(came) || e.b.answerMayBeHidden()) {
			continue
		}
		if n := c.node(e); len(n.next) == 0 {
			best = n
		}
	}
	if best != nil {
		c.link(best, c.node(later), ApplicationResend)
	}
}

// freshIdentity reports whether l may be what an application made of a record of f by producing it again: fresh sequences of
// the same or a later epoch, or another producer (or none) at the same address.
func freshIdentity(f, l *batch) bool {
	if f == l || len(f.sends) == 0 {
		return false
	}
	if f.idempotent() && f.id.producer == l.id.producer {
		return l.id.epoch >= f.id.epoch
	}
	return sameAddress(f, l)
}

// joinDelays finds, per client, the smallest time between the creation of a batch's newest record and its send, in ms: it takes
// the difference of the client's clock and the capture's out of create times.
func (j *judgement) joinDelays() {
	j.delays = map[client]int64{}
	for _, p := range j.partitions {
		for _, d := range p.delays {
			if have, ok := j.delays[d.of.client()]; !ok || d.ms < have {
				j.delays[d.of.client()] = d.ms
			}
		}
	}
}

// delay is a small one on a connection.
type delay struct {
	of *link
	ms int64
}

// maxDelays is how many connections a partition is looked through for a delay to lower: where there are more, some have several.
const maxDelays = 32

// findDelays finds the smallest delays on each connection.
func (p *partition) findDelays() {
	for _, s := range p.sends {
		b := s.sent.Batch
		if b.LogAppendTime() || b.MaxTimestamp < 0 {
			continue
		}
		found := delay{s.link, int64(s.sent.First.Time)/1e6 - b.MaxTimestamp}
		known := p.delays[max(0, len(p.delays)-maxDelays):]
		if i := slices.IndexFunc(known, func(d delay) bool { return d.of == s.link }); i >= 0 {
			known[i].ms = min(known[i].ms, found.ms)
			continue
		}
		p.delays = append(p.delays, found)
	}
}
