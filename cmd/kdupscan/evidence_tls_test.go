package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/gopacket"
	wirelayers "github.com/google/gopacket/layers"

	"github.com/kdupscan/kdupscan/kafka/kafkatest"
	"github.com/kdupscan/kdupscan/pcap/pcaptest"
)

// tlsTwin tells the TCP connections of plain packets again, over TLS.
type tlsTwin struct {
	front  string // a PROXY header in front of each connection
	server *tls.Config
	keyLog bytes.Buffer
	conns  map[string]*twinConn // by the two ends, the client's first
	order  []*pcaptest.Conversation
}

type twinConn struct {
	wire           *pcaptest.Conversation
	client, server *tls.Conn
}

// side is one end of a pipe, whose writes are packets.
type side struct {
	net.Conn
	send func([]byte)
}

func (s side) Write(b []byte) (int, error) {
	s.send(bytes.Clone(b))
	return s.Conn.Write(b)
}

func newTLSTwin(t *testing.T) *tlsTwin {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return &tlsTwin{
		server: &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, SessionTicketsDisabled: true},
		conns:  make(map[string]*twinConn),
	}
}

// packet takes a plain packet.
func (w *tlsTwin) packet(t *testing.T, p pcaptest.Packet) {
	t.Helper()
	decoded := gopacket.NewPacket(p.Data, wirelayers.LinkType(p.LinkType), gopacket.Default)
	tcp, ok := decoded.TransportLayer().(*wirelayers.TCP)
	if !ok {
		t.Fatal("no TCP")
	}
	network := decoded.NetworkLayer().NetworkFlow()
	from := net.JoinHostPort(network.Src().String(), strconv.Itoa(int(tcp.SrcPort)))
	to := net.JoinHostPort(network.Dst().String(), strconv.Itoa(int(tcp.DstPort)))
	if tcp.SYN && !tcp.ACK {
		w.connect(t, from, to, p.Time)
		return
	}
	c, byClient := w.conns[from+to], true
	if c == nil {
		c, byClient = w.conns[to+from], false
	}
	if wait := p.Time.Sub(c.wire.Now()); wait > 0 {
		c.wire.Wait(wait)
	}
	writer, reader, end := c.client, c.server, pcaptest.FromClient
	if !byClient {
		writer, reader, end = c.server, c.client, pcaptest.FromServer
	}
	switch {
	case tcp.RST:
		c.wire.RST(end)
	case tcp.FIN:
		c.wire.FIN(end)
	case len(tcp.Payload) > 0:
		read := make(chan error)
		go func() {
			_, err := io.ReadFull(reader, make([]byte, len(tcp.Payload)))
			read <- err
		}()
		if _, err := writer.Write(tcp.Payload); err != nil {
			t.Fatal(err)
		}
		if err := <-read; err != nil {
			t.Fatal(err)
		}
	}
}

func (w *tlsTwin) connect(t *testing.T, from, to string, at time.Time) {
	t.Helper()
	client, err := net.ResolveTCPAddr("tcp", from)
	if err != nil {
		t.Fatal(err)
	}
	server, err := net.ResolveTCPAddr("tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	c := &twinConn{wire: pcaptest.NewConversation(client.AddrPort(), server.AddrPort(), at)}
	n := uint32(len(w.order) + 1)
	c.wire.ISN = [2]uint32{n * 0x9e3779b1, n * 0x85ebca6b}
	c.wire.Handshake()
	if w.front != "" {
		c.wire.Client([]byte(w.front))
	}
	a, b := net.Pipe()
	c.client = tls.Client(side{a, c.wire.Client}, &tls.Config{InsecureSkipVerify: true, KeyLogWriter: &w.keyLog})
	c.server = tls.Server(side{b, c.wire.Server}, w.server)
	done := make(chan error)
	go func() { done <- c.server.Handshake() }()
	if err := c.client.Handshake(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	w.conns[from+to] = c
	w.order = append(w.order, c.wire)
}

// twinOf tells a story over TLS.
func twinOf(t *testing.T, story, front string) *tlsTwin {
	t.Helper()
	s := kafkatest.NewScenario(kafkatest.Start)
	for _, c := range kafkatest.Scenarios() {
		if c.Name == story {
			c.Tell(s)
		}
	}
	twin := newTLSTwin(t)
	twin.front = front
	for _, p := range s.Packets() {
		twin.packet(t, p)
	}
	return twin
}

// TestTLSBehindProxyHeader: a load balancer tells in front of TLS whose a connection is. With keys it is read, and without them it is TLS.
func TestTLSBehindProxyHeader(t *testing.T) {
	twin := twinOf(t, "bump-after-45-elsewhere", "PROXY TCP4 198.51.100.7 192.0.2.1 51234 9092\r\n")
	packets := pcaptest.Interleave(twin.order...)
	for _, keys := range [][]byte{nil, twin.keyLog.Bytes()} {
		status, out, _ := runScan(nil, "--output", "json", pcapngOf(t, packets, keys, nil))
		var s summary
		if err := json.Unmarshal([]byte(out), &s); err != nil {
			t.Fatal(err)
		}
		n := s.Coverage.Connections
		if keys == nil && (status != 3 || n.TLS != n.Total) || keys != nil && (status != 1 || n.Kafka != n.Total) {
			t.Errorf("%d bytes of keys: status %d, connections %+v", len(keys), status, n)
		}
	}
}

// TestEvidenceOfTLS: the evidence of an incident over TLS holds what it takes to read it, and redacted it holds plain messages.
func TestEvidenceOfTLS(t *testing.T) {
	twin := twinOf(t, "bump-after-45-elsewhere", "")
	packets := pcaptest.Interleave(twin.order...)
	keys := filepath.Join(t.TempDir(), "keys.log")
	if err := os.WriteFile(keys, twin.keyLog.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "evidence.pcapng")
	for _, c := range []struct {
		name string
		args []string // of the scan
		then []string // of the scan of the evidence
	}{
		{"secrets in the capture", []string{pcapngOf(t, packets, twin.keyLog.Bytes(), nil)}, nil},
		{"key log", []string{pcapngOf(t, packets, nil, nil), "--keylog", keys}, []string{"--keylog", keys}},
		{"redacted", []string{pcapngOf(t, packets, nil, nil), "--keylog", keys, "--redact=all"}, nil},
		{"secrets in the capture, redacted", []string{pcapngOf(t, packets, twin.keyLog.Bytes(), nil), "--redact"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			status, before, stderr := runScan(nil, append([]string{"--output", "json", "--evidence", file}, c.args...)...)
			if status != 1 || !strings.Contains(stderr, "it gives the same findings") {
				t.Fatalf("status %d, %s", status, stderr)
			}
			status, after, _ := runScan(nil, append([]string{"--output", "json", file}, c.then...)...)
			if have, want := proof(t, after), proof(t, before); status != 1 || len(have) != 1 || have[0] != want[0] {
				t.Errorf("status %d, have %v\nwant %v", status, have, want)
			}
		})
	}
}
