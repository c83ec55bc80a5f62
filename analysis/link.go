package analysis

import (
	"maps"
	"net/netip"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
)

// link is what is known of one connection.
type link struct {
	*kafka.Link
	closed             pcap.Ref // zero: not seen to end
	serverDone         pcap.Ref // the server's FIN, zero: none seen
	reason             reassembly.CloseReason
	clientID, software string
	hasClientID        bool
	gaps               []gap
	open               map[*kafka.Request]*asked
	unanswered         int // of these
	maxInFlight        int
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
		l = &link{Link: s.Link}
		c.links[s.Link] = l
		c.used(linkCost)
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
	l.gaps = append(newest(l.gaps, maxGaps-1), gap{o.At, o.FromClient, o.Hidden})
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

// maxOpen bounds the answers of a connection that wait to be acknowledged by TCP. So many in flight are not possible.
const maxOpen = 4096

// asked is a Produce request whose answer the client has not acknowledged yet.
type asked struct {
	sends    []*send // its batches
	answered bool
}

// asks takes in a batch of a request.
func (l *link) asks(s *send) {
	if a := l.open[s.sent.Request]; a != nil {
		a.sends = append(a.sends, s)
		return
	}
	if len(l.open) >= maxOpen {
		maps.DeleteFunc(l.open, func(_ *kafka.Request, a *asked) bool { return a.answered })
	}
	if l.open == nil {
		l.open = map[*kafka.Request]*asked{}
	}
	l.open[s.sent.Request] = &asked{sends: []*send{s}}
	l.unanswered++
	l.maxInFlight = max(l.maxInFlight, l.unanswered)
}

// waiting returns what waits for the answer to a request: nil where that has been acknowledged, or the request was not seen.
func (c *Correlator) waiting(r *kafka.Request) *asked {
	if r == nil || c.links[r.Link] == nil {
		return nil
	}
	return c.links[r.Link].open[r]
}
