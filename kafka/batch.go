package kafka

// Fingerprint is a 128-bit digest (XXH3) of a record's key, value and headers. The timestamp is not part of it.
type Fingerprint struct{ Hi, Lo uint64 }

// Payload describes a key or a value without its bytes.
type Payload struct {
	Size int32 // bytes; -1: null
	Hash uint32
}

// Record is one record of a batch.
type Record struct {
	Content    Fingerprint
	Timestamp  int64 // ms since 1970-01-01 UTC; -1: none (magic 0)
	Delta      int32 // offset of the record minus the batch's base offset; its sequence likewise
	Key, Value Payload
}

// Preview holds the first bytes of a record's key and value, at most PreviewSize of each. It is filled on request only.
type Preview struct{ Key, Value []byte }

// PreviewSize is how much of a key or value a Preview keeps: what a report may show of it.
const PreviewSize = 64

// NotCompared says why the records of a batch have no fingerprints.
type NotCompared uint8

// Reasons of NotCompared.
const (
	Compared     NotCompared = iota
	CutShort                 // the capture lacks bytes of the records (loss or snaplen)
	BadCRC                   // the CRC is wrong: the batch is no evidence
	Undecodable              // the records do not decode
	UnknownCodec             // attributes name a codec that does not exist
	TooLarge                 // decompression would exceed its bound
)

// Codec is the compression of a batch, bits 0–2 of its attributes.
type Codec uint8

// The codecs of the protocol.
const (
	None Codec = iota
	Gzip
	Snappy
	LZ4
	Zstd
)

// Batch is one record batch (magic 2, KIP-98) or, of old producers, one message set (magic 0 and 1).
//
// A magic 0 or 1 set in a Produce request is one Batch; in a Fetch answer each message of the set, compressed wrappers
// included, is one. They have ProducerID, ProducerEpoch and BaseSequence -1. Their CRC is that of the only message, or a
// CRC-32 (IEEE) over the big-endian CRC fields of all messages of the set in order.
type Batch struct {
	BaseOffset           int64 // as written: what a broker stored (Fetch), of no meaning in a Produce request
	Magic                int8
	PartitionLeaderEpoch int32 // -1 for magic 0 and 1, and as clients write it
	CRC                  uint32
	CRCChecked           bool // computed over the whole batch and found right; false for a batch cut short or with a wrong CRC
	Attributes           int16
	LastOffsetDelta      int32
	BaseTimestamp        int64 // ms; the first record's
	MaxTimestamp         int64 // ms
	ProducerID           int64 // -1: none
	ProducerEpoch        int16
	BaseSequence         int32
	RecordCount          int32 // as the header says; for old sets as counted
	Size                 int32 // bytes, header included
	Records              []Record
	Previews             []Preview // parallel to Records, nil unless asked for
	NotCompared          NotCompared
	Marker               Marker // of a control batch
	// InternalKeys: every key has the format of __consumer_offsets or __transaction_state records.
	InternalKeys bool
}

// Marker is the kind of a control record.
type Marker int8

// Kinds of control record (KIP-98); NoMarker for batches of data.
const (
	NoMarker Marker = iota
	AbortMarker
	CommitMarker
	OtherControl // leader change, snapshot and further control records of KRaft
)

// Codec returns the compression of the batch.
func (b *Batch) Codec() Codec { return Codec(b.Attributes & 7) }

// LogAppendTime reports whether the timestamps are the broker's (bit 3).
func (b *Batch) LogAppendTime() bool { return b.Magic >= 1 && b.Attributes&8 != 0 }

// Transactional reports whether the batch belongs to a transaction (bit 4).
func (b *Batch) Transactional() bool { return b.Magic == 2 && b.Attributes&16 != 0 }

// Control reports whether the batch holds control records (bit 5).
func (b *Batch) Control() bool { return b.Magic == 2 && b.Attributes&32 != 0 }

// Idempotent reports whether the batch carries a producer id.
func (b *Batch) Idempotent() bool { return b.ProducerID >= 0 }

// LastOffset returns the offset of the last record, for a stored batch.
func (b *Batch) LastOffset() int64 { return b.BaseOffset + int64(b.LastOffsetDelta) }

// LastSequence returns the sequence of the last record; sequences wrap from 2147483647 to 0.
func (b *Batch) LastSequence() int32 { return AddSequence(b.BaseSequence, b.LastOffsetDelta) }

// SequenceDistance returns how far to stands behind from in the ring of 2^31 sequences, the shorter way round: negative if it comes
// before.
func SequenceDistance(from, to int32) int32 { return (to - from) << 1 >> 1 }

// AddSequence returns sequence + n in the ring of 2^31 sequences.
func AddSequence(sequence, n int32) int32 { return int32((int64(sequence) + int64(n)) & 0x7fffffff) }
