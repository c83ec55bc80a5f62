package kafka

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kdupscan/kdupscan/pcap"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The builders of this file encode with kmsg and with compressors of others; batchCase carries what was said to them.

// encodeRecords returns the records as a batch holds them, lengths computed.
func encodeRecords(records ...kmsg.Record) []byte {
	var out []byte
	for _, r := range records {
		r.Length = 0
		r.Length = int32(len(r.AppendTo(nil)) - 1)
		out = r.AppendTo(out)
	}
	return out
}

// keyed returns records with the key-value pairs given, offset and timestamp deltas counted from 0.
func keyed(pairs ...string) []kmsg.Record {
	var out []kmsg.Record
	for i := 0; i < len(pairs); i += 2 {
		n := i / 2
		out = append(out, kmsg.Record{OffsetDelta: int32(n), TimestampDelta64: int64(n), Key: []byte(pairs[i]), Value: []byte(pairs[i+1])})
	}
	return out
}

// batchOf returns a batch around the encoded records; seal completes it after changes.
func batchOf(count int, records []byte) kmsg.RecordBatch {
	return kmsg.RecordBatch{
		FirstOffset: 7000, PartitionLeaderEpoch: 17, Magic: 2, LastOffsetDelta: int32(count) - 1, FirstTimestamp: 1_700_000_000_000,
		MaxTimestamp: 1_700_000_000_000 + int64(count) - 1, ProducerID: 7078, ProducerEpoch: 3, FirstSequence: 2704,
		NumRecords: int32(count), Records: records,
	}
}

// seal encodes b with the right length and CRC.
func seal(b kmsg.RecordBatch) []byte {
	out := b.AppendTo(nil)
	binary.BigEndian.PutUint32(out[8:], uint32(len(out)-12))
	binary.BigEndian.PutUint32(out[17:], crc32.Checksum(out[21:], crc32.MakeTable(crc32.Castagnoli)))
	return out
}

// message0 and message1 encode a message with the right size and CRC.
func message0(offset int64, attributes int8, key, value []byte) []byte {
	m := kmsg.MessageV0{Offset: offset, Attributes: attributes, Key: key, Value: value}
	return sealMessage(m.AppendTo(nil))
}

func message1(offset int64, attributes int8, timestamp int64, key, value []byte) []byte {
	m := kmsg.MessageV1{Offset: offset, Magic: 1, Attributes: attributes, Timestamp: timestamp, Key: key, Value: value}
	return sealMessage(m.AppendTo(nil))
}

func sealMessage(out []byte) []byte {
	binary.BigEndian.PutUint32(out[8:], uint32(len(out)-12))
	binary.BigEndian.PutUint32(out[12:], crc32.ChecksumIEEE(out[16:]))
	return out
}

// compressors of all codecs and framings, by name.
var compressors = []struct {
	name     string
	codec    Codec
	compress func(t testing.TB, b []byte) []byte
}{
	{"none", None, func(_ testing.TB, b []byte) []byte { return b }},
	{"gzip", Gzip, func(t testing.TB, b []byte) []byte {
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		write(t, w, b)
		return out.Bytes()
	}},
	{"snappy block", Snappy, func(_ testing.TB, b []byte) []byte { return snappy.Encode(nil, b) }},
	{"snappy xerial", Snappy, func(_ testing.TB, b []byte) []byte { return xerial(b, 32<<10) }},
	{"snappy xerial, small chunks", Snappy, func(_ testing.TB, b []byte) []byte { return xerial(b, 10) }},
	{"lz4", LZ4, func(t testing.TB, b []byte) []byte { return lz4Frame(t, b) }},
	{"lz4 sized and summed", LZ4, func(t testing.TB, b []byte) []byte {
		return lz4Frame(t, b, lz4.SizeOption(uint64(len(b))), lz4.BlockChecksumOption(true), lz4.BlockSizeOption(lz4.Block64Kb))
	}},
	{"lz4 wrong header checksum", LZ4, func(t testing.TB, b []byte) []byte {
		out := lz4Frame(t, b) // a frame without sizes has it at 6
		out[6] ^= 0xff
		return out
	}},
	{"zstd", Zstd, func(t testing.TB, b []byte) []byte {
		w, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		return w.EncodeAll(b, nil)
	}},
	{"zstd stream", Zstd, func(t testing.TB, b []byte) []byte {
		var out bytes.Buffer
		w, err := zstd.NewWriter(&out)
		if err != nil {
			t.Fatal(err)
		}
		for half := len(b) / 2; len(b) > 0; b, half = b[half:], len(b)-half {
			if _, err := w.Write(b[:half]); err != nil {
				t.Fatal(err)
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}},
}

type writeCloser interface {
	Write([]byte) (int, error)
	Close() error
}

func write(t testing.TB, w writeCloser, b []byte) {
	t.Helper()
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func lz4Frame(t testing.TB, b []byte, options ...lz4.Option) []byte {
	var out bytes.Buffer
	w := lz4.NewWriter(&out)
	if err := w.Apply(options...); err != nil {
		t.Fatal(err)
	}
	write(t, w, b)
	return out.Bytes()
}

// xerial frames b in chunks as snappy-java does: magic, version 1, compatible from 1.
func xerial(b []byte, chunk int) []byte {
	out := []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0, 0, 0, 0, 1, 0, 0, 0, 1}
	for len(b) > 0 {
		n := min(chunk, len(b))
		block := snappy.Encode(nil, b[:n])
		out = append(binary.BigEndian.AppendUint32(out, uint32(len(block))), block...)
		b = b[n:]
	}
	return out
}

// collect reads with one of the Read methods and returns batches and codes of notes.
func collect(t testing.TB, read func([]byte, int, func(*Batch), func(pcap.Code, string)), data []byte, total int) ([]*Batch, []pcap.Code) {
	t.Helper()
	var batches []*Batch
	var codes []pcap.Code
	read(data, total, func(b *Batch) { batches = append(batches, b) }, func(code pcap.Code, detail string) {
		t.Logf("note %s: %s", code, detail)
		codes = append(codes, code)
	})
	return batches, codes
}

// one is collect for data that holds one batch without oddities.
func one(t testing.TB, read func([]byte, int, func(*Batch), func(pcap.Code, string)), data []byte) *Batch {
	t.Helper()
	batches, codes := collect(t, read, data, len(data))
	if len(batches) != 1 || len(codes) != 0 {
		t.Fatalf("%d batches, notes %v; want one batch and no notes", len(batches), codes)
	}
	return batches[0]
}

func testReader() *BatchReader {
	return NewBatchReader(Options{Limits: DefaultLimits(), Previews: true})
}

func diff(t testing.TB, want, got any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}
