package kafka

import (
	"encoding/binary"

	"github.com/kdupscan/kdupscan/reassembly"
)

const (
	// guessWindow is how many bytes of a direction wait for one candidate while it is not known whether they are Kafka's.
	guessWindow = 32 << 10
	// guessBudget is how many bytes of a direction whose beginning is missing are searched for Kafka: more than the rest of
	// one message of max.request.size (1 MiB by default) in which the capture may have begun.
	guessBudget = 4 << 20
	// guessKept is how many bytes of a direction are kept though no request can begin in them: while the client's first
	// request is awaited, they may be answers to those before it.
	guessKept = 1 << 10
)

// recogniser holds the first bytes of a connection until it is known what they are.
type recogniser struct {
	windows [2]window // by reassembly.Direction
	broken  [2]bool   // the beginning of the direction is missing
	acked   [2]acks   // of a late start: answers that are still held back
	tls     [2]tlsTrace
}

// maxRecogniser bounds the bytes of a recogniser that waits to be used again: a first request and its answer are shorter.
const maxRecogniser = 4 << 10

// recogniser returns one for a new connection.
func (d *Decoder) recogniser() *recogniser {
	n := len(d.idle)
	if n == 0 {
		return &recogniser{windows: [2]window{{d: d}, {d: d}}}
	}
	g := d.idle[n-1]
	d.idle = d.idle[:n-1]
	for i := range g.windows {
		w := &g.windows[i]
		*w = window{d: d, buf: w.buf[:0], marks: w.marks[:0], open: w.open[:0]}
	}
	*g = recogniser{windows: g.windows}
	return g
}

// free takes back the recogniser of a connection that is known.
func (d *Decoder) free(g *recogniser) {
	if len(d.idle) < maxSpare && cap(g.windows[0].buf)+cap(g.windows[1].buf) <= maxRecogniser {
		d.idle = append(d.idle, g)
	}
}

// recognise takes an event of a connection that may be Kafka or not.
func (c *conn) recognise(e *reassembly.Event) {
	g := c.guess
	switch e.Kind {
	case reassembly.Data:
		if g.tls[e.Dir].sees(e, c.sure(e.Dir)) {
			c.d.stats.TLS++
			c.note(CodeTLS, e.At, "", 1)
			c.ignore()
			return
		}
		if !g.windows[e.Dir].add(chunk{data: e.Data, offset: e.Offset, at: e.At}) {
			g.broken[e.Dir] = true
			c.note(CodeMessageTooLarge, e.At, "", 1)
		}
		c.guessFrom(e.Dir, false)
		if c.guess != nil && c.tcp.State == any(c) {
			c.guessFrom(e.Dir.Other(), false)
		}
	case reassembly.Gap:
		c.guessFrom(e.Dir, true)
		if c.guess == nil {
			c.handle(e)
			return
		}
		w := &g.windows[e.Dir]
		w.forget()
		w.gone += e.Length
		g.broken[e.Dir] = true
	case reassembly.Close:
		c.guessFrom(reassembly.FromA, true)
		if c.guess != nil && c.tcp.State == any(c) {
			c.guessFrom(reassembly.FromB, true)
		}
		if c.guess == nil {
			c.handle(e)
			return
		}
		c.foreign()
	}
}

// foreign gives the connection up.
func (c *conn) foreign() {
	if c.tcp.State == any(c) {
		c.d.stats.Other++
		c.ignore()
	}
}

// ignore ends the interest in a connection that was not recognised as Kafka.
func (c *conn) ignore() {
	for i := range c.guess.windows {
		c.guess.windows[i].release()
		c.guess.windows[i] = window{d: c.d}
	}
	c.tcp.State = ignored{}
}

// sure reports whether the window of a direction begins where a message must begin.
func (c *conn) sure(dir reassembly.Direction) bool {
	return c.tcp.SynSeen && !c.guess.broken[dir]
}

// mayAsk reports whether a direction can be the client's: where the SYN was seen, its sender is the client.
func (c *conn) mayAsk(dir reassembly.Direction) bool {
	return !c.tcp.SynSeen || dir == reassembly.FromA
}

// guessFrom looks at the window of one direction.
func (c *conn) guessFrom(dir reassembly.Direction, final bool) {
	w := &c.guess.windows[dir]
	limit := guessWindow
	if final {
		limit = 0
	}
	if c.sure(dir) {
		if c.mayAsk(dir) && !w.skipProxyHeader() && !final {
			return
		}
		v := c.judgeFirst(dir, 0, final)
		if v != yes && !final && (v == no || len(w.buf) >= limit) {
			c.foreign() // a beginning that is lost or cut, on the other hand, tells nothing
		}
		return
	}
	if w.sift(limit, func(p int) verdict { return c.judgeFirst(dir, p, final) }) {
		return
	}
	w.drop(guessKept)
	if w.gone > guessBudget {
		c.foreign()
	}
}

