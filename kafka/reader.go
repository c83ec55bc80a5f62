package kafka

import (
	"encoding/binary"
	"fmt"
)

// reader reads the protocol's primitive types from a byte slice. It is sticky: the first read that fails is remembered with
// its offset and the name of the field, every later read returns zero and consumes nothing, and one look at err in the end
// suffices. Integers are big-endian. Slices it returns are parts of the data, valid as long as that is.
type reader struct {
	data   []byte
	at     int    // offset of the next byte to be read
	failed string // field of the first failure, "" while there was none
}

// readError is the first failed read of a message.
type readError struct {
	Field  string
	Offset int // in the data given to the reader: where the field begins
}

// Error implements error.
func (e *readError) Error() string { return fmt.Sprintf("%s at byte %d", e.Field, e.Offset) }

// ok reports whether all reads so far succeeded.
func (r *reader) ok() bool { return r.failed == "" }

// err returns a *readError for the first failure, or nil.
func (r *reader) err() error {
	if r.ok() {
		return nil
	}
	return &readError{Field: r.failed, Offset: r.at}
}

// fail records a failure at the present offset. The first one stays.
func (r *reader) fail(field string) {
	if r.failed == "" {
		r.failed = field
	}
}

// remaining returns how many bytes are left to be read, 0 after a failure.
func (r *reader) remaining() int {
	if !r.ok() {
		return 0
	}
	return len(r.data) - r.at
}

// take returns the next n bytes, or nil if there are fewer or n is negative.
func (r *reader) take(n int, field string) []byte {
	if !r.ok() || n < 0 || n > len(r.data)-r.at {
		r.fail(field)
		return nil
	}
	b := r.data[r.at : r.at+n : r.at+n]
	r.at += n
	return b
}

func (r *reader) int8(field string) int8 {
	if b := r.take(1, field); b != nil {
		return int8(b[0])
	}
	return 0
}

func (r *reader) int16(field string) int16 {
	if b := r.take(2, field); b != nil {
		return int16(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (r *reader) int32(field string) int32 { return int32(r.uint32(field)) }

func (r *reader) uint32(field string) uint32 {
	if b := r.take(4, field); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (r *reader) int64(field string) int64 {
	if b := r.take(8, field); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

// uvarint reads an UNSIGNED_VARINT: 32 bits in at most five bytes of seven bits each, lowest first.
func (r *reader) uvarint(field string) uint32 {
	u, n := uvarint64(r.data, r.at)
	if !r.ok() || n <= 0 || n > 5 || u > 0xffffffff {
		r.fail(field)
		return 0
	}
	r.at += n
	return uint32(u)
}

// varint reads a VARINT: 32 bits, zigzag.
func (r *reader) varint(field string) int32 {
	u := r.uvarint(field)
	return int32(u>>1) ^ -int32(u&1)
}

// varlong reads a VARLONG: 64 bits, zigzag.
func (r *reader) varlong(field string) int64 {
	u, n := uvarint64(r.data, r.at)
	if !r.ok() || n <= 0 {
		r.fail(field)
		return 0
	}
	r.at += n
	return int64(u>>1) ^ -int64(u&1)
}

// uvarint64 decodes the varint at data[at:] and returns its length, 0 or less if there is none or it exceeds 64 bits.
func uvarint64(data []byte, at int) (uint64, int) {
	if at < len(data) && data[at] < 0x80 {
		return uint64(data[at]), 1
	}
	return binary.Uvarint(data[at:])
}

// bytes reads NULLABLE_BYTES (int32 length, -1: null) as nil or a slice that is not nil.
func (r *reader) bytes(field string) []byte { return r.nullable(int(r.int32(field)), field) }

// compactLength reads the length of a compact string, bytes or array: -1 is null. It may exceed what remains.
func (r *reader) compactLength(field string) int { return int(int64(r.uvarint(field)) - 1) }

// nullable takes n bytes; n = -1 is null, and nil is returned without a failure.
func (r *reader) nullable(n int, field string) []byte {
	if !r.ok() || n == -1 {
		return nil
	}
	return r.take(n, field)
}

// skipTags skips the tagged fields that end a flexible structure (KIP-482).
func (r *reader) skipTags(field string) {
	for n := r.uvarint(field); n > 0 && r.ok(); n-- {
		r.uvarint(field)
		r.take(int(r.uvarint(field)), field)
	}
}
