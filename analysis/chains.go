package analysis

import (
	"slices"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
)

// chains links the records of one partition from their first copy to later ones. A link says that a later record is the
// earlier one written again, and why; what became of the copies is judged afterwards.
type chains struct {
	p         *partition
	producers *producers
	nodes     map[nodeKey]*node // nil while there is none, as are all maps here: partitions without trouble are many
	inOrder   []*node           // nodes with a link, in the order of their linking
	index     *suspects
	doubles   []doubled
	readGaps  bool // see readWithGaps
	readKnown bool
	markers   map[*producer][]marker // see markersOf
}

// nodeKey is the identity of a logical record: within an epoch a record keeps its sequence however its batch is cut.
type nodeKey struct {
	batch    *batch // without a producer id
	producer int64
	epoch    int16
	sequence int32 // or the index in the batch
	content  kafka.Fingerprint
}

// node is one logical record.
type node struct {
	key     nodeKey
	entries []entry // the batches that carried it
	prev    *node
	next    []*node
	cause   Cause // of the link from prev
	top     *node // towards the first copy of the chain, shortened as it is followed; nil at the first copy
	size    int   // at the first copy: the chain's length
}

// entry is one record of one batch, by its offset delta.
type entry struct {
	b     *batch
	delta int32
}

func newChains(p *partition, producers *producers) *chains {
	return &chains{p: p, producers: producers}
}

// record returns the entry's record; false where the capture lacks the records of the batch.
func (e entry) record() (kafka.Record, bool) {
	rs := e.b.records
	if e.delta >= 0 && int(e.delta) < len(rs) && rs[e.delta].Delta == e.delta {
		return rs[e.delta], true
	}
	for _, r := range rs {
		if r.Delta == e.delta {
			return r, true
		}
	}
	return kafka.Record{}, false
}

func (c *chains) key(e entry) nodeKey {
	r, _ := e.record()
	if !e.b.idempotent() {
		return nodeKey{batch: e.b, sequence: e.delta, content: r.Content}
	}
	return nodeKey{producer: e.b.id.producer, epoch: e.b.id.epoch, sequence: kafka.AddSequence(e.b.id.base, e.delta), content: r.Content}
}

// node returns the logical record of an entry, with every batch that carries it.
func (c *chains) node(e entry) *node {
	key := c.key(e)
	n := c.nodes[key]
	if n == nil {
		if c.nodes == nil {
			c.nodes = map[nodeKey]*node{}
		}
		n = &node{key: key, size: 1}
		c.nodes[key] = n
	}
	for _, have := range n.entries {
		if have == e {
			return n
		}
	}
	n.entries = append(n.entries, e)
	return n
}

// lookup returns the node of an entry if it has one.
func (c *chains) lookup(e entry) *node { return c.nodes[c.key(e)] }

// link says that later is first written again. A record is never its own resend: cuts of one batch that were sent on both sides
// of another identity would make it so.
func (c *chains) link(first, later *node, cause Cause) {
	root := first.root()
	if root == later || later.prev != nil {
		return
	}
	later.prev, later.cause, later.top = first, cause, root
	first.next = append(first.next, later)
	root.size += later.size
	c.inOrder = append(c.inOrder, later)
}

// unlink takes a node and its later copies out of its chain.
func (c *chains) unlink(later *node) {
	first := later.prev
	first.next = slices.DeleteFunc(first.next, func(n *node) bool { return n == later })
	root := first.root()
	later.prev, later.cause, later.top, later.size = nil, "", nil, 0
	later.each(func(n *node) {
		later.size++
		if n != later {
			n.top = later
		}
	})
	root.size -= later.size
}

// root returns the first copy of a node's chain.
func (n *node) root() *node {
	root := n
	for root.top != nil {
		root = root.top
	}
	for n.top != nil {
		n, n.top = n.top, root
	}
	return root
}

// each calls f for the node and all later copies of it, in the order of their links.
func (n *node) each(f func(*node)) {
	f(n)
	for _, later := range n.next {
		later.each(f)
	}
}

// before reports whether a was first sent before b.
func before(a, b *batch) bool {
	if a.first.Time != b.first.Time {
		return a.first.Time < b.first.Time
	}
	return a.order < b.order
}

// openAt reports whether the client had seen no OK for the batch at a time. Of a batch that is only known by
// Fetch nothing is known; it counts as open.
func (b *batch) openAt(t pcap.Timestamp) bool { return !b.hasSeenOK || b.seenOK > t }

// answerTime is the time within which answers usually come.
const answerTime = pcap.Timestamp(100e6)

// failedBefore reports whether the batch's sends had failed visibly before t: by an error, or with their connection.
func (b *batch) failedBefore(t pcap.Timestamp) bool {
	for _, s := range b.sends {
		if s.sent.First.Time > t {
			break
		}
		a := s.reply()
		if a != nil && a.At.Time <= t && a.ErrorCode != 0 && a.ErrorCode != errDuplicateSequence {
			return true
		}
		if s.heardBy(t) {
			continue
		}
		if s.link.lostBy(t) {
			return true
		}
	}
	return false
}

// staleAt reports whether the batch had been unanswered for the usual time at t.
func (b *batch) staleAt(t pcap.Timestamp) bool {
	if len(b.sends) == 0 || t-b.first.Time < answerTime {
		return false
	}
	return !slices.ContainsFunc(b.sends, func(s *send) bool { return s.heardBy(t) })
}

// heardBy reports whether the client had an answer to the send by t: its TCP had acknowledged it.
func (s *send) heardBy(t pcap.Timestamp) bool {
	return slices.ContainsFunc(s.all(), func(leg *send) bool {
		return leg.answer != nil && !leg.acked.IsZero() && leg.acked.Time <= t
	})
}

// clients returns the processes that sent the batch.
func (b *batch) client() (client, bool) {
	if len(b.sends) == 0 {
		return client{}, false
	}
	return b.sends[0].link.client(), true
}

// sameClient reports whether two batches come from one process, as far as address and client id tell.
func sameClient(a, b *batch) bool {
	if len(a.sends) == 0 || len(b.sends) == 0 {
		return false
	}
	x, y := a.sends[0], b.sends[0]
	if len(x.legs) > 0 && len(y.legs) > 0 {
		return x.link.client().same(y.link.client())
	}
	return slices.ContainsFunc(x.clients(), func(x client) bool {
		return slices.ContainsFunc(y.clients(), x.same)
	})
}

// clients returns whose send it may be: that of the client, or of a proxy with a name of its own. One that passes names on is everybody's.
func (s *send) clients() []client {
	all := []client{s.link.client()}
	for _, leg := range s.legs {
		if cl := leg.link.client(); cl.id != all[0].id || sameSegment(s, leg) {
			all = append(all, cl)
		}
	}
	return all
}

// same reports whether two names may be those of one process.
func (x client) same(y client) bool {
	return x.addr == y.addr && (x.id == y.id || x.id == "" || y.id == "")
}

func sameAddress(a, b *batch) bool {
	x, ok := a.client()
	y, ok2 := b.client()
	return ok && ok2 && x.addr == y.addr
}

// distinctive reports whether no logical record outside the node's chain has its content, but for a number of
// records about to be linked.
func (c *chains) distinctive(n *node, joining int) bool {
	return c.contentCount(n.key.content) <= n.root().size+joining
}
