package kafkatest

import (
	"encoding/binary"
	"net/netip"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kdupscan/kdupscan/pcap/pcaptest"
)

// What real stacks do on an Ethernet link without TCP options.
const (
	defaultMSS      = 1460
	delayedAckAfter = 40 * time.Millisecond // Linux
	firstPort       = 40000
)

// Conn is one TCP connection from a client to a broker. The exported fields hold for what is sent from then on.
type Conn struct {
	ClientID        string
	TransactionalID string // of the requests that carry one, "" none
	ReplicaID       int32  // of Fetch requests: -1 a consumer, >= 0 a follower
	ReadCommitted   bool   // of Fetch requests
	// ClientDeaf: what the broker sends no longer reaches the client, so that nothing acknowledges it.
	ClientDeaf bool
	// ServerDeaf: what the client sends no longer reaches the broker.
	ServerDeaf bool

	scenario    *Scenario
	tcp         *pcaptest.Conversation
	correlation int32
	delayedAck  bool
	held        bool
	heldBytes   [2][]byte    // by sender, while held
	last        [2][]byte    // by sender: what it sent last
	unseen      [2]int       // by sender: bytes that the other side never got
	unacked     [2]time.Time // by sender: when its last data came that awaits a delayed acknowledgement
}

// Dial says how to connect. Only ClientID and Broker are needed.
type Dial struct {
	ClientID string
	Broker   int32
	// Software and Version, where given, are announced in an ApiVersions exchange (v3) at once.
	Software, Version string
	MSS               int
	// DelayedAck: data is acknowledged by the next data of the other side, or after 40 ms; else at once.
	DelayedAck bool
	// Established: the connection is older than the capture, so there is no handshake.
	Established bool
	// CorrelationID is that of the first request.
	CorrelationID int32
	// Client and Server, where valid, are the addresses instead of those that go with ClientID and Broker.
	Client netip.Addr
	Server netip.AddrPort
}

// Connect opens a connection to a broker.
func (s *Scenario) Connect(clientID string, broker int32) *Conn {
	return s.Dial(Dial{ClientID: clientID, Broker: broker})
}

// Dial opens a connection.
func (s *Scenario) Dial(d Dial) *Conn {
	server := d.Server
	if !server.IsValid() {
		server = s.Broker(d.Broker)
	}
	address := d.Client
	if !address.IsValid() {
		address = s.client(d.ClientID)
	}
	n := len(s.conns)
	client := netip.AddrPortFrom(address, uint16(firstPort+n))
	c := &Conn{
		ClientID:    d.ClientID,
		ReplicaID:   -1,
		scenario:    s,
		tcp:         pcaptest.NewConversation(client, server, s.now),
		correlation: d.CorrelationID,
		delayedAck:  d.DelayedAck,
	}
	c.tcp.LinkType = s.LinkType
	c.tcp.MSS = defaultMSS
	if d.MSS != 0 {
		c.tcp.MSS = d.MSS
	}
	// Distinct and spread, or two connections would look like one seen through NAT.
	c.tcp.ISN = [2]uint32{uint32(n+1) * 0x9e3779b1, uint32(n+1) * 0x85ebca6b}
	s.conns = append(s.conns, c)
	if !d.Established {
		c.act(c.tcp.Handshake)
	}
	if d.Software != "" {
		c.APIVersions(3, d.Software, d.Version).Answer()
	}
	return c
}

// Pending is a request that has been sent and may be answered.
type Pending struct {
	CorrelationID int32
	conn          *Conn
	version       int16
}

// Request sends any request, in the version that it has.
func (c *Conn) Request(req kmsg.Request) *Pending {
	p := &Pending{CorrelationID: c.correlation, conn: c, version: req.GetVersion()}
	c.Write(c.Encode(req))
	return p
}

// Encode returns a request with its length and header, under the next correlation id, and does not send it.
func (c *Conn) Encode(req kmsg.Request) []byte {
	formatter := kmsg.NewRequestFormatter(kmsg.FormatterClientID(c.ClientID))
	data := formatter.AppendRequest(nil, req, c.correlation)
	c.correlation++
	return data
}

// Respond answers with any response, in the version of the request.
func (p *Pending) Respond(resp kmsg.Response) {
	resp.SetVersion(p.version)
	message := binary.BigEndian.AppendUint32(make([]byte, 4), uint32(p.CorrelationID))
	if _, apiVersions := resp.(*kmsg.ApiVersionsResponse); resp.IsFlexible() && !apiVersions {
		message = append(message, 0) // no tagged fields; the answer to ApiVersions keeps header version 0 (KIP-511)
	}
	message = resp.AppendTo(message)
	binary.BigEndian.PutUint32(message, uint32(len(message)-4))
	p.conn.ServerWrite(message)
}

