package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"math/big"
	mrand "math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/pcap/pcaptest"
	ktls "github.com/kdupscan/kdupscan/reassembly/tls"
)

// tlsPassword is what must appear in no output.
const tlsPassword = "correct-horse-battery"

// wire records the connections of a client as packets.
type wire struct {
	mu    sync.Mutex
	conns []*pcaptest.Conversation
	now   time.Time
}

// wiredConn is one connection on a wire.
type wiredConn struct {
	net.Conn
	w *wire
	c *pcaptest.Conversation
}

func (w *wire) wrap(conn net.Conn) net.Conn {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := pcaptest.NewConversation(conn.LocalAddr().(*net.TCPAddr).AddrPort(), conn.RemoteAddr().(*net.TCPAddr).AddrPort(), w.next())
	w.conns = append(w.conns, c)
	c.Handshake()
	return wiredConn{conn, w, c}
}

// next moves the time on, so that the packets of all connections are in the order in which they were seen.
func (w *wire) next() time.Time {
	w.now = w.now.Add(100 * time.Millisecond)
	return w.now
}

func (c wiredConn) record(send func([]byte), b []byte) {
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	c.c.Wait(c.w.next().Sub(c.c.Now()))
	send(b)
}

func (c wiredConn) Write(b []byte) (int, error) {
	c.record(c.c.Client, b)
	return c.Conn.Write(b)
}

func (c wiredConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.record(c.c.Server, b[:n])
	}
	return n, err
}

// syncBuffer is a key log that several connections write to.
type syncBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

// tlsProducer is a client of brokers that ask for TLS and SASL.
type tlsProducer struct {
	version   uint16
	suites    []uint16 // of TLS 1.2; nil: any
	mechanism sasl.Mechanism
	name      string // of the mechanism
	records   int
}

