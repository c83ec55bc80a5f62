package kafkatest_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kdupscan/kdupscan/kafka/kafkatest"
)

// decode reads stored batches as franz-go's consumer does, CRCs checked.
func decode(t *testing.T, records []byte) []*kgo.Record {
	t.Helper()
	partition := kmsg.NewFetchResponseTopicPartition()
	partition.RecordBatches = records
	o := kgo.ProcessFetchPartitionOpts{KeepControlRecords: true}
	fetched, _ := kgo.ProcessFetchPartition(o, &partition, kgo.DefaultDecompressor(), nil)
	if fetched.Err != nil {
		t.Fatalf("franz-go: %v", fetched.Err)
	}
	return fetched.Records
}

type content struct {
	Offset     int64
	Key, Value []byte
	Headers    []kgo.RecordHeader
	Timestamp  int64
	Epoch      int32
}

func TestStoredBatchesAsFranzGoReadsThem(t *testing.T) {
	created := time.UnixMilli(1_700_000_000_000).UTC()
	plain := kafkatest.Records(created, "a", "", strings.Repeat("long ", 20000))
	plain[1].Value = nil
	plain[2].Key, plain[2].Timestamp = []byte("key"), created.UnixMilli()+70
	rich := append([]kafkatest.Record{}, plain...)
	rich[0].Headers = []kafkatest.Header{{Key: "h", Value: []byte("v")}, {Key: "null"}}
	rich[1].Timestamp = created.UnixMilli() - 5*365*86400*1000 // a delta beyond 32 bits

	for _, format := range []kafkatest.Format{kafkatest.RecordBatch, kafkatest.MessageSet1, kafkatest.MessageSet0} {
		for codec := kafkatest.None; codec <= kafkatest.SnappyXerial; codec++ {
			if format == kafkatest.MessageSet0 && codec == kafkatest.LZ4 || format != kafkatest.RecordBatch && codec == kafkatest.Zstd {
				continue // magic 0 has an LZ4 framing of its own (KIP-57), old sets never had zstd (KIP-110)
			}
			t.Run(fmt.Sprintf("format %d codec %d", format, codec), func(t *testing.T) {
				b := kafkatest.Batch{Format: format, Codec: codec, Records: plain}
				if format == kafkatest.RecordBatch {
					b.Records = rich
				}
				var want []content
				for i, r := range b.Records {
					w := content{Offset: 71229 + int64(i), Key: r.Key, Value: r.Value, Timestamp: r.Timestamp, Epoch: -1}
					switch format {
					case kafkatest.RecordBatch:
						w.Epoch = 17
					case kafkatest.MessageSet0:
						w.Timestamp = time.Time{}.UnixMilli()
					}
					for _, h := range r.Headers {
						w.Headers = append(w.Headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
					}
					want = append(want, w)
				}
				var got []content
				for _, r := range decode(t, b.At(71229, 17).Encode()) {
					got = append(got, content{r.Offset, r.Key, r.Value, r.Headers, r.Timestamp.UnixMilli(), r.LeaderEpoch})
				}
				if format == kafkatest.MessageSet0 { // has no time
					for i := range got {
						got[i].Timestamp = time.Time{}.UnixMilli()
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

func TestBatchHeader(t *testing.T) {
	records := kafkatest.Records(time.UnixMilli(1000), "a", "b", "c")
	records[1].Timestamp = 900
	records[2].Timestamp = 1500
	base := kafkatest.Batch{Records: records}
	want := kmsg.RecordBatch{PartitionLeaderEpoch: -1, Magic: 2, LastOffsetDelta: 2, FirstTimestamp: 1000, MaxTimestamp: 1500,
		ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1, NumRecords: 3}
	zeroSequence := base
	zeroSequence.ZeroSequence = true
	transactional := base.As(7, 2, 40)
	transactional.Transactional = true

	tests := []struct {
		name   string
		batch  kafkatest.Batch
		change func(*kmsg.RecordBatch)
	}{
		{"no producer id", base, func(*kmsg.RecordBatch) {}},
		{"no producer id, sequence 0", zeroSequence, func(w *kmsg.RecordBatch) { w.FirstSequence = 0 }},
		{"producer id", base.As(7, 2, 40), func(w *kmsg.RecordBatch) { w.ProducerID, w.ProducerEpoch, w.FirstSequence = 7, 2, 40 }},
		{"producer id 0", base.As(kafkatest.ProducerZero, 0, 0), func(w *kmsg.RecordBatch) {
			w.ProducerID, w.ProducerEpoch, w.FirstSequence = 0, 0, 0
		}},
		{"transactional", transactional, func(w *kmsg.RecordBatch) {
			w.Attributes, w.ProducerID, w.ProducerEpoch, w.FirstSequence = 16, 7, 2, 40
		}},
		{"stored", base.At(100, 0), func(w *kmsg.RecordBatch) { w.FirstOffset, w.PartitionLeaderEpoch = 100, 0 }},
		{"log append time", base.Timed(5000), func(w *kmsg.RecordBatch) { w.Attributes, w.MaxTimestamp = 8, 5000 }},
		{"compacted", base.Compacted(0, 2), func(w *kmsg.RecordBatch) { w.NumRecords = 2 }},
		{"abort marker", kafkatest.Marker("t", 0, 9, 3, false, 1000), func(w *kmsg.RecordBatch) {
			*w = kmsg.RecordBatch{PartitionLeaderEpoch: -1, Magic: 2, Attributes: 48, FirstTimestamp: 1000, MaxTimestamp: 1000,
				ProducerID: 9, ProducerEpoch: 3, FirstSequence: -1, NumRecords: 1}
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			data := test.batch.Encode()
			var got kmsg.RecordBatch
			if err := got.ReadFrom(data); err != nil {
				t.Fatal(err)
			}
			want := want
			test.change(&want)
			want.Length = int32(len(data) - 12)
			want.CRC = int32(crc32.Checksum(data[21:], crc32.MakeTable(crc32.Castagnoli)))
			want.Records = got.Records
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCRCCovers(t *testing.T) {
	b := kafkatest.Batch{Topic: "a", ProducerID: 7, BaseSequence: 4, Records: kafkatest.Records(time.UnixMilli(1), "x")}
	elsewhere := b
	elsewhere.Topic, elsewhere.Partition = "b", 3
	if b.CRC() != b.At(900, 5).CRC() || b.CRC() != elsewhere.CRC() {
		t.Error("the CRC depends on topic, partition, offset or leader epoch")
	}
	for name, other := range map[string]kafkatest.Batch{
		"epoch": b.As(7, 1, 4), "sequence": b.As(7, 0, 5), "producer id": b.As(8, 0, 4), "time": b.Timed(9), "codec": b.Recompressed(kafkatest.LZ4),
	} {
		if other.CRC() == b.CRC() {
			t.Errorf("the CRC does not depend on the %s", name)
		}
	}
}

func TestSequenceWrap(t *testing.T) {
	b := kafkatest.Batch{ProducerID: 1, BaseSequence: math.MaxInt32, Records: kafkatest.Records(time.UnixMilli(1), "x", "y")}
	if got := b.LastSequence(); got != 0 {
		t.Errorf("LastSequence() = %d, want 0", got)
	}
}

// TestMessageSetOnTheWire checks what franz-go does not: the CRC-32 and the offsets of a producer's set.
func TestMessageSetOnTheWire(t *testing.T) {
	b := kafkatest.Batch{Format: kafkatest.MessageSet1, Records: kafkatest.Records(time.UnixMilli(1), "x", "y")}
	data := b.Encode()
	for offset := int64(0); len(data) > 0; offset++ {
		size := 12 + int(binary.BigEndian.Uint32(data[8:]))
		var m kmsg.MessageV1
		if err := m.ReadFrom(data[:size]); err != nil {
			t.Fatal(err)
		}
		if m.Offset != offset || uint32(m.CRC) != crc32.ChecksumIEEE(data[16:size]) || m.Magic != 1 || m.Timestamp != 1 {
			t.Errorf("message %d: %+v", offset, m)
		}
		data = data[size:]
	}
}

func TestBatchIsAValue(t *testing.T) {
	b := kafkatest.Batch{ProducerID: 1, Records: kafkatest.Records(time.UnixMilli(1), "x", "y")}
	before := b.Encode()
	b.At(5, 5).Timed(9).Compacted(1).As(2, 2, 2).Encode()
	if !bytes.Equal(before, b.Encode()) {
		t.Error("the methods changed their receiver")
	}
}
