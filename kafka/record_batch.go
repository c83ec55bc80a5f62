package kafka

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// A record batch (magic 2, KIP-98), integers big-endian:
//
//	 0 base offset int64              27 base timestamp int64
//	 8 length int32, of what follows  35 max timestamp int64
//	12 partition leader epoch int32   43 producer id int64
//	16 magic int8                     51 producer epoch int16
//	17 CRC-32C uint32, of all behind  53 base sequence int32
//	21 attributes int16               57 record count int32
//	23 last offset delta int32        61 records, compressed or not
const (
	recordBatchHeader = 61
	crcEnd            = 21
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// readRecordBatch reads the batch that takes all of data. The detail says why its records are not compared.
func (r *BatchReader) readRecordBatch(data []byte) (*Batch, string) {
	b := readRecordBatchHeader(data)
	if crc := crc32.Checksum(data[crcEnd:], castagnoli); crc != b.CRC {
		b.NotCompared = BadCRC
		return b, fmt.Sprintf("CRC %#08x, computed %#08x", b.CRC, crc)
	}
	b.CRCChecked = true
	if detail := checkRecordBatchHeader(b); detail != "" {
		b.NotCompared = Undecodable
		return b, detail
	}
	records, detail := data[recordBatchHeader:], ""
	if b.RecordCount == 0 && len(records) == 0 {
		return b, "" // compaction keeps a batch without records for its sequence
	}
	if int(b.RecordCount) > r.limits.MaxRecords {
		b.NotCompared = TooLarge
		return b, fmt.Sprintf("%d records", b.RecordCount)
	}
	if codec := b.Codec(); codec != None {
		budget := r.limits.MaxDecompressed
		if records, b.NotCompared, detail = r.decompress(codec, records, 0, &budget); b.NotCompared != Compared {
			return b, detail
		}
	}
	if detail = r.readRecords(b, records); detail != "" {
		b.Records, b.Previews, b.Marker, b.InternalKeys = nil, nil, NoMarker, false
		b.NotCompared = Undecodable
	}
	return b, detail
}

// cutRecordBatch reads the header of a batch whose end is missing.
func cutRecordBatch(data []byte) (*Batch, string) {
	b := readRecordBatchHeader(data)
	if detail := checkRecordBatchHeader(b); detail != "" {
		b.NotCompared = Undecodable
		return b, detail
	}
	b.NotCompared = CutShort
	return b, ""
}

// readRecordBatchHeader reads the header at the front of data, which has its 61 bytes. A negative record count is taken as 0.
func readRecordBatchHeader(data []byte) *Batch {
	be := binary.BigEndian
	return &Batch{
		BaseOffset:           int64(be.Uint64(data)),
		Size:                 logPrefix + int32(be.Uint32(data[lengthAt:])),
		PartitionLeaderEpoch: int32(be.Uint32(data[12:])),
		Magic:                int8(data[magicAt]),
		CRC:                  be.Uint32(data[17:]),
		Attributes:           int16(be.Uint16(data[crcEnd:])),
		LastOffsetDelta:      int32(be.Uint32(data[23:])),
		BaseTimestamp:        int64(be.Uint64(data[27:])),
		MaxTimestamp:         int64(be.Uint64(data[35:])),
		ProducerID:           int64(be.Uint64(data[43:])),
		ProducerEpoch:        int16(be.Uint16(data[51:])),
		BaseSequence:         int32(be.Uint32(data[53:])),
		RecordCount:          max(0, int32(be.Uint32(data[57:]))),
	}
}

// checkRecordBatchHeader says what in the header contradicts the format, "" if nothing does.
func checkRecordBatchHeader(b *Batch) string {
	switch n := int64(b.RecordCount); {
	case b.LastOffsetDelta < 0:
		return fmt.Sprintf("last offset delta %d", b.LastOffsetDelta)
	case n > int64(b.LastOffsetDelta)+1:
		return fmt.Sprintf("%d records up to offset delta %d", n, b.LastOffsetDelta)
	case b.Codec() == None && n > int64(b.Size-recordBatchHeader)/minRecordSize:
		return fmt.Sprintf("%d records in %d bytes", n, b.Size)
	}
	return ""
}
