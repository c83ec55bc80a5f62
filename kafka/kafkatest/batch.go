package kafkatest

import (
	"encoding/binary"
	"hash/crc32"
	"math"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Format is how records are laid out.
type Format uint8

// The formats: a record batch (magic 2, KIP-98), or the message sets before it.
const (
	RecordBatch Format = iota
	MessageSet1        // magic 1, KIP-32
	MessageSet0        // magic 0
)

// ProducerZero in Batch.ProducerID stands for the real producer id 0; the zero value stands for none.
const ProducerZero int64 = math.MinInt64

// Batch is one record batch, or one message set. It is a value: the methods return changed copies and share Records.
//
// Without a ProducerID the batch is not idempotent: producer id, epoch and base sequence are -1.
type Batch struct {
	Topic         string
	Partition     int32
	Format        Format
	ProducerID    int64
	ProducerEpoch int16
	BaseSequence  int32
	Records       []Record
	Codec         Codec
	Transactional bool
	// ZeroSequence writes base sequence 0 instead of -1 where there is no producer id, as franz-go, sarama and aiokafka do.
	ZeroSequence bool
	// BaseOffset and LeaderEpoch are what a broker stored; At sets them. Of a batch that is being produced they are 0 and -1,
	// as Java writes them; librdkafka and sarama write leader epoch 0, which At(0, 0) gives.
	BaseOffset  int64
	LeaderEpoch int32

	stored  bool
	appendT int64 // log append time, 0 none
	control bool
	kept    []int // indexes of the records that compaction left; nil: all
}

// As returns b under another identity. The records and their timestamps stay, so only the header and the CRC change.
func (b Batch) As(producerID int64, epoch int16, sequence int32) Batch {
	b.ProducerID, b.ProducerEpoch, b.BaseSequence = producerID, epoch, sequence
	return b
}

// At returns b as a broker stored it. The CRC covers neither field.
func (b Batch) At(baseOffset int64, leaderEpoch int32) Batch {
	b.BaseOffset, b.LeaderEpoch, b.stored = baseOffset, leaderEpoch, true
	return b
}

// Timed returns b as a broker rewrites it on a topic with LogAppendTime: attribute bit 3 is set, the time stands as the
// largest timestamp, and the CRC is another one. The records keep the deltas they were sent with.
func (b Batch) Timed(logAppendTime int64) Batch {
	b.appendT = logAppendTime
	return b
}

// Recompressed returns b as a broker stores it whose topic demands another codec.
func (b Batch) Recompressed(codec Codec) Batch {
	b.Codec = codec
	return b
}

// Compacted returns b with only the records of the given indexes left. The offset range of the batch stays.
func (b Batch) Compacted(left ...int) Batch {
	b.kept = append([]int{}, left...)
	return b
}

// LastOffset returns the offset of the last record of a stored batch.
func (b Batch) LastOffset() int64 { return b.BaseOffset + int64(len(b.Records)) - 1 }

// LastSequence returns the sequence of the last record; sequences wrap from 2147483647 to 0.
func (b Batch) LastSequence() int32 {
	return int32((int64(b.BaseSequence) + int64(len(b.Records)) - 1) & math.MaxInt32)
}

// MaxTimestamp returns the largest timestamp, in ms: what a broker answers as log append time to a recognised duplicate.
func (b Batch) MaxTimestamp() int64 {
	if b.appendT != 0 {
		return b.appendT
	}
	var latest int64 = -1
	for i := range b.Records {
		latest = max(latest, b.Records[i].Timestamp)
	}
	return latest
}

// Marker returns the control batch that ends a transaction on one partition (KIP-98): one record, sequence -1.
func Marker(topic string, partition int32, producerID int64, epoch int16, commit bool, timestamp int64) Batch {
	key := kmsg.NewControlRecordKey()
	key.Type = kmsg.ControlRecordKeyTypeAbort
	if commit {
		key.Type = kmsg.ControlRecordKeyTypeCommit
	}
	value := kmsg.NewEndTxnMarker()
	return Batch{
		Topic: topic, Partition: partition,
		ProducerID: producerID, ProducerEpoch: epoch, BaseSequence: -1,
		Transactional: true, control: true,
		Records: []Record{{Key: key.AppendTo(nil), Value: value.AppendTo(nil), Timestamp: timestamp}},
	}
}

// Attribute bits of a magic 2 batch.
const (
	attributeLogAppendTime = 1 << 3
	attributeTransactional = 1 << 4
	attributeControl       = 1 << 5
)

// Encode returns the bytes of b as they stand in a Produce request, or (after At) in a Fetch answer.
func (b Batch) Encode() []byte {
	switch b.Format {
	case MessageSet0, MessageSet1:
		return b.encodeMessageSet()
	}
	return b.encodeRecordBatch()
}

// Offsets inside an encoded magic 2 batch.
const (
	batchLengthAt     = 8
	batchLengthEnd    = 12 // the length counts from here
	batchCRCAt        = 17
	batchAttributesAt = 21 // the CRC covers all from here to the end
)

func (b *Batch) encodeRecordBatch() []byte {
	wire := kmsg.RecordBatch{
		FirstOffset:          b.BaseOffset,
		PartitionLeaderEpoch: -1,
		Magic:                2,
		Attributes:           b.attributes(),
		LastOffsetDelta:      int32(len(b.Records) - 1),
		MaxTimestamp:         b.MaxTimestamp(),
		ProducerID:           -1,
		ProducerEpoch:        -1,
		FirstSequence:        -1,
	}
	if b.stored {
		wire.PartitionLeaderEpoch = b.LeaderEpoch
	}
	switch {
	case b.ProducerID != 0:
		wire.ProducerID, wire.ProducerEpoch, wire.FirstSequence = b.ProducerID, b.ProducerEpoch, b.BaseSequence
		if b.ProducerID == ProducerZero {
			wire.ProducerID = 0
		}
	case b.ZeroSequence:
		wire.FirstSequence = 0
	}
	wire.FirstTimestamp = -1
	if len(b.Records) > 0 {
		wire.FirstTimestamp = b.Records[0].Timestamp
	}
	var records []byte
	for _, i := range b.left() {
		records = appendRecord(records, &b.Records[i], int32(i), wire.FirstTimestamp)
		wire.NumRecords++
	}
	wire.Records = b.Codec.compress(records)

	out := wire.AppendTo(nil)
	binary.BigEndian.PutUint32(out[batchLengthAt:], uint32(len(out)-batchLengthEnd))
	crc := crc32.Checksum(out[batchAttributesAt:], crc32.MakeTable(crc32.Castagnoli))
	binary.BigEndian.PutUint32(out[batchCRCAt:], crc)
	return out
}

// CRC returns the checksum of the encoded magic 2 batch.
func (b Batch) CRC() uint32 { return binary.BigEndian.Uint32(b.encodeRecordBatch()[batchCRCAt:]) }

func (b *Batch) attributes() int16 {
	attributes := b.Codec.attribute()
	if b.appendT != 0 {
		attributes |= attributeLogAppendTime
	}
	if b.Transactional {
		attributes |= attributeTransactional
	}
	if b.control {
		attributes |= attributeControl
	}
	return attributes
}

// left returns the indexes of the records that are still in the batch.
func (b *Batch) left() []int {
	if b.kept != nil {
		return b.kept
	}
	all := make([]int, len(b.Records))
	for i := range all {
		all[i] = i
	}
	return all
}
