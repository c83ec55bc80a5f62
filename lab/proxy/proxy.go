package proxy

import (
	"crypto/tls"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Route is where the proxy listens in place of a node, and where that node itself listens.
type Route struct {
	Node           int32
	Listen, To     string
	Server, Client *tls.Config // of a Proxy that ends TLS at its clients' side, and begins it anew at the broker's; nil: none
}

// Proxy is a running proxy.
type Proxy struct {
	*Journal
	topics    topics
	listeners []net.Listener
	closing   chan struct{}
	wg        sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]bool
}

// Listen starts a proxy with the rules, of which the first that strikes a batch is worked.
func Listen(routes []Route, rules []*Rule) (*Proxy, error) {
	p := &Proxy{Journal: newJournal(rules), topics: topics{names: make(map[[16]byte]string)}, closing: make(chan struct{}), conns: make(map[net.Conn]bool)}
	for _, r := range routes {
		l, err := net.Listen("tcp", r.Listen)
		if err != nil {
			p.Close()
			return nil, err
		}
		p.listeners = append(p.listeners, l)
		p.wg.Go(func() { p.accept(l, r) })
	}
	return p, nil
}

// Close ends all connections and returns when nothing of the proxy runs any more.
func (p *Proxy) Close() {
	close(p.closing)
	for _, l := range p.listeners {
		l.Close()
	}
	p.mu.Lock()
	for c := range p.conns {
		c.Close()
	}
	p.mu.Unlock()
	p.wg.Wait()
}

func (p *Proxy) accept(l net.Listener, r Route) {
	for {
		client, err := l.Accept()
		if err != nil {
			return
		}
		if r.Server != nil {
			client = tls.Server(client, r.Server)
		}
		p.wg.Go(func() { p.serve(client, r) })
	}
}

// register keeps a connection for Close; it reports false, and closes it, when Close has been called.
func (p *Proxy) register(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.closing:
		c.Close()
		return false
	default:
		p.conns[c] = true
		return true
	}
}

func (p *Proxy) release(c net.Conn) {
	c.Close()
	p.mu.Lock()
	delete(p.conns, c)
	p.mu.Unlock()
}

// serve forwards one client's connection until either side ends it.
func (p *Proxy) serve(client net.Conn, r Route) {
	if !p.register(client) {
		return
	}
	defer p.release(client)
	broker, err := net.Dial("tcp", r.To)
	if err != nil {
		return
	}
	if r.Client != nil {
		broker = tls.Client(broker, r.Client)
	}
	if !p.register(broker) {
		return
	}
	defer p.release(broker)
	// Brokers answer in the order of the requests; the queue is longer than any client's requests in flight.
	waiting := make(chan *exchange, 1000)
	p.wg.Go(func() {
		p.answers(client, broker, waiting)
		p.release(client)
		p.release(broker)
		for range waiting { // what can no longer be answered
		}
	})
	p.requests(client, broker, r.Node, waiting)
	close(waiting)
}

// requests forwards requests to the broker.
func (p *Proxy) requests(client, broker net.Conn, node int32, waiting chan<- *exchange) {
	for {
		m, err := readMessage(client)
		if err != nil {
			return
		}
		r, err := parseRequest(m)
		if err != nil {
			return
		}
		x := &exchange{request: r, forward: m}
		if produce, ok := r.body.(*kmsg.ProduceRequest); ok && produce.ReadFrom(m[r.bodyAt:]) == nil {
			p.produced(x, produce, client.RemoteAddr().String(), node)
			if produce.Acks == 0 {
				if _, err := broker.Write(m); err != nil {
					return
				}
				continue
			}
		}
		waiting <- x
		if x.forward != nil {
			if _, err := broker.Write(x.forward); err != nil {
				return
			}
		}
	}
}

// answers forwards the answers, or what the faults make of them.
func (p *Proxy) answers(client, broker net.Conn, waiting <-chan *exchange) {
	for x := range waiting {
		m, err := x.answered(p, broker)
		if err != nil {
			return
		}
		if x.delay > 0 {
			select {
			case <-time.After(x.delay):
			case <-p.closing:
				return
			}
		}
		if x.swallow {
			return
		}
		if _, err := client.Write(m); err != nil {
			return
		}
		now := time.Now()
		p.update(func() {
			for _, b := range x.batches {
				b.Answered, b.AnsweredAt = true, now
			}
		})
	}
}
