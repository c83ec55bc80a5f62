package tls

import (
	"fmt"
	"net/netip"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
)

// conn is a connection that began with a TLS hello. Until a record of it has been decrypted its events are held, so that
// they can pass through as they are if none can be.
type conn struct {
	d       *Decrypter
	g       *guard
	tcp     *reassembly.Conn
	hello   helloState
	halves  *[2]half // by direction; nil while the keys are not known
	held    held
	tried   *attempt // the last look for keys, nil before the first
	opened  bool     // a record was decrypted
	renewal renewal  // of a renegotiation

	mastersTried int  // of the keys, not counting those of their base
	baseTried    bool // those of the base
}

// attempt is what a look for keys was based on.
type attempt struct {
	generation int
	sealed     bool // the server's first encrypted record was there
}

// helloState is what the handshake has shown so far.
type helloState struct {
	prologues  [2]prologue // by direction
	clientSeen bool
	serverSeen bool
	client     clientHelloInfo
	server     serverHelloInfo
	clientDir  reassembly.Direction
	at         pcap.Ref // the ServerHello
}

// held are events that wait for keys.
type held struct {
	events []reassembly.Event
	size   int
}

// eventOverhead is the memory of a held event beside its bytes.
const eventOverhead = 160

func newConn(d *Decrypter, g *guard, tcp *reassembly.Conn) *conn {
	return &conn{d: d, g: g, tcp: tcp}
}

func (c *conn) endpoint(dir reassembly.Direction) netip.AddrPort {
	if dir == reassembly.FromA {
		return c.tcp.A
	}
	return c.tcp.B
}

func (c *conn) handle(e *reassembly.Event) {
	if c.opened {
		c.decrypt(e)
		return
	}
	if code, full := c.hold(e); full {
		c.giveUp(code, e.At)
		return
	}
	if c.halves != nil {
		c.decrypt(e)
	} else {
		c.greet(e)
	}
	if e.Kind == reassembly.Close && !c.opened && c.g.tls == c && !c.leaveUnfinished(e) {
		c.giveUp(c.reason(), e.At)
	}
}

// greet reads the hellos and looks for keys.
func (c *conn) greet(e *reassembly.Event) {
	h := &c.hello
	p := &h.prologues[e.Dir]
	switch e.Kind {
	case reassembly.Gap:
		p.lose()
	case reassembly.Data:
		p.take(e.Data, func(kind byte, body []byte) bool { return c.message(e, kind, body) })
	}
	if code := c.hopeless(); code != "" {
		c.giveUp(code, e.At)
		return
	}
	if !h.clientSeen || !h.serverSeen || !c.unlock() {
		return
	}
	for _, kept := range c.held.events {
		c.decrypt(&kept)
	}
}

// message takes a handshake message that is not encrypted.
func (c *conn) message(e *reassembly.Event, kind byte, body []byte) (ok bool) {
	h := &c.hello
	switch {
	case kind == clientHello && !h.clientSeen:
		h.client, ok = readClientHello(body)
		h.clientSeen, h.clientDir = ok, e.Dir
		return ok
	case kind == serverHello && !h.serverSeen:
		h.server, ok = readServerHello(body)
		h.serverSeen = ok && h.server.random != retryRandom
		h.at = e.At
		h.prologues[e.Dir].tls13 = h.server.version == version13
		return ok
	}
	return true
}

// hopeless returns why the connection can never be decrypted, or "".
func (c *conn) hopeless() pcap.Code {
	h := &c.hello
	client, server := &h.prologues[reassembly.FromA], &h.prologues[reassembly.FromB]
	if h.clientDir == reassembly.FromB && h.clientSeen {
		client, server = server, client
	}
	switch {
	case !h.clientSeen && (client.broken || h.serverSeen), !h.serverSeen && server.broken:
		return CodeLateStart
	case h.serverSeen && c.suite() == nil:
		return CodeUnsupported
	}
	return ""
}

// suite returns the suite if it can be decrypted.
func (c *conn) suite() *suite {
	s, ok := suites[c.hello.server.suite]
	v := c.hello.server.version
	if !ok || v != version12 && v != version13 || s.tls13 != (v == version13) || c.hello.server.compression != 0 {
		return nil
	}
	return &s
}

// reason returns why a connection was not decrypted up to its end, or "" if it ended before the server's hello: a handshake
// that failed hides nothing.
func (c *conn) reason() pcap.Code {
	switch {
	case c.halves != nil:
		return CodeKeyWrong
	case !c.hello.serverSeen:
		return ""
	}
	return CodeNoKey
}