// Write sends bytes from the client, split at the MSS.
func (c *Conn) Write(data []byte) { c.write(pcaptest.FromClient, data) }

// ServerWrite sends bytes from the broker.
func (c *Conn) ServerWrite(data []byte) { c.write(pcaptest.FromServer, data) }

// Hold keeps back what both sides send, until Flush sends it as one run of segments per side.
func (c *Conn) Hold() { c.held = true }

// Flush ends Hold; the client's bytes go first.
func (c *Conn) Flush() {
	c.held = false
	for from, data := range c.heldBytes {
		if len(data) > 0 {
			c.write(pcaptest.Side(from), data)
		}
	}
	c.heldBytes = [2][]byte{}
}

// Close ends the connection in order; the client begins.
func (c *Conn) Close() {
	c.act(func() {
		c.tcp.FIN(pcaptest.FromClient)
		c.tcp.FIN(pcaptest.FromServer)
		c.tcp.Ack(pcaptest.FromClient)
	})
	c.unacked = [2]time.Time{}
}

// ServerClose ends the broker's side in order; the client may go on to write.
func (c *Conn) ServerClose() {
	c.act(func() {
		c.tcp.FIN(pcaptest.FromServer)
		c.tcp.Ack(pcaptest.FromClient)
	})
}

// Reset ends the connection at once, by the client.
func (c *Conn) Reset() { c.reset(pcaptest.FromClient) }

// ServerReset ends the connection at once, by the broker.
func (c *Conn) ServerReset() { c.reset(pcaptest.FromServer) }

// Retransmit sends the last n bytes of a side's last message again as one segment: a TCP retransmission with other borders.
func (c *Conn) Retransmit(from pcaptest.Side, n int) {
	data := c.last[from][len(c.last[from])-n:]
	c.act(func() { c.tcp.Segment(from, c.tcp.Offset(from)-int64(n), pcaptest.ACK|pcaptest.PSH, data) })
}

func (c *Conn) reset(from pcaptest.Side) {
	c.asSeenBy(from, func() { c.tcp.RST(from) })
	c.unacked = [2]time.Time{}
}

func (c *Conn) write(from pcaptest.Side, data []byte) {
	if c.held {
		c.heldBytes[from] = append(c.heldBytes[from], data...)
		return
	}
	receiver := 1 - from
	c.last[from] = data
	c.unacked[receiver] = time.Time{} // the data acknowledges what came before
	c.asSeenBy(from, func() {
		if from == pcaptest.FromClient {
			c.tcp.Client(data)
		} else {
			c.tcp.Server(data)
		}
	})
	switch {
	case c.deaf(receiver) || c.unseen[from] > 0:
		c.unseen[from] += len(data)
	case c.delayedAck:
		c.unacked[from] = c.scenario.now
	default:
		c.asSeenBy(receiver, func() { c.tcp.Ack(receiver) })
	}
}

func (c *Conn) deaf(side pcaptest.Side) bool {
	return side == pcaptest.FromClient && c.ClientDeaf || side == pcaptest.FromServer && c.ServerDeaf
}

// asSeenBy runs send, in which the side acknowledges only what has reached it.
func (c *Conn) asSeenBy(side pcaptest.Side, send func()) {
	c.tcp.Skip(1-side, -c.unseen[1-side])
	c.act(send)
	c.tcp.Skip(1-side, c.unseen[1-side])
}

// act runs send at the scenario's time and moves that on by what was sent.
func (c *Conn) act(send func()) {
	c.tcp.Wait(c.scenario.now.Sub(c.tcp.Now()))
	send()
	c.scenario.now = c.tcp.Now()
}

// ackDue returns when the next delayed acknowledgement is due, zero where none is.
func (c *Conn) ackDue() time.Time {
	var due time.Time
	for _, since := range c.unacked {
		if at := since.Add(delayedAckAfter); !since.IsZero() && (due.IsZero() || at.Before(due)) {
			due = at
		}
	}
	return due
}

// sendDueAck sends the acknowledgement that ackDue names.
func (c *Conn) sendDueAck() {
	due := c.ackDue()
	for from := range c.unacked {
		if c.unacked[from].Add(delayedAckAfter).Equal(due) {
			c.unacked[from] = time.Time{}
			receiver := pcaptest.Side(1 - from)
			c.asSeenBy(receiver, func() { c.tcp.Ack(receiver) })
			return
		}
	}
}
