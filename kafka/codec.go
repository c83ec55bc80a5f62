package kafka

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

var (
	errTooLarge     = errors.New("decompresses to more than the limit")
	errUnknownCodec = errors.New("unknown codec")
	errSnappy       = errors.New("snappy block claims more bytes than it can hold")
	errLZ4          = errors.New("malformed lz4 frame")
)

// decompressor undoes the compression of batches. It keeps its decoders and buffers from one batch to the next.
type decompressor struct {
	source bytes.Reader
	gzip   gzip.Reader
	zstd   *zstd.Decoder
	buf    [][]byte // by nesting level: an outer message is still in use while an inner one is decompressed
}

// decode returns src decompressed, valid until the next call for the same level. More than limit bytes are errTooLarge.
func (d *decompressor) decode(codec Codec, src []byte, level, limit int) ([]byte, error) {
	for len(d.buf) <= level {
		d.buf = append(d.buf, nil)
	}
	dst := d.buf[level][:0]
	var err error
	switch codec {
	case None:
		return src, nil
	case Gzip:
		dst, err = d.ungzip(dst, src, limit)
	case Snappy:
		dst, err = unsnappy(dst, src, limit)
	case LZ4:
		dst, err = unlz4(dst, src, limit)
	case Zstd:
		dst, err = d.unzstd(dst, src, limit)
	default:
		return nil, errUnknownCodec
	}
	d.buf[level] = dst
	if err != nil {
		return nil, err
	}
	return dst, nil
}

// trim lets go of the last source and drops the buffers that are too large to be kept.
func (d *decompressor) trim() {
	d.source.Reset(nil)
	for i := range d.buf {
		if cap(d.buf[i]) > keptScratch {
			d.buf[i] = nil
		}
	}
}

// reserve makes room for n more bytes in dst. It is errTooLarge if dst would exceed limit then.
func reserve(dst []byte, n, limit int) ([]byte, error) {
	if n > limit-len(dst) {
		return dst, errTooLarge
	}
	if n <= cap(dst)-len(dst) {
		return dst, nil
	}
	grown := make([]byte, len(dst), min(max(len(dst)+n, 2*cap(dst), firstScratch), limit))
	copy(grown, dst)
	return grown, nil
}

func (d *decompressor) ungzip(dst, src []byte, limit int) ([]byte, error) {
	d.source.Reset(src)
	err := d.gzip.Reset(&d.source)
	for err == nil {
		var room []byte
		if room, err = reserve(dst, 1, limit+1); err != nil {
			break
		}
		var n int
		n, err = d.gzip.Read(room[len(room):cap(room)])
		dst = room[:len(room)+n]
	}
	if len(dst) > limit {
		return dst, errTooLarge
	}
	if err == io.EOF {
		err = nil
	}
	return dst, err
}

// unzstd decodes into the room there is and doubles that until it suffices: frames of stream encoders (Java) do not give their
// size, and a size that is given need not be true.
func (d *decompressor) unzstd(dst, src []byte, limit int) ([]byte, error) {
	if d.zstd == nil {
		decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxZstdWindow),
			zstd.WithDecodeAllCapLimit(true), zstd.IgnoreChecksum(true)) // the CRC of the batch covers all
		if err != nil {
			return dst, err
		}
		d.zstd = decoder
	}
	room := min(max(cap(dst), 4*len(src), firstScratch), limit)
	for {
		buf, err := reserve(dst[:0], room, limit)
		if err != nil {
			return dst, err
		}
		out, err := d.zstd.DecodeAll(src, buf[:0:room])
		if err == nil {
			return out, nil
		}
		if errors.Is(err, zstd.ErrWindowSizeExceeded) {
			return buf, errTooLarge
		}
		// Where a frame does not give its size, a lack of room shows as an error of the block that did not fit.
		if !errors.Is(err, zstd.ErrDecoderSizeExceeded) && room-len(out) >= zstdBlock {
			return buf, err
		}
		if room == limit {
			return buf, errTooLarge
		}
		dst, room = buf, min(2*room, limit)
	}
}