// unlock makes the halves if the keys are there.
func (c *conn) unlock() bool {
	now := attempt{c.d.keys.generation, c.hello.prologues[c.hello.clientDir.Other()].sealed != nil}
	if c.tried != nil && *c.tried == now {
		return false
	}
	c.tried = &now
	chains, ok := c.chains()
	if !ok {
		return false
	}
	c.halves = new([2]half)
	for i, dir := range [2]reassembly.Direction{c.hello.clientDir, c.hello.clientDir.Other()} {
		c.halves[dir] = half{c: c, dir: dir, keys: chains[i], tries: maxTries, initial: chains[i].suite.tls13}
	}
	c.halves[c.g.dir].skip = int64(c.g.front)
	if client := &c.halves[c.hello.clientDir]; c.hello.client.early && client.keys.suite.tls13 {
		client.early = c.earlyData(client.keys.suite)
	}
	c.hello.prologues = [2]prologue{}
	return true
}

// commit takes note of the first record that was decrypted: what was held is not needed any more.
func (c *conn) commit(at pcap.Ref) {
	if c.opened {
		return
	}
	c.opened = true
	c.drop()
	h := &c.hello
	detail := versionName(h.server.version) + ", " + suiteName(h.server.suite)
	if h.client.serverName != "" {
		detail += fmt.Sprintf(", server name %q", h.client.serverName)
	}
	c.note(CodeDecrypted, at, detail)
	c.hello = helloState{clientDir: h.clientDir}
}

// decrypt takes an event of which the keys are known.
func (c *conn) decrypt(e *reassembly.Event) {
	h := &c.halves[e.Dir]
	switch e.Kind {
	case reassembly.Data:
		h.data(e)
	case reassembly.Gap:
		h.gap(e)
	case reassembly.Ack:
		h.acks.acked = max(h.acks.acked, e.Offset)
		h.acknowledge(e.At)
	case reassembly.Finish:
		h.finish(e.At)
		c.emit(reassembly.Event{Kind: reassembly.Finish, Dir: e.Dir, Offset: h.plain, At: e.At})
	case reassembly.Close:
		c.halves[reassembly.FromA].finish(e.At)
		c.halves[reassembly.FromB].finish(e.At)
		c.emit(*e)
	}
}

// emit hands an event of the plaintext to the receiver.
func (c *conn) emit(e reassembly.Event) {
	if !c.opened {
		return
	}
	e.Conn = c.tcp
	c.d.event = e
	c.g.forward(c.d, &c.d.event)
}

// hold keeps an event and a copy of its bytes. If a bound forbids it, it says what hides the connection then.
func (c *conn) hold(e *reassembly.Event) (code pcap.Code, full bool) {
	kept := *e
	kept.Data = append([]byte(nil), e.Data...)
	c.held.events = append(c.held.events, kept)
	c.held.size += len(e.Data) + eventOverhead
	c.d.buffered += len(e.Data) + eventOverhead
	switch {
	case c.held.size > c.d.limits.ConnectionBytes:
		return c.reason(), true
	case c.d.buffered > c.d.limits.BufferedBytes:
		return CodeBufferLimit, true
	}
	return "", false
}

// drop forgets what was held.
func (c *conn) drop() {
	c.d.buffered -= c.held.size
	c.held = held{}
}

// giveUp lets the connection pass as it is, with all of it that was held, and says why unless the code is empty.
func (c *conn) giveUp(code pcap.Code, at pcap.Ref) {
	h := &c.hello
	detail := ""
	if h.serverSeen {
		at = h.at
		detail = versionName(h.server.version) + ", " + suiteName(h.server.suite)
	}
	if h.client.serverName != "" {
		detail += fmt.Sprintf(", server name %q", h.client.serverName)
	}
	if code != "" {
		c.note(code, at, detail)
	}
	if c.halves != nil {
		for i := range c.halves {
			c.halves[i].keep(nil, at)
		}
	}
	events := c.held.events
	c.drop()
	c.g.tls, c.g.passes = nil, true
	for i := range events {
		c.g.forward(c.d, &events[i])
	}
}

func (c *conn) note(code pcap.Code, at pcap.Ref, detail string) {
	client, server := c.endpoint(c.hello.clientDir), c.endpoint(c.hello.clientDir.Other())
	c.d.noteTo(pcap.Note{Code: code, At: at, Connection: client.String() + " → " + server.String(), Detail: detail})
}
