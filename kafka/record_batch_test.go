package kafka

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/zeebo/xxh3"
)

func TestRecordBatch(t *testing.T) {
	data := seal(batchOf(2, encodeRecords(keyed("k1", "v1", "", "v2")...)))
	for name, read := range map[string]func([]byte, int, func(*Batch), func(pcap.Code, string)){
		"produced": testReader().ReadProduced, "fetched": testReader().ReadFetched,
	} {
		t.Run(name, func(t *testing.T) {
			got := one(t, read, data)
			for i := range got.Records {
				got.Records[i].Content = Fingerprint{} // see TestFingerprint
			}
			diff(t, &Batch{
				BaseOffset: 7000, Magic: 2, PartitionLeaderEpoch: 17, CRC: binary.BigEndian.Uint32(data[17:]), CRCChecked: true,
				LastOffsetDelta: 1, BaseTimestamp: 1_700_000_000_000, MaxTimestamp: 1_700_000_000_001,
				ProducerID: 7078, ProducerEpoch: 3, BaseSequence: 2704, RecordCount: 2, Size: int32(len(data)),
				Records: []Record{
					{Timestamp: 1_700_000_000_000, Key: Payload{2, uint32(xxh3.HashString128("k1").Lo)}, Value: Payload{2, uint32(xxh3.HashString("v1"))}},
					{Timestamp: 1_700_000_000_001, Delta: 1, Key: Payload{0, uint32(xxh3.HashString128("").Lo)}, Value: Payload{2, uint32(xxh3.HashString("v2"))}},
				},
				Previews: []Preview{{[]byte("k1"), []byte("v1")}, {[]byte{}, []byte("v2")}},
			}, got)
		})
	}
}

func TestRecordBatchCodecs(t *testing.T) {
	records := encodeRecords(keyed("a", "first", "b", string(bytes.Repeat([]byte("second"), 40_000)), "c", "third")...)
	plain := one(t, testReader().ReadProduced, seal(batchOf(3, records)))
	r := testReader() // one for all: codecs and buffers must not disturb each other
	for range 2 {
		for _, c := range compressors {
			t.Run(c.name, func(t *testing.T) {
				b := batchOf(3, c.compress(t, records))
				b.Attributes = int16(c.codec)
				got := one(t, r.ReadProduced, seal(b))
				if got.Codec() != c.codec {
					t.Errorf("codec %d, want %d", got.Codec(), c.codec)
				}
				diff(t, plain.Records, got.Records)
				diff(t, plain.Previews, got.Previews)
			})
		}
	}
}

func TestRecordBatchVariants(t *testing.T) {
	holes := keyed("a", "1", "b", "2")
	holes[0].OffsetDelta, holes[1].OffsetDelta = 2, 5
	back := keyed("a", "1", "b", "2")
	back[1].TimestampDelta64 = -7
	far := keyed("a", "1")
	far[0].TimestampDelta64 = 1 << 40
	tests := []struct {
		name    string
		records []kmsg.Record
		change  func(*kmsg.RecordBatch)
		check   func(*Batch) bool
	}{
		{"compacted", holes, func(b *kmsg.RecordBatch) { b.LastOffsetDelta = 9 }, func(b *Batch) bool {
			return b.Records[0].Delta == 2 && b.Records[1].Delta == 5 && b.LastOffset() == 7009
		}},
		{"compacted to nothing", nil, func(b *kmsg.RecordBatch) { b.LastOffsetDelta = 4 }, func(b *Batch) bool {
			return b.RecordCount == 0 && len(b.Records) == 0 && b.LastSequence() == 2708
		}},
		{"earlier timestamp", back, nil, func(b *Batch) bool { return b.Records[1].Timestamp == 1_699_999_999_993 }},
		{"64-bit timestamp delta", far, nil, func(b *Batch) bool { return b.Records[0].Timestamp == 1_700_000_000_000+1<<40 }},
		{"LogAppendTime", keyed("a", "1", "b", "2"), func(b *kmsg.RecordBatch) { b.Attributes, b.MaxTimestamp = 8, 99 }, func(b *Batch) bool {
			return b.LogAppendTime() && b.Records[0].Timestamp == 99 && b.Records[1].Timestamp == 99
		}},
		{"abort marker", keyed("\x00\x00\x00\x00", "\x00\x00\x00\x00\x00\x05"), func(b *kmsg.RecordBatch) { b.Attributes = 0x30 }, func(b *Batch) bool {
			return b.Marker == AbortMarker && b.Control() && b.Transactional()
		}},
		{"commit marker", keyed("\x00\x00\x00\x01", ""), func(b *kmsg.RecordBatch) { b.Attributes = 0x30 }, func(b *Batch) bool { return b.Marker == CommitMarker }},
		{"leader change", keyed("\x00\x00\x00\x02", ""), func(b *kmsg.RecordBatch) { b.Attributes = 0x20 }, func(b *Batch) bool { return b.Marker == OtherControl }},
		{"short control key", keyed("\x00", ""), func(b *kmsg.RecordBatch) { b.Attributes = 0x20 }, func(b *Batch) bool { return b.Marker == OtherControl }},
		{"internal keys", keyed("\x00\x01\x00\x01g\x00\x01t\x00\x00\x00\x03", "x"), nil, func(b *Batch) bool { return b.InternalKeys }},
		{"not all internal", keyed("\x00\x02\x00\x01g", "x", "k", "x"), nil, func(b *Batch) bool { return !b.InternalKeys }},
		{"without producer id", keyed("a", "1"), func(b *kmsg.RecordBatch) { b.ProducerID, b.ProducerEpoch, b.FirstSequence = -1, -1, -1 }, func(b *Batch) bool {
			return !b.Idempotent() && b.BaseSequence == -1
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := batchOf(len(tt.records), encodeRecords(tt.records...))
			if tt.change != nil {
				tt.change(&b)
			}
			if got := one(t, testReader().ReadFetched, seal(b)); !tt.check(got) {
				t.Errorf("read as %+v", got)
			}
		})
	}
}

