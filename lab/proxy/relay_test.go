package proxy

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"math/big"
	"testing"
	"time"
)

// echoServer answers over TLS what it is sent.
func echoServer(t *testing.T) (address string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	return l.Addr().String()
}

// A relay passes TLS on, tells the suite, and keeps answers back until it cuts the connection.
func TestRelay(t *testing.T) {
	r, err := ListenRelay([]Route{{Node: 1, Listen: "127.0.0.1:0", To: echoServer(t)}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	address := r.listeners[0].Addr().String()
	dial := func(config *tls.Config) *tls.Conn {
		config.InsecureSkipVerify = true
		c, err := tls.Dial("tcp", address, config)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		return c
	}
	echo := func(c *tls.Conn) error {
		if _, err := io.WriteString(c, "hello"); err != nil {
			return err
		}
		_, err := io.ReadFull(c, make([]byte, 5))
		return err
	}
	old := dial(&tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256}})
	if err := echo(old); err != nil {
		t.Fatal(err)
	}
	r.Hold(1)
	if _, err := io.WriteString(old, "hello"); err != nil {
		t.Fatal(err)
	}
	for r.Held(1) == 0 {
		time.Sleep(time.Millisecond)
	}
	r.Cut(1)
	if n, err := old.Read(make([]byte, 5)); err == nil {
		t.Errorf("%d bytes of a held answer came", n)
	}
	next := dial(&tls.Config{MinVersion: tls.VersionTLS13})
	if err := echo(next); err != nil {
		t.Error(err)
	}
	want := []Suite{{0x0303, 0xcca9}, {0x0304, next.ConnectionState().CipherSuite}}
	if have := r.Suites(); len(have) != 2 || have[0] != want[0] || have[1] != want[1] {
		t.Errorf("suites %v, want %v", have, want)
	}
}
