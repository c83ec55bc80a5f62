package kafka

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/kdupscan/kdupscan/pcap"
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
	// newerVersions is how far above the newest known version a request may be and still be believed.
	newerVersions = 8
)

// verdict says whether a message begins somewhere.
type verdict uint8

const (
	no   verdict = iota
	more         // too few bytes to tell
	weak         // it may, but foreign bytes might look like that
	yes
)

// unless returns v, or no if final.
func unless(final bool, v verdict) verdict {
	if final {
		return no
	}
	return v
}

// recogniser holds the first bytes of a connection until it is known what they are.
type recogniser struct {
	windows [2]window // by reassembly.Direction
	broken  [2]bool   // the beginning of the direction is missing
	tls     [2]tlsTrace
}

// recognise takes an event of a connection that may be Kafka or not.
func (c *conn) recognise(e *reassembly.Event) {
	g := c.guess
	switch e.Kind {
	case reassembly.Data:
		if g.tls[e.Dir].sees(e, c.sure(e.Dir)) {
			c.d.stats.TLS++
			c.note(CodeTLS, e.At, "", 1)
			c.tcp.State = ignored{}
			return
		}
		g.windows[e.Dir].add(chunk{data: e.Data, offset: e.Offset, at: e.At})
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
		c.tcp.State = ignored{}
	}
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
	for w.scan < len(w.buf) {
		v := c.judgeFirst(dir, final)
		if v == yes {
			return
		}
		if (v == more || v == weak) && !final && len(w.buf)-w.scan < guessWindow {
			break
		}
		if c.sure(dir) {
			c.foreign()
			return
		}
		w.scan++
	}
	w.drop(guessKept)
	if w.gone > guessBudget {
		c.foreign()
	}
}

// judgeFirst judges the candidate of a direction's window, and opens the connection if it is Kafka's.
func (c *conn) judgeFirst(dir reassembly.Direction, final bool) verdict {
	w := &c.guess.windows[dir]
	data := w.buf[w.scan:]
	if len(data) < prefixSize+answerHeaderMin {
		return more
	}
	size := int64(int32(binary.BigEndian.Uint32(data)))
	if size < answerHeaderMin || size > int64(c.d.limits.MaxMessage) {
		return no
	}
	v := no
	where := w.place(w.scan)
	if c.sure(dir) {
		where = streamStart
	}
	if c.mayAsk(dir) {
		v = judgeRequest(data, &clientID{}, where, final)
	}
	if v == yes || v == weak && c.answered(dir, data) {
		c.start(dir, true)
		return yes
	}
	if v != no || where == anywhere {
		return v
	}
	if int64(len(data)) < prefixSize+size {
		return more
	}
	if _, ok := shapeOf(data[prefixSize : prefixSize+size]); ok {
		c.start(dir.Other(), false)
		return yes
	}
	if c.mayAsk(dir) {
		return no
	}
	return more // the client's bytes will tell
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
	if !found {
		asking.scan = 0
	}
	answering.scan = 0
	chunks := asking.chunks(asking.scan)
	c.begin(fromClient, asking, sure[fromClient] || found)
	c.begin(fromServer, answering, sure[fromServer])
	n := len(chunks)
	chunks = append(chunks, answering.chunks(0)...)
	order := make([]int, len(chunks))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case before(chunks[a].at, chunks[b].at):
			return -1
		case before(chunks[b].at, chunks[a].at):
			return 1
		}
		return 0
	})
	for _, i := range order {
		if i < n {
			c.streams[fromClient].take(chunks[i])
		} else {
			c.streams[fromServer].take(chunks[i])
		}
	}
}

// begin sets a stream to work on what follows the window's candidate.
func (c *conn) begin(role int, w *window, inStep bool) {
	s := &c.streams[role]
	s.found(w, firstOf(w.chunks(w.scan), c.first))
	if !inStep {
		s.seek = &window{}
	}
}

// judgeRequest says whether a request begins with data. known is the client id that it must have, if one is; final says
// that nothing will be added to data.
func judgeRequest(data []byte, known *clientID, where place, final bool) verdict {
	if len(data) < prefixSize+requestHeaderSize {
		return unless(final, more)
	}
	size := int(int32(binary.BigEndian.Uint32(data)))
	if size < requestHeaderSize {
		return no
	}
	front := data[prefixSize:min(len(data), prefixSize+size)]
	key, version := int16(binary.BigEndian.Uint16(front)), int16(binary.BigEndian.Uint16(front[2:]))
	if !knownAPI(key) || version < 0 || version > apis[key].newest+newerVersions {
		return no
	}
	h, ok, wait := readRequestHeader(front, size)
	if !ok {
		return unless(final || !wait, more)
	}
	if !known.matches(&h) {
		return no
	}
	if known.known && len(known.text) >= tellingClientID {
		return yes
	}
	v := judgeBody(&h, front, size, where, final)
	if v != weak {
		return v
	}
	return judgeNext(&h, data[len(front)+prefixSize:])
}

// tellingClientID is the length from which on a known client id in the right place of a header is proof enough: with the
// key, version and lengths around it, chance has some ten bytes to guess. An unknown one of that length counts too.
const tellingClientID = 3

// judgeBody goes by what follows the header.
func judgeBody(h *requestHeader, front []byte, size int, where place, final bool) verdict {
	body, whole := front[h.size:], len(front) == size
	if h.key == keyProduce && knownVersion(h.key, h.version) {
		return judgeProduce(h, body, size-h.size, final)
	}
	if !whole {
		return unless(final || size > guessWindow, more)
	}
	full := len(h.clientID)+len(body)-bytes.Count(body, []byte{0}) >= tellingBytes
	if !exactRequest(h.key, h.version, body) {
		return unless(where == anywhere || len(h.clientID) == 0 || !full, weak)
	}
	if full && (where == streamStart || len(h.clientID) >= tellingClientID || where == eventStart && len(h.clientID) > 0) {
		return yes
	}
	return weak
}

