package tls

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// certificates are made once, since an RSA key takes its time: one with ECDSA, one with RSA.
var certificates = sync.OnceValue(func() [2]tls.Certificate {
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	rs, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "broker.test"}, DNSNames: []string{"broker.test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
	}
	ecDER, err := x509.CreateCertificate(rand.Reader, template, template, &ec.PublicKey, ec)
	if err != nil {
		panic(err)
	}
	rsDER, err := x509.CreateCertificate(rand.Reader, template, template, &rs.PublicKey, rs)
	if err != nil {
		panic(err)
	}
	return [2]tls.Certificate{{Certificate: [][]byte{ecDER}, PrivateKey: ec}, {Certificate: [][]byte{rsDER}, PrivateKey: rs}}
})

// writeCertificate writes a certificate and its key for openssl.
func writeCertificate(t *testing.T, c tls.Certificate) (file string) {
	t.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	data := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate[0]})
	data = append(data, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})...)
	file = filepath.Join(t.TempDir(), "cert.pem")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// pair is the configuration of two peers that log their keys.
type pair struct {
	client, server *tls.Config
	log            *strings.Builder
}

func newPair(version uint16, suites ...uint16) pair {
	log := &strings.Builder{}
	certs := certificates()
	return pair{
		client: &tls.Config{InsecureSkipVerify: true, ServerName: "broker.test", KeyLogWriter: log, MinVersion: version, MaxVersion: version, CipherSuites: suites},
		server: &tls.Config{Certificates: certs[:], MinVersion: version, MaxVersion: version, CipherSuites: suites},
		log:    log,
	}
}

// run connects the peers, lets them talk and returns the recording.
func (p pair) run(t testing.TB, messages [][2]string) (*recording, [2]string, tls.ConnectionState) {
	t.Helper()
	a, b, r := tap(t)
	client, server := tls.Client(a, p.client), tls.Server(b, p.server)
	sent := talk(t, client, server, messages)
	state := client.ConnectionState()
	client.CloseWrite()
	server.CloseWrite()
	return r, sent, state
}

// conversation has short and long messages, some of them of many records.
func conversation() [][2]string {
	var list [][2]string
	for i, n := range []int{1, 15, 16, 1000, 16384, 16385, 100_000, 3} {
		list = append(list, [2]string{
			fmt.Sprintf("request %d: ", i) + strings.Repeat(string(rune('a'+i)), n),
			fmt.Sprintf("answer %d: ", i) + strings.Repeat(string(rune('A'+i)), n/2),
		})
	}
	return list
}

func TestGoSuites(t *testing.T) {
	cases := []struct {
		version uint16
		suite   uint16
	}{
		{tls.VersionTLS13, 0},
		{tls.VersionTLS12, tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256},
		{tls.VersionTLS12, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384},
		{tls.VersionTLS12, tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256},
		{tls.VersionTLS12, tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA},
		{tls.VersionTLS12, tls.TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA},
		{tls.VersionTLS12, tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256},
		{tls.VersionTLS12, tls.TLS_RSA_WITH_AES_128_GCM_SHA256},
		{tls.VersionTLS12, tls.TLS_RSA_WITH_AES_256_CBC_SHA},
	}
	for _, c := range cases {
		p := newPair(c.version)
		if c.suite != 0 {
			p = newPair(c.version, c.suite)
		}
		r, sent, state := p.run(t, conversation())
		t.Run(tls.VersionName(state.Version)+" "+tls.CipherSuiteName(state.CipherSuite), func(t *testing.T) {
			if c.suite != 0 && state.CipherSuite != c.suite {
				t.Fatalf("the peers agreed on %s", tls.CipherSuiteName(state.CipherSuite))
			}
			for _, size := range []int{61, 1448, 1 << 16} {
				p := decryptAll(t, keysOf(t, p.log.String()), r.events(size))
				p.wantPlain(sent)
				if !strings.Contains(p.details, "broker.test") || !strings.Contains(p.details, tls.CipherSuiteName(state.CipherSuite)) {
					t.Errorf("details %q", p.details)
				}
			}
		})
	}
}

