package kafka

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
)

const (
	// maxHeld and maxHeldBytes bound the answers of one connection that wait for their request: reassembly holds a client's
	// segments back for some 30 others, behind a lost one or at a late start.
	maxHeld      = 32
	maxHeldBytes = 256 << 10
	// maxUnacked bounds the Produce answers whose acknowledgement by TCP is awaited. More than a window of TCP holds are
	// not in flight; 1024 answers of 50 bytes are 50 KiB.
	maxUnacked = 1024
)

// pending is a request that awaits its answer.
type pending struct {
	*Request
	asked  any  // what readRequest keeps for readAnswer
	silent bool // no answer will come
	unseen bool // the request was not seen; Request says what the answer is
}

// request returns the request for use in observations: nil if it was not seen.
func (p *pending) request() *Request {
	if p.unseen {
		return nil
	}
	return p.Request
}

// pairing ties the answers of one connection to its requests by correlation id.
type pairing struct {
	waiting   []pending // oldest first
	latest    int32     // correlation id of the last request
	some      bool      // there was one
	askedTo   pcap.Ref  // the latest frame of the client's that was read
	held      []heldAnswer
	heldBytes int
	unacked   []unackedAnswer
	acks      acks // by the client

	// Room for the one request that most connections have in flight.
	oneWaiting [1]pending
	oneUnacked [1]unackedAnswer
}

// begin makes ready for the first request; acks are those that came before it.
func (a *pairing) begin(acks acks) {
	a.acks, a.waiting, a.unacked = acks, a.oneWaiting[:0], a.oneUnacked[:0]
}

// heldAnswer is an answer that came before its request.
type heldAnswer struct {
	message
	correlation int32
}

// unackedAnswer is an answer to a Produce request that ends before an offset of the server's stream.
type unackedAnswer struct {
	end     reassembly.StreamOffset
	request *Request
}

// find returns the index of the oldest request with a correlation id, or -1.
func (a *pairing) find(correlation int32) int {
	for i := range a.waiting {
		if a.waiting[i].CorrelationID == correlation {
			return i
		}
	}
	return -1
}

// cheapMove is how many waiting requests are moved up rather than letting the list wander through memory.
const cheapMove = 64

// remove takes out the request at an index.
func (a *pairing) remove(i int) pending {
	p := a.waiting[i]
	if i == 0 && len(a.waiting) > cheapMove {
		a.waiting[0] = pending{}
		a.waiting = a.waiting[1:]
		return p
	}
	a.waiting = slices.Delete(a.waiting, i, i+1)
	return p
}

func (a *pairing) unanswered() []*Request {
	var list []*Request
	for i := range a.waiting {
		list = append(list, a.waiting[i].Request)
	}
	return list
}

// headerFits reports whether what follows a length prefix may be a request: a known API in a version not far from the known
// ones, or of the client that is known. While SASL goes on, other things may come.
func (c *conn) headerFits(data []byte, size int) bool {
	if c.tokens.expected || len(data) < requestHeaderSize {
		return true
	}
	key, version := int16(binary.BigEndian.Uint16(data)), int16(binary.BigEndian.Uint16(data[2:]))
	if knownAPI(key) {
		return version >= 0 && version <= apis[key].newest+newerVersions
	}
	const maxUnknown = 256 // keys rise by a few a year
	return c.clientID.known && key >= 0 && key < maxUnknown && version >= 0 && version < 32
}

// leastSize returns the size of the shortest message of a direction.
func (c *conn) leastSize(role int) int {
	switch {
	case role == fromClient && !c.tokens.expected:
		return requestHeaderSize
	case role == fromServer && c.tokens.unanswered == 0:
		return answerHeaderMin
	}
	return 0
}

// request takes a request. It returns false if it is none.
func (c *conn) request(m *message) bool {
	h, ok, wait := readRequestHeader(m.data, m.size)
	if c.tokens.expected && (!ok || !knownAPI(h.key) || !c.clientID.matches(&h)) {
		c.tokens.unanswered++
		return true
	}
	if !ok {
		return wait && !m.whole() // too little of it is there to know it
	}
	c.tokens.expected = false
	m.header = h.size
	c.answers.latest, c.answers.some = h.correlation, true
	p := pending{Request: c.newRequest(m, &h)}
	c.d.stats.Requests++
	if !c.named && h.clientID != nil && (h.key != keyAPIVersions || h.version < 3) {
		c.named = true
		c.d.emit(&ClientNamed{Seen: p.Seen, ClientID: p.ClientID})
	}
	n := c.d.api(h.key, h.version)
	n.Requests++
	switch {
	case !decodesRequest(h.key):
	case !knownVersion(h.key, h.version):
		n.Undecoded++
		c.note(CodeAPIVersionUnknown, m.at, fmt.Sprintf("%s v%d", APIName(h.key), h.version), 1)
	default:
		read := c.readRequest(m, &p)
		if read == unread || read == partly && m.whole() {
			n.Undecoded++
		}
		c.noteUndecodable(m, &p, "request", read)
	}
	c.tap(m, &p, true)
	c.afterRequest(m, &h, &p)
	return true
}

