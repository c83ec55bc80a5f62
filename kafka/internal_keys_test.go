package kafka

import (
	"encoding/binary"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestInternalKeys(t *testing.T) {
	offsetCommit := kmsg.OffsetCommitKey{Version: 1, Group: "payments", Topic: "orders", Partition: 3}
	groupMetadata := kmsg.GroupMetadataKey{Version: 2, Group: "payments"}
	transaction := kmsg.TxnMetadataKey{Version: 0, TransactionalID: "payments-1"}
	for _, tt := range []struct {
		name string
		key  []byte
		want bool
	}{
		{"offset commit", offsetCommit.AppendTo(nil), true},
		{"offset commit, version 0", append([]byte{0, 0}, offsetCommit.AppendTo(nil)[2:]...), true},
		{"group", groupMetadata.AppendTo(nil), true},
		{"transaction", transaction.AppendTo(nil), true},
		{"consumer group (KIP-848)", []byte("\x00\x03\x00\x01g"), true},
		{"its member", []byte("\x00\x05\x00\x01g\x00\x04uuid"), true},
		{"name beyond ASCII", []byte("\x00\x02\x00\x02\xc3\xa9"), true},

		{"null", nil, false},
		{"empty", []byte{}, false},
		{"text", []byte("order-4711"), false},
		{"version alone", []byte{0, 1}, false},
		{"version 1 with one name", []byte("\x00\x01\x00\x01g"), false},
		{"version 2 with two names", []byte("\x00\x02\x00\x01g\x00\x01t"), false},
		{"two names without a partition", []byte("\x00\x01\x00\x01g\x00\x01t"), false},
		{"negative partition", []byte("\x00\x01\x00\x01g\x00\x01t\xff\xff\xff\xff"), false},
		{"a byte too many", append(offsetCommit.AppendTo(nil), 0), false},
		{"a byte too few", offsetCommit.AppendTo(nil)[:20], false},
		{"empty name", []byte("\x00\x02\x00\x00"), false},
		{"control character", []byte("\x00\x02\x00\x02a\x07"), false},
		{"not UTF-8", []byte("\x00\x02\x00\x02a\xff"), false},
		{"type to come", []byte("\x00\x7f\x00\x01g"), false},
		{"negative version", []byte("\xff\xff\x00\x01g"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := isInternalKey(tt.key); got != tt.want {
				t.Errorf("isInternalKey(%q) = %v", tt.key, got)
			}
		})
	}
}

// Keys that applications use and that begin with zero bytes.
func TestKeysOfApplicationsAreNotInternal(t *testing.T) {
	for i := range uint64(1 << 20) {
		for _, key := range [][]byte{
			binary.BigEndian.AppendUint32(nil, uint32(i)),
			binary.BigEndian.AppendUint64(nil, i),
			append(binary.BigEndian.AppendUint32([]byte{0}, uint32(i)), 10, 'h', 'e', 'l', 'l', 'o'), // Avro with a schema id
		} {
			if isInternalKey(key) {
				t.Fatalf("%x", key)
			}
		}
	}
}
