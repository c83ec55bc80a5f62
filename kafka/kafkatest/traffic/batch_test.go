package traffic

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"sync/atomic"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kdupscan/kdupscan/kafka/kafkatest"
)

// TestBatch reads batches with kmsg.
func TestBatch(t *testing.T) {
	for codec, decompress := range map[kafkatest.Codec]func([]byte) ([]byte, error){
		kafkatest.None:         func(b []byte) ([]byte, error) { return b, nil },
		kafkatest.SnappyXerial: unxerial,
		kafkatest.LZ4:          func(b []byte) ([]byte, error) { return io.ReadAll(lz4.NewReader(bytes.NewReader(b))) },
		kafkatest.Zstd: func(b []byte) ([]byte, error) {
			d, err := zstd.NewReader(nil)
			if err != nil {
				return nil, err
			}
			defer d.Close()
			return d.DecodeAll(b, nil)
		},
	} {
		c := Config{Seed: 3, Codec: codec, RecordBytes: 1000, BatchRecords: 50}
		e, err := newBatchEncoder(&c)
		if err != nil {
			t.Fatal(err)
		}
		seen := make(map[string]bool)
		for range 3 {
			b := e.batch(nil, start)
			b.seal(codec, 7, 2, 40)
			checkBatch(t, &c, b.data, decompress, seen)
			e.release(b)
		}
	}
}

func checkBatch(t *testing.T, c *Config, data []byte, decompress func([]byte) ([]byte, error), seen map[string]bool) {
	t.Helper()
	var wire kmsg.RecordBatch
	if err := wire.ReadFrom(data); err != nil {
		t.Fatal(err)
	}
	if int(wire.Length) != len(data)-12 || wire.Magic != 2 || uint32(wire.CRC) != crc32.Checksum(data[21:], crc32.MakeTable(crc32.Castagnoli)) {
		t.Errorf("codec %d: length %d, magic %d, CRC %#x", c.Codec, wire.Length, wire.Magic, uint32(wire.CRC))
	}
	if wire.ProducerID != 7 || wire.ProducerEpoch != 2 || wire.FirstSequence != 40 || wire.NumRecords != 50 || wire.LastOffsetDelta != 49 {
		t.Errorf("codec %d: %+v", c.Codec, wire)
	}
	records, err := decompress(wire.Records)
	if err != nil {
		t.Fatal(err)
	}
	if ratio := float64(len(records)) / float64(len(wire.Records)); c.Codec != kafkatest.None && (ratio < 1.5 || ratio > 5) {
		t.Errorf("codec %d: compressed by %.1f, which no application's records are", c.Codec, ratio)
	}
	for i := range wire.NumRecords {
		length, n := binary.Varint(records)
		end := n + int(length)
		var r kmsg.Record
		if err := r.ReadFrom(records[:end]); err != nil {
			t.Fatal(err)
		}
		records = records[end:]
		at := wire.FirstTimestamp + r.TimestampDelta64
		if r.OffsetDelta != i || len(r.Key)+len(r.Value) != c.RecordBytes || at < wire.FirstTimestamp || at > wire.MaxTimestamp {
			t.Errorf("codec %d, record %d: %+v", c.Codec, i, r)
		}
		if seen[string(r.Key)] || seen[string(r.Value)] {
			t.Errorf("codec %d, record %d: the key or the value has been there", c.Codec, i)
		}
		seen[string(r.Key)], seen[string(r.Value)] = true, true
	}
	if len(records) != 0 {
		t.Errorf("codec %d: %d bytes after the last record", c.Codec, len(records))
	}
}

// unxerial undoes the framing of snappy-java: a header of 16 bytes, then blocks with their length.
func unxerial(data []byte) ([]byte, error) {
	var out []byte
	for rest := data[16:]; len(rest) > 0; {
		n := binary.BigEndian.Uint32(rest)
		block, err := snappy.Decode(nil, rest[4:4+n])
		if err != nil {
			return nil, err
		}
		out, rest = append(out, block...), rest[4+n:]
	}
	return out, nil
}

// BenchmarkUnzstd decodes the frames of zstd-500m on all cores, as package kafka does but with nothing beside it: a scan that reads all of
// them cannot be faster. Bytes are those of the frames.
func BenchmarkUnzstd(b *testing.B) {
	c := Presets["zstd-500m"]
	e, err := newBatchEncoder(&c)
	if err != nil {
		b.Fatal(err)
	}
	var frames [1024][]byte
	size := 0
	for i := range frames {
		e.plain = e.appendRecords(e.plain[:0], c.BatchRecords)
		frames[i] = e.compress(nil)
		size += len(frames[i])
	}
	var next atomic.Uint64
	b.SetBytes(int64(size / len(frames)))
	b.ResetTimer()
	b.RunParallel(func(p *testing.PB) {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true), zstd.IgnoreChecksum(true))
		if err != nil {
			b.Error(err)
			return
		}
		defer d.Close()
		out := make([]byte, 0, 1<<20)
		for p.Next() {
			if _, err := d.DecodeAll(frames[next.Add(1)%uint64(len(frames))], out); err != nil {
				b.Error(err)
			}
		}
	})
}
