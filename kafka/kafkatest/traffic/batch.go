package traffic

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"time"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/kdupscan/kdupscan/kafka/kafkatest"
)

// batch is a record batch of magic 2 (KIP-98).
type batch struct {
	to             *partition
	producer       int64 // -1 none
	epoch          int16
	sequence       int32
	records        int
	oldest, latest int64 // timestamps, ms
	data           []byte
}

const (
	batchHeader  = 61
	crcFrom      = 21      // the checksum covers all from here to the end
	maxTextStart = 1 << 20 // values begin within that much of the text
	maxText      = 1 << 20 // of one record
	// minRecordBytes is a key and the beginning of a value.
	minRecordBytes = 16 + len(valueStart) + 16
	// lingerMillis is how much older the first record of a batch is than the last.
	lingerMillis = 4
)

const valueStart = `{"id":"`

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// batchEncoder makes batches of records that differ all from each other.
type batchEncoder struct {
	config *Config
	random *rand.Rand
	text   []byte // values are pieces of it
	made   uint64 // records so far
	plain  []byte // records before they are compressed
	zstd   *zstd.Encoder
	lz4    *lz4.Writer
	block  []byte // of snappy
	free   [][]byte
}

func newBatchEncoder(c *Config) (*batchEncoder, error) {
	e := &batchEncoder{config: c, random: rand.New(rand.NewPCG(c.Seed, 0x7265636f))}
	e.text = text(e.random, maxTextStart+maxText)
	e.lz4 = lz4.NewWriter(nil)
	if err := e.lz4.Apply(lz4.BlockSizeOption(lz4.Block64Kb)); err != nil { // as Java writes them
		return nil, err
	}
	var err error
	e.zstd, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	return e, err
}

// words make values look like those of an application.
var words = []string{
	"order", "created", "paid", "shipped", "cancelled", "customer", "address", "street", "Amsterdam", "Lisbon", "Toronto",
	"Osaka", "currency", "EUR", "USD", "amount", "discount", "item", "quantity", "warehouse", "carrier", "express", "standard",
	"refund", "invoice", "country", "postal", "null", "true", "false", "timestamp", "version",
}

// text returns n bytes of fields with words and numbers, which compress to about a third.
func text(random *rand.Rand, n int) []byte {
	out := make([]byte, 0, n+64)
	for len(out) < n {
		out = append(out, `,"`...)
		out = append(out, words[random.IntN(len(words))]...)
		out = append(out, `":"`...)
		if random.IntN(2) == 0 {
			out = append(out, words[random.IntN(len(words))]...)
			out = append(out, ' ')
		}
		out = appendHex(out, random.Uint64(), 4+random.IntN(6))
		out = append(out, '"')
	}
	return out[:n]
}

// appendHex appends the lowest digits of n.
func appendHex(dst []byte, n uint64, digits int) []byte {
	for range digits {
		dst = append(dst, "0123456789abcdef"[n&15])
		n >>= 4
	}
	return dst
}

// batch makes a batch whose last record was created at now. The identity is still to be sealed.
func (e *batchEncoder) batch(to *partition, now time.Time) *batch {
	b := &batch{to: to, producer: -1, sequence: -1, epoch: -1, records: e.config.BatchRecords, latest: now.UnixMilli()}
	b.oldest = b.latest - lingerMillis
	if n := len(e.free); n > 0 {
		b.data, e.free = e.free[n-1], e.free[:n-1]
	}
	b.data = append(b.data[:0], make([]byte, batchHeader)...)
	if e.config.Codec == kafkatest.None {
		b.data = e.appendRecords(b.data, b.records)
		return b
	}
	e.plain = e.appendRecords(e.plain[:0], b.records)
	b.data = e.compress(b.data)
	return b
}

// release lets the bytes of b be used again.
func (e *batchEncoder) release(b *batch) {
	e.free = append(e.free, b.data)
	b.data = nil
}

func (e *batchEncoder) appendRecords(dst []byte, n int) []byte {
	const keyBytes = 16
	valueBytes := e.config.RecordBytes - keyBytes
	for i := range n {
		e.made++
		id := (e.made + e.config.Seed<<40) * 0x9e3779b97f4a7c15 // odd: distinct
		var fields [16]byte
		head := binary.AppendVarint(fields[:1], int64(i*lingerMillis/n)) // attributes, timestamp delta
		head = binary.AppendVarint(head, int64(i))
		head = binary.AppendVarint(head, keyBytes)
		var value [8]byte
		valueLength := binary.AppendVarint(value[:0], int64(valueBytes))
		length := len(head) + keyBytes + len(valueLength) + valueBytes + 1

		dst = binary.AppendVarint(dst, int64(length))
		dst = append(dst, head...)
		dst = appendHex(dst, id, keyBytes)
		dst = append(dst, valueLength...)
		dst = append(dst, valueStart...)
		dst = appendHex(dst, ^id, 16)
		from := e.random.IntN(maxTextStart)
		dst = append(dst, e.text[from:from+e.config.RecordBytes-minRecordBytes]...)
		dst = append(dst, 0) // headers
	}
	return dst
}

// compress appends the plain records to dst as Java clients compress them.
func (e *batchEncoder) compress(dst []byte) []byte {
	switch e.config.Codec {
	case kafkatest.Zstd:
		return e.zstd.EncodeAll(e.plain, dst)
	case kafkatest.LZ4:
		out := bytes.NewBuffer(dst)
		e.lz4.Reset(out)
		must(e.lz4.Write(e.plain))
		must(0, e.lz4.Close())
		return out.Bytes()
	case kafkatest.SnappyXerial:
		const block = 32 << 10
		dst = append(dst, "\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"...)
		for rest := e.plain; len(rest) > 0; {
			n := min(len(rest), block)
			e.block = snappy.Encode(e.block[:cap(e.block)], rest[:n])
			dst = binary.BigEndian.AppendUint32(dst, uint32(len(e.block)))
			dst = append(dst, e.block...)
			rest = rest[n:]
		}
		return dst
	}
	panic("traffic: a codec that check lets through")
}

// must: writing to memory does not fail.
func must(_ int, err error) {
	if err != nil {
		panic(err)
	}
}

// seal gives b an identity and writes its header.
func (b *batch) seal(codec kafkatest.Codec, producer int64, epoch int16, sequence int32) {
	b.producer, b.epoch, b.sequence = producer, epoch, sequence
	attributes := uint16(codec)
	if codec == kafkatest.SnappyXerial {
		attributes = uint16(kafkatest.Snappy)
	}
	h := b.data
	binary.BigEndian.PutUint32(h[8:], uint32(len(h)-12))
	binary.BigEndian.PutUint32(h[12:], 1<<32-1) // leader epoch: not known
	h[16] = 2
	binary.BigEndian.PutUint16(h[21:], attributes)
	binary.BigEndian.PutUint32(h[23:], uint32(b.records-1))
	binary.BigEndian.PutUint64(h[27:], uint64(b.oldest))
	binary.BigEndian.PutUint64(h[35:], uint64(b.latest))
	binary.BigEndian.PutUint64(h[43:], uint64(producer))
	binary.BigEndian.PutUint16(h[51:], uint16(epoch))
	binary.BigEndian.PutUint32(h[53:], uint32(sequence))
	binary.BigEndian.PutUint32(h[57:], uint32(b.records))
	binary.BigEndian.PutUint32(h[17:], crc32.Checksum(h[crcFrom:], castagnoli))
}
