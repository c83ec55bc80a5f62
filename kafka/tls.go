package kafka

import (
	"encoding/binary"

	"github.com/kdupscan/kdupscan/reassembly"
)

// tlsTrace follows the records of TLS in one direction (RFC 8446, section 5.1).
type tlsTrace struct {
	front reassembly.StreamOffset // of the first record, behind a PROXY header
	next  reassembly.StreamOffset // where a record must begin
	known bool
}

const (
	tlsHeaderSize  = 5
	tlsHandshake   = 22
	tlsApplication = 23
	// tlsMaxRecord is the longest record: 2^14 bytes and what encryption may add (RFC 5246, section 6.2.3).
	tlsMaxRecord = 1<<14 + 2048
)

// tlsRecord returns the length of the TLS record that begins with data, or 0.
func tlsRecord(data []byte) int {
	if len(data) < tlsHeaderSize || data[0] < 20 || data[0] > tlsApplication || data[1] != 3 || data[2] > 4 {
		return 0
	}
	n := int(binary.BigEndian.Uint16(data[3:]))
	if n == 0 || n > tlsMaxRecord {
		return 0
	}
	return tlsHeaderSize + n
}

// sees reports whether the bytes of an event show that the direction carries TLS: a hello at its very beginning, or a
// record that ends where another begins or where the event ends.
func (t *tlsTrace) sees(e *reassembly.Event, sure bool) bool {
	if sure && e.Offset == 0 {
		t.front = reassembly.StreamOffset(reassembly.ProxyHeader(e.Data))
	}
	if at := int64(t.front - e.Offset); sure && at >= 0 && at < int64(len(e.Data)) {
		if data := e.Data[at:]; tlsRecord(data) > 0 && data[0] == tlsHandshake {
			return len(data) > tlsHeaderSize && (data[tlsHeaderSize] == 1 || data[tlsHeaderSize] == 2)
		}
	}
	if n := tlsRecord(e.Data); n > 0 && !t.known {
		t.next, t.known = e.Offset+reassembly.StreamOffset(n), true
		if n == len(e.Data) {
			return true
		}
	}
	if at := int64(t.next - e.Offset); t.known && at >= 0 && at+tlsHeaderSize <= int64(len(e.Data)) {
		t.known = false
		return tlsRecord(e.Data[at:]) > 0
	}
	return false
}