// judgeFirst judges the candidate at an index of a direction's window, and opens the connection if it is Kafka's.
func (c *conn) judgeFirst(dir reassembly.Direction, p int, final bool) verdict {
	w := &c.guess.windows[dir]
	data := w.buf[p:]
	if len(data) < candidateSize {
		return unless(final, more)
	}
	size := int64(int32(binary.BigEndian.Uint32(data)))
	if size < answerHeaderMin || size > int64(c.d.limits.MaxMessage) {
		return no
	}
	v := no
	where := w.place(p)
	if c.sure(dir) {
		where = streamStart
	}
	if c.mayAsk(dir) {
		v = judgeRequest(data, &clientID{}, where, final)
	}
	if v == yes || v == weak && c.answered(dir, data) {
		w.scan = p
		c.start(dir, true)
		return yes
	}
	if v != no || where == anywhere {
		return v
	}
	v = judgeShape(data[prefixSize:min(int64(len(data)), prefixSize+size)], int(size))
	switch {
	case v == yes:
		c.start(dir.Other(), false)
	case v == no && !c.mayAsk(dir):
		return more // the client's bytes will tell
	}
	return v
}

// answered reports whether the other direction holds the answer to the request at the front of data.
func (c *conn) answered(dir reassembly.Direction, data []byte) bool {
	size := int(int32(binary.BigEndian.Uint32(data)))
	h, ok, _ := readRequestHeader(data[prefixSize:min(len(data), prefixSize+size)], size)
	other := &c.guess.windows[dir.Other()]
	if !ok {
		return false
	}
	for _, m := range other.marks {
		b := other.buf[m.from:]
		if m.inner || len(b) < prefixSize+answerHeaderMin {
			continue
		}
		n := int64(int32(binary.BigEndian.Uint32(b)))
		if n < answerHeaderMin || n > int64(len(b)-prefixSize) || int32(binary.BigEndian.Uint32(b[prefixSize:])) != h.correlation {
			continue
		}
		if len(h.clientID) > 0 && !knownVersion(h.key, h.version) || isAnswer(b[prefixSize:prefixSize+n], int(n), h.key, h.version) {
			return true
		}
	}
	return false
}

// start opens the connection. A stream is in step if it was seen from its beginning; the client's also if the candidate of
// its window was found to be a request. What the windows hold is read in the order of the frames.
func (c *conn) start(client reassembly.Direction, found bool) {
	g := c.guess
	sure := [2]bool{c.sure(client), c.sure(client.Other())}
	c.open(client, !sure[fromClient])
	asking, answering := &g.windows[client], &g.windows[client.Other()]
	asking.release()
	answering.release()
	if !found {
		asking.scan = 0
	}
	answering.scan = 0
	var room [2][4]chunk
	asks := asking.chunks(room[0][:0], asking.scan)
	answers := answering.chunks(room[1][:0], 0)
	c.begin(fromClient, asking, asks, sure[fromClient] || found)
	c.begin(fromServer, answering, answers, sure[fromServer])
	for len(asks)+len(answers) > 0 {
		if len(asks) == 0 || len(answers) > 0 && before(answers[0].at, asks[0].at) {
			c.streams[fromServer].take(answers[0])
			answers = answers[1:]
		} else {
			c.streams[fromClient].take(asks[0])
			asks = asks[1:]
		}
	}
	c.d.free(g)
}

// begin sets a stream to work on the chunks behind the window's candidate.
func (c *conn) begin(role int, w *window, chunks []chunk, inStep bool) {
	s := &c.streams[role]
	at := c.link.First
	if len(chunks) > 0 {
		at = chunks[0].at
	}
	s.found(w, at)
	if !inStep {
		s.seek = &window{d: c.d}
	}
}

// skipProxyHeader takes a PROXY header from the front of a client's stream; false if more bytes tell whether there is one.
func (w *window) skipProxyHeader() bool {
	n := reassembly.ProxyHeader(w.buf)
	if n > len(w.buf) {
		return false
	}
	w.scan = n
	w.drop(0)
	w.scan = 0
	w.gone -= int64(n) // it is no part of what is lost
	return true
}
