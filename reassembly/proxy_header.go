package reassembly

import (
	"bytes"
	"encoding/binary"
)

// Load balancers and proxies may tell in front of a client's stream whose it is (the PROXY protocol, versions 1 and 2).
const (
	proxyHeader1       = "PROXY "
	proxyHeader1Length = 107 // at most, with its end of line
	proxyHeader2       = "\r\n\r\n\x00\r\nQUIT\n"
	proxyHeader2Fixed  = 16
)

// ProxyHeader returns how many bytes at the front of a stream are a PROXY header, or more than there are if that is not yet known.
func ProxyHeader(data []byte) int {
	switch {
	case begins(data, proxyHeader1):
		if end := bytes.Index(data[:min(len(data), proxyHeader1Length)], []byte("\r\n")); end >= 0 {
			return end + len("\r\n")
		}
		if len(data) < proxyHeader1Length {
			return len(data) + 1
		}
	case begins(data, proxyHeader2):
		if len(data) < proxyHeader2Fixed {
			return proxyHeader2Fixed
		}
		return proxyHeader2Fixed + int(binary.BigEndian.Uint16(data[proxyHeader2Fixed-2:]))
	}
	return 0
}

// begins reports whether data begins with a text, as far as both go.
func begins(data []byte, text string) bool {
	n := min(len(data), len(text))
	return n > 0 && string(data[:n]) == text[:n]
}
