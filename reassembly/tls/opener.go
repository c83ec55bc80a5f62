package tls

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"

	"golang.org/x/crypto/chacha20poly1305"
)

// opener opens the records of one direction under one key.
type opener interface {
	// open decrypts the body of a record with the sequence number seq. The content is in dst's memory, which needs room
	// for the body, and never in that of body. It returns false if the record is not authentic.
	open(dst []byte, h *header, body []byte, seq uint64) (content []byte, kind byte, ok bool)
	// contentSize returns the most content that a body of size bytes can have: all of it where there is no padding.
	contentSize(size int) int
}

// aeadOpener opens records of suites with an AEAD cipher.
type aeadOpener struct {
	aead     cipher.AEAD
	tls13    bool
	explicit int // bytes of the nonce that a record carries
	iv       [12]byte
	last     uint64 // what the last record that was opened carried of its nonce
	// Kept here since what goes through the cipher.AEAD interface would be allocated for each record.
	nonce [12]byte
	extra [13]byte
}

const explicitNonce = 8 // of GCM and CCM in TLS 1.2 (RFC 5288, section 3)

// newAEADOpener returns the opener of a key. The iv has 12 bytes, or 4 where the rest comes with each record.
func newAEADOpener(s *suite, key, iv []byte) (*aeadOpener, error) {
	o := &aeadOpener{tls13: s.tls13, explicit: 12 - len(iv)}
	copy(o.iv[:], iv)
	var err error
	if s.mode == chacha {
		o.aead, err = chacha20poly1305.New(key)
		return o, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	switch s.mode {
	case gcm:
		o.aead, err = cipher.NewGCM(block)
	case ccm8:
		o.aead = newCCM(block, 8)
	default:
		o.aead = newCCM(block, 16)
	}
	return o, err
}

func (o *aeadOpener) open(dst []byte, h *header, body []byte, seq uint64) (content []byte, kind byte, ok bool) {
	size := len(body) - o.explicit - o.aead.Overhead()
	if size < 0 {
		return nil, 0, false
	}
	o.nonce = o.iv
	if o.explicit > 0 {
		copy(o.nonce[12-o.explicit:], body[:o.explicit])
	} else {
		binary.BigEndian.PutUint64(o.nonce[4:], binary.BigEndian.Uint64(o.iv[4:])^seq)
	}
	extra := o.extra[:0]
	if o.tls13 {
		extra = append(extra, h[:]...)
	} else {
		extra = binary.BigEndian.AppendUint64(extra, seq)
		extra = append(extra, h[:3]...)
		extra = binary.BigEndian.AppendUint16(extra, uint16(size))
	}
	content, err := o.aead.Open(dst[:0], o.nonce[:], body[o.explicit:], extra)
	if err != nil {
		return nil, 0, false
	}
	if o.explicit == explicitNonce {
		o.last = binary.BigEndian.Uint64(body)
	}
	if !o.tls13 {
		return content, h.kind(), true
	}
	// The content type is the last byte that is not zero; what follows is padding (RFC 8446, section 5.4).
	n := len(content)
	for n > 0 && content[n-1] == 0 {
		n--
	}
	if n == 0 {
		return nil, 0, false
	}
	return content[:n-1], content[n-1], true
}

func (o *aeadOpener) contentSize(size int) int {
	size -= o.explicit + o.aead.Overhead()
	if o.tls13 {
		size-- // the content type
	}
	return max(0, size)
}
