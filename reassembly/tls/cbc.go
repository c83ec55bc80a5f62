package tls

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	_ "crypto/sha1" // for crypto.Hash.New
	"encoding/binary"
	"hash"
)

// cbcOpener opens records of TLS 1.2 suites with AES-CBC and HMAC (RFC 5246, section 6.2.3.2). The MAC is over the
// plaintext, or over the ciphertext where encrypt-then-MAC was agreed on (RFC 7366).
type cbcOpener struct {
	block cipher.Block
	mac   hash.Hash
	etm   bool
	sum   [maxSecret]byte // the longest MAC is that of SHA-384
}

func newCBCOpener(s *suite, key, macKey []byte, etm bool) (*cbcOpener, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return &cbcOpener{block: block, mac: hmac.New(s.mac.New, macKey), etm: etm}, nil
}

func (o *cbcOpener) open(dst []byte, h *header, body []byte, seq uint64) (content []byte, kind byte, ok bool) {
	macSize := o.mac.Size()
	sealed := body
	if o.etm {
		if len(body) < macSize {
			return nil, 0, false
		}
		sealed = body[:len(body)-macSize]
		if !o.authentic(h, sealed, body[len(sealed):], seq) {
			return nil, 0, false
		}
	}
	if len(sealed) < 2*aes.BlockSize || len(sealed)%aes.BlockSize != 0 {
		return nil, 0, false
	}
	iv, sealed := sealed[:aes.BlockSize], sealed[aes.BlockSize:]
	plain := dst[:len(sealed)]
	cipher.NewCBCDecrypter(o.block, iv).CryptBlocks(plain, sealed)
	// Padding: n bytes of the value n, and n itself.
	padding := int(plain[len(plain)-1])
	n := len(plain) - 1 - padding
	if !o.etm {
		n -= macSize
	}
	if n < 0 {
		return nil, 0, false
	}
	for _, b := range plain[len(plain)-1-padding:] {
		if int(b) != padding {
			return nil, 0, false
		}
	}
	content = plain[:n]
	if !o.etm && !o.authentic(h, content, plain[n:n+macSize], seq) {
		return nil, 0, false
	}
	return content, h.kind(), true
}

// authentic checks the MAC over sequence number, type, version, length and data.
func (o *cbcOpener) authentic(h *header, data, mac []byte, seq uint64) bool {
	var head [13]byte
	binary.BigEndian.PutUint64(head[:], seq)
	copy(head[8:], h[:3])
	binary.BigEndian.PutUint16(head[11:], uint16(len(data)))
	o.mac.Reset()
	o.mac.Write(head[:])
	o.mac.Write(data)
	return hmac.Equal(o.mac.Sum(o.sum[:0]), mac)
}

func (o *cbcOpener) contentSize(size int) int {
	return max(0, size-aes.BlockSize-o.mac.Size()-1)
}
