package kafka

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"testing"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/zeebo/xxh3"
)

func TestProducedMessageSet(t *testing.T) {
	// Old clients write the offset 0 for every message, or count from it.
	set := slices.Concat(message1(0, 0, 1000, []byte("k1"), []byte("v1")), message1(0, 0, 900, nil, []byte("v2")), message1(0, 0, 950, []byte("k3"), nil))
	got := one(t, testReader().ReadProduced, set)
	for i := range got.Records {
		got.Records[i].Content = Fingerprint{}
	}
	var crcs []byte
	for m := set; len(m) > 0; m = m[12+binary.BigEndian.Uint32(m[8:]):] {
		crcs = append(crcs, m[12:16]...)
	}
	diff(t, &Batch{
		Magic: 1, PartitionLeaderEpoch: -1, CRC: crc32.ChecksumIEEE(crcs), CRCChecked: true, LastOffsetDelta: 2,
		BaseTimestamp: 1000, MaxTimestamp: 1000, ProducerID: -1, ProducerEpoch: -1, BaseSequence: -1, RecordCount: 3, Size: int32(len(set)),
		Records: []Record{
			{Timestamp: 1000, Key: Payload{2, uint32(xxh3.HashString128("k1").Lo)}, Value: Payload{2, uint32(xxh3.HashString("v1"))}},
			{Timestamp: 900, Delta: 1, Key: Payload{Size: -1}, Value: Payload{2, uint32(xxh3.HashString128("v2").Lo)}},
			{Timestamp: 950, Delta: 2, Key: Payload{2, uint32(xxh3.HashString128("k3").Lo)}, Value: Payload{Size: -1}},
		},
		Previews: []Preview{{[]byte("k1"), []byte("v1")}, {nil, []byte("v2")}, {[]byte("k3"), nil}},
	}, got)
}

func TestMessageSetCodecs(t *testing.T) {
	inner := slices.Concat(
		message1(0, 0, 1000, []byte("k1"), bytes.Repeat([]byte("v1"), 50_000)),
		message1(1, 0, 1001, []byte("k2"), []byte("v2")))
	want := one(t, testReader().ReadProduced, inner)
	for _, c := range compressors[1:] {
		t.Run(c.name, func(t *testing.T) {
			set := message1(1, int8(c.codec), 1001, nil, c.compress(t, inner))
			got := one(t, testReader().ReadProduced, set)
			diff(t, want.Records, got.Records)
			if got.Codec() != c.codec || got.CRC != binary.BigEndian.Uint32(set[12:]) || got.RecordCount != 2 {
				t.Errorf("read as %+v", got)
			}
		})
	}
}

// Offsets and timestamps of what a broker stored, by how it wrapped the messages.
func TestFetchedMessageSet(t *testing.T) {
	gzip := compressors[1].compress
	old := func(offsets ...int64) (set []byte) {
		for _, o := range offsets {
			set = append(set, message0(o, 0, nil, []byte{byte(o)})...)
		}
		return set
	}
	relative := func(offsets ...int64) (set []byte) {
		for _, o := range offsets {
			set = append(set, message1(o, 0, 1000+o, nil, []byte{byte(o)})...)
		}
		return set
	}
	tests := []struct {
		name       string
		set        []byte
		base       int64
		deltas     []int32
		timestamps []int64
	}{
		{"magic 0", message0(77, 0, nil, []byte("x")), 77, []int32{0}, []int64{-1}},
		{"magic 1", message1(77, 0, 1000, nil, []byte("x")), 77, []int32{0}, []int64{1000}},
		{"magic 0 wrapper has absolute offsets", message0(72, 1, nil, gzip(t, old(70, 71, 72))), 70, []int32{0, 1, 2}, []int64{-1, -1, -1}},
		{"magic 1 wrapper has relative offsets", message1(72, 1, 1002, nil, gzip(t, relative(0, 1, 2))), 70, []int32{0, 1, 2}, []int64{1000, 1001, 1002}},
		{"compacted", message1(75, 1, 1005, nil, gzip(t, relative(2, 5))), 72, []int32{0, 3}, []int64{1002, 1005}},
		{"LogAppendTime", message1(71, 1|8, 5000, nil, gzip(t, relative(0, 1))), 70, []int32{0, 1}, []int64{5000, 5000}},
		{"magic 0 in magic 1", message1(71, 1, 5000, nil, gzip(t, old(0, 1))), 70, []int32{0, 1}, []int64{-1, -1}},
		{"wrapper in a wrapper", message1(73, 1, 1001, nil, gzip(t, message1(3, 1, 1001, nil, gzip(t, relative(0, 1))))), 72, []int32{0, 1}, []int64{1000, 1001}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := one(t, testReader().ReadFetched, tt.set)
			var deltas []int32
			var timestamps []int64
			for _, r := range got.Records {
				deltas, timestamps = append(deltas, r.Delta), append(timestamps, r.Timestamp)
			}
			diff(t, tt.deltas, deltas)
			diff(t, tt.timestamps, timestamps)
			if got.BaseOffset != tt.base || got.LastOffsetDelta != deltas[len(deltas)-1] || got.MaxTimestamp != timestamps[len(timestamps)-1] {
				t.Errorf("read as %+v", got)
			}
		})
	}
}

