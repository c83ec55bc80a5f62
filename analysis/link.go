package analysis

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
)

// link is what is known of one connection.
type link struct {
	*kafka.Link
	closed      pcap.Ref // zero: not seen to end
	serverDone  pcap.Ref // the server's FIN, zero: none seen
	unheard     pcap.Ref // the first Fetch request without an answer, zero: none
	reason      reassembly.CloseReason
	clientID    string
	software    [2]string // name and version
	hasClientID bool
	writes      bool // a Produce request or the answer to one was seen
	gaps        []gap
	open        []*send  // of Produce requests whose answer the client has not acknowledged
	one         [1]*send // room for the one that most connections have
	requests    int      // these
	unanswered  int      // those of them that no answer was seen to
	maxInFlight int
}

// gap is a hole in one direction of a connection.
type gap struct {
	at         pcap.Ref
	fromClient bool
	hidden     bool // whole messages may be hidden in it
	bytes      int64
}

// client identifies the process behind a connection as well as packets can: by its address and the name it gives itself.
type client struct {
	addr netip.Addr
	id   string
}

func (c *Correlator) link(s *kafka.Seen) *link {
	l := c.links[s.Link]
	if l == nil {
		l = &link{Link: s.Link}
		l.open = l.one[:0]
		c.links[s.Link] = l
	}
	return l
}

func (l *link) client() client { return client{l.Client.Addr(), l.clientID} }

// lost returns when no more answers could come: the server had finished, or the connection had ended by the doing of one side
// and not with the capture.
func (l *link) lost() (pcap.Ref, bool) {
	switch {
	case !l.serverDone.IsZero():
		return l.serverDone, true
	case l.closed.IsZero():
		return pcap.Ref{}, false
	}
	return l.closed, l.reason == reassembly.ClosedFIN || l.reason == reassembly.ClosedRST || l.reason == reassembly.Replaced
}

// lostBy reports whether that was so by t.
func (l *link) lostBy(t pcap.Timestamp) bool {
	at, lost := l.lost()
	return lost && at.Time <= t
}

// maxGaps bounds the gaps remembered of one connection. That there are any later than a time is what matters most.
const maxGaps = 1024

func (c *Correlator) gap(l *link, o *kafka.GapSeen) {
	if len(l.gaps) == 0 {
		c.gapped = append(c.gapped, l)
	}
	l.gaps = append(newest(l.gaps, maxGaps-1), gap{o.At, o.FromClient, o.Hidden, o.Bytes})
}

// answerMayBeHidden reports whether an answer after sent may stand in a gap of the server's stream.
func (l *link) answerMayBeHidden(sent pcap.Timestamp) bool {
	return slices.ContainsFunc(l.gaps, func(g gap) bool { return !g.fromClient && g.at.Time >= sent })
}

// readUnheard reports whether a Fetch request from before t has no answer. A broker answers in turn, so it was given if another one was by t.
func (l *link) readUnheard(t pcap.Timestamp) bool { return !l.unheard.IsZero() && l.unheard.Time < t }

func (l *link) named(o *kafka.ClientNamed) {
	if o.ClientID != "" {
		l.clientID, l.hasClientID = o.ClientID, true
	}
	if o.SoftwareName != "" {
		l.software = [2]string{o.SoftwareName, o.SoftwareVersion}
	}
}

// calls returns what the client calls itself, "" unknown.
func (l *link) calls() string { return strings.TrimSpace(l.software[0] + " " + l.software[1]) }

func (l *link) used(o *kafka.BatchSent) {
	l.writes = true
	if o.Request != nil && o.Request.HasClientID {
		l.clientID, l.hasClientID = o.Request.ClientID, true
	}
}

// maxOpen bounds the answers of a connection that wait to be acknowledged by TCP. So many in flight are not possible.
const maxOpen = 4096

// asks takes in a batch of a Produce request, the batches of one request one after the other.
func (l *link) asks(s *send) {
	if n := len(l.open); n == 0 || l.open[n-1].sent.Request != s.sent.Request {
		if l.requests >= maxOpen {
			l.open = slices.DeleteFunc(l.open, func(s *send) bool { return s.replied })
			l.requests = l.unanswered
		}
		l.requests++
		l.unanswered++
		l.maxInFlight = max(l.maxInFlight, l.unanswered)
	}
	if l.open = append(l.open, s); len(l.open) == 2 {
		clear(l.one[:]) // outgrown
	}
}

// waiting returns the batches that wait for the answer to a request: none where that has been acknowledged, or the request was
// not seen. They are mostly at the front.
func (l *link) waiting(r *kafka.Request) []*send {
	from := slices.IndexFunc(l.open, func(s *send) bool { return s.sent.Request == r })
	if from < 0 || r == nil {
		return nil
	}
	to := from + 1
	for to < len(l.open) && l.open[to].sent.Request == r {
		to++
	}
	return l.open[from:to]
}

// replied takes note of an answer to a request. A broker answers the requests of a connection in turn: those before it were answered too.
func (l *link) replied(waiting []*send) {
	if len(waiting) == 0 || waiting[0].replied {
		return
	}
	for _, s := range l.open {
		if s == waiting[0] {
			break
		}
		s.unread = s.unread || !s.replied
	}
	for _, s := range waiting {
		s.replied = true
	}
	l.unanswered--
}

// acked ends the wait for a request.
func (l *link) acked(r *kafka.Request, at pcap.Ref) {
	waiting := l.waiting(r)
	if len(waiting) == 0 {
		return
	}
	for _, s := range waiting {
		s.acked = at
	}
	l.requests--
	l.open = slices.DeleteFunc(l.open, func(s *send) bool { return s.sent.Request == r })
}
