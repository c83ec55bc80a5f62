package tls

import (
	"bytes"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
)

// guard is the state of a connection of which it is not known whether it is TLS, or that passes through.
type guard struct {
	inner  any // the state of the receiver of events
	passes bool
	looks  int // events that are still watched for records of TLS without a beginning
	tls    *conn
	held   []reassembly.Event // before it is known; at most the first bytes of a hello
	first  []byte             // the first bytes of the direction that spoke first
	front  int                // of them, a PROXY header
	dir    reassembly.Direction
}

// forward hands an event to the receiver as it is.
func (g *guard) forward(d *Decrypter, e *reassembly.Event) {
	own := e.Conn.State
	e.Conn.State = g.inner
	d.next(e)
	g.inner, e.Conn.State = e.Conn.State, own
}

// recognise decides by the first bytes of the direction that speaks first.
func (g *guard) recognise(d *Decrypter, e *reassembly.Event) {
	switch {
	case e.Kind == reassembly.Data && (len(g.first) == 0 || e.Dir == g.dir):
		g.dir = e.Dir
		switch g.look(e.Data) {
		case isHello:
			g.begin(d, e)
			return
		case noHello:
			g.pass(d, e)
			return
		}
	case e.Kind == reassembly.Data || e.Kind == reassembly.Gap || e.Kind == reassembly.Close:
		g.pass(d, e)
		return
	case len(g.first) == 0:
		g.forward(d, e)
		return
	}
	if len(g.held) == maxUndecided {
		g.pass(d, e)
		return
	}
	kept := *e
	kept.Data = bytes.Clone(e.Data)
	g.held = append(g.held, kept)
}

// maxFront is more than the addresses of a PROXY header and what is told beside them.
const maxFront = 1 << 10

// look adds to the first bytes of the connection and says what they are.
func (g *guard) look(data []byte) hello {
	if len(g.first) > 0 {
		data = append(g.first, data...)
	}
	what := perhapsHello
	if g.front = reassembly.ProxyHeader(data); g.front > maxFront {
		return noHello
	} else if g.front <= len(data) {
		what = beginsWithHello(data[g.front:])
	}
	if what == perhapsHello {
		g.first = bytes.Clone(data)
	}
	return what
}

// maxUndecided bounds the events that wait for the sixth byte of a connection.
const maxUndecided = 32

// pass lets the connection through from now on.
func (g *guard) pass(d *Decrypter, e *reassembly.Event) {
	g.passes = true
	if !e.Conn.SynSeen || e.Kind == reassembly.Gap || e.Offset > 0 {
		g.looks = lateLooks
	}
	held := g.held
	g.held, g.first = nil, nil
	for i := range held {
		g.forward(d, &held[i])
	}
	g.watch(d, e)
	g.forward(d, e)
	g.leave(d, e.Conn)
}

// leave gives the place in the connection's state to that of the receiver: nothing is left to be done here.
func (g *guard) leave(d *Decrypter, c *reassembly.Conn) {
	if g.looks == 0 && g.inner != nil {
		c.State = g.inner
		if len(d.idle) < maxSpare {
			*g = guard{}
			d.idle = append(d.idle, g)
		}
	}
}

// begin makes the connection one of TLS.
func (g *guard) begin(d *Decrypter, e *reassembly.Event) {
	held := g.held
	g.held, g.first = nil, nil
	g.tls = newConn(d, g, e.Conn)
	g.tls.hello.prologues[g.dir].skip = g.front
	for i := range held {
		d.Handle(&held[i]) // what the first bytes show may already let it pass
	}
	d.Handle(e)
}

// lateLooks is how many events with data are watched in a connection whose beginning is not in the capture. Short messages
// begin with a segment and a record of their own; a long one may come before them.
const lateLooks = 1024

// watch notes a connection of TLS whose beginning was not seen.
func (g *guard) watch(d *Decrypter, e *reassembly.Event) {
	if g.looks == 0 || e.Kind != reassembly.Data {
		return
	}
	g.looks--
	if !recordsFrom(e.Data) {
		return
	}
	g.looks = 0
	d.noteTo(pcap.Note{Code: CodeLateStart, At: e.At, Connection: e.Conn.A.String() + " → " + e.Conn.B.String(), Detail: "its handshake is not in the capture"})
}

// recordsFrom reports whether data begins with an encrypted record that ends with it, or where another one begins.
func recordsFrom(data []byte) bool {
	h, ok := headerOf(data)
	if !ok || h.kind() != typeApplicationData || h.size() == 0 {
		return false
	}
	n := headerSize + h.size()
	if len(data) < n+headerSize {
		return len(data) == n
	}
	_, ok = headerOf(data[n:])
	return ok
}
