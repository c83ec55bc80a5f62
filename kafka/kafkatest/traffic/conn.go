package traffic

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	brokerPort = 9092
	firstPort  = 32768
	// burst is how many segments of a message pass before others get the link: about the initial window (RFC 6928).
	burst = 8
	// latency is about what a broker takes to answer.
	latency = 400 * time.Microsecond
)

// conn is one TCP connection of a client to a broker. What it does next is act; it says after which time to be called again,
// and whether the connection is still open.
type conn struct {
	network   *network
	at        time.Duration
	act       func() (wait time.Duration, open bool)
	client    end
	server    end
	formatter *kmsg.RequestFormatter
	sent      int32 // correlation ids
	keep      bool  // what it sends now belongs to a fault and is not lost

	// The message being sent, what is left of it, its sender and receiver, and what is done when it has arrived.
	message, rest []byte
	from, to      *end
	arrived       func() (time.Duration, bool)
	sending       func() (time.Duration, bool) // c.send, bound once
}

// connect adds a connection that opens at the given time.
func (n *network) connect(addr [4]byte, port uint16, broker int, formatter *kmsg.RequestFormatter, at time.Duration) *conn {
	c := &conn{
		network: n, at: at, formatter: formatter,
		client: end{addr: addr, port: port, next: n.random.Uint32()},
		server: end{addr: [4]byte{10, 0, 0, byte(broker + 1)}, port: brokerPort, next: n.random.Uint32()},
	}
	c.sending = c.send
	n.acting = append(n.acting, c)
	return c
}

func (c *conn) handshake() {
	l := c.network.link
	l.frame(&c.client, &c.server, c.client.next, syn, nil, true)
	c.client.next++
	l.frame(&c.server, &c.client, c.server.next, syn|ack, nil, true)
	c.server.next++
	l.frame(&c.client, &c.server, c.client.next, ack, nil, true)
}

// close ends the connection in order.
func (c *conn) close() (time.Duration, bool) {
	l := c.network.link
	l.frame(&c.client, &c.server, c.client.next, fin|ack, nil, true)
	c.client.next++
	l.frame(&c.server, &c.client, c.server.next, fin|ack, nil, true)
	c.server.next++
	l.frame(&c.client, &c.server, c.client.next, ack, nil, true)
	return 0, false
}

// request sends req; then is called when it has arrived at the broker and the broker is ready to answer.
func (c *conn) request(req kmsg.Request, then func() (time.Duration, bool)) (time.Duration, bool) {
	message := c.formatter.AppendRequest(c.network.buffer(), req, c.sent)
	c.sent++
	c.start(&c.client, &c.server, message, then)
	return c.send()
}

// respond sends resp; then is called when it has arrived at the client.
func (c *conn) respond(resp kmsg.Response, then func() (time.Duration, bool)) (time.Duration, bool) {
	message := append(c.network.buffer(), 0, 0, 0, 0)
	message = binary.BigEndian.AppendUint32(message, uint32(c.sent-1))
	if _, apiVersions := resp.(*kmsg.ApiVersionsResponse); resp.IsFlexible() && !apiVersions {
		message = append(message, 0) // no tagged fields; the answer to ApiVersions keeps header version 0 (KIP-511)
	}
	message = resp.AppendTo(message)
	binary.BigEndian.PutUint32(message, uint32(len(message)-4))
	c.start(&c.server, &c.client, message, then)
	return c.send()
}

func (c *conn) start(from, to *end, message []byte, then func() (time.Duration, bool)) {
	c.message, c.rest = message, message
	c.from, c.to, c.arrived = from, to, then
}

// send sends a burst of the message, and the acknowledgement that follows it.
func (c *conn) send() (time.Duration, bool) {
	n := c.network
	for i := 0; i < burst && len(c.rest) > 0; i++ {
		payload := c.rest[:min(n.config.SegmentBytes, len(c.rest))]
		c.rest = c.rest[len(payload):]
		flags := byte(ack)
		if len(c.rest) == 0 {
			flags |= psh
		}
		n.link.frame(c.from, c.to, c.from.next, flags, payload, c.keep)
		if n.config.Retransmitted > 0 && n.random.Float64() < n.config.Retransmitted {
			n.link.frame(c.from, c.to, c.from.next, flags, payload, c.keep)
		}
		c.from.next += uint32(len(payload))
	}
	n.link.frame(c.to, c.from, c.to.next, ack, nil, true)
	if len(c.rest) > 0 {
		c.act = c.sending
		return n.jitter(latency / 16), true
	}
	n.release(c.message)
	c.message = nil
	c.act = c.arrived
	return n.jitter(latency), true
}

// meet opens the connection as clients do, and then goes on with next.
func (c *conn) meet(next func() (time.Duration, bool)) {
	c.act = func() (time.Duration, bool) {
		c.handshake()
		req := kmsg.NewPtrApiVersionsRequest()
		req.Version = 3
		req.ClientSoftwareName, req.ClientSoftwareVersion = "apache-kafka-java", "3.7.0"
		return c.request(req, func() (time.Duration, bool) {
			resp := kmsg.NewPtrApiVersionsResponse()
			resp.Version = 3
			for _, key := range []int16{0, 1, 3, 18, 22} {
				resp.ApiKeys = append(resp.ApiKeys, kmsg.ApiVersionsResponseApiKey{ApiKey: key, MaxVersion: 9})
			}
			return c.respond(resp, next)
		})
	}
}

// learn asks for the whole cluster, and then goes on with next.
func (c *conn) learn(next func() (time.Duration, bool)) (time.Duration, bool) {
	req := kmsg.NewPtrMetadataRequest()
	req.Version = 12
	return c.request(req, func() (time.Duration, bool) {
		resp := c.network.cluster.metadata()
		resp.Version = 12
		return c.respond(resp, next)
	})
}

// clientFormatter writes the headers of the requests of a client.
func clientFormatter(kind string, i int) *kmsg.RequestFormatter {
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID(fmt.Sprintf("%s-%04d", kind, i)))
}

// buffer returns an empty buffer for a message; release takes it back.
func (n *network) buffer() []byte {
	last := len(n.buffers) - 1
	if last < 0 {
		return nil
	}
	b := n.buffers[last]
	n.buffers = n.buffers[:last]
	return b[:0]
}

func (n *network) release(message []byte) { n.buffers = append(n.buffers, message) }
