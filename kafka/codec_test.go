package kafka

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
)

func TestDecompress(t *testing.T) {
	random := make([]byte, 300_000)
	rng := rand.NewChaCha8([32]byte{1})
	_, _ = rng.Read(random)
	inputs := map[string][]byte{
		"empty":   {},
		"short":   []byte("a"),
		"text":    bytes.Repeat([]byte("all work and no play "), 20_000),
		"random":  random,
		"zeroes":  make([]byte, 1<<20),
		"oneByte": bytes.Repeat([]byte{7}, 65),
	}
	var d decompressor
	for _, c := range compressors[1:] {
		for name, want := range inputs {
			if c.name == "snappy xerial, small chunks" && len(want) > 1<<16 {
				continue
			}
			t.Run(c.name+"/"+name, func(t *testing.T) {
				src := c.compress(t, want)
				got, err := d.decode(c.codec, src, 0, len(want))
				if err != nil || !bytes.Equal(got, want) {
					t.Fatalf("%d bytes, %v; want %d", len(got), err, len(want))
				}
				if len(want) == 0 {
					return
				}
				if got, err = d.decode(c.codec, src, 1, len(want)-1); !errors.Is(err, errTooLarge) {
					t.Errorf("one byte below the size: %d bytes, %v", len(got), err)
				}
				// Not every codec can tell that its end is missing; none may give other bytes.
				for _, cut := range []int{0, 1, 4, len(src) / 2, len(src) - 1} {
					if got, err := d.decode(c.codec, src[:min(cut, len(src))], 0, len(want)); err == nil && !bytes.HasPrefix(want, got) {
						t.Errorf("cut at %d: %d other bytes", cut, len(got))
					}
				}
			})
		}
	}
}

// Linked blocks refer to the bytes of those before.
func TestLinkedLZ4Blocks(t *testing.T) {
	block := make([]byte, 40_000)
	rng := rand.NewChaCha8([32]byte{2})
	_, _ = rng.Read(block)
	want := append(bytes.Clone(block), block...)
	// By the block format: the second block is one match of offset 40000 and five literals at the end (the last five bytes
	// of a block are always literals).
	n := len(block) - 5
	second := []byte{0x0f, 40_000 & 0xff, 40_000 >> 8}
	for rest := n - 4 - 15; ; rest -= 255 {
		if rest < 255 {
			second = append(second, byte(rest))
			break
		}
		second = append(second, 255)
	}
	second = append(append(second, 5<<4), block[n:]...)
	frame := []byte{0x04, 0x22, 0x4d, 0x18, 1 << 6, 4 << 4, 0}
	frame = append(frame, byte(len(block)), byte(len(block)>>8), 0, 0x80) // raw
	frame = append(frame, block...)
	frame = append(frame, byte(len(second)), byte(len(second)>>8), 0, 0)
	frame = append(append(frame, second...), 0, 0, 0, 0)
	var d decompressor
	got, err := d.decode(LZ4, frame, 0, 1<<20)
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%d bytes, %v; want %d", len(got), err, len(want))
	}
}

func TestMalformedFrames(t *testing.T) {
	for name, tt := range map[string]struct {
		codec Codec
		src   []byte
	}{
		"gzip without a body":         {Gzip, []byte{31, 139, 8, 0, 0, 0, 0, 0, 0, 0}},
		"snappy that claims 4 GiB":    {Snappy, []byte{0xff, 0xff, 0xff, 0xff, 0x0f, 0}},
		"snappy that claims 100 MB":   {Snappy, []byte{0x80, 0xc2, 0xd7, 0x2f, 0}},
		"xerial chunk of 2^31-1":      {Snappy, []byte("\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01\x7f\xff\xff\xff")},
		"xerial chunk of 0":           {Snappy, []byte("\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x00")},
		"xerial chunk of -1":          {Snappy, []byte("\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01\xff\xff\xff\xff")},
		"lz4 block of 2^31-1":         {LZ4, []byte{0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0, 0xff, 0xff, 0xff, 0x7f}},
		"lz4 raw block of 2^31-1":     {LZ4, []byte{0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0, 0xff, 0xff, 0xff, 0xff}},
		"lz4 without an end":          {LZ4, []byte{0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0}},
		"lz4 with a dictionary":       {LZ4, []byte{0x04, 0x22, 0x4d, 0x18, 0x61, 0x40, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
		"lz4 with size and no blocks": {LZ4, []byte{0x04, 0x22, 0x4d, 0x18, 0x68, 0x40, 0}},
		"zstd magic alone":            {Zstd, []byte{0x28, 0xb5, 0x2f, 0xfd}},
		"zstd window of 2 GiB":        {Zstd, []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xa8, 0x01, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			var d decompressor
			if got, err := d.decode(tt.codec, tt.src, 0, 16<<20); err == nil {
				t.Errorf("%d bytes and no error", len(got))
			}
			for _, b := range d.buf {
				if cap(b) > 1<<20 {
					t.Errorf("a buffer of %d bytes for %d", cap(b), len(tt.src))
				}
			}
		})
	}
}
