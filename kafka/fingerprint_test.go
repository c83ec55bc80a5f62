package kafka

import (
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/zeebo/xxh3"
)

func contentOf(t *testing.T, r kmsg.Record) Fingerprint {
	t.Helper()
	return one(t, testReader().ReadProduced, seal(batchOf(1, encodeRecords(r)))).Records[0].Content
}

// What is digested is fixed: the sum of the digests of value, key and headers, the latter two times a number.
func TestFingerprint(t *testing.T) {
	const k, h = 0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f
	null, none := xxh3.Uint128{Hi: 1, Lo: 1}, xxh3.Uint128{}
	for _, tt := range []struct {
		record              kmsg.Record
		value, key, headers xxh3.Uint128
	}{
		{kmsg.Record{}, null, null, none},
		{kmsg.Record{Key: []byte{}, Value: []byte("v")}, xxh3.HashString128("v"), xxh3.HashString128(""), none},
		{
			kmsg.Record{Key: []byte("k"), Headers: []kmsg.Header{{Key: "h", Value: []byte("1")}}},
			null, xxh3.HashString128("k"), xxh3.HashString128("\x02h\x021"),
		},
	} {
		want := Fingerprint{Hi: tt.value.Hi + tt.key.Hi*k + tt.headers.Hi*h, Lo: tt.value.Lo + tt.key.Lo*k + tt.headers.Lo*h}
		if got := contentOf(t, tt.record); got != want {
			t.Errorf("%+v: fingerprint %x, want %x", tt.record, got, want)
		}
	}
}

func TestFingerprintsDiffer(t *testing.T) {
	h := func(pairs ...string) (out []kmsg.Header) {
		for p := range slices.Chunk(pairs, 2) {
			out = append(out, kmsg.Header{Key: p[0], Value: []byte(p[1])})
		}
		return out
	}
	seen := map[Fingerprint]int{}
	for i, r := range []kmsg.Record{
		{},
		{Key: []byte{}},
		{Value: []byte{}},
		{Key: []byte("ab"), Value: []byte("c")},
		{Key: []byte("a"), Value: []byte("bc")},
		{Key: []byte("abc")},
		{Value: []byte("abc")},
		{Key: []byte("a"), Value: []byte("bc"), Headers: h("x", "1", "y", "2")},
		{Key: []byte("a"), Value: []byte("bc"), Headers: h("y", "2", "x", "1")},
		{Key: []byte("a"), Value: []byte("bc"), Headers: h("x", "1y", "", "2")},
		{Key: []byte("a"), Value: []byte("bc"), Headers: h("x", "")},
		{Key: []byte("a"), Value: []byte("bc"), Headers: []kmsg.Header{{Key: "x"}}},
	} {
		f := contentOf(t, r)
		if j, have := seen[f]; have {
			t.Errorf("records %d and %d have one fingerprint", j, i)
		}
		seen[f] = i
	}
}

// Timestamps, offsets and the place in a batch are not content, and a record keeps its fingerprint when a broker converts it.
func TestFingerprintsAgree(t *testing.T) {
	for _, r := range []kmsg.Record{
		{},
		{Key: []byte{}, Value: []byte{}},
		{Key: []byte("key"), Value: make([]byte, 70_000)},
	} {
		want := contentOf(t, r)
		moved := r
		moved.TimestampDelta64, moved.OffsetDelta = 99, 1
		batch := seal(batchOf(2, encodeRecords(keyed("a", "b")[0], moved)))
		if got := one(t, testReader().ReadFetched, batch).Records[1].Content; got != want {
			t.Errorf("%.20q as second record: %x, want %x", r.Value, got, want)
		}
		for magic, message := range [][]byte{message0(5, 0, r.Key, r.Value), message1(5, 0, 99, r.Key, r.Value)} {
			if got := one(t, testReader().ReadFetched, message).Records[0].Content; got != want {
				t.Errorf("%.20q with magic %d: %x, want %x", r.Value, magic, got, want)
			}
		}
	}
}
