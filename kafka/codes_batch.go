package kafka

import "github.com/kdupscan/kdupscan/pcap"

// Codes of notes about record batches and message sets.
const (
	// CodeBatchCut: the capture lacks the end of a batch (loss, snaplen). Its records are not compared, and batches behind it
	// in the same partition of the same message are hidden.
	CodeBatchCut pcap.Code = "batch-cut-short"
	// CodeBatchBadCRC: the CRC of a batch is wrong. The batch is no evidence and its records are not compared.
	CodeBatchBadCRC pcap.Code = "batch-bad-crc"
	// CodeBatchUndecodable: a batch, or the records in it, contradict the format. The records are not compared; where the
	// length of the batch is wrong, the batches behind it are hidden too.
	CodeBatchUndecodable pcap.Code = "batch-undecodable"
	// CodeBatchUnknownCodec: the attributes of a batch name a compression that does not exist. Its records are not compared.
	CodeBatchUnknownCodec pcap.Code = "batch-unknown-codec"
	// CodeBatchTooLarge: a batch exceeds a limit of decompression: size, ratio, nesting or records. Its records are not compared.
	CodeBatchTooLarge pcap.Code = "batch-too-large"
)

// code returns the code of the note that goes with a reason, "" for Compared.
func (n NotCompared) code() pcap.Code {
	switch n {
	case CutShort:
		return CodeBatchCut
	case BadCRC:
		return CodeBatchBadCRC
	case Undecodable:
		return CodeBatchUndecodable
	case UnknownCodec:
		return CodeBatchUnknownCodec
	case TooLarge:
		return CodeBatchTooLarge
	}
	return ""
}