func TestMixedMagicInOneAnswer(t *testing.T) {
	data := slices.Concat(
		message0(10, 0, nil, []byte("a")),
		message1(11, 0, 1000, nil, []byte("b")),
		seal(batchOf(1, encodeRecords(keyed("k", "c")...))),
		message1(13, 0, 1000, nil, []byte("d")),
		message1(14, 0, 1000, nil, []byte("cut"))[:30])
	batches, codes := collect(t, testReader().ReadFetched, data, len(data))
	var magics []int8
	for _, b := range batches {
		magics = append(magics, b.Magic)
	}
	diff(t, []int8{0, 1, 2, 1}, magics)
	if len(codes) != 0 {
		t.Errorf("notes %v", codes)
	}
}

func TestMessageSetNotCompared(t *testing.T) {
	gzip := compressors[1].compress
	good := message1(0, 0, 1000, nil, []byte("x"))
	badCRC := bytes.Clone(good)
	badCRC[len(badCRC)-1] ^= 1
	nested := good
	for range 10 {
		nested = message1(0, 1, 1000, nil, gzip(t, nested))
	}
	longKey := bytes.Clone(good)
	binary.BigEndian.PutUint32(longKey[26:], math.MaxInt32)
	bomb := gzip(t, make([]byte, 140<<20))
	bombs := bytes.Repeat(message1(0, 1, 1000, nil, gzip(t, message1(0, 0, 1, nil, make([]byte, 8<<20)))), 40)
	tests := []struct {
		name  string
		set   []byte
		want  NotCompared
		count int32
	}{
		{"wrong CRC", slices.Concat(good, badCRC), BadCRC, 2},
		{"wrong CRC inside", message1(0, 1, 1000, nil, gzip(t, badCRC)), BadCRC, 1},
		{"batch of magic 2 behind", slices.Concat(good, seal(batchOf(0, nil))), Undecodable, 1},
		{"batch of magic 2 inside", message1(0, 1, 1000, nil, gzip(t, seal(batchOf(0, nil)))), Undecodable, 1},
		{"cut short", slices.Concat(good, good[:30]), Undecodable, 1},
		{"cut short inside", message1(0, 1, 1000, nil, gzip(t, good[:30])), Undecodable, 1},
		{"key of 2^31-1 bytes", sealMessage(longKey), Undecodable, 1},
		{"bytes behind the value", sealMessage(append(bytes.Clone(good), 0)), Undecodable, 1},
		{"empty inside", message1(0, 1, 1000, nil, gzip(t, nil)), Undecodable, 1},
		{"null inside", message1(0, 1, 1000, nil, nil), Undecodable, 1},
		{"codec 5", message1(0, 5, 1000, nil, []byte("x")), UnknownCodec, 1},
		{"nested ten deep", nested, TooLarge, 1},
		{"bomb", message1(0, 1, 1000, nil, bomb), TooLarge, 1},
		{"forty that exceed the limit together", bombs, TooLarge, 40},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			batches, codes := collect(t, testReader().ReadProduced, tt.set, len(tt.set))
			if len(batches) != 1 {
				t.Fatalf("%d batches, notes %v", len(batches), codes)
			}
			if got := batches[0]; got.NotCompared != tt.want || got.RecordCount != tt.count || got.Records != nil || got.CRCChecked && tt.want == BadCRC {
				t.Errorf("read as %+v", got)
			}
			diff(t, []pcap.Code{tt.want.code()}, codes)
		})
	}
}

func TestStoredOffsetsThatFall(t *testing.T) {
	set := message0(5, 1, nil, compressors[1].compress(t, slices.Concat(message0(6, 0, nil, nil), message0(5, 0, nil, nil))))
	batches, codes := collect(t, testReader().ReadFetched, set, len(set))
	if len(batches) != 1 || batches[0].NotCompared != Undecodable || fmt.Sprint(codes) != "[batch-undecodable]" {
		t.Errorf("%+v, notes %v", batches, codes)
	}
}

// Of a set whose end the capture lacks nothing is emitted when produced, and the whole messages when fetched.
func TestMessageSetCut(t *testing.T) {
	a, b := message1(0, 0, 1000, nil, []byte("a")), message1(1, 0, 1000, nil, []byte("b"))
	set := slices.Concat(a, b)
	for cut := range len(set) {
		batches, codes := collect(t, testReader().ReadProduced, set[:cut], len(set))
		if len(batches) != 0 || fmt.Sprint(codes) != "[batch-cut-short]" {
			t.Errorf("produced, cut at %d: %d batches, notes %v", cut, len(batches), codes)
		}
		batches, codes = collect(t, testReader().ReadFetched, set[:cut], len(set))
		if len(batches) != cut/len(a) || fmt.Sprint(codes) != "[batch-cut-short]" {
			t.Errorf("fetched, cut at %d: %d batches, notes %v", cut, len(batches), codes)
		}
	}
}
