package kafka

import (
	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
)

// conn is one TCP connection. There may be a hundred thousand, most of them idle, so what few need is allocated apart.
type conn struct {
	d     *Decoder
	tcp   *reassembly.Conn
	guess *recogniser // nil once the connection is known to carry Kafka

	link    *Link
	client  reassembly.Direction
	named   bool // ClientNamed was emitted
	tokens  saslTokens
	streams [2]stream // the client's, the server's

	clientID clientID // of the first request
	answers  pairing
	fetches  *fetchSessions // nil: none yet
	end      *ending        // nil: no FIN was seen
}

// ending remembers who ended the connection.
type ending struct {
	first reassembly.Direction // of the first FIN
	at    [2]pcap.Ref          // the FIN of each direction
}

// Indexes of conn.streams and Link.Base.
const (
	fromClient = 0
	fromServer = 1
)

func newConn(d *Decoder, tcp *reassembly.Conn) *conn {
	return &conn{d: d, tcp: tcp, guess: d.recogniser()}
}

// stream returns the stream of a direction.
func (c *conn) stream(dir reassembly.Direction) *stream {
	if dir == c.client {
		return &c.streams[fromClient]
	}
	return &c.streams[fromServer]
}

func (c *conn) handle(e *reassembly.Event) {
	if e.Kind == reassembly.Finish {
		if c.end == nil {
			c.end = &ending{first: e.Dir}
		}
		c.end.at[e.Dir] = e.At
	}
	if c.guess != nil {
		if e.Kind == reassembly.Ack {
			c.guess.acked[e.Dir].add(e.Offset, e.At)
		}
		c.recognise(e)
		return
	}
	switch e.Kind {
	case reassembly.Data:
		c.stream(e.Dir).data(e.Offset, e.Data, e.At)
		if e.Dir == c.client {
			c.asked(e.At)
		}
	case reassembly.Gap:
		c.stream(e.Dir).gap(e.Offset, e.Length, e.At)
	case reassembly.Ack:
		if e.Dir != c.client {
			c.acked(e.Offset, e.At)
		}
	case reassembly.Close:
		c.close(e)
	}
}

// open declares the connection to be Kafka.
func (c *conn) open(client reassembly.Direction, late bool) {
	c.client = client
	l := &Link{Client: c.tcp.A, Server: c.tcp.B, Late: late, First: c.tcp.First}
	if client == reassembly.FromB {
		l.Client, l.Server = l.Server, l.Client
	}
	l.Base[0], l.BaseKnown[0] = c.tcp.Base[client], c.tcp.BaseKnown[client]
	l.Base[1], l.BaseKnown[1] = c.tcp.Base[client.Other()], c.tcp.BaseKnown[client.Other()]
	c.link = l
	c.streams[fromClient] = stream{c: c, role: fromClient}
	c.streams[fromServer] = stream{c: c, role: fromServer}
	c.answers.begin(c.guess.acked[client.Other()])
	c.guess = nil
	c.d.stats.Connections++
	c.d.emit(&LinkOpened{Seen{Link: l, First: l.First, At: l.First}})
	if late {
		c.note(CodeLateStart, l.First, "", 1)
	}
}

// close finishes what is unfinished and says what was not answered.
func (c *conn) close(e *reassembly.Event) {
	torn := e.Close == reassembly.ClosedFIN || e.Close == reassembly.ClosedRST
	c.streams[fromClient].close(e.At, torn)
	c.streams[fromServer].close(e.At, false)
	c.releaseHeld()
	closed := &LinkClosed{Seen: Seen{Link: c.link, First: e.At, At: e.At}, Reason: e.Close}
	if c.end != nil {
		closed.ByClient = c.end.first == c.client
		closed.ServerDone = c.end.at[c.client.Other()]
	}
	if e.Close == reassembly.ClosedRST {
		closed.ByClient = e.Dir == c.client
	}
	closed.Unanswered = c.answers.unanswered()
	c.d.stats.Unanswered += int64(len(closed.Unanswered))
	c.d.emit(closed)
	c.tcp.State = ignored{}
}

// note reports an oddity of the connection.
func (c *conn) note(code pcap.Code, at pcap.Ref, detail string, count int64) {
	a, b := c.tcp.A, c.tcp.B
	if c.link != nil {
		a, b = c.link.Client, c.link.Server
	}
	c.d.noteTo(pcap.Note{Code: code, At: at, Connection: a.String() + " → " + b.String(), Detail: detail, Count: count})
}

// seen returns the place of a message.
func (m *message) seen(c *conn) Seen { return Seen{Link: c.link, First: m.first, At: m.at} }

// later returns the later of two frames.
func later(a, b pcap.Ref) pcap.Ref {
	if before(a, b) {
		return b
	}
	return a
}

// before reports whether a stands before b in the order of a merged source.
func before(a, b pcap.Ref) bool {
	switch {
	case a.Capture == b.Capture:
		return a.Number < b.Number
	case a.Time != b.Time:
		return a.Time < b.Time
	}
	return a.Capture < b.Capture
}

// clientID is the client id of a connection's requests.
type clientID struct {
	known bool // a request was read
	has   bool // it is not null
	text  string
}

// matches reports whether a header may be of the same client.
func (id *clientID) matches(h *requestHeader) bool {
	return !id.known || id.has == (h.clientID != nil) && id.text == string(h.clientID)
}

// length returns the length of the client id as a header has it: -1 for null.
func (id *clientID) length() int {
	if !id.has {
		return -1
	}
	return len(id.text)
}