// xerialMagic begins the framing of snappy-java: then a version, the lowest compatible version (int32 each) and chunks, each
// an int32 length and a snappy block. Java, librdkafka and sarama write it, some clients write one bare block.
var xerialMagic = []byte("\x82SNAPPY\x00")

const xerialHeader = 16

func unsnappy(dst, src []byte, limit int) ([]byte, error) {
	if len(src) < xerialHeader || !bytes.HasPrefix(src, xerialMagic) {
		return appendSnappyBlock(dst, src, limit)
	}
	r := reader{data: src, at: xerialHeader}
	for r.remaining() > 0 {
		block := r.take(int(r.int32("chunk length")), "chunk")
		if !r.ok() {
			break
		}
		var err error
		if dst, err = appendSnappyBlock(dst, block, limit); err != nil {
			return dst, err
		}
	}
	return dst, r.err()
}

func appendSnappyBlock(dst, block []byte, limit int) ([]byte, error) {
	n, err := s2.DecodedLen(block)
	if err != nil {
		return dst, err
	}
	if int64(n) > snappyRatio*int64(len(block)) {
		return dst, errSnappy
	}
	if dst, err = reserve(dst, n, limit); err != nil {
		return dst, err
	}
	// The decoder uses the room it is given since its size is exact.
	if _, err = s2.Decode(dst[len(dst):len(dst)+n], block); err != nil {
		return dst, err
	}
	return dst[:len(dst)+n], nil
}

// The parts of an lz4 frame (lz4 frame format 1.6) that matter here.
const (
	lz4Magic         = 0x184d2204
	lz4BlockChecksum = 1 << 4
	lz4ContentSize   = 1 << 3
	lz4Dictionary    = 1 << 0
	lz4Window        = 64 << 10
	lz4Raw           = 1 << 31 // of a block size: the block is not compressed
)

// unlz4 reads one lz4 frame. Its checksums are not looked at: the CRC of the batch covers them, and old clients wrote the one of
// the header over the wrong bytes, which brokers had to accept for magic 0 (KIP-57).
func unlz4(dst, src []byte, limit int) ([]byte, error) {
	if len(src) < 7 || binary.LittleEndian.Uint32(src) != lz4Magic || src[4]>>6 != 1 || src[4]&lz4Dictionary != 0 {
		return dst, errLZ4
	}
	flags, largest := src[4], 1<<(8+2*int(src[5]>>4&7)) // 64 KiB, 256 KiB, 1 MiB, 4 MiB
	at := 7
	if flags&lz4ContentSize != 0 {
		at += 8
	}
	trailer := 0
	if flags&lz4BlockChecksum != 0 {
		trailer = 4
	}
	for {
		if len(src)-at < 4 {
			return dst, errLZ4
		}
		head := binary.LittleEndian.Uint32(src[at:])
		at += 4
		if head == 0 {
			return dst, nil
		}
		size := int(head &^ lz4Raw)
		if size > len(src)-at-trailer {
			return dst, errLZ4
		}
		var err error
		if dst, err = appendLZ4Block(dst, src[at:at+size], head&lz4Raw != 0, largest, limit); err != nil {
			return dst, err
		}
		at += size + trailer
	}
}

// appendLZ4Block decodes one block of at most largest bytes. Linked and independent blocks are treated alike.
func appendLZ4Block(dst, block []byte, raw bool, largest, limit int) ([]byte, error) {
	if raw {
		dst, err := reserve(dst, len(block), limit)
		if err != nil {
			return dst, err
		}
		return append(dst, block...), nil
	}
	room := int(min(int64(largest), lz4Ratio*int64(len(block))))
	// The limit is on what comes out; that the last block may be full is not known before.
	dst, err := reserve(dst, room, limit+room)
	if err != nil {
		return dst, err
	}
	n, err := lz4.UncompressBlockWithDict(block, dst[len(dst):len(dst)+room], dst[max(0, len(dst)-lz4Window):])
	if err != nil {
		return dst, err
	}
	if n > limit-len(dst) {
		return dst, errTooLarge
	}
	return dst[:len(dst)+n], nil
}
