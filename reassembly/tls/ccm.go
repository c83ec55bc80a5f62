package tls

import (
	"crypto/cipher"
	"crypto/subtle"
	"encoding/binary"
	"errors"
)

// ccmMode is AES-CCM (RFC 3610) with nonces of 12 bytes, hence lengths of 3 bytes, as TLS uses it (RFC 6655).
type ccmMode struct {
	block cipher.Block
	tag   int
}

func newCCM(block cipher.Block, tag int) cipher.AEAD { return &ccmMode{block, tag} }

const (
	ccmBlock  = 16
	ccmNonce  = 12
	ccmLength = 15 - ccmNonce // bytes of the length field
	ccmMax    = 1<<(8*ccmLength) - 1
)

var errCCM = errors.New("message authentication failed")

func (c *ccmMode) NonceSize() int { return ccmNonce }
func (c *ccmMode) Overhead() int  { return c.tag }

// Open implements cipher.AEAD. The plaintext must not overlap the ciphertext.
func (c *ccmMode) Open(dst, nonce, ciphertext, extra []byte) ([]byte, error) {
	n := len(ciphertext) - c.tag
	if n < 0 || n > ccmMax {
		return nil, errCCM
	}
	start := len(dst)
	dst = append(dst, ciphertext[:n]...)
	plain := dst[start:]
	mask := c.crypt(nonce, plain)
	sum := c.sum(nonce, plain, extra)
	subtle.XORBytes(sum[:], sum[:], mask[:])
	if subtle.ConstantTimeCompare(sum[:c.tag], ciphertext[n:]) != 1 {
		clear(plain)
		return nil, errCCM
	}
	return dst, nil
}

// Seal implements cipher.AEAD.
func (c *ccmMode) Seal(dst, nonce, plaintext, extra []byte) []byte {
	sum := c.sum(nonce, plaintext, extra)
	start := len(dst)
	dst = append(dst, plaintext...)
	mask := c.crypt(nonce, dst[start:])
	subtle.XORBytes(sum[:], sum[:], mask[:])
	return append(dst, sum[:c.tag]...)
}

// crypt encrypts or decrypts data in place in counter mode, and returns the mask of the tag.
func (c *ccmMode) crypt(nonce, data []byte) (mask [ccmBlock]byte) {
	var counter [ccmBlock]byte
	counter[0] = ccmLength - 1
	copy(counter[1:], nonce)
	c.block.Encrypt(mask[:], counter[:])
	counter[ccmBlock-1] = 1
	cipher.NewCTR(c.block, counter[:]).XORKeyStream(data, data)
	return mask
}

// sum returns the CBC-MAC over the header block, the additional data with its length, and the plaintext, each padded with
// zeros to whole blocks. Additional data in TLS is far shorter than the 65280 bytes that two bytes of length can tell.
func (c *ccmMode) sum(nonce, plaintext, extra []byte) (mac [ccmBlock]byte) {
	mac[0] = byte((c.tag-2)/2<<3 | ccmLength - 1)
	if len(extra) > 0 {
		mac[0] |= 1 << 6
	}
	copy(mac[1:], nonce)
	var length [4]byte
	binary.BigEndian.PutUint32(length[:], uint32(len(plaintext)))
	copy(mac[1+ccmNonce:], length[1:])
	c.block.Encrypt(mac[:], mac[:])
	if len(extra) > 0 {
		c.mix(&mac, append(binary.BigEndian.AppendUint16(nil, uint16(len(extra))), extra...))
	}
	c.mix(&mac, plaintext)
	return mac
}

// mix takes data into a CBC-MAC.
func (c *ccmMode) mix(mac *[ccmBlock]byte, data []byte) {
	for len(data) > 0 {
		n := subtle.XORBytes(mac[:], mac[:], data[:min(len(data), ccmBlock)])
		c.block.Encrypt(mac[:], mac[:])
		data = data[n:]
	}
}
