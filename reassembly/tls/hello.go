package tls

import (
	"fmt"

	"golang.org/x/crypto/cryptobyte"
)

const (
	version12 = 0x0303
	version13 = 0x0304
)

// Extensions (RFC 6066, 7366, 8446).
const (
	extServerName        = 0
	extEncryptThenMAC    = 22
	extEarlyData         = 42
	extSupportedVersions = 43
)

// retryRandom is the random of a ServerHello that is a HelloRetryRequest (RFC 8446, section 4.1.3).
var retryRandom = [randomSize]byte{
	0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
	0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
}

// clientHelloInfo is what is needed of a ClientHello.
type clientHelloInfo struct {
	random     [randomSize]byte
	sessionID  string
	serverName string
	early      bool // early data is offered
}

// readClientHello reads the body of a ClientHello (RFC 8446, section 4.1.2).
func readClientHello(body []byte) (h clientHelloInfo, ok bool) {
	s := cryptobyte.String(body)
	var session, skipped cryptobyte.String
	if !s.Skip(2) || !s.CopyBytes(h.random[:]) || !s.ReadUint8LengthPrefixed(&session) ||
		!s.ReadUint16LengthPrefixed(&skipped) || !s.ReadUint8LengthPrefixed(&skipped) {
		return h, false
	}
	h.sessionID = string(session)
	ok = readExtensions(s, func(kind uint16, data cryptobyte.String) {
		var list, name cryptobyte.String
		var nameType uint8
		h.early = h.early || kind == extEarlyData
		if kind == extServerName && data.ReadUint16LengthPrefixed(&list) && list.ReadUint8(&nameType) && nameType == 0 && list.ReadUint16LengthPrefixed(&name) {
			h.serverName = string(name)
		}
	})
	return h, ok
}

// serverHelloInfo is what is needed of a ServerHello.
type serverHelloInfo struct {
	version     uint16
	random      [randomSize]byte
	sessionID   string
	suite       uint16
	compression uint8
	etm         bool // encrypt-then-MAC was agreed on
}

// readServerHello reads the body of a ServerHello (RFC 5246, section 7.4.1.3; RFC 8446, section 4.1.3).
func readServerHello(body []byte) (h serverHelloInfo, ok bool) {
	s := cryptobyte.String(body)
	var session cryptobyte.String
	if !s.ReadUint16(&h.version) || !s.CopyBytes(h.random[:]) || !s.ReadUint8LengthPrefixed(&session) ||
		!s.ReadUint16(&h.suite) || !s.ReadUint8(&h.compression) {
		return h, false
	}
	h.sessionID = string(session)
	ok = readExtensions(s, func(kind uint16, data cryptobyte.String) {
		switch kind {
		case extEncryptThenMAC:
			h.etm = true
		case extSupportedVersions:
			data.ReadUint16(&h.version)
		}
	})
	return h, ok
}

// readExtensions calls each for the extensions at the end of a hello; there may be none.
func readExtensions(s cryptobyte.String, each func(kind uint16, data cryptobyte.String)) bool {
	if s.Empty() {
		return true
	}
	var list cryptobyte.String
	if !s.ReadUint16LengthPrefixed(&list) {
		return false
	}
	for !list.Empty() {
		var kind uint16
		var data cryptobyte.String
		if !list.ReadUint16(&kind) || !list.ReadUint16LengthPrefixed(&data) {
			return false
		}
		each(kind, data)
	}
	return true
}

// versionName words a protocol version.
func versionName(v uint16) string {
	if v >= 0x0301 && v <= version13 {
		return fmt.Sprintf("TLS 1.%d", v-0x0301)
	}
	return fmt.Sprintf("version 0x%04x", v)
}

// suiteName words a cipher suite.
func suiteName(id uint16) string {
	if s, ok := suites[id]; ok {
		return s.name
	}
	return fmt.Sprintf("suite 0x%04x", id)
}
