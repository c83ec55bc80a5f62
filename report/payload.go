package report

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"unicode/utf8"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
)

// hashKey is the key of a report's payload hashes: a digest of the captures. Who has only the report cannot guess a short
// payload and check the guess against its hash; who has the captures sees the payloads anyway.
func hashKey(captures []pcap.Capture) []byte {
	h := sha256.New()
	h.Write([]byte("kdupscan payload hash"))
	for _, c := range captures {
		h.Write(binary.BigEndian.AppendUint64(nil, c.Fingerprint))
	}
	return h.Sum(nil)
}

// payloadHash is 16 hex digits, equal for equal payloads of one report.
func payloadHash(key []byte, p kafka.Payload) string {
	mac := hmac.New(sha256.New, key)
	mac.Write(binary.BigEndian.AppendUint32(nil, uint32(p.Size)))
	mac.Write(binary.BigEndian.AppendUint32(nil, p.Hash))
	return hex.EncodeToString(mac.Sum(nil)[:8])
}

// printable returns the first bytes of a payload of the given size as text, if they are visible UTF-8 throughout. A rune
// that the preview cuts is left out.
func printable(preview []byte, size int) (string, bool) {
	if len(preview) < size {
		for n := 1; n < utf8.UTFMax && n <= len(preview); n++ {
			if tail := preview[len(preview)-n:]; utf8.RuneStart(tail[0]) {
				if !utf8.FullRune(tail) {
					preview = preview[:len(preview)-n]
				}
				break
			}
		}
	}
	if !utf8.Valid(preview) {
		return "", false
	}
	for _, r := range string(preview) {
		if !visible(r) {
			return "", false
		}
	}
	return string(preview), true
}
