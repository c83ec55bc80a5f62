package kafka

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kdupscan/kdupscan/kafka/kafkatest"
	"github.com/kdupscan/kdupscan/pcap"
)

// masked stands for contents: each byte changed, the length kept.
func masked(_ Part, content []byte) []byte {
	out := bytes.Clone(content)
	for i := range out {
		out[i] ^= 0x55
	}
	return out
}

func rewriter() *Rewriter {
	return NewRewriter(DefaultLimits(), masked, func(crc uint32) uint32 { return crc + 1 })
}

// readAll reads a records field with previews.
func readAll(data []byte, total int, produced bool) []*Batch {
	var all []*Batch
	r := NewBatchReader(Options{Limits: DefaultLimits(), Previews: true})
	emit := func(b *Batch) { all = append(all, b) }
	if produced {
		r.ReadProduced(data, total, emit, func(pcap.Code, string) {})
	} else {
		r.ReadFetched(data, total, emit, func(pcap.Code, string) {})
	}
	return all
}

// TestRewriteKeepsAllButContents: for each format and codec the numbers stay, the CRC is right, and masking twice gives the
// contents back.
func TestRewriteKeepsAllButContents(t *testing.T) {
	records := kafkatest.Records(time.UnixMilli(1_700_000_000_000), "a", "", "a value that comes twice", "a value that comes twice")
	records[0].Key = []byte("key")
	records[1].Value = nil
	for _, format := range []kafkatest.Format{kafkatest.RecordBatch, kafkatest.MessageSet1, kafkatest.MessageSet0} {
		for codec := kafkatest.None; codec <= kafkatest.SnappyXerial; codec++ {
			if format != kafkatest.RecordBatch && codec == kafkatest.Zstd {
				continue
			}
			t.Run(fmt.Sprintf("%v %v", format, codec), func(t *testing.T) {
				b := kafkatest.Batch{Topic: "t", Format: format, Codec: codec, Records: records}
				if format == kafkatest.RecordBatch {
					b = b.As(7, 1, 40)
					b.Records[2].Headers = []kafkatest.Header{{Key: "h", Value: []byte("header")}, {Key: "null"}}
				}
				data := append(b.Encode(), b.Encode()...)
				w := rewriter()
				once, missing := w.Records(nil, data, len(data))
				twice, _ := w.Records(nil, once, len(once))
				if missing != 0 {
					t.Fatalf("%d bytes are missing of a whole field", missing)
				}
				before, between, after := readAll(data, len(data), true), readAll(once, len(once), true), readAll(twice, len(twice), true)
				for i := range between {
					between[i].CRC, between[i].Size = before[i].CRC, before[i].Size
					after[i].CRC, after[i].Size = before[i].CRC, before[i].Size
					for j := range between[i].Records {
						if len(before[i].Previews[j].Value) > 0 && bytes.Equal(before[i].Previews[j].Value, between[i].Previews[j].Value) {
							t.Errorf("record %d keeps its value", j)
						}
						between[i].Records[j], between[i].Previews[j] = before[i].Records[j], before[i].Previews[j]
					}
				}
				if diff := cmp.Diff(before, between); diff != "" {
					t.Errorf("once (-before +after):\n%s", diff)
				}
				if diff := cmp.Diff(before, after); diff != "" {
					t.Errorf("twice (-before +after):\n%s", diff)
				}
			})
		}
	}
}

