package kafka

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kdupscan/kdupscan/pcap"
)

// What holds for any bytes:
//
//  1. no panic, and data is not written to;
//  2. a batch that is compared has a right CRC, as many records as it says, with rising deltas up to the last, and a preview
//     for each; one that is not has neither, and a note says why;
//  3. sizes of batches do not exceed the field;
//  4. a second read, with used buffers or new ones, gives the same;
//  5. of an answer whose end is missing the batches are the first of the whole, but for one that is cut short.

type readMethod func(r *BatchReader) func([]byte, int, func(*Batch), func(pcap.Code, string))

func fuzzRead(f *testing.F, method readMethod) {
	records := encodeRecords(keyed("k", "v", "", string(make([]byte, 300)))...)
	set := slices.Concat(message0(0, 0, nil, []byte("a")), message1(0, 0, 5, []byte("k"), []byte("b")))
	for _, c := range compressors {
		b := batchOf(2, c.compress(f, records))
		b.Attributes = int16(c.codec)
		f.Add(slices.Concat(seal(b), message1(9, int8(c.codec), 5, nil, c.compress(f, set)), set), uint16(0), true)
		f.Add(seal(b), uint16(20), false)
	}
	marker := batchOf(1, encodeRecords(keyed("\x00\x00\x00\x01", "")...))
	marker.Attributes = 0x30
	f.Add(seal(marker), uint16(0), false)
	f.Fuzz(func(t *testing.T, data []byte, missing uint16, repair bool) {
		if repair {
			repairCRCs(data)
		}
		limits := DefaultLimits()
		limits.MaxDecompressed, limits.MaxRecords = 1<<20, 10_000
		r := NewBatchReader(Options{Limits: limits, Previews: true})
		before := bytes.Clone(data)
		total := len(data) + int(missing)
		batches, codes := collect(t, method(r), data, total)
		if !bytes.Equal(before, data) {
			t.Fatal("data was written to")
		}
		size := 0
		for _, b := range batches {
			checkInvariants(t, b, codes)
			size += int(b.Size)
		}
		if size > total {
			t.Fatalf("batches of %d bytes in a field of %d", size, total)
		}
		for _, again := range []*BatchReader{r, NewBatchReader(Options{Limits: limits, Previews: true})} {
			if second, _ := collect(t, method(again), data, total); !cmp.Equal(batches, second) {
				t.Fatal("a second read differs: ", cmp.Diff(batches, second))
			}
		}
		part, _ := collect(t, r.ReadFetched, data[:len(data)/2], len(data))
		all, _ := collect(t, r.ReadFetched, data, len(data))
		for i, b := range part {
			if i >= len(all) || !cmp.Equal(b, all[i]) && b.CRCChecked {
				t.Fatalf("batch %d of the part is %+v", i, b)
			}
		}
	})
}

func checkInvariants(t *testing.T, b *Batch, codes []pcap.Code) {
	t.Helper()
	_ = []any{b.Codec(), b.LogAppendTime(), b.Transactional(), b.Control(), b.Idempotent(), b.LastOffset(), b.LastSequence()}
	if b.NotCompared != Compared {
		if b.Records != nil || b.Previews != nil || b.InternalKeys || b.Marker != NoMarker || b.RecordCount < 0 || !slices.Contains(codes, b.NotCompared.code()) {
			t.Fatalf("not compared, notes %v: %+v", codes, b)
		}
		return
	}
	if !b.CRCChecked || len(b.Records) != int(b.RecordCount) || len(b.Previews) != len(b.Records) {
		t.Fatalf("compared: %+v", b)
	}
	last := int32(-1)
	for _, r := range b.Records {
		if r.Delta <= last || r.Delta > b.LastOffsetDelta || r.Key.Size < -1 || r.Value.Size < -1 {
			t.Fatalf("record %+v of %+v", r, b)
		}
		last = r.Delta
	}
}

// repairCRCs gives batches and outer messages that fit their right CRC, so that mutations reach what the CRC covers.
func repairCRCs(data []byte) {
	for len(data) > 26 {
		size := 12 + int64(int32(binary.BigEndian.Uint32(data[8:])))
		if size < 26 || size > int64(len(data)) || data[16] == 2 && size < 61 {
			return
		}
		if data[16] == 2 {
			binary.BigEndian.PutUint32(data[17:], crc32.Checksum(data[21:size], crc32.MakeTable(crc32.Castagnoli)))
		} else {
			binary.BigEndian.PutUint32(data[12:], crc32.ChecksumIEEE(data[16:size]))
		}
		data = data[size:]
	}
}

func FuzzReadProduced(f *testing.F) {
	fuzzRead(f, func(r *BatchReader) func([]byte, int, func(*Batch), func(pcap.Code, string)) { return r.ReadProduced })
}

func FuzzReadFetched(f *testing.F) {
	fuzzRead(f, func(r *BatchReader) func([]byte, int, func(*Batch), func(pcap.Code, string)) { return r.ReadFetched })
}
