package analysis

import (
	"net/netip"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
)

// link is what is known of one connection.
type link struct {
	*kafka.Link
	opened             pcap.Ref
	closed             pcap.Ref // zero: not seen to end
	reason             reassembly.CloseReason
	clientID, software string
	hasClientID        bool
	gaps               []gap
	open               map[*kafka.Request]bool // Produce requests whose answer the client has not acknowledged; true: answered
	unanswered         int                     // of these
	maxInFlight        int
	fetched            map[[16]byte]bool // ids of topics fetched without a name
	committed          map[string]bool   // names of topics whose offsets were committed
}

// gap is a hole in one direction of a connection.
type gap struct {
	at         pcap.Ref
	fromClient bool
	hidden     bool // whole messages may be hidden in it
}

// client identifies the process behind a connection as well as packets can: by its address and the name it gives itself.
type client struct {
	addr netip.Addr
	id   string
}

func (c *Correlator) link(s *kafka.Seen) *link {
	l := c.links[s.Link]
	if l == nil {
		l = &link{Link: s.Link, opened: s.At, open: map[*kafka.Request]bool{}}
		c.links[s.Link] = l
	}
	return l
}

func (l *link) client() client { return client{l.Client.Addr(), l.clientID} }

// lost reports whether the connection ended by the doing of one side, and not with the capture.
func (l *link) lost() bool {
	return !l.closed.IsZero() && (l.reason == reassembly.ClosedFIN || l.reason == reassembly.ClosedRST || l.reason == reassembly.Replaced)
}

func (l *link) gap(o *kafka.GapSeen) {
	l.gaps = append(l.gaps, gap{o.At, o.FromClient, o.Hidden})
}

// gapBetween reports whether messages of the connection may be hidden in a gap after from and not after to.
func (l *link) gapBetween(from, to pcap.Timestamp) bool {
	for _, g := range l.gaps {
		if g.hidden && g.at.Time >= from && g.at.Time <= to {
			return true
		}
	}
	return false
}

// answerMayBeHidden reports whether an answer after sent may stand in a gap of the server's stream.
func (l *link) answerMayBeHidden(sent pcap.Timestamp) bool {
	for _, g := range l.gaps {
		if !g.fromClient && g.at.Time >= sent {
			return true
		}
	}
	return false
}

func (l *link) named(o *kafka.ClientNamed) {
	if o.ClientID != "" {
		l.clientID, l.hasClientID = o.ClientID, true
	}
	if o.SoftwareName != "" {
		l.software = o.SoftwareName
		if o.SoftwareVersion != "" {
			l.software += " " + o.SoftwareVersion
		}
	}
}

func (l *link) used(o *kafka.BatchSent) {
	if o.Request != nil && o.Request.HasClientID {
		l.clientID, l.hasClientID = o.Request.ClientID, true
	}
}

// asked counts a Produce request that waits for its answer; a request with several batches is asked several times.
func (l *link) asked(r *kafka.Request) {
	if _, again := l.open[r]; again || !l.closed.IsZero() {
		return
	}
	l.open[r] = false
	l.unanswered++
	l.maxInFlight = max(l.maxInFlight, l.unanswered)
}

// replied takes the answer to a request.
func (l *link) replied(r *kafka.Request) {
	if answered, known := l.open[r]; known && !answered {
		l.open[r] = true
		l.unanswered--
	}
}

// maxTiedTopics bounds what is kept per connection to tie topic ids to names (VERDICTS S8). A tie needs exactly one
// unresolved id and one unresolved name; a client at this bound uses too many topics for that.
const maxTiedTopics = 64

func (l *link) fetches(t kafka.Topic) {
	if t.Name != "" || len(l.fetched) >= maxTiedTopics {
		return
	}
	if l.fetched == nil {
		l.fetched = map[[16]byte]bool{}
	}
	l.fetched[t.ID] = true
}

func (l *link) commits(o *kafka.OffsetCommitted) {
	if o.Topic.Name == "" || len(l.committed) >= maxTiedTopics {
		return
	}
	if l.committed == nil {
		l.committed = map[string]bool{}
	}
	l.committed[o.Topic.Name] = true
}