// place says where a candidate stands. The more likely it is that a message begins there, the less it has to prove.
type place uint8

const (
	anywhere    place = iota
	eventStart        // a Data event begins there
	streamStart       // the connection begins there
)

// tellingBytes is how much there must be in a request that decodes to its last byte: numbers of zero and empty lists are
// found everywhere.
const tellingBytes = 8

// judgeProduce looks for a batch, which proves a Produce request even where its end is missing.
func judgeProduce(h *requestHeader, body []byte, size int, final bool) verdict {
	w := newProduceRequest(h.version, body, size)
	if w.acks < acksUnknown || w.acks > 1 {
		return no
	}
	for w.next() {
		if !w.odd && plausibleBatch(w.records, w.recordsSize, true) {
			return yes
		}
	}
	switch {
	case w.odd || w.malformed() || w.ok() && !w.complete():
		return no
	case w.complete():
		return weak
	}
	return unless(final, more)
}

// judgeNext goes by the message behind a weak one: the same client's next request.
func judgeNext(h *requestHeader, rest []byte) verdict {
	if len(rest) < prefixSize+requestHeaderSize {
		return weak
	}
	size := int(int32(binary.BigEndian.Uint32(rest)))
	if size < requestHeaderSize {
		return no
	}
	next, ok, wait := readRequestHeader(rest[prefixSize:min(len(rest), prefixSize+size)], size)
	switch {
	case ok && knownAPI(next.key) && next.correlation == h.correlation+1 && string(next.clientID) == string(h.clientID):
		return yes
	case !ok && wait:
		return weak
	}
	return no
}

// tlsTrace follows the records of TLS in one direction (RFC 8446, section 5.1).
type tlsTrace struct {
	next  reassembly.StreamOffset // where a record must begin
	known bool
}

const (
	tlsHeaderSize  = 5
	tlsHandshake   = 22
	tlsApplication = 23
	// tlsMaxRecord is the longest record: 2^14 bytes and what encryption may add (RFC 5246, section 6.2.3).
	tlsMaxRecord = 1<<14 + 2048
)

// tlsRecord returns the length of the TLS record that begins with data, or 0.
func tlsRecord(data []byte) int {
	if len(data) < tlsHeaderSize || data[0] < 20 || data[0] > tlsApplication || data[1] != 3 || data[2] > 4 {
		return 0
	}
	n := int(binary.BigEndian.Uint16(data[3:]))
	if n == 0 || n > tlsMaxRecord {
		return 0
	}
	return tlsHeaderSize + n
}

// sees reports whether the bytes of an event show that the direction carries TLS: a hello at its very beginning, or a
// record that ends where another begins or where the event ends.
func (t *tlsTrace) sees(e *reassembly.Event, sure bool) bool {
	if n := tlsRecord(e.Data); n > 0 && sure && e.Offset == 0 && e.Data[0] == tlsHandshake {
		return len(e.Data) > tlsHeaderSize && (e.Data[tlsHeaderSize] == 1 || e.Data[tlsHeaderSize] == 2)
	} else if n > 0 && !t.known {
		t.next, t.known = e.Offset+reassembly.StreamOffset(n), true
		if n == len(e.Data) {
			return true
		}
	}
	if at := int64(t.next - e.Offset); t.known && at >= 0 && at+tlsHeaderSize <= int64(len(e.Data)) {
		t.known = false
		return tlsRecord(e.Data[at:]) > 0
	}
	return false
}

// shape is a layout that an answer can have.
type shape struct{ key, version int16 }

// answerShapes has one version of each layout of the Produce and Fetch responses.
var answerShapes = [...]shape{
	{keyProduce, 0}, {keyProduce, 1}, {keyProduce, 2}, {keyProduce, 5}, {keyProduce, 8}, {keyProduce, 10}, {keyProduce, 13},
	{keyFetch, 0}, {keyFetch, 1}, {keyFetch, 4}, {keyFetch, 5}, {keyFetch, 7}, {keyFetch, 11}, {keyFetch, 12}, {keyFetch, 16},
}

// maxErrorCode is above every error code that Kafka has; the lowest is -1.
const maxErrorCode = 200

// shapeOf says what an answer is whose request was not seen: the only layout that fits it to the last byte.
func shapeOf(data []byte) (shape, bool) {
	var found shape
	n := 0
	for _, s := range answerShapes {
		if fits(s, data) {
			found = s
			n++
		}
	}
	return found, n == 1
}

func fits(s shape, data []byte) bool {
	n := answerHeaderSize(data, s.key, s.version)
	if n < 0 {
		return false
	}
	body := data[n:]
	if s.key == keyProduce {
		w := newProduceAnswer(s.version, body, len(body))
		for w.next() {
			if w.odd || w.errorCode < -1 || w.errorCode > maxErrorCode || w.partition < 0 {
				return false
			}
		}
		return w.complete() && w.seen > 0
	}
	w := newFetchAnswer(s.version, body, len(body))
	for w.next() {
		if w.odd || w.errorCode < -1 || w.errorCode > maxErrorCode || w.partition < 0 {
			return false
		}
	}
	return w.complete() && w.seen > 0
}

// firstOf returns the frame of the first byte of chunks.
func firstOf(chunks []chunk, otherwise pcap.Ref) pcap.Ref {
	if len(chunks) > 0 {
		return chunks[0].at
	}
	return otherwise
}
