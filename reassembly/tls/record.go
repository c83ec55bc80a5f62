package tls

import "encoding/binary"

// Content types of records (RFC 8446, section 5.1).
const (
	typeChangeCipherSpec = 20
	typeAlert            = 21
	typeHandshake        = 22
	typeApplicationData  = 23
)

const (
	headerSize = 5 // type, version, length
	// maxBody is the longest record without its header: 2^14 bytes and what encryption may add (RFC 5246, section 6.2.3).
	maxBody = 1<<14 + 2048
)

// header is the header of a record.
type header [headerSize]byte

func (h *header) kind() byte { return h[0] }
func (h *header) size() int  { return int(binary.BigEndian.Uint16(h[3:])) }

// headerOf reads the header of the record that begins with data. It returns false if none can begin there, or data is too
// short to tell.
func headerOf(data []byte) (h header, ok bool) {
	if len(data) < headerSize {
		return h, false
	}
	h = header(data)
	return h, mayBeRecord(data) && h.size() <= maxBody
}

// mayBeRecord reports whether a record may begin with data, as far as data goes: a known type, and a version that records
// have had since SSL 3.0.
func mayBeRecord(data []byte) bool {
	return (len(data) < 1 || data[0] >= typeChangeCipherSpec && data[0] <= typeApplicationData) &&
		(len(data) < 2 || data[1] == 3) && (len(data) < 3 || data[2] <= 4)
}

// Handshake messages (RFC 8446, section 4).
const (
	clientHello = 1
	serverHello = 2
	finished    = 20
	keyUpdate   = 24
)

// hello says whether a stream begins with a TLS hello.
type hello uint8

const (
	noHello hello = iota
	perhapsHello
	isHello
)

// beginsWithHello looks at the first bytes of a stream: a handshake record whose first message is a hello.
func beginsWithHello(data []byte) hello {
	if len(data) > 0 && data[0] != typeHandshake || !mayBeRecord(data) {
		return noHello
	}
	if len(data) <= headerSize {
		return perhapsHello
	}
	if first := data[headerSize]; first != clientHello && first != serverHello {
		return noHello
	}
	return isHello
}