func TestRecordBatchNotCompared(t *testing.T) {
	good := encodeRecords(keyed("a", "1", "b", "2")...)
	swapped := keyed("a", "1", "b", "2")
	swapped[0].OffsetDelta, swapped[1].OffsetDelta = 1, 0
	lengthMax := binary.AppendVarint(nil, math.MaxInt32)
	bomb := compressors[8].compress(t, make([]byte, 200<<20))
	tests := []struct {
		name    string
		records []byte
		change  func(*kmsg.RecordBatch)
		want    NotCompared
		count   int32
	}{
		{"count above the records", good, func(b *kmsg.RecordBatch) { b.NumRecords, b.LastOffsetDelta = 3, 2 }, Undecodable, 3},
		{"count below the records", good, func(b *kmsg.RecordBatch) { b.NumRecords = 1 }, Undecodable, 1},
		{"count of 2^31-1", good, func(b *kmsg.RecordBatch) { b.NumRecords, b.LastOffsetDelta = math.MaxInt32, math.MaxInt32-1 }, Undecodable, math.MaxInt32},
		{"count of 2^31-1, compressed", compressors[1].compress(t, good), func(b *kmsg.RecordBatch) {
			b.Attributes, b.NumRecords, b.LastOffsetDelta = 1, math.MaxInt32, math.MaxInt32-1
		}, TooLarge, math.MaxInt32},
		{"negative count", good, func(b *kmsg.RecordBatch) { b.NumRecords = -2 }, Undecodable, 0},
		{"negative last offset delta", good, func(b *kmsg.RecordBatch) { b.LastOffsetDelta = -2 }, Undecodable, 2},
		{"last offset delta below the count", good, func(b *kmsg.RecordBatch) { b.LastOffsetDelta = 0 }, Undecodable, 2},
		{"offset deltas that fall", encodeRecords(swapped...), nil, Undecodable, 2},
		{"no records", nil, nil, Undecodable, 2},
		{"zero bytes", make([]byte, 100), nil, Undecodable, 2},
		{"record of 2^31-1 bytes", append(lengthMax, good...), nil, Undecodable, 2},
		{"negative record length", append([]byte{1}, good...), nil, Undecodable, 2},
		{"cut within a record", good[:len(good)-1], nil, Undecodable, 2},
		{"key length beyond the record", []byte{14, 0, 0, 0, 40, 0, 0, 0, 14, 0, 0, 2, 1, 1, 0, 0}, nil, Undecodable, 2},
		{"2^31-1 headers", append(append([]byte{22, 0, 0, 0, 1, 1}, lengthMax...), make([]byte, 20)...), nil, Undecodable, 2},
		{"codec 7", good, func(b *kmsg.RecordBatch) { b.Attributes = 7 }, UnknownCodec, 2},
		{"not gzip", good, func(b *kmsg.RecordBatch) { b.Attributes = 1 }, Undecodable, 2},
		{"not snappy", good, func(b *kmsg.RecordBatch) { b.Attributes = 2 }, Undecodable, 2},
		{"not lz4", good, func(b *kmsg.RecordBatch) { b.Attributes = 3 }, Undecodable, 2},
		{"not zstd", good, func(b *kmsg.RecordBatch) { b.Attributes = 4 }, Undecodable, 2},
		{"bomb by ratio", compressors[8].compress(t, make([]byte, 20<<20)), func(b *kmsg.RecordBatch) { b.Attributes = 4 }, TooLarge, 2},
		{"bomb", bomb, func(b *kmsg.RecordBatch) { b.Attributes = 4 }, TooLarge, 2},
	}
	after := seal(batchOf(1, encodeRecords(keyed("z", "9")...)))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := batchOf(2, tt.records)
			if tt.change != nil {
				tt.change(&b)
			}
			data := append(seal(b), after...)
			batches, codes := collect(t, testReader().ReadFetched, data, len(data))
			if len(batches) != 2 || batches[1].NotCompared != Compared {
				t.Fatalf("%d batches; want the bad one and the good one behind it", len(batches))
			}
			got := batches[0]
			if got.NotCompared != tt.want || got.Records != nil || got.Previews != nil || !got.CRCChecked || got.RecordCount != tt.count {
				t.Errorf("read as %+v", got)
			}
			diff(t, []pcap.Code{tt.want.code()}, codes)
		})
	}
}

