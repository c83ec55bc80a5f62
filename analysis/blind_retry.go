package analysis

import (
	"net/netip"
	"slices"

	"github.com/kdupscan/kdupscan/kafka"
)

// repeatedWhole links batches without a producer id that came again byte for byte although the first was acknowledged: a send
// to several brokers that was repeated as a whole. Only distinctive content tells this from an application that
// repeats itself, and with acks=0 nothing does.
func (c *chains) repeatedWhole() {
	first := map[wholeKey]*batch{}
	for _, l := range c.p.batches {
		if l.idempotent() || l.info.Control() || len(l.sends) == 0 || l.sends[0].sent.Acks == 0 || l.info.Magic < 2 {
			continue
		}
		key := l.whole()
		f := first[key]
		first[key] = l
		if f == nil || !sameClient(f, l) || !wholeEqual(f, l) || c.linked(l) || f.goesOnBeside(l) {
			continue
		}
		switch {
		case !f.openAt(l.first.Time):
			if !c.p.inOneCluster(f.sends[0].link.Server, l.sends[0].link.Server) {
				continue // written to two clusters, as far as is known
			}
		case !f.failedBefore(l.first.Time) && !f.staleAt(l.first.Time):
			continue // in flight together: the application may have meant it
		}
		c.linkWhole(f, l, BlindRetry)
		if !c.allDistinctive(l) {
			c.unlinkWhole(l)
		}
	}
}

// inOneCluster reports whether two servers are one, or are known to be of one cluster.
func (p *partition) inOneCluster(x, y netip.AddrPort) bool {
	own := p.j.c.topics.clusterOf(x)
	return x == y || own != "" && own == p.j.c.topics.clusterOf(y)
}

func (c *chains) linked(b *batch) bool {
	for d := range min(b.count(), maxWholeRecords) {
		if n := c.lookup(entry{b, d}); n != nil && n.prev != nil {
			return true
		}
	}
	return false
}

func (c *chains) allDistinctive(b *batch) bool {
	if len(b.records) == 0 {
		return false
	}
	for _, r := range b.records {
		if r.Timestamp <= 0 || !c.distinctive(c.node(entry{b, r.Delta}), 0) {
			return false
		}
	}
	return true
}

// timelessRetries takes back the blind retries of records without a create time whose content occurs a third time: nothing tells a retry
// from the next record of the same content.
func (c *chains) timelessRetries() {
	for _, n := range slices.Clone(c.inOrder) {
		if n.cause == BlindRetry && n.prev != nil && !n.dated() && (n.key.content == kafka.Fingerprint{} || c.contentCount(n.key.content) > 2) {
			c.unlink(n)
		}
	}
}

// dated reports whether the record has a create time, or its batch has one where the record was not captured.
func (n *node) dated() bool {
	if r, ok := n.entries[0].record(); ok {
		return r.Timestamp > 0
	}
	return n.entries[0].b.info.BaseTimestamp > 0
}

func (c *chains) unlinkWhole(b *batch) {
	for d := range min(b.count(), maxWholeRecords) {
		if n := c.lookup(entry{b, d}); n != nil && n.prev != nil {
			c.unlink(n)
		}
	}
}
