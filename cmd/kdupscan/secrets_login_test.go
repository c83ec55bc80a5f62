package main

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/gopacket"
	wirelayers "github.com/google/gopacket/layers"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kdupscan/kdupscan/kafka/kafkatest"
	"github.com/kdupscan/kdupscan/pcap/pcaptest"
)

// login is what a client and a broker say to each other by one mechanism, the client first.
type login struct {
	mechanism string
	tokens    [][2]string
}

// logins are the mechanisms (RFC 4616, RFC 5802, RFC 7628). In a true exchange by SCRAM the password is not sent; here what
// is sent in its place must not be shown either.
var logins = []login{
	{"PLAIN", [][2]string{{"\x00writer\x00" + secretWord, ""}}},
	{"SCRAM-SHA-256", [][2]string{
		{"n,,n=writer,r=" + secretWord, "r=" + secretWord + "3rfcNHYJY1ZVvWVs7j,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"},
		{"c=biws,r=" + secretWord + "3rfcNHYJY1ZVvWVs7j,p=" + base64.StdEncoding.EncodeToString([]byte(secretWord)), "v=" + secretWord},
	}},
	{"OAUTHBEARER", [][2]string{{"n,,\x01auth=Bearer eyJ" + strings.Repeat(secretWord, 40) + "\x01\x01", ""}}},
}

// messages are the login of a client as Kafka carries it: in requests of SaslAuthenticate, or bare behind a SaslHandshake of
// version 0.
func (l login) messages(clientID string, bare bool) (all [][2][]byte) {
	handshake := kmsg.NewPtrSASLHandshakeRequest()
	handshake.Mechanism, handshake.Version = l.mechanism, 1
	if bare {
		handshake.Version = 0
	}
	format := kmsg.NewRequestFormatter(kmsg.FormatterClientID(clientID))
	exchange := func(id int32, request kmsg.Request, response kmsg.Response) {
		response.SetVersion(request.GetVersion())
		answer := binary.BigEndian.AppendUint32(nil, uint32(id))
		if response.IsFlexible() {
			answer = append(answer, 0)
		}
		all = append(all, [2][]byte{format.AppendRequest(nil, request, id), framed(response.AppendTo(answer))})
	}
	offered := kmsg.NewPtrSASLHandshakeResponse()
	offered.SupportedMechanisms = []string{l.mechanism}
	exchange(7_000_000, handshake, offered)
	for i, token := range l.tokens {
		if bare {
			all = append(all, [2][]byte{framed([]byte(token[0])), framed([]byte(token[1]))})
			continue
		}
		request, response := kmsg.NewPtrSASLAuthenticateRequest(), kmsg.NewPtrSASLAuthenticateResponse()
		request.Version, request.SASLAuthBytes, response.SASLAuthBytes = 2, []byte(token[0]), []byte(token[1])
		exchange(7_000_001+int32(i), request, response)
	}
	return all
}

// framed puts the length in front of a message.
func framed(message []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...)
}

// loggedIn tells a story again with a login at the beginning of each connection, and returns the key log if it is told inside
// TLS. It reports false where the story is not one of whole connections.
func loggedIn(t *testing.T, c kafkatest.Case, l login, bare, secure bool) (packets []pcaptest.Packet, keyLog []byte, ok bool) {
	t.Helper()
	s := kafkatest.NewScenario(kafkatest.Start)
	s.IPv6 = c.IPv6
	c.Tell(s)
	w := &retelling{twin: newTLSTwin(t), secure: secure, conns: make(map[string]*retold), login: func(clientID string) [][2][]byte { return l.messages(clientID, bare) }}
	for _, p := range s.Packets() {
		if !w.packet(t, p) {
			return nil, nil, false
		}
	}
	return pcaptest.Interleave(w.order...), w.twin.keyLog.Bytes(), true
}

// retelling tells TCP connections again.
type retelling struct {
	twin   *tlsTwin
	secure bool
	login  func(clientID string) [][2][]byte
	conns  map[string]*retold // by the two ends, the client's first
	order  []*pcaptest.Conversation
}