// newRequest makes the Request of a header.
func (c *conn) newRequest(m *message, h *requestHeader) *Request {
	if !c.clientID.known {
		c.clientID = clientID{known: true, has: h.clientID != nil, text: c.d.intern(h.clientID)}
	}
	r := &Request{
		Seen: m.seen(c), APIKey: h.key, APIVersion: h.version, CorrelationID: h.correlation, HasClientID: h.clientID != nil,
		Seq: c.link.Base[fromClient] + uint32(m.start), Offset: m.start, Size: int64(prefixSize + m.size),
	}
	if r.ClientID = c.clientID.text; r.ClientID != string(h.clientID) {
		r.ClientID = c.d.intern(h.clientID)
	}
	return r
}

// afterRequest lets a request wait for its answer, or gives it the one that came before it.
func (c *conn) afterRequest(m *message, h *requestHeader, p *pending) {
	if h.key == keySaslHandshake && h.version == 0 {
		c.tokens.expected = true
	}
	if p.silent || m.torn {
		return
	}
	if len(c.answers.waiting) >= c.d.limits.MaxPending {
		c.note(CodePendingFull, m.at, "", 1)
		c.d.stats.Unanswered++
		if len(c.answers.waiting) == 0 {
			return
		}
		c.answers.remove(0)
	}
	if c.answers.waiting = append(c.answers.waiting, *p); len(c.answers.waiting) == 2 {
		clear(c.answers.oneWaiting[:]) // outgrown
	}
	for i := range c.answers.held {
		if c.answers.held[i].correlation == h.correlation {
			c.releaseTo(i)
			return
		}
	}
}

// answer takes an answer.
func (c *conn) answer(m *message) {
	if len(m.data) < answerHeaderMin {
		if c.tokens.unanswered > 0 {
			c.tokens.unanswered--
			return
		}
		c.countUnasked(m)
		return
	}
	correlation := int32(binary.BigEndian.Uint32(m.data))
	switch i := c.answers.find(correlation); {
	case i >= 0:
		c.releaseHeld() // brokers answer in order: the requests of those before will not come any more
		c.answerTo(m, i)
	case c.tokens.unanswered > 0:
		c.tokens.unanswered--
	case c.mayCome(correlation, m.at) && len(m.data) <= maxHeldBytes:
		c.hold(m, correlation)
	default:
		c.releaseHeld()
		c.answerUnasked(m)
	}
}

// mayCome reports whether the request of an answer may still be seen: it is none before those that were, and the client's stream
// has not been read up to the answer's frame, or has bytes that still have to be understood.
func (c *conn) mayCome(correlation int32, at pcap.Ref) bool {
	return (!c.answers.some || correlation-c.answers.latest > 0) && (before(c.answers.askedTo, at) || c.seeking())
}

// seeking reports whether bytes of the client's still have to be understood.
func (c *conn) seeking() bool {
	w := c.streams[fromClient].seek
	return w != nil && len(w.buf) > 0
}

// asked notes how far the client's stream has been read. Requests of answers from before that will not come any more.
func (c *conn) asked(at pcap.Ref) {
	a := &c.answers
	if before(a.askedTo, at) {
		a.askedTo = at
	}
	for len(a.held) > 0 && !c.seeking() && before(a.held[0].at, a.askedTo) {
		c.releaseFirst()
	}
}

// answerTo reads the answer to the waiting request at an index.
func (c *conn) answerTo(m *message, i int) {
	p := c.answers.remove(i)
	c.d.stats.Responses++
	n := c.d.api(p.APIKey, p.APIVersion)
	n.Responses++
	m.header = answerHeaderSize(m.data, p.APIKey, p.APIVersion)
	defer c.tap(m, &p, false)
	if !decodesAnswer(p.APIKey) {
		return
	}
	defer c.awaitAck(m, &p)
	read := unread
	if knownVersion(p.APIKey, p.APIVersion) && m.header >= 0 {
		read = c.readAnswer(m, &p)
		c.noteUndecodable(m, &p, "answer", read)
	}
	if read == fully {
		return
	}
	if read == unread || m.whole() {
		n.Undecoded++
	}
	c.d.emit(&AnswerUnread{Seen: m.seen(c), Request: p.Request})
}

