package pcap_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/pcap/pcaptest"
)

func gzipped(data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(data)
	w.Close()
	return b.Bytes()
}

func zstded(data []byte) []byte {
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b)
	if err != nil {
		panic(err)
	}
	w.Write(data)
	w.Close()
	return b.Bytes()
}

func lz4ed(data []byte) []byte {
	var b bytes.Buffer
	w := lz4.NewWriter(&b)
	if err := w.Apply(lz4.BlockSizeOption(lz4.Block64Kb)); err != nil {
		panic(err)
	}
	w.Write(data)
	w.Close()
	return b.Bytes()
}

var compressors = map[string]func([]byte) []byte{"gzip": gzipped, "zstd": zstded, "lz4": lz4ed}

// noisy returns packets that do not compress to nothing.
func noisy(n int) []pcaptest.Packet {
	packets := benchmarkFile(n)
	for i := range packets {
		data := make([]byte, 1024)
		x := uint32(i)
		for j := range data {
			x = x*1664525 + 1013904223
			data[j] = byte(x >> 24)
		}
		packets[i].Data = data
	}
	return packets
}

func TestCompression(t *testing.T) {
	packets := noisy(300)
	plain := pcaptest.PCAP{}.Encode(packets...)
	_, want := readAll(t, plain)
	third := len(plain) / 3
	skippable := []byte{0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 'x', 'y', 'z'}
	for name, compress := range compressors {
		for variant, file := range map[string][]byte{
			"one":           compress(plain),
			"members":       append(compress(plain[:third]), compress(plain[third:])...),
			"empty member":  append(compress(nil), compress(plain)...),
			"twice":         compress(compress(plain)),
			"gzip inside":   compress(gzipped(plain)),
			"ng":            compress(pcaptest.EncodePCAPNG(packets...)),
			"zstd skipping": append(skippable, zstded(plain)...),
		} {
			t.Run(name+"/"+variant, func(t *testing.T) {
				wantName := name
				if variant == "zstd skipping" {
					wantName = "zstd"
				}
				frames, c := readAll(t, file)
				if len(frames) != len(packets) || c.Fingerprint != want.Fingerprint || len(c.Damage) > 0 || c.Compression != wantName {
					t.Errorf("%d packets, compression %q, damage %v", len(frames), c.Compression, c.Damage)
				}
			})
		}
	}
}

// TestCompressionDamage: what came before the end or the damage is read; packets begin at the same places as without
// compression.
func TestCompressionDamage(t *testing.T) {
	plain := pcaptest.PCAP{}.Encode(noisy(2000)...)
	whole, _ := readAll(t, plain)
	for name, compress := range compressors {
		packed := compress(plain)
		damaged := bytes.Clone(packed)
		for i := range 64 {
			damaged[len(damaged)/2+i] ^= 0x5a
		}
		for variant, tt := range map[string]struct {
			file []byte
			what string
		}{
			"cut":     {packed[:len(packed)/2], fmt.Sprintf("the %s data is cut off", name)},
			"damaged": {damaged, fmt.Sprintf("the %s data is damaged", name)},
		} {
			t.Run(name+"/"+variant, func(t *testing.T) {
				frames, c := readAll(t, tt.file)
				if len(frames) < 100 {
					t.Errorf("only %d packets", len(frames))
				}
				for i, f := range frames {
					if variant == "cut" && (f.Offset != whole[i].Offset || !bytes.Equal(f.Data, whole[i].Data)) {
						t.Fatalf("packet %d differs", i+1)
					}
				}
				if len(c.Damage) == 0 {
					t.Fatal("no damage seen")
				}
				last := c.Damage[len(c.Damage)-1]
				if variant == "cut" && last.What != tt.what || last.Lost != -1 || int(last.Frame) != len(frames) {
					t.Errorf("damage %+v, want %q", last, tt.what)
				}
				if !strings.HasPrefix(last.What, "the "+name) {
					t.Errorf("damage %q does not name %s", last.What, name)
				}
			})
		}
	}
}

// TestTrailingGarbage behind a gzip member hides no packet and is reported.
func TestTrailingGarbage(t *testing.T) {
	file := append(gzipped(pcaptest.PCAP{}.Encode(noisy(3)...)), "padding, as on a tape"...)
	frames, c := readAll(t, file)
	if len(frames) != 3 || len(c.Damage) != 1 || c.Damage[0].Lost != -1 {
		t.Errorf("%d packets, damage %v", len(frames), c.Damage)
	}
}

var _ pcap.Source = (*pcap.Reader)(nil)