type retold struct {
	wire *pcaptest.Conversation
	say  func(byClient bool, data []byte)
	next [2]uint32 // TCP sequence numbers, the client's first
	in   bool      // the client has logged in
}

// packet takes a packet of the story; false if it is none of a connection that is seen from its beginning, in order, or cannot be told again.
func (w *retelling) packet(t *testing.T, p pcaptest.Packet) bool {
	t.Helper()
	decoded := gopacket.NewPacket(p.Data, wirelayers.LinkType(p.LinkType), gopacket.Default)
	tcp, ok := decoded.TransportLayer().(*wirelayers.TCP)
	if !ok {
		return false
	}
	network := decoded.NetworkLayer().NetworkFlow()
	from := net.JoinHostPort(network.Src().String(), strconv.Itoa(int(tcp.SrcPort)))
	to := net.JoinHostPort(network.Dst().String(), strconv.Itoa(int(tcp.DstPort)))
	if tcp.SYN && !tcp.ACK {
		w.connect(t, from, to, p.Time)
		w.conns[from+to].next[0] = tcp.Seq + 1
		return true
	}
	c, side := w.conns[from+to], 0
	if c == nil {
		c, side = w.conns[to+from], 1
	}
	if c == nil {
		return false
	}
	if tcp.SYN {
		c.next[1] = tcp.Seq + 1
		return true
	}
	if wait := p.Time.Sub(c.wire.Now()); wait > 0 {
		c.wire.Wait(wait)
	}
	end := pcaptest.FromClient
	if side == 1 {
		end = pcaptest.FromServer
	}
	switch ahead := int32(tcp.Seq - c.next[side]); {
	case tcp.RST:
		c.wire.RST(end)
	case tcp.FIN:
		c.wire.FIN(end)
	case ahead < 0, len(tcp.Payload) == 0: // a retransmission
	case ahead > 0, bytes.HasPrefix(tcp.Payload, []byte("PROXY ")): // what stands in front of a login, and of TLS
		return false
	default:
		if !c.in {
			c.in = true
			for _, m := range w.login(clientIDOf(tcp.Payload)) {
				c.say(true, m[0])
				c.say(false, m[1])
			}
		}
		c.next[side] += uint32(len(tcp.Payload))
		c.say(side == 0, tcp.Payload)
	}
	return true
}

// connect begins a connection.
func (w *retelling) connect(t *testing.T, from, to string, at time.Time) {
	t.Helper()
	w.twin.connect(t, from, to, at)
	inside := w.twin.conns[from+to]
	c := &retold{wire: inside.wire, say: func(byClient bool, data []byte) { inside.say(t, byClient, data) }}
	if !w.secure {
		client, err := net.ResolveTCPAddr("tcp", from)
		if err != nil {
			t.Fatal(err)
		}
		server, err := net.ResolveTCPAddr("tcp", to)
		if err != nil {
			t.Fatal(err)
		}
		plain := pcaptest.NewConversation(client.AddrPort(), server.AddrPort(), at)
		plain.ISN = inside.wire.ISN
		plain.Handshake()
		c.wire, c.say = plain, func(byClient bool, data []byte) {
			if byClient {
				plain.Client(data)
			} else {
				plain.Server(data)
			}
		}
	}
	w.conns[from+to] = c
	w.order = append(w.order, c.wire)
}

// clientIDOf returns the client id of the request that begins with data: length, API key, version, correlation id, client id.
func clientIDOf(data []byte) string {
	if len(data) < 14 {
		return ""
	}
	n := int(int16(binary.BigEndian.Uint16(data[12:])))
	return string(data[14:max(14, min(14+n, len(data)))])
}

// say writes inside TLS and reads at the other end.
func (c *twinConn) say(t *testing.T, byClient bool, data []byte) {
	t.Helper()
	writer, reader := c.client, c.server
	if !byClient {
		writer, reader = c.server, c.client
	}
	read := make(chan error)
	go func() {
		_, err := io.ReadFull(reader, make([]byte, len(data)))
		read <- err
	}()
	if _, err := writer.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := <-read; err != nil {
		t.Fatal(err)
	}
}