// run lets kgo write records to kfake, and read them, and returns the packets and the key log.
func (o tlsProducer) run(t *testing.T) (packets []pcaptest.Packet, keyLog []byte) {
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
	server := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.TLS(server), kfake.EnableSASL(), kfake.Superuser(o.name, "admin", tlsPassword), kfake.SeedTopics(1, "orders"))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()

	w := &wire{now: time.Unix(1_700_000_000, 0)}
	log := &syncBuffer{}
	dial := func(ctx context.Context, network, host string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, host)
		if err != nil {
			return nil, err
		}
		return tls.Client(w.wrap(conn), &tls.Config{InsecureSkipVerify: true, ServerName: "broker.test", KeyLogWriter: log, MaxVersion: o.version, CipherSuites: o.suites}), nil
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.Dialer(dial), kgo.SASL(o.mechanism), kgo.ConsumeTopics("orders"), kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // a busy machine is slow
	defer cancel()
	for i := range o.records {
		r := &kgo.Record{Topic: "orders", Key: fmt.Appendf(nil, "key-%d", i), Value: fmt.Appendf(nil, "value-%d-%s", i, strings.Repeat("x", i*7%900))}
		if err := client.ProduceSync(ctx, r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	for fetched := 0; fetched < o.records; {
		f := client.PollFetches(ctx)
		if err := f.Err0(); err != nil {
			t.Fatal(err)
		}
		fetched += f.NumRecords()
	}
	client.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	return pcaptest.Interleave(w.conns...), log.Bytes()
}

// summary is what the tests need of a JSON report.
type summary struct {
	Verdict  string
	Coverage struct {
		Connections     struct{ Total, Kafka, TLS int64 }
		ProducedBatches int64 `json:"produced_batches"`
		FetchedBatches  int64 `json:"fetched_batches"`
		Gaps            struct{ Count int64 }
	}
	Findings []struct{ Cause, Verdict string }
}

// pcapngOf writes packets to a pcapng file, the key log before or after them; nil leaves it out.
func pcapngOf(t *testing.T, packets []pcaptest.Packet, before, after []byte) string {
	t.Helper()
	var b pcaptest.PCAPNG
	b.Section()
	b.Interface(pcap.LinkTypeEthernet, 0)
	if before != nil {
		b.Secrets(ktls.KeyLogSecret, before)
	}
	for _, p := range packets {
		b.Micro(0, p.Time, p.Data)
	}
	if after != nil {
		b.Secrets(ktls.KeyLogSecret, after)
	}
	name := filepath.Join(t.TempDir(), "tls.pcapng")
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// A real client and broker over TLS and SASL: with keys all is read as if it were plain, without them nothing, and the
// password and the keys are in no output.
func TestScanOfTLS(t *testing.T) {
	const records = 60
	for _, c := range []struct {
		version   uint16
		mechanism sasl.Mechanism
		name      string
	}{
		{tls.VersionTLS13, plain.Auth{User: "admin", Pass: tlsPassword}.AsMechanism(), "PLAIN"},
		{tls.VersionTLS12, scram.Auth{User: "admin", Pass: tlsPassword}.AsSha256Mechanism(), "SCRAM-SHA-256"},
	} {
		packets, log := tlsProducer{version: c.version, mechanism: c.mechanism, name: c.name, records: records}.run(t)
		keys := filepath.Join(t.TempDir(), "keys.log")
		if err := os.WriteFile(keys, log, 0o600); err != nil {
			t.Fatal(err)
		}
		plainCapture := pcapngOf(t, packets, nil, nil)
		for _, run := range []struct {
			name string
			args []string
			keys bool
		}{
			{"without keys", []string{plainCapture}, false},
			{"--keylog", []string{plainCapture, "--keylog", keys}, true},
			{"secrets before the packets", []string{pcapngOf(t, packets, log, nil)}, true},
			{"secrets after the packets", []string{pcapngOf(t, packets, nil, log)}, true},
		} {
			t.Run(c.name+" "+run.name, func(t *testing.T) {
				var first string
				for _, workers := range []string{"1", "4"} {
					status, stdout, stderr := runScan(nil, append(run.args, "--output", "json", "--payloads", "--workers", workers)...)
					if first == "" {
						first = stdout
					} else if first != stdout {
						t.Error("the report depends on the number of workers")
					}
					var s summary
					if err := json.Unmarshal([]byte(stdout), &s); err != nil {
						t.Fatalf("%v; stderr %s", err, stderr)
					}
					n := s.Coverage.Connections
					if run.keys && (status != 0 || s.Verdict != "clean" || n.TLS != 0 || n.Kafka != n.Total || s.Coverage.ProducedBatches != records || s.Coverage.FetchedBatches < 1 || !strings.Contains(stdout, "tls-decrypted")) {
						t.Errorf("status %d, verdict %s, connections %+v", status, s.Verdict, n)
					}
					if !run.keys && (status != 3 || n.Kafka != 0 || n.TLS != n.Total || !strings.Contains(stdout, "tls-no-key")) {
						t.Errorf("status %d, verdict %s, connections %+v", status, s.Verdict, n)
					}
					wantNoSecrets(t, stdout+stderr, log)
				}
				for _, format := range []string{"table", "markdown", "html"} {
					_, stdout, stderr := runScan(nil, append(run.args, "--output", format, "--payloads")...)
					wantNoSecrets(t, stdout+stderr, log)
				}
			})
		}
	}
}

// wantNoSecrets looks for the password and the secrets of a key log.
func wantNoSecrets(t *testing.T, text string, log []byte) {
	t.Helper()
	if strings.Contains(text, tlsPassword) {
		t.Error("the password is in the output")
	}
	for _, line := range strings.Split(strings.TrimSpace(string(log)), "\n") {
		if secret := strings.Fields(line)[2]; strings.Contains(strings.ToLower(text), secret[:20]) {
			t.Error("a secret of the key log is in the output")
		}
	}
}

// Losing packets costs the records that they hold: all other batches are read, and none of them is taken for a duplicate.
func TestScanOfTLSWithLoss(t *testing.T) {
	for _, c := range []struct {
		name    string
		version uint16
		suite   uint16
		each    int64 // batches that one lost packet may cost: with CBC what a record held is an estimate, so the next may go with it
	}{
		{"TLS 1.2 GCM", tls.VersionTLS12, tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, 1},
		{"TLS 1.2 CBC", tls.VersionTLS12, tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, 2},
		{"TLS 1.3", tls.VersionTLS13, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			const records = 2000
			o := tlsProducer{version: c.version, records: records, mechanism: plain.Auth{User: "admin", Pass: tlsPassword}.AsMechanism(), name: "PLAIN"}
			if c.suite != 0 {
				o.suites = []uint16{c.suite}
			}
			packets, log := o.run(t)
			for _, oneIn := range []int{1000, 100} {
				kept, lost := withLoss(packets, 60, oneIn) // 60: the handshakes
				some := summarise(t, kept, log)
				read := some.Coverage.ProducedBatches
				t.Logf("%d of %d packets lost: %d of %d batches read, %d gaps", lost, len(packets), read, records, some.Coverage.Gaps.Count)
				if lost < len(packets)/oneIn/4 || read < records-c.each*int64(lost) || len(some.Findings) > 0 || some.Coverage.Connections.TLS > 0 {
					t.Errorf("%d of %d packets lost: %d of %d batches read; %+v", lost, len(packets), read, records, some)
				}
			}
			if all := summarise(t, packets, log); all.Coverage.ProducedBatches != records || all.Verdict != "clean" {
				t.Errorf("%d batches of %d, %s", all.Coverage.ProducedBatches, records, all.Verdict)
			}
		})
	}
}

// withLoss leaves out one packet in so many, by chance, but none of the first.
func withLoss(packets []pcaptest.Packet, first, oneIn int) (kept []pcaptest.Packet, lost int) {
	random := mrand.New(mrand.NewPCG(1, 2))
	for i, p := range packets {
		if i >= first && random.IntN(oneIn) == 0 {
			lost++
			continue
		}
		kept = append(kept, p)
	}
	return kept, lost
}

// summarise scans packets with a key log.
func summarise(t *testing.T, packets []pcaptest.Packet, log []byte) (s summary) {
	t.Helper()
	_, stdout, stderr := runScan(nil, pcapngOf(t, packets, log, nil), "--output", "json")
	if err := json.Unmarshal([]byte(stdout), &s); err != nil {
		t.Fatalf("%v; stderr %s", err, stderr)
	}
	return s
}

func TestKeyLogErrors(t *testing.T) {
	status, _, stderr := runScan(nil, pcapngOf(t, nil, nil, nil), "--keylog", filepath.Join(t.TempDir(), "missing.log"))
	if status != statusMisuse || !strings.Contains(stderr, "--keylog missing.log: ") || strings.Contains(stderr, t.TempDir()) {
		t.Errorf("status %d, stderr %q", status, stderr)
	}
}

// A key log that grows gives each line once it has its end, wherever reading stopped.
func TestKeyLogGrows(t *testing.T) {
	name := filepath.Join(t.TempDir(), "keys.log")
	line := func(n int) string { return fmt.Sprintf("CLIENT_RANDOM %064d %096d\n", n, n) }
	write := func(text string) {
		f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	write(line(1) + line(2)[:90])
	s, err := keyLogs{name}.open()
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	later := ktls.NewKeys(s.base)
	for _, text := range []string{"", line(2)[90:100], line(2)[100:] + line(3)[:1], line(3)[1:]} {
		write(text)
		for _, log := range s.more(nil) {
			later.AddLog(log)
		}
	}
	if s.base.Len() != 1 || later.Len() != 3 || s.base.Bad()+later.Bad() != 0 {
		t.Errorf("%d sessions at first, %d in the end, %d bad lines", s.base.Len(), later.Len(), s.base.Bad()+later.Bad())
	}
}
