package tls

import "crypto/aes"

// chain is the keys of one direction, one after the other.
type chain struct {
	suite   *suite
	current opener // nil: not known, as the handshake keys of TLS 1.3 may be
	next    opener // of TLS 1.3; nil: none
	secret  []byte // that next was made from
}

// newChain12 returns the keys of TLS 1.2 for both directions, the client's first (RFC 5246, section 6.3).
func newChain12(s *suite, master []byte, client, server *[randomSize]byte, etm bool) (chains [2]chain, err error) {
	macSize, ivSize := 0, 12-explicitNonce
	switch s.mode {
	case cbc:
		macSize, ivSize = s.mac.Size(), 0 // each record brings its own
	case chacha:
		ivSize = 12
	}
	block := prf(s.hash, master, "key expansion", append(server[:], client[:]...), 2*(macSize+s.keySize+ivSize))
	cut := func(n int) []byte {
		part := block[:n:n]
		block = block[n:]
		return part
	}
	var macs, keys, ivs [2][]byte
	for _, part := range []struct {
		of   *[2][]byte
		size int
	}{{&macs, macSize}, {&keys, s.keySize}, {&ivs, ivSize}} {
		part.of[0], part.of[1] = cut(part.size), cut(part.size)
	}
	for i := range chains {
		chains[i].suite = s
		if s.mode == cbc {
			chains[i].current, err = newCBCOpener(s, keys[i], macs[i], etm)
		} else {
			chains[i].current, err = newAEADOpener(s, keys[i], ivs[i])
		}
		if err != nil {
			return chains, err
		}
	}
	return chains, nil
}

// newChain13 returns the keys of one direction of TLS 1.3. The handshake secret may be nil.
func newChain13(s *suite, handshake, traffic []byte) (c chain, err error) {
	c.suite = s
	if handshake != nil {
		if c.current, err = newOpener13(s, handshake); err != nil {
			return c, err
		}
	}
	c.secret = traffic
	c.next, err = newOpener13(s, traffic)
	return c, err
}

// newOpener13 derives a key from a traffic secret (RFC 8446, section 7.3).
func newOpener13(s *suite, secret []byte) (opener, error) {
	key, err := expandLabel(s.hash, secret, "key", s.keySize)
	if err != nil {
		return nil, err
	}
	iv, err := expandLabel(s.hash, secret, "iv", 12)
	if err != nil {
		return nil, err
	}
	return newAEADOpener(s, key, iv)
}

// advance goes on to the next key.
func (c *chain) advance() {
	c.current = c.next
	secret, err := nextTrafficSecret(c.suite.hash, c.secret)
	if err == nil {
		c.secret = secret
		c.next, err = newOpener13(c.suite, secret)
	}
	if err != nil {
		c.next = nil // cannot be: the first secret had the right size
	}
}

// shortest returns the size of the shortest record that carries anything, without its header.
func (c *chain) shortest() int {
	if c.suite.mode == cbc {
		return 2 * aes.BlockSize
	}
	return c.overhead() + 1
}

// overhead returns by how much a record is longer than its content, at least.
func (c *chain) overhead() int {
	o := c.current
	if o == nil {
		o = c.next
	}
	return maxBody - o.contentSize(maxBody)
}
