package clients

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// Security is how a client's connections are protected.
type Security struct {
	Authority      string // file of the certificate that it trusts
	Suite          Suite
	Mechanism      string // of SASL; "": none
	User, Password string
	KeyLog         string // file for the keys of its connections; "": none. Not every client can.
	JavaFlags      []string
}

// Suite is a cipher suite and the version of TLS that goes with it.
type Suite struct {
	Version uint16
	ID      uint16
	Name    string // IANA's, which is Java's
	OpenSSL string
}

// protocol is the name that clients have for what protects a connection.
func (s *Security) protocol() string {
	if s.Mechanism == "" {
		return "SSL"
	}
	return "SASL_SSL"
}

// librdkafka has no options for the version and the suites of TLS 1.3: OpenSSL's own configuration has.
func secureLibrdkafka(s *Security, dir string) (words, env []string, err error) {
	words = []string{"x.security.protocol=" + s.protocol(), "x.ssl.ca.location=" + s.Authority}
	if s.Mechanism != "" {
		words = append(words, "x.sasl.mechanisms="+s.Mechanism, "x.sasl.username="+s.User, "x.sasl.password="+s.Password)
	}
	limits := "MinProtocol = TLSv1.3\nCiphersuites = " + s.Suite.OpenSSL
	if s.Suite.Version == tls.VersionTLS12 {
		limits = "MaxProtocol = TLSv1.2"
		words = append(words, "x.ssl.cipher.suites="+s.Suite.OpenSSL)
	}
	file := filepath.Join(dir, "openssl.cnf")
	text := "openssl_conf = all\n[all]\nssl_conf = modules\n[modules]\nsystem_default = limits\n[limits]\n" + limits + "\n"
	return words, []string{"OPENSSL_CONF=" + file}, os.WriteFile(file, []byte(text), 0o600)
}

func secureJava(s *Security, _ string) (words, env []string, err error) {
	version := "TLSv1.3"
	if s.Suite.Version == tls.VersionTLS12 {
		version = "TLSv1.2"
	}
	words = []string{
		"x.security.protocol=" + s.protocol(), "x.ssl.truststore.type=PEM", "x.ssl.truststore.location=" + s.Authority,
		"x.ssl.enabled.protocols=" + version, "x.ssl.cipher.suites=" + s.Suite.Name,
	}
	if s.Mechanism != "" {
		module := map[string]string{"PLAIN": "plain.PlainLoginModule"}[s.Mechanism]
		if module == "" {
			module = "scram.ScramLoginModule"
		}
		words = append(words, "x.sasl.mechanism="+s.Mechanism,
			fmt.Sprintf("x.sasl.jaas.config=org.apache.kafka.common.security.%s required username=%q password=%q;", module, s.User, s.Password))
	}
	flags := ""
	for _, f := range s.JavaFlags {
		flags += " " + f
	}
	return words, []string{"JAVA_TOOL_OPTIONS=" + flags}, nil
}

// secureGo writes words that parse reads.
func secureGo(s *Security, _ string) (words, env []string, err error) {
	return []string{
		"authority=" + s.Authority, fmt.Sprint("tls-version=", s.Suite.Version), fmt.Sprint("tls-suite=", s.Suite.ID),
		"mechanism=" + s.Mechanism, "user=" + s.User, "password=" + s.Password, "keylog=" + s.KeyLog,
	}, nil, nil
}

// Reader is the same security with the suite left to the peers: the reader's library lacks some.
func (s *Security) Reader() *Security {
	if s == nil {
		return nil
	}
	r := *s
	r.Suite = Suite{}
	return &r
}

// Config is the TLS configuration of a Go client. Which suite of TLS 1.3 is used Go does not let its users say.
func (s *Security) Config() (*tls.Config, error) {
	certificate, err := os.ReadFile(s.Authority)
	if err != nil {
		return nil, err
	}
	c := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: s.Suite.Version, MaxVersion: s.Suite.Version}
	if s.Suite.ID != 0 {
		c.CipherSuites = []uint16{s.Suite.ID}
	}
	if !c.RootCAs.AppendCertsFromPEM(certificate) {
		return nil, errors.New("no certificate in " + s.Authority)
	}
	if s.KeyLog == "" {
		return c, nil
	}
	c.KeyLogWriter, err = os.OpenFile(s.KeyLog, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) // until the process ends
	return c, err
}

// franzGo are the options for kgo.
func (s *Security) franzGo() ([]kgo.Opt, error) {
	if s == nil {
		return nil, nil
	}
	config, err := s.Config()
	if err != nil {
		return nil, err
	}
	options := []kgo.Opt{kgo.DialTLSConfig(config)}
	switch s.Mechanism {
	case "PLAIN":
		options = append(options, kgo.SASL(plain.Auth{User: s.User, Pass: s.Password}.AsMechanism()))
	case "SCRAM-SHA-256":
		options = append(options, kgo.SASL(scram.Auth{User: s.User, Pass: s.Password}.AsSha256Mechanism()))
	}
	return options, nil
}
