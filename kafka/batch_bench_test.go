package kafka

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// BenchmarkReadProduced gives bytes of records (not compressed) per second, for batches of 16 records whose values compress
// to about a half.
func BenchmarkReadProduced(b *testing.B) {
	for _, size := range []int{100, 1000} {
		for _, c := range compressors {
			b.Run(fmt.Sprintf("16x%d/%s", size, c.name), func(b *testing.B) {
				encoded := benchRecords(size)
				batch := batchOf(16, c.compress(b, encoded))
				batch.Attributes = int16(c.codec)
				data := seal(batch)
				r := NewBatchReader(Options{Limits: DefaultLimits()})
				emit := func(*Batch) {}
				note := func(code pcap.Code, detail string) { b.Fatal(code, detail) }
				b.SetBytes(int64(len(encoded)))
				b.ReportAllocs()
				for b.Loop() {
					r.ReadProduced(data, len(data), emit, note)
				}
			})
		}
	}
}

func benchRecords(size int) []byte {
	rng := rand.NewChaCha8([32]byte{3})
	var records []kmsg.Record
	for i := range 16 {
		value := make([]byte, size/2)
		_, _ = rng.Read(value)
		value = append(value, bytes.Repeat([]byte{'x'}, size-len(value))...)
		records = append(records, kmsg.Record{OffsetDelta: int32(i), Key: fmt.Appendf(nil, "key-%04d", i), Value: value})
	}
	return encodeRecords(records...)
}
