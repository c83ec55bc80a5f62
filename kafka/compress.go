package kafka

import (
	"bytes"
	"encoding/binary"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// compressor is the counterpart of decompressor. The same bytes give the same bytes.
type compressor struct {
	gzip *gzip.Writer
	zstd *zstd.Encoder
	lz4  *lz4.Writer
}

// xerialChunk is how many bytes snappy-java puts into a chunk.
const xerialChunk = 32 << 10

// encode returns src compressed. like is what it was before: snappy keeps its framing.
func (c *compressor) encode(codec Codec, src, like []byte) ([]byte, error) {
	switch codec {
	case None:
		return src, nil
	case Gzip:
		return c.encodeGzip(src)
	case Snappy:
		if bytes.HasPrefix(like, xerialMagic) {
			return encodeXerial(src), nil
		}
		return s2.EncodeSnappy(nil, src), nil
	case LZ4:
		return c.encodeLZ4(src)
	case Zstd:
		return c.encodeZstd(src)
	}
	return nil, errUnknownCodec
}

func (c *compressor) encodeGzip(src []byte) ([]byte, error) {
	var out bytes.Buffer
	if c.gzip == nil {
		c.gzip = gzip.NewWriter(&out)
	}
	c.gzip.Reset(&out)
	if _, err := c.gzip.Write(src); err != nil {
		return nil, err
	}
	err := c.gzip.Close()
	return out.Bytes(), err
}

func (c *compressor) encodeLZ4(src []byte) ([]byte, error) {
	var out bytes.Buffer
	if c.lz4 == nil {
		c.lz4 = lz4.NewWriter(&out)
		// What Java writes and old readers insist on: blocks of 64 KiB, no checksum of the content.
		if err := c.lz4.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false), lz4.ConcurrencyOption(1)); err != nil {
			return nil, err
		}
	}
	c.lz4.Reset(&out)
	if _, err := c.lz4.Write(src); err != nil {
		return nil, err
	}
	err := c.lz4.Close()
	return out.Bytes(), err
}

func (c *compressor) encodeZstd(src []byte) ([]byte, error) {
	if c.zstd == nil {
		encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		c.zstd = encoder
	}
	return c.zstd.EncodeAll(src, nil), nil
}

func encodeXerial(src []byte) []byte {
	out := append([]byte(nil), xerialMagic...)
	out = binary.BigEndian.AppendUint32(out, 1)
	out = binary.BigEndian.AppendUint32(out, 1)
	for len(src) > 0 {
		n := min(len(src), xerialChunk)
		block := s2.EncodeSnappy(nil, src[:n])
		out = binary.BigEndian.AppendUint32(out, uint32(len(block)))
		out = append(out, block...)
		src = src[n:]
	}
	return out
}