// A HelloRetryRequest makes two ClientHellos, with one random.
func TestGoHelloRetry(t *testing.T) {
	p := newPair(tls.VersionTLS13)
	p.client.CurvePreferences = []tls.CurveID{tls.X25519, tls.CurveP384}
	p.server.CurvePreferences = []tls.CurveID{tls.CurveP384}
	r, sent, state := p.run(t, conversation())
	if state.HelloRetryRequest != true {
		t.Fatal("no HelloRetryRequest")
	}
	decryptAll(t, keysOf(t, p.log.String()), r.events(1448)).wantPlain(sent)
}

// A resumed session of TLS 1.3 has secrets of its own; one of TLS 1.2 has the master secret of the session before, and
// crypto/tls does not log it again.
func TestGoResumption(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		for _, suite := range []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA} {
			p := newPair(version, suite)
			p.client.ClientSessionCache = tls.NewLRUClientSessionCache(8)
			if _, _, state := p.run(t, conversation()); state.DidResume {
				t.Fatal("the first session was resumed")
			}
			if _, _, state := newOther(p).run(t, conversation()); state.DidResume {
				t.Fatal("a session of other peers was resumed")
			}
			r, sent, state := p.run(t, conversation())
			if !state.DidResume {
				t.Fatal("not resumed")
			}
			decryptAll(t, keysOf(t, p.log.String()), r.events(1448)).wantPlain(sent)
		}
	}
}

// Agents for Java log TLS 1.2 by session id, which is in no hello where there are tickets.
func TestMasterBySessionID(t *testing.T) {
	p := newPair(tls.VersionTLS12)
	r, sent, _ := p.run(t, conversation())
	other := newPair(tls.VersionTLS12)
	other.run(t, conversation())
	var log strings.Builder
	for _, line := range strings.Split(strings.TrimSpace(p.log.String()+other.log.String()), "\n") {
		fmt.Fprintf(&log, "RSA Session-ID:%064d Master-Key:%s\n", 1, strings.ToUpper(strings.Fields(line)[2]))
	}
	keys := keysOf(t, log.String())
	decryptAll(t, keys, r.events(1448)).wantPlain(sent)
	decryptAll(t, NewKeys(keys), r.events(1448)).wantPlain(sent)
}

// newOther returns a pair that logs to the same place and shares no sessions.
func newOther(p pair) pair {
	o := newPair(p.client.MaxVersion, p.client.CipherSuites...)
	o.client.KeyLogWriter = p.log
	o.log = p.log
	return o
}

func TestNoKeys(t *testing.T) {
	p := newPair(tls.VersionTLS13)
	r, _, _ := p.run(t, conversation())
	other := newPair(tls.VersionTLS13)
	other.run(t, conversation())
	mixed := mixKeys(p.log.String(), other.log.String())
	for _, c := range []struct {
		name, log, code string
	}{{"none", "", "tls-no-key"}, {"of another session", other.log.String(), "tls-no-key"}, {"wrong ones", mixed, "tls-key-wrong"}} {
		t.Run(c.name, func(t *testing.T) {
			events := r.events(1448)
			p := decryptAll(t, keysOf(t, c.log), events)
			p.wantUntouched(events)
			if len(p.notes) != 1 || fmt.Sprint(p.notes) != "map["+c.code+":1]" {
				t.Errorf("notes %v, want one %s", p.notes, c.code)
			}
		})
	}
}

// mixKeys returns the lines of one log with the secrets of another.
func mixKeys(log, other string) string {
	var b strings.Builder
	others := strings.Split(other, "\n")
	for i, line := range strings.Split(strings.TrimSpace(log), "\n") {
		f, g := strings.Fields(line), strings.Fields(others[i])
		fmt.Fprintln(&b, f[0], f[1], g[2])
	}
	return b.String()
}
