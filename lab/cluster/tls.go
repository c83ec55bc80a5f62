package cluster

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// User and Password are what clients log in with, by every mechanism.
const (
	User     = "writer"
	Password = "battery-staple-4711"
)

// TLSRelay is where clients believe the node's listener for TLS to be, with or without SASL inside.
func TLSRelay(node int32, sasl bool) string {
	if sasl {
		return Address(node, SASLPort)
	}
	return Address(node, TLSPort)
}

// TLSBroker is where the node itself takes these connections.
func TLSBroker(node int32, sasl bool) string {
	if sasl {
		return Address(node, saslBrokerPort)
	}
	return Address(node, tlsBrokerPort)
}

// Authority is the file of the certificate that clients trust.
func (c *Cluster) Authority() string { return filepath.Join(c.dir, "server.crt") }

// AgentFlag is the flag for a Java process that makes it log the keys of its TLS connections to a file.
func AgentFlag(jars, log string) string {
	return "-javaagent:" + filepath.Join(jars, "extract-tls-secrets-4.0.0.jar") + "=" + log
}

// SecurityFlag is the flag for a Java process that lets it use every cipher suite it knows: some that are still met in the
// field are off by default in newer versions.
func (c *Cluster) SecurityFlag() string {
	return "-Djava.security.properties=" + filepath.Join(c.dir, "tls.security")
}

// KeyLogs are the files to which the brokers' agents write the keys of their clients.
func (c *Cluster) KeyLogs() (all []string) {
	for _, node := range Nodes {
		all = append(all, c.keyLog(node))
	}
	return all
}

func (c *Cluster) keyLog(node int32) string {
	return filepath.Join(c.dir, fmt.Sprintf("keys%d.log", node))
}

// prepareTLS writes the brokers' certificate, what Java may use, and empty key logs.
func (c *Cluster) prepareTLS() error {
	key, err := rsa.GenerateKey(rand.Reader, 2048) // RSA: the one kind of key that serves every key exchange
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "lab"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment | x509.KeyUsageCertSign,
	}
	for _, node := range Nodes {
		host, _, _ := net.SplitHostPort(Broker(node))
		template.IPAddresses = append(template.IPAddresses, net.ParseIP(host))
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	files := map[string][]byte{
		c.Authority():                        certificate,
		c.ServerKeyPair():                    append(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), certificate...),
		filepath.Join(c.dir, "tls.security"): []byte("jdk.tls.disabledAlgorithms=SSLv3, TLSv1, TLSv1.1, NULL, anon\n"),
	}
	for _, log := range c.KeyLogs() {
		files[log] = nil
	}
	for name, data := range files {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// ServerKeyPair is the file of the brokers' certificate and its key.
func (c *Cluster) ServerKeyPair() string { return filepath.Join(c.dir, "server.pem") }

// tlsProperties are the lines of server.properties for the listeners TLS and SASLTLS.
func (c *Cluster) tlsProperties() []string {
	const listener = "listener.name.sasltls."
	return []string{
		"ssl.keystore.type=PEM",
		"ssl.keystore.location=" + c.ServerKeyPair(),
		"ssl.enabled.protocols=TLSv1.2,TLSv1.3",
		listener + "sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256",
		fmt.Sprintf("%splain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_%s=%q;", listener, User, Password),
		listener + "scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;",
	}
}
