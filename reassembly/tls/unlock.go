package tls

// maxMasters is how many master secrets are tried on a connection, the latest first. Each costs some microseconds.
const maxMasters = 4096

// chains looks up the keys of the connection, the client's first.
func (c *conn) chains() (chains [2]chain, ok bool) {
	s := c.suite()
	known := c.d.keys.find(c.hello.client.random)
	var err error
	switch {
	case !s.tls13 && known != nil && known.secrets[0].size > 0:
		chains, err = newChain12(s, known.secrets[0].value(), &c.hello.client.random, &c.hello.server.random, c.hello.server.etm)
		return chains, err == nil
	case !s.tls13:
		return c.tryMasters(s)
	case known == nil:
		return chains, false
	}
	for i := range chains {
		// A handshake secret of the wrong size is as good as none; without the others nothing is readable.
		handshake, traffic := known.secrets[1+2*i].value(), known.secrets[2+2*i].value()
		if len(handshake) != s.hash.Size() {
			handshake = nil
		}
		if chains[i], err = newChain13(s, handshake, traffic); err != nil {
			return chains, false
		}
	}
	return chains, true
}

// tryMasters looks for the keys of a connection of TLS 1.2 whose master secret is not under its client random: of a resumed
// session, which has that of the session it resumes (crypto/tls logs it there alone), or of a log by session ids. Which one
// it is shows the server's Finished message, its first encrypted record.
func (c *conn) tryMasters(s *suite) (chains [2]chain, ok bool) {
	h := &c.hello
	sealed := h.prologues[h.clientDir.Other()].sealed
	resumed := h.server.sessionID != "" && h.server.sessionID == h.client.sessionID
	if sealed == nil || !resumed && !c.d.keys.anyByID() {
		return chains, false
	}
	head := header(sealed)
	tries, first := maxMasters, c.mastersTried
	c.mastersTried = len(c.d.keys.masters)
	for k := c.d.keys; k != nil; k = k.base {
		if k != c.d.keys && c.baseTried {
			break
		}
		for i := len(k.masters) - 1; i >= first && tries > 0; i-- {
			tries--
			chains, err := newChain12(s, k.masters[i].value(), &h.client.random, &h.server.random, h.server.etm)
			if err != nil {
				continue
			}
			if _, _, ok := chains[1].current.open(c.d.scratch[:], &head, sealed[headerSize:], 0); ok {
				return chains, true
			}
		}
		first = 0
	}
	c.baseTried = true
	return chains, false
}
