package tls

import (
	"crypto"
	"crypto/hkdf"
	"crypto/hmac"
	_ "crypto/sha256" // for crypto.Hash.New
	_ "crypto/sha512"
	"encoding/binary"
	"errors"
)

// prf is the pseudorandom function of TLS 1.2 (RFC 5246, section 5): n bytes from a secret, a label and a seed.
func prf(h crypto.Hash, secret []byte, label string, seed []byte, n int) []byte {
	seed = append([]byte(label), seed...)
	mac := hmac.New(h.New, secret)
	mac.Write(seed)
	a := mac.Sum(nil)
	var out []byte
	for len(out) < n {
		mac.Reset()
		mac.Write(a)
		mac.Write(seed)
		out = mac.Sum(out)
		mac.Reset()
		mac.Write(a)
		a = mac.Sum(a[:0])
	}
	return out[:n]
}

// errSecretSize: a secret of a key log is not as long as the suite's hash.
var errSecretSize = errors.New("the secret does not fit the cipher suite")

// expandLabel is HKDF-Expand-Label of TLS 1.3 with an empty context (RFC 8446, section 7.1).
func expandLabel(h crypto.Hash, secret []byte, label string, n int) ([]byte, error) {
	if len(secret) != h.Size() {
		return nil, errSecretSize
	}
	const prefix = "tls13 "
	info := binary.BigEndian.AppendUint16(nil, uint16(n))
	info = append(info, byte(len(prefix)+len(label)))
	info = append(info, prefix+label...)
	info = append(info, 0)
	return hkdf.Expand(h.New, secret, string(info), n)
}

// nextTrafficSecret returns the secret after a KeyUpdate (RFC 8446, section 7.2).
func nextTrafficSecret(h crypto.Hash, secret []byte) ([]byte, error) {
	return expandLabel(h, secret, "traffic upd", h.Size())
}