// noteUndecodable reports a message that is there and could not be read to its end.
func (c *conn) noteUndecodable(m *message, p *pending, what string, read reading) {
	if read == fully || !m.whole() {
		return
	}
	detail := fmt.Sprintf("%s v%d %s", APIName(p.APIKey), p.APIVersion, what)
	if m.fault != nil {
		detail += ": " + m.fault.Error()
	}
	c.note(CodeMessageUndecodable, m.at, detail, 1)
}

// hold keeps a copy of an answer whose request may still come.
func (c *conn) hold(m *message, correlation int32) {
	a := &c.answers
	for len(a.held) > 0 && (len(a.held) >= maxHeld || a.heldBytes+len(m.data) > maxHeldBytes) {
		c.releaseFirst()
	}
	copied := *m
	copied.data = append([]byte(nil), m.data...)
	a.held = append(a.held, heldAnswer{copied, correlation})
	a.heldBytes += len(copied.data)
}

// releaseFirst reads the oldest held answer without its request.
func (c *conn) releaseFirst() {
	m := c.answers.takeHeld()
	c.answerUnasked(&m)
}

func (a *pairing) takeHeld() message {
	m := a.held[0].message
	a.held = slices.Delete(a.held, 0, 1)
	a.heldBytes -= len(m.data)
	return m
}

// releaseHeld reads all held answers without their requests.
func (c *conn) releaseHeld() {
	for len(c.answers.held) > 0 {
		c.releaseFirst()
	}
}

// releaseTo reads the held answer at an index with its request, which has come, and those before it without.
func (c *conn) releaseTo(i int) {
	for ; i > 0; i-- {
		c.releaseFirst()
	}
	correlation := c.answers.held[0].correlation
	m := c.answers.takeHeld()
	c.answerTo(&m, c.answers.find(correlation))
}

// answerUnasked reads an answer whose request was not seen, if its structure leaves no doubt what it is.
func (c *conn) answerUnasked(m *message) {
	s, ok := shapeOf(m.data)
	if !ok || !m.whole() {
		c.countUnasked(m)
		return
	}
	p := pending{unseen: true, Request: &Request{APIKey: s.key, APIVersion: s.version, CorrelationID: int32(binary.BigEndian.Uint32(m.data))}}
	c.d.stats.Responses++
	c.d.api(s.key, s.version).Responses++
	m.header = answerHeaderSize(m.data, s.key, s.version)
	c.readAnswer(m, &p)
	c.tap(m, &p, false)
}

// countUnasked counts an answer of which nothing is known.
func (c *conn) countUnasked(m *message) {
	c.d.stats.Responses++
	c.note(CodeAnswerWithoutRequest, m.at, "", 1)
}

// awaitAck waits for the client's TCP to acknowledge the answer to a Produce request.
func (c *conn) awaitAck(m *message, p *pending) {
	a := &c.answers
	end := m.start + reassembly.StreamOffset(prefixSize+m.size)
	acked, known := a.acks.of(end)
	if p.APIKey != keyProduce {
		return
	}
	if known {
		c.d.emit(&AnswerAcked{Seen{c.link, acked.at, acked.at}, p.Request})
		return
	}
	if len(a.unacked) >= maxUnacked {
		c.note(CodePendingFull, m.at, "acknowledgements", 1)
		a.unacked = slices.Delete(a.unacked, 0, 1)
	}
	if a.unacked = append(a.unacked, unackedAnswer{end, p.Request}); len(a.unacked) == 2 {
		clear(a.oneUnacked[:]) // outgrown
	}
}

// acked takes an acknowledgement of the server's bytes before offset.
func (c *conn) acked(offset reassembly.StreamOffset, at pcap.Ref) {
	a := &c.answers
	if s := &c.streams[fromServer]; s.seek != nil || len(a.held) > 0 || offset > s.next {
		a.acks.add(offset, at)
	} else {
		a.acks = nil // all of these bytes have been read
	}
	n := 0
	for ; n < len(a.unacked) && a.unacked[n].end <= offset; n++ {
		c.d.emit(&AnswerAcked{Seen{c.link, at, at}, a.unacked[n].request})
	}
	if n > 0 {
		a.unacked = slices.Delete(a.unacked, 0, n)
	}
}
