package kafka

import (
	"unicode"
	"unicode/utf8"
)

// lastCoordinatorKey is the highest record type of the group coordinator: 0–2 are offsets and classic groups, the rest came
// with KIP-848 (consumer groups), KIP-932 (share groups) and KIP-1071 (streams groups).
const lastCoordinatorKey = 24

// isInternalKey reports whether a record key has the format of a key of __consumer_offsets or __transaction_state, to the last
// byte. Both begin with an int16 version (the record type) and go on with strings (int16 length):
//
//	0, 1   group, topic, partition (int32)
//	0      transactional id
//	2      group
//	3–24   group, then for some types a member id or a regular expression
//
// Names are not empty and printable, so that keys of applications that begin with zero bytes (integers, Avro) do not match.
func isInternalKey(key []byte) bool {
	r := reader{data: key}
	version := r.int16("version")
	if version < 0 || version > lastCoordinatorKey || !readName(&r) {
		return false
	}
	if r.remaining() == 0 {
		return version != 1
	}
	if version == 2 || !readName(&r) {
		return false
	}
	if version <= 1 && r.int32("partition") < 0 {
		return false
	}
	return r.ok() && r.remaining() == 0
}

// readName reads a string and reports whether it can be a name.
func readName(r *reader) bool {
	s := r.nullable(int(r.int16("name")), "name")
	if !r.ok() || len(s) == 0 {
		return false
	}
	for len(s) > 0 {
		c, n := utf8.DecodeRune(s)
		if c == utf8.RuneError || !unicode.IsPrint(c) {
			return false
		}
		s = s[n:]
	}
	return true
}
