package kafka

import (
	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
)

// conn is one TCP connection.
type conn struct {
	d     *Decoder
	tcp   *reassembly.Conn
	first pcap.Ref    // its first frame
	guess *recogniser // nil once the connection is known to carry Kafka
	name  string      // for notes
	// earlyAck is what was acknowledged in each direction before that: of a late start, answers that are still held back.
	earlyAck [2]ack

	link    *Link
	client  reassembly.Direction
	streams [2]stream // the client's, the server's

	clientID clientID // of the first request
	named    bool     // ClientNamed was emitted
	tokens   saslTokens
	answers  pairing
	fetches  fetchSessions
	closer   closer
	finished [2]pcap.Ref // the FIN of each direction
}

// closer remembers who ended the connection.
type closer struct {
	seen bool
	dir  reassembly.Direction // of the first FIN
}

// ack is how far the receiver of a stream has acknowledged it, by TCP.
type ack struct {
	to reassembly.StreamOffset
	at pcap.Ref // zero: nothing yet
}

// Indexes of conn.streams and Link.Base.
const (
	fromClient = 0
	fromServer = 1
)

func newConn(d *Decoder, tcp *reassembly.Conn, first pcap.Ref) *conn {
	return &conn{d: d, tcp: tcp, first: first, guess: &recogniser{windows: [2]window{{d: d}, {d: d}}}}
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
		c.finished[e.Dir] = e.At
		if !c.closer.seen {
			c.closer = closer{true, e.Dir}
		}
	}
	if c.guess != nil {
		if e.Kind == reassembly.Ack {
			c.earlyAck[e.Dir] = ack{e.Offset, e.At}
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
	l := &Link{Client: c.tcp.A, Server: c.tcp.B, Late: late}
	if client == reassembly.FromB {
		l.Client, l.Server = l.Server, l.Client
	}
	l.Base[0], l.BaseKnown[0] = c.tcp.Base[client], c.tcp.BaseKnown[client]
	l.Base[1], l.BaseKnown[1] = c.tcp.Base[client.Other()], c.tcp.BaseKnown[client.Other()]
	c.link = l
	c.guess = nil
	c.streams[fromClient] = stream{c: c, role: fromClient}
	c.streams[fromServer] = stream{c: c, role: fromServer}
	c.answers.acked = c.earlyAck[client.Other()]
	c.d.stats.Connections++
	c.d.emit(&LinkOpened{Seen{Link: l, First: c.first, At: c.first}})
	if late {
		c.note(CodeLateStart, c.first, "", 1)
	}
}

// close finishes what is unfinished and says what was not answered.
func (c *conn) close(e *reassembly.Event) {
	torn := e.Close == reassembly.ClosedFIN || e.Close == reassembly.ClosedRST
	c.streams[fromClient].close(e.At, torn)
	c.streams[fromServer].close(e.At, false)
	c.releaseHeld()
	closed := &LinkClosed{Seen: Seen{Link: c.link, First: e.At, At: e.At}, Reason: e.Close}
	if e.Close == reassembly.ClosedRST {
		closed.ByClient = e.Dir == c.client
	} else {
		closed.ByClient = c.closer.seen && c.closer.dir == c.client
	}
	closed.ServerDone = c.finished[c.client.Other()]
	closed.Unanswered = c.answers.unanswered()
	c.d.stats.Unanswered += int64(len(closed.Unanswered))
	c.d.emit(closed)
	c.tcp.State = ignored{}
}

// note reports an oddity of the connection.
func (c *conn) note(code pcap.Code, at pcap.Ref, detail string, count int64) {
	if c.name == "" {
		a, b := c.tcp.A, c.tcp.B
		if c.link != nil {
			a, b = c.link.Client, c.link.Server
		}
		c.name = a.String() + " → " + b.String()
	}
	c.d.noteTo(pcap.Note{Code: code, At: at, Connection: c.name, Detail: detail, Count: count})
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

// set takes the client id of the first request.
func (id *clientID) set(h *requestHeader) {
	if !id.known {
		*id = clientID{known: true, has: h.clientID != nil, text: string(h.clientID)}
	}
}
