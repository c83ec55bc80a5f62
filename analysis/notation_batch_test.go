package analysis

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/kdupscan/kdupscan/kafka"
)

// batch reads a BATCH of the notation.
func (s *script) batch(w string) (*kafka.Batch, error) {
	head, body, ok := strings.Cut(w, ":")
	if !ok {
		return nil, fmt.Errorf("%q is no batch", w)
	}
	b := &kafka.Batch{Magic: 2, PartitionLeaderEpoch: -1, CRCChecked: true}
	b.ProducerID, b.ProducerEpoch, b.BaseSequence = -1, -1, -1
	if err := identityInto(b, head); err != nil {
		return nil, err
	}
	body, err := s.suffix(b, body, '^', func(n int64) { b.PartitionLeaderEpoch = int32(n) })
	if err != nil {
		return nil, err
	}
	appendTime := int64(-1)
	if body, err = s.suffix(b, body, '~', func(n int64) { appendTime = epochMillis + n }); err != nil {
		return nil, err
	}
	words := strings.Split(body, "%")
	if b.Marker = map[string]kafka.Marker{"commit": kafka.CommitMarker, "abort": kafka.AbortMarker}[words[0]]; b.Marker != kafka.NoMarker {
		return marked(b, words)
	}
	if strings.HasSuffix(head, ":") || strings.Count(head, "/") == 1 {
		return nil, fmt.Errorf("%q is no batch: data needs a sequence", w)
	}
	if err := s.recordsInto(b, words[0]); err != nil {
		return nil, err
	}
	if appendTime >= 0 {
		b.Attributes |= 8
		b.MaxTimestamp = appendTime
		for i := range b.Records {
			b.Records[i].Timestamp = appendTime
		}
	}
	return b, flags(b, words)
}

func marked(b *kafka.Batch, words []string) (*kafka.Batch, error) {
	if len(words) > 1 || b.ProducerID < 0 || b.BaseSequence != -1 {
		return nil, fmt.Errorf("a marker has an id and an epoch only")
	}
	b.Attributes, b.RecordCount = 16|32, 1
	b.CRC = checksum(b, words[0])
	return b, nil
}

// identityInto reads ID/EPOCH/SEQUENCE, ID/EPOCH, "-" or "-0".
func identityInto(b *kafka.Batch, head string) error {
	switch head {
	case "-":
		return nil
	case "-0":
		b.BaseSequence = 0
		return nil
	}
	parts := strings.Split(head, "/")
	var n [3]int64
	for i, part := range parts {
		if i > 2 {
			return fmt.Errorf("%q is no identity", head)
		}
		v, err := strconv.ParseInt(part, 10, []int{64, 16, 32}[i])
		if err != nil || v < 0 {
			return fmt.Errorf("%q is no identity", head)
		}
		n[i] = v
	}
	if len(parts) < 2 {
		return fmt.Errorf("%q is no identity", head)
	}
	b.ProducerID, b.ProducerEpoch = n[0], int16(n[1])
	if len(parts) == 3 {
		b.BaseSequence = int32(n[2])
	}
	return nil
}

// suffix takes a number behind a mark off the end of a batch.
func (s *script) suffix(b *kafka.Batch, body string, mark byte, set func(int64)) (string, error) {
	i := strings.LastIndexByte(body, mark)
	if i < 0 {
		return body, nil
	}
	n, err := strconv.ParseInt(body[i+1:], 10, 32)
	if err != nil {
		return "", fmt.Errorf("%q is no number behind %c", body[i+1:], mark)
	}
	set(n)
	return body[:i], nil
}

// recordsInto reads letters, each with an optional create time.
func (s *script) recordsInto(b *kafka.Batch, body string) error {
	delta := int32(0)
	text := []rune(body)
	for i := 0; i < len(text); delta++ {
		letter := text[i]
		i++
		if letter == '.' {
			continue
		}
		if !unicode.IsLetter(letter) {
			return fmt.Errorf("%q is no record", letter)
		}
		if _, known := s.created[letter]; !known {
			s.created[letter] = s.now
		}
		at := s.created[letter]
		if i < len(text) && text[i] == '!' {
			at = s.now
			i++
		}
		digits := i
		for i < len(text) && unicode.IsDigit(text[i]) {
			i++
		}
		if i > digits {
			at, _ = strconv.ParseInt(string(text[digits:i]), 10, 32)
		}
		b.Records = append(b.Records, kafka.Record{
			Content: content(letter), Timestamp: epochMillis + at, Delta: delta,
			Key: kafka.Payload{Size: 1, Hash: uint32(letter)}, Value: kafka.Payload{Size: 3, Hash: uint32(letter) << 8},
		})
	}
	if delta == 0 {
		return fmt.Errorf("a batch without records")
	}
	b.LastOffsetDelta = delta - 1
	b.RecordCount = int32(len(b.Records))
	b.Size = 61 + 10*b.RecordCount
	for i, r := range b.Records {
		if i == 0 {
			b.BaseTimestamp = r.Timestamp
		}
		b.MaxTimestamp = max(b.MaxTimestamp, r.Timestamp)
	}
	return nil
}

func content(letter rune) kafka.Fingerprint {
	return kafka.Fingerprint{Hi: 0x9e3779b97f4a7c15 * uint64(letter), Lo: 0xc2b2ae3d27d4eb4f * uint64(letter)}
}

// flags reads what stands behind '%' and completes the batch with its CRC.
func flags(b *kafka.Batch, words []string) error {
	crc := int64(-1)
	for _, w := range words[1:] {
		switch {
		case w == "lz4":
			b.Attributes |= int16(kafka.LZ4)
		case w == "zstd":
			b.Attributes |= int16(kafka.Zstd)
		case w == "m1":
			if b.ProducerID >= 0 {
				return fmt.Errorf("magic 1 has no producer id")
			}
			b.Magic = 1
		case w == "txn":
			b.Attributes |= 16
		case w == "cut", w == "bad":
		case w == "keys":
			b.InternalKeys = true
		case strings.HasPrefix(w, "crc"):
			n, err := strconv.ParseUint(w[3:], 10, 32)
			if err != nil {
				return fmt.Errorf("%q is no CRC", w)
			}
			crc = int64(n)
		default:
			return fmt.Errorf("unknown flag %%%s", w)
		}
	}
	covered := ""
	for _, r := range b.Records {
		covered += fmt.Sprint(r, ";")
	}
	if b.CRC = checksum(b, covered); crc >= 0 {
		b.CRC = uint32(crc)
	}
	for _, w := range words[1:] {
		switch w {
		case "cut":
			b.Records, b.NotCompared, b.CRCChecked = nil, kafka.CutShort, false
		case "bad":
			b.Records, b.NotCompared, b.CRCChecked = nil, kafka.BadCRC, false
		}
	}
	return nil
}
