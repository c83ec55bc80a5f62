package kafkatest

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Codec is how the records of a batch are compressed.
type Codec uint8

// The codecs. Both snappy forms are number 2 on the wire: a bare block, or the framing of xerial's snappy-java that the Java
// client writes.
const (
	None Codec = iota
	Gzip
	Snappy
	LZ4
	Zstd
	SnappyXerial
)

// attribute returns the codec's number in the attributes of a batch or message.
func (c Codec) attribute() int16 {
	if c == SnappyXerial {
		return int16(Snappy)
	}
	return int16(c)
}

// compress returns src compressed. Writing to memory cannot fail, so an error is a bug of this package.
func (c Codec) compress(src []byte) []byte {
	switch c {
	case None:
		return src
	case Gzip:
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		must(w.Write(src))
		must(0, w.Close())
		return out.Bytes()
	case Snappy:
		return snappy.Encode(nil, src)
	case SnappyXerial:
		return xerial(src)
	case LZ4:
		var out bytes.Buffer
		w := lz4.NewWriter(&out)
		must(0, w.Apply(lz4.ConcurrencyOption(1)))
		must(w.Write(src))
		must(0, w.Close())
		return out.Bytes()
	case Zstd:
		w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
		must(0, err)
		return w.EncodeAll(src, nil)
	}
	panic(fmt.Sprintf("kafkatest: no codec %d", c))
}

// xerialBlock is the block size of snappy-java's stream format.
const xerialBlock = 32 << 10

// xerial writes snappy-java's stream: a magic, two versions (big-endian int32), then blocks with a length before each.
func xerial(src []byte) []byte {
	out := []byte("\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01")
	for len(src) > 0 {
		n := min(len(src), xerialBlock)
		block := snappy.Encode(nil, src[:n])
		out = binary.BigEndian.AppendUint32(out, uint32(len(block)))
		out = append(out, block...)
		src = src[n:]
	}
	return out
}

func must(_ int, err error) {
	if err != nil {
		panic(err)
	}
}
