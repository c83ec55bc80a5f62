package analysis

import (
	"slices"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
)

// Options are the bounds of a Correlator.
type Options struct {
	// Memory bounds the history kept, in bytes; 0 means DefaultMemory. Older history is dropped, which is counted and
	// shown as a limit: a copy that comes after its first one was dropped is not recognised.
	Memory int64
	// Note receives the limits the correlator meets. It may be nil.
	Note func(pcap.Note)
	// Each calls do(0) to do(n-1) and returns when all have returned: on several goroutines, or, if it is nil, one after the other.
	Each func(n int, do func(int))
}

// Correlator keeps the history of every partition and producer and judges it. Observations are given in the order of the
// frames that completed them. It uses no clock and starts no goroutine but by Options.Each; it is for one goroutine.
type Correlator struct {
	options   Options
	arrivals  int64 // observations so far: the order of events at one instant
	links     map[*kafka.Link]*link
	gapped    []*link // those of them with gaps
	histories map[historyKey]*history
	inOrder   []*history // histories by first sight
	parts     parts
	topics    *topics
	producers *producers
	window    window
	alerted   alerted
}

// New returns a Correlator without history.
func New(o Options) *Correlator {
	if o.Memory <= 0 {
		o.Memory = DefaultMemory
	}
	if o.Note == nil {
		o.Note = func(pcap.Note) {}
	}
	if o.Each == nil {
		o.Each = func(n int, do func(int)) {
			for i := range n {
				do(i)
			}
		}
	}
	names := newTopics()
	return &Correlator{
		options:   o,
		links:     map[*kafka.Link]*link{},
		histories: map[historyKey]*history{},
		topics:    names,
		producers: newProducers(names),
		window:    window{budget: o.Memory},
		alerted:   alerted{verdicts: map[string]Verdict{}},
	}
}

// Observe takes in the next observation.
func (c *Correlator) Observe(o kafka.Observation) {
	c.arrivals++
	l := c.link(o.Where())
	switch o := o.(type) {
	case *kafka.LinkOpened:
	case *kafka.LinkClosed:
		c.close(l, o)
	case *kafka.GapSeen:
		c.gap(l, o)
	case *kafka.ClientNamed:
		l.named(o)
		c.topics.met(l.client(), l.Server)
	case *kafka.BatchSent:
		c.sent(l, o)
	case *kafka.BatchAnswered:
		l.writes = true
		c.answered(l, o)
	case *kafka.AnswerAcked:
		l.acked(o.Request, o.At)
	case *kafka.AnswerUnread:
		for _, s := range l.waiting(o.Request) {
			s.unread = true
		}
	case *kafka.PartitionFetched:
		c.topics.fetched(l.client(), o)
		c.history(o.Link, o.Topic, o.Partition, o.At).fetched(o)
	case *kafka.BatchFetched:
		c.sighted(l, o)
	case *kafka.LeaderNamed:
		c.history(o.Link, o.Topic, o.Partition, o.At).leaderNamed(position(&o.Seen), o.LeaderID, o.LeaderEpoch)
	case *kafka.ClusterDescribed:
		c.topics.described(o)
	case *kafka.TopicNamed:
		c.topics.named(o)
	case *kafka.TopicDeleted:
		c.topics.deleted(o)
	case *kafka.ProducerGranted:
		known := len(c.producers.byID)
		c.producers.granted(l, o)
		c.used(int64(len(c.producers.byID)-known) * producerCost)
	case *kafka.TransactionEnding:
		c.producers.ending(o)
	case *kafka.TransactionEnded:
		c.producers.ended(o)
	case *kafka.OffsetCommitted:
		c.topics.committed(l.client(), o)
	case *kafka.EpochEnd:
		c.history(o.Link, o.Topic, o.Partition, o.At).epochEnded(o)
	case *kafka.OffsetListed:
		// It bounds no copy that the rules of verdicts use.
	}
}

