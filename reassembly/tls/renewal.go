package tls

import "github.com/kdupscan/kdupscan/pcap"

// renewal is what the encrypted hellos of a renegotiation have shown (RFC 5246, section 7.4.1; TLS 1.3 has none).
type renewal struct {
	client     clientHelloInfo
	server     serverHelloInfo
	clientSeen bool
	serverSeen bool
	noted      bool
}

// message takes a handshake message. A ClientHello begins anew.
func (r *renewal) message(kind byte, body []byte) {
	switch kind {
	case clientHello:
		*r = renewal{noted: r.noted}
		r.client, r.clientSeen = readClientHello(body)
	case serverHello:
		r.server, r.serverSeen = readServerHello(body)
	}
}

// renew goes on to the keys that were agreed on, once they are in the key log.
func (h *half) renew(at pcap.Ref) {
	r := &h.c.renewal
	s, ok := suites[r.server.suite]
	if !r.clientSeen || !r.serverSeen || !ok || s.tls13 || r.server.version != version12 || r.server.compression != 0 {
		h.dead, h.renewing = true, false
		h.noteRenewal(CodeUnsupported, at)
		return
	}
	known := h.c.d.keys.find(r.client.random)
	if known == nil || known.secrets[0].size == 0 {
		h.noteRenewal(CodeNoKey, at)
		return
	}
	chains, err := newChain12(&s, known.secrets[0].value(), &r.client.random, &r.server.random, r.server.etm)
	if err != nil {
		h.noteRenewal(CodeNoKey, at)
		return
	}
	h.keys, h.renewing = chains[0], false
	if h.dir != h.c.hello.clientDir {
		h.keys = chains[1]
	}
}

// noteRenewal says once for both directions why nothing is read behind a renegotiation.
func (h *half) noteRenewal(code pcap.Code, at pcap.Ref) {
	if !h.c.renewal.noted {
		h.c.renewal.noted = true
		h.note(code, at, "renegotiation")
	}
}