func TestRecordBatchBadCRC(t *testing.T) {
	data := seal(batchOf(2, encodeRecords(keyed("a", "1", "b", "2")...)))
	data[len(data)-2] ^= 1
	batches, codes := collect(t, testReader().ReadProduced, data, len(data))
	if len(batches) != 1 || batches[0].NotCompared != BadCRC || batches[0].CRCChecked || batches[0].Records != nil {
		t.Errorf("read as %+v", batches)
	}
	diff(t, []pcap.Code{CodeBatchBadCRC}, codes)
}

// A batch of n bytes stands whole in front of one that is cut at every place.
func TestRecordBatchCut(t *testing.T) {
	first := seal(batchOf(1, encodeRecords(keyed("z", "9")...)))
	second := seal(batchOf(2, encodeRecords(keyed("a", "1", "b", "2")...)))
	data := append(first, second...)
	for cut := len(first) + 1; cut < len(data); cut++ {
		// By the broker: normal in an answer, wrong in a request.
		batches, codes := collect(t, testReader().ReadFetched, data[:cut], cut)
		if len(batches) != 1 || len(codes) != 0 {
			t.Errorf("fetched, field ends at %d: %d batches, notes %v", cut, len(batches), codes)
		}
		batches, codes = collect(t, testReader().ReadProduced, data[:cut], cut)
		if len(batches) != 1 || fmt.Sprint(codes) != "[batch-undecodable]" {
			t.Errorf("produced, field ends at %d: %d batches, notes %v", cut, len(batches), codes)
		}
		// By the capture: the header tells, if it is there.
		want := 1
		if cut >= len(first)+61 {
			want = 2
		}
		for _, read := range []func([]byte, int, func(*Batch), func(pcap.Code, string)){testReader().ReadFetched, testReader().ReadProduced} {
			batches, codes = collect(t, read, data[:cut], len(data))
			if len(batches) != want || fmt.Sprint(codes) != "[batch-cut-short]" {
				t.Fatalf("capture ends at %d: %d batches, notes %v", cut, len(batches), codes)
			}
			if b := batches[len(batches)-1]; want == 2 && (b.NotCompared != CutShort || b.CRCChecked || b.RecordCount != 2 || b.ProducerID != 7078 || int(b.Size) != len(second)) {
				t.Errorf("capture ends at %d: %+v", cut, b)
			}
		}
	}
}

func TestLengthsThatDoNotFit(t *testing.T) {
	for _, length := range []uint32{0, 5, 48, 0xffffffff, 0x80000000} {
		data := seal(batchOf(1, encodeRecords(keyed("z", "9")...)))
		binary.BigEndian.PutUint32(data[8:], length)
		for _, total := range []int{len(data), len(data) + 100} {
			batches, codes := collect(t, testReader().ReadFetched, data, total)
			if len(batches) != 0 || fmt.Sprint(codes) != "[batch-undecodable]" {
				t.Errorf("length %#x of %d: %d batches, notes %v", length, total, len(batches), codes)
			}
		}
	}
}

func TestUnknownMagicIsSkipped(t *testing.T) {
	strange := seal(batchOf(1, encodeRecords(keyed("z", "9")...)))
	strange[16] = 3
	data := append(strange, seal(batchOf(1, encodeRecords(keyed("z", "9")...)))...)
	batches, codes := collect(t, testReader().ReadFetched, data, len(data))
	if len(batches) != 1 || fmt.Sprint(codes) != "[batch-undecodable]" {
		t.Errorf("%d batches, notes %v", len(batches), codes)
	}
}

// A large batch costs its size only while it is read.
func TestBuffersAreTrimmed(t *testing.T) {
	large := keyed("k", string(make([]byte, keptScratch)))
	r := testReader()
	for _, c := range compressors[1:] {
		if c.name == "snappy xerial, small chunks" {
			continue
		}
		b := batchOf(1, c.compress(t, encodeRecords(large...)))
		b.Attributes = int16(c.codec)
		one(t, r.ReadProduced, seal(b))
	}
	for _, kept := range r.codecs.buf {
		if cap(kept) > keptScratch {
			t.Errorf("a buffer of %d bytes is kept", cap(kept))
		}
	}
}