// Finish judges the whole history and returns what it shows. Captures, Coverage and Notes are left to the caller.
func (c *Correlator) Finish() *Result {
	j := c.judged(nil, func(p *partition) { p.count(func(*batch) bool { return true }) })
	counts, repeats := j.total()
	findings := slices.Clone(c.window.settled)
	for _, f := range j.found {
		if len(c.window.keys) == 0 || !c.window.keys[f.key()] {
			findings = append(findings, f.Finding)
		}
	}
	slices.SortStableFunc(findings, func(a, b Finding) int { return compareFindings(&a, &b) })
	return &Result{
		Findings:  findings,
		Counts:    counts,
		Producers: c.producers.list(),
		Repeats:   repeats,
		Places:    c.places(),
	}
}

func (c *Correlator) sent(l *link, o *kafka.BatchSent) {
	l.used(o)
	c.producers.sent(l, o)
	if o.Batch == nil || o.Batch.LastOffsetDelta < 0 {
		return
	}
	h := c.history(o.Link, o.Topic, o.Partition, o.At)
	s := &send{sent: o, of: h, link: l, order: c.arrivals, at: o.At.Time, cost: sendCost + int64(len(o.Batch.Records))*recordCost}
	if o.Torn {
		h.torn = append(h.torn, s)
		return
	}
	h.sends = append(h.sends, s)
	h.touched()
	if o.Acks != 0 {
		l.asks(s)
	}
	c.grew(h, s.cost)
}

func (c *Correlator) answered(l *link, o *kafka.BatchAnswered) {
	waiting := l.waiting(o.Request)
	if len(waiting) == 0 { // whose batch it answers is unknown
		if o.Request == nil {
			c.answeredUnasked(o)
		}
		return
	}
	if o.BaseOffset > maxOffset {
		absurd := *o
		absurd.BaseOffset = NoOffset
		o = &absurd
	}
	l.replied(waiting)
	for _, s := range waiting {
		if s.answer == nil && s.sent.Partition == o.Partition && sameTopic(s.sent.Topic, o.Topic) {
			s.answer = o
			s.of.place(s)
			c.heard(s)
		}
	}
}

// heard notes an answer that may lead to a resend.
func (c *Correlator) heard(s *send) {
	s.of.changed = true
	if s.answer.ErrorCode != 0 || slow(s, s.answer.At) {
		s.of.troubled = true
	}
}

func (c *Correlator) close(l *link, o *kafka.LinkClosed) {
	l.closed, l.reason, l.serverDone = o.At, o.Reason, o.ServerDone
	if i := slices.IndexFunc(o.Unanswered, (*kafka.Request).Fetches); i >= 0 {
		l.unheard = o.Unanswered[i].At
	}
	for _, s := range l.open {
		s.of.troubled, s.of.changed = true, true
	}
	clear(l.one[:])
	l.open = nil
	c.used(linkCost)
}

// evidence reports whether a batch proves anything: one with a wrong CRC or absurd numbers does not.
func evidence(b *kafka.Batch) bool { return b.NotCompared != kafka.BadCRC && b.LastOffsetDelta >= 0 }

// maxOffset is far above any offset that a log reaches, and far enough below the largest number to add a count to.
const maxOffset = 1 << 61

func (c *Correlator) sighted(l *link, o *kafka.BatchFetched) {
	if o.Batch.BaseOffset < 0 || o.Batch.BaseOffset > maxOffset || !evidence(o.Batch) {
		return
	}
	h := c.history(o.Link, o.Topic, o.Partition, o.At)
	if added := h.sight(o, l, c.arrivals); added > 0 {
		h.changed = true
		c.grew(h, added)
	}
	c.producers.sighted(o)
}

func (c *Correlator) history(l *kafka.Link, t kafka.Topic, partition int32, at pcap.Ref) *history {
	key := historyKey{server: l.Server, topic: t, partition: partition}
	h := c.histories[key]
	if h == nil {
		h = &history{key: key}
		c.histories[key] = h
		c.inOrder = append(c.inOrder, h)
	}
	h.seen = max(h.seen, at.Time)
	return h
}

func sameTopic(a, b kafka.Topic) bool {
	return a.ID == b.ID && a.ID != [16]byte{} || a.Name == b.Name && a.Name != ""
}

func position(s *kafka.Seen) Position {
	return Position{Ref: s.At, Client: s.Link.Client, Server: s.Link.Server}
}