// TestRewriteCut: of a batch whose end is missing the header stays, under the CRC that the whole one has.
func TestRewriteCut(t *testing.T) {
	b := kafkatest.Batch{Topic: "t", Records: kafkatest.Records(time.UnixMilli(1_700_000_000_000), "secret one", "secret two")}.As(7, 0, 3)
	data := b.Encode()
	w := rewriter()
	front, missing := w.Records(nil, data[:70], len(data))
	if len(front) != recordBatchHeader || missing != len(data)-recordBatchHeader {
		t.Fatalf("%d bytes, %d missing", len(front), missing)
	}
	whole, _ := w.Records(nil, data, len(data))
	if !w.Stale() {
		t.Error("the CRC of the whole batch came too late, and nobody says so")
	}
	w.Again()
	front, _ = w.Records(nil, data[:70], len(data))
	if !bytes.Equal(front[crcAt:], whole[crcAt:recordBatchHeader]) || w.Stale() {
		t.Error("front and whole batch have other headers")
	}
	if front, _ = w.Records(nil, data[:40], len(data)); len(front) != 0 {
		t.Error("less than a header gives a header")
	}
}

// TestRewriteKeepsMeaning: control records keep their kind, keys of internal topics their format, and a wrong CRC leaves nothing.
func TestRewriteKeepsMeaning(t *testing.T) {
	marker := kafkatest.Marker("t", 0, 7, 1, false, 1_700_000_000_000).At(5, 0).Encode()
	out, _ := rewriter().Records(nil, marker, len(marker))
	if all := readAll(out, len(out), false); len(all) != 1 || all[0].Marker != AbortMarker || !all[0].CRCChecked {
		t.Errorf("the marker became %+v", all)
	}
	key := append([]byte{0, 1, 0, 5}, "group\x00\x05topic\x00\x00\x00\x03"...)
	records := kafkatest.Records(time.UnixMilli(1_700_000_000_000), "v")
	records[0].Key = key
	offsets := kafkatest.Batch{Topic: "t", Records: records}.At(5, 0).Encode()
	w := rewriter()
	w.Replace = func(part Part, content []byte) []byte {
		if part == InternalName {
			return bytes.Repeat([]byte("x"), len(content))
		}
		return masked(part, content)
	}
	out, _ = w.Records(nil, offsets, len(offsets))
	if all := readAll(out, len(out), false); len(all) != 1 || !all[0].InternalKeys {
		t.Errorf("the internal key became %+v", all)
	}
	if bytes.Contains(out, []byte("group")) || bytes.Contains(out, []byte("topic")) {
		t.Error("a name in an internal key stays")
	}
	marker[len(marker)-1] ^= 1
	if out, _ = rewriter().Records(nil, marker, len(marker)); len(out) != 0 {
		t.Error("a batch with a wrong CRC stays")
	}
}

// FuzzRewrite: whatever the field holds, nothing panics, what comes out can be read, and no content stays as it was.
func FuzzRewrite(f *testing.F) {
	const mark = "a mark that must never come out again"
	records := kafkatest.Records(time.UnixMilli(1_700_000_000_000), mark, mark+mark)
	records[1].Key = []byte(mark)
	for _, format := range []kafkatest.Format{kafkatest.RecordBatch, kafkatest.MessageSet1, kafkatest.MessageSet0} {
		for codec := kafkatest.None; codec <= kafkatest.SnappyXerial; codec++ {
			if format == kafkatest.RecordBatch || codec != kafkatest.Zstd {
				b := kafkatest.Batch{Topic: "t", Format: format, Codec: codec, Records: records}
				f.Add(b.Encode(), uint16(0))
				f.Add(b.Encode(), uint16(20))
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, lacking uint16) {
		out, missing := rewriter().Records(nil, data, len(data)+int(lacking))
		if missing < 0 || missing > len(data)+int(lacking) {
			t.Fatalf("%d bytes missing of %d", missing, len(data)+int(lacking))
		}
		if bytes.Contains(out, []byte(mark)) {
			t.Fatal("the mark stays")
		}
		for _, b := range readAll(out, len(out)+missing, false) {
			if b.NotCompared == BadCRC {
				t.Fatal("a wrong CRC")
			}
			for _, p := range b.Previews {
				if bytes.HasPrefix(p.Key, []byte(mark)) || bytes.HasPrefix(p.Value, []byte(mark)) {
					t.Fatal("the mark stays in a record")
				}
			}
		}
	})
}
