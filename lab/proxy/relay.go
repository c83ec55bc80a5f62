package proxy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// Relay stands where a Proxy does and forwards bytes that it does not understand: TLS between a client and a broker. It can
// keep a broker's answers from its clients.
type Relay struct {
	listeners []net.Listener
	wg        sync.WaitGroup

	mu     sync.Mutex
	closed bool
	links  map[*link]bool
	gates  map[int32]*gate
	suites []Suite
}

// Suite is what a server chose in its hello.
type Suite struct {
	Version uint16 // 0x0303 is TLS 1.2, 0x0304 is TLS 1.3
	ID      uint16 // of the IANA registry
}

func (s Suite) String() string { return fmt.Sprintf("version 0x%04x, suite 0x%04x", s.Version, s.ID) }

// link is one client's connection with the one to the broker.
type link struct {
	node           int32
	client, broker net.Conn
}

func (l *link) close() {
	l.client.Close()
	l.broker.Close()
}

// gate is closed while a node's answers are held.
type gate struct {
	held int64         // bytes of answers
	cut  chan struct{} // closed by Cut
}

// ListenRelay starts a relay.
func ListenRelay(routes []Route) (*Relay, error) {
	r := &Relay{links: make(map[*link]bool), gates: make(map[int32]*gate)}
	for _, route := range routes {
		l, err := net.Listen("tcp", route.Listen)
		if err != nil {
			r.Close()
			return nil, err
		}
		r.listeners = append(r.listeners, l)
		r.wg.Go(func() { r.accept(l, route) })
	}
	return r, nil
}

// Close ends all connections and returns when nothing of the relay runs any more.
func (r *Relay) Close() {
	for _, l := range r.listeners {
		l.Close()
	}
	r.mu.Lock()
	r.closed = true
	for l := range r.links {
		l.close()
	}
	for node := range r.gates {
		r.open(node)
	}
	r.mu.Unlock()
	r.wg.Wait()
}

// Hold keeps back what a node sends from now on.
func (r *Relay) Hold(node int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gates[node] = &gate{cut: make(chan struct{})}
}

// Held returns how many bytes of a node are being kept back.
func (r *Relay) Held(node int32) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if g := r.gates[node]; g != nil {
		return g.held
	}
	return 0
}

// Cut closes a node's connections and throws away what was held. New connections are forwarded.
func (r *Relay) Cut(node int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for l := range r.links {
		if l.node == node {
			l.close()
		}
	}
	r.open(node)
}

// open lets go of what waits at a node's gate. The caller holds mu.
func (r *Relay) open(node int32) {
	if g := r.gates[node]; g != nil {
		close(g.cut)
		delete(r.gates, node)
	}
}

// Suites returns what the servers chose, in the order of their hellos.
func (r *Relay) Suites() []Suite {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Suite(nil), r.suites...)
}

func (r *Relay) accept(listener net.Listener, route Route) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		r.wg.Go(func() { r.serve(client, route) })
	}
}

func (r *Relay) serve(client net.Conn, route Route) {
	defer client.Close()
	broker, err := net.Dial("tcp", route.To)
	if err != nil {
		return
	}
	l := &link{node: route.Node, client: client, broker: broker}
	defer l.close()
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return
	}
	r.links[l] = true
	r.mu.Unlock()
	r.wg.Go(func() {
		_, _ = io.Copy(onlyWriter{broker}, client) // either side may end it
		l.close()
	})
	r.answers(l)
	r.mu.Lock()
	delete(r.links, l)
	r.mu.Unlock()
}

// onlyWriter hides the system's way to copy between sockets, which may wait for more bytes before it passes any on.
type onlyWriter struct{ io.Writer }

// answers forwards what the broker sends.
func (r *Relay) answers(l *link) {
	buf := make([]byte, 64<<10)
	var hello []byte
	for seen := false; ; {
		n, err := l.broker.Read(buf)
		if n > 0 && !seen {
			hello = append(hello, buf[:n]...)
			seen = r.hello(hello)
		}
		if g := r.hold(l.node, n); g != nil {
			<-g.cut
			return
		}
		if n > 0 {
			if _, err := l.client.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// hold returns the gate of a node if it is closed, and counts bytes before it.
func (r *Relay) hold(node int32, n int) *gate {
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.gates[node]
	if g != nil {
		g.held += int64(n)
	}
	return g
}

// hello notes the suite once the server's hello is whole, and reports whether it is done with the stream.
func (r *Relay) hello(data []byte) (done bool) {
	s, err := serverHello(data)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return false
	}
	if err == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.suites = append(r.suites, s)
	}
	return true
}

// serverHello reads the ServerHello at the beginning of a stream (RFC 8446, section 4.1.3): behind the headers of record
// and message a version, a random, a session id, the suite, a byte, and extensions, of which 43 has the version of TLS 1.3.
func serverHello(data []byte) (s Suite, err error) {
	const front = 5 + 4 + 2 + 32
	if len(data) < front+1 {
		return s, io.ErrUnexpectedEOF
	}
	if data[0] != 22 || data[5] != 2 {
		return s, errors.New("no ServerHello")
	}
	end := 9 + (int(data[6])<<16 | int(data[7])<<8 | int(data[8]))
	at := front + 1 + int(data[front])
	if len(data) < end || end < at+3 {
		return s, io.ErrUnexpectedEOF
	}
	s = Suite{binary.BigEndian.Uint16(data[9:]), binary.BigEndian.Uint16(data[at:])}
	for at += 5; at+4 <= end; {
		kind, size := binary.BigEndian.Uint16(data[at:]), int(binary.BigEndian.Uint16(data[at+2:]))
		if at += 4; kind == 43 && size == 2 && at+2 <= end {
			s.Version = binary.BigEndian.Uint16(data[at:])
		}
		at += size
	}
	return s, nil
}
