package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kdupscan/kdupscan/lab/clients"
	"github.com/kdupscan/kdupscan/lab/cluster"
	"github.com/kdupscan/kdupscan/lab/proxy"
)

// seal is how the connections of a scenario are protected, and where kdupscan has their keys from.
type seal struct {
	suite     clients.Suite
	mechanism string // of SASL; "": none
	keys      string
}

// Who logs the keys of a sealed scenario.
const (
	byBroker = "the broker's agent"
	byClient = "the client"
	byProxy  = "the proxy" // which ends the client's TLS, and begins it anew
)

func suite12(id uint16, name, openssl string) clients.Suite {
	return clients.Suite{Version: tls.VersionTLS12, ID: id, Name: name, OpenSSL: openssl}
}

func suite13(id uint16, name string) clients.Suite {
	return clients.Suite{Version: tls.VersionTLS13, ID: id, Name: name, OpenSSL: name}
}

// The suites that are played: of each version, key exchange and cipher that brokers and clients are met with.
var (
	ecdheGCM    = suite12(0xc02f, "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256")
	ecdheGCM256 = suite12(0xc030, "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384")
	dheGCM      = suite12(0x009f, "TLS_DHE_RSA_WITH_AES_256_GCM_SHA384", "DHE-RSA-AES256-GCM-SHA384")
	rsaGCM      = suite12(0x009c, "TLS_RSA_WITH_AES_128_GCM_SHA256", "AES128-GCM-SHA256")
	ecdheCBC    = suite12(0xc014, "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", "ECDHE-RSA-AES256-SHA")
	ecdheCBC256 = suite12(0xc027, "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256", "ECDHE-RSA-AES128-SHA256")
	dheCBC      = suite12(0x0067, "TLS_DHE_RSA_WITH_AES_128_CBC_SHA256", "DHE-RSA-AES128-SHA256")
	rsaCBC      = suite12(0x003d, "TLS_RSA_WITH_AES_256_CBC_SHA256", "AES256-SHA256")
	ecdheChaCha = suite12(0xcca8, "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305")
	dheChaCha   = suite12(0xccaa, "TLS_DHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "DHE-RSA-CHACHA20-POLY1305")
	gcm128      = suite13(0x1301, "TLS_AES_128_GCM_SHA256")
	gcm256      = suite13(0x1302, "TLS_AES_256_GCM_SHA384")
	chacha      = suite13(0x1303, "TLS_CHACHA20_POLY1305_SHA256")
)

// noTimeout is longer than any answer takes: what cannot be read by the way must not be sent twice for want of patience.
const noTimeout = 30 * time.Second

// untouched is a sealed connection on which nothing goes wrong.
var untouched = &fault{name: "TLS, no fault", topic: "parcels", count: 15, timeout: noTimeout, about: "Nothing goes wrong."}

// cut is an answer that never comes, by a hand that cannot read it.
var cut = &fault{
	name: "TLS, answer swallowed", topic: "claims", oneInFlight: true, timeout: noTimeout,
	about: "The leader of partition 0 has appended a batch; all that it sends is kept from the client, and then the connection is closed. One request is in flight.",
	act: func(ctx context.Context, st *stage) error {
		if err := st.logged(ctx, warmUp); err != nil {
			return err
		}
		st.relay.Hold(st.roles.leader)
		defer st.relay.Cut(st.roles.leader)
		before, err := st.brokers.ReadLog(ctx, st.topic)
		if err != nil {
			return err
		}
		return st.logged(ctx, ofFirst(before)+1)
	},
}

// ofFirst returns how many batches of a log are of partition 0.
func ofFirst(log []cluster.Batch) (n int) {
	for _, b := range log {
		if b.Partition == 0 {
			n++
		}
	}
	return n
}

// logged returns when so many batches stand in the log of partition 0; errNoFault if that does not happen.
func (st *stage) logged(ctx context.Context, batches int) error {
	for end := time.Now().Add(patience); ; {
		log, err := st.brokers.ReadLog(ctx, st.topic)
		switch {
		case err != nil:
			return err
		case ofFirst(log) >= batches:
			return nil
		case time.Now().After(end):
			return fmt.Errorf("%w: waited for %d batches", errNoFault, batches)
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// sealed are the scenarios inside TLS.
func sealed(p clients.Programs) (all []scenario) {
	add := func(c clients.Client, m mode, f *fault, want string, s seal) {
		all = append(all, scenario{client: c, mode: m, fault: f, want: want, seal: &s})
	}
	const plainText, scram = "PLAIN", "SCRAM-SHA-256"
	for i, s := range []clients.Suite{ecdheGCM, dheGCM, rsaGCM, ecdheCBC, dheCBC, rsaCBC, ecdheChaCha, dheChaCha, gcm128, gcm256, chacha} {
		mechanism := []string{plainText, scram, ""}[i%3]
		add([]clients.Client{p.Librdkafka261, p.Librdkafka2111}[i%2], idempotent, untouched, once, seal{s, mechanism, byBroker})
		add(p.Java, idempotent, untouched, once, seal{s, mechanism, byBroker})
	}
	add(p.Java, idempotent, untouched, once, seal{ecdheGCM256, plainText, byClient})
	add(p.Java, idempotent, untouched, once, seal{gcm256, "", byClient})
	add(p.FranzGo, idempotent, untouched, once, seal{gcm256, scram, byClient})
	add(p.Sarama, idempotent, untouched, once, seal{ecdheChaCha, plainText, byBroker})
	add(p.Librdkafka261, plain, cut, blind, seal{gcm256, scram, byBroker})
	add(p.Librdkafka2111, plain, cut, blind, seal{ecdheCBC256, plainText, byBroker})
	add(p.Java, plain, cut, blind, seal{gcm128, plainText, byBroker})
	add(p.Java, plain, cut, blind, seal{ecdheGCM256, scram, byBroker})
	add(p.FranzGo, plain, cut, blind, seal{ecdheGCM, plainText, byClient})
	add(p.Librdkafka261, idempotent, lostElsewhere, bump, seal{ecdheGCM, scram, byProxy})
	add(p.Librdkafka2111, idempotent, lostElsewhere, bump, seal{gcm128, plainText, byProxy})
	return all
}

// prepareSealed puts what passes or ends TLS before the brokers, and makes the key logs.
func (l *lab) prepareSealed(s scenario, st *stage) (err error) {
	sasl := s.seal.mechanism != ""
	st.security = &clients.Security{
		Authority: l.brokers.Authority(), Suite: s.seal.suite, Mechanism: s.seal.mechanism, User: cluster.User, Password: cluster.Password,
		JavaFlags: []string{l.brokers.SecurityFlag()},
	}
	st.keyLogs = l.brokers.KeyLogs()
	log := filepath.Join(l.dir, "keys.log")
	if s.seal.keys != byBroker {
		if err := os.WriteFile(log, nil, 0o600); err != nil {
			return err
		}
		st.keyLogs = []string{log}
	}
	if s.seal.keys == byClient {
		st.security.KeyLog = log
		st.security.JavaFlags = append(st.security.JavaFlags, cluster.AgentFlag(l.jars(), log))
	}
	var routes []proxy.Route
	for _, node := range cluster.Nodes {
		routes = append(routes, proxy.Route{Node: node, Listen: cluster.TLSRelay(node, sasl), To: cluster.TLSBroker(node, sasl)})
	}
	if s.seal.keys != byProxy {
		st.relay, err = proxy.ListenRelay(routes)
		return err
	}
	if err := l.endTLS(routes, st.security, log); err != nil {
		return err
	}
	st.proxy, err = proxy.Listen(routes, st.rules)
	return err
}

// endTLS makes routes whose TLS ends at the proxy, which logs the keys of the clients' side.
func (l *lab) endTLS(routes []proxy.Route, s *clients.Security, log string) error {
	pair, err := tls.LoadX509KeyPair(l.brokers.ServerKeyPair(), l.brokers.ServerKeyPair())
	if err != nil {
		return err
	}
	keys, err := os.OpenFile(log, os.O_APPEND|os.O_WRONLY, 0o600) // until the lab ends
	if err != nil {
		return err
	}
	for i := range routes {
		client, err := s.Reader().Config()
		if err != nil {
			return err
		}
		client.ServerName, _, err = net.SplitHostPort(routes[i].To)
		if err != nil {
			return err
		}
		routes[i].Server = &tls.Config{Certificates: []tls.Certificate{pair}, KeyLogWriter: keys}
		routes[i].Client = client
	}
	return nil
}

// checkSuites returns an error unless every connection of the producer was given the suite of the scenario.
func (s scenario) checkSuites(have []proxy.Suite) error {
	want := proxy.Suite{Version: s.seal.suite.Version, ID: s.seal.suite.ID}
	if len(have) == 0 {
		return fmt.Errorf("no connection with %v", want)
	}
	for _, h := range have {
		if h != want {
			return fmt.Errorf("a connection with %v, want %v", h, want)
		}
	}
	return nil
}

// revealing returns an error if an output holds the password of the clients.
func revealing(outputs ...[]byte) error {
	for _, o := range outputs {
		if strings.Contains(string(o), cluster.Password) {
			return fmt.Errorf("the password is in kdupscan's output")
		}
	}
	return nil
}
