package analysis

import (
	"fmt"
	"net/netip"
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
			Key: kafka.Payload{Size: 1, Hash: uint64(letter)}, Value: kafka.Payload{Size: 3, Hash: uint64(letter) << 8},
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

func (s *script) fetch(c *conn, words []string) error {
	if len(words) == 0 {
		return fmt.Errorf("a topic/partition is needed")
	}
	t, n, err := topicPartition(words[0])
	if err != nil {
		return err
	}
	f := &kafka.PartitionFetched{
		Seen: s.seen(c), Topic: t, Partition: n, ReplicaID: -1,
		FetchOffset: -1, HighWatermark: -1, LastStableOffset: -1, LogStartOffset: -1,
	}
	var batches []*kafka.Batch
	for _, w := range words[1:] {
		key, value, option := strings.Cut(w, "=")
		number := func(bits int) int64 {
			v, e := strconv.ParseInt(value, 10, bits)
			if e != nil {
				err = fmt.Errorf("%q is no number", value)
			}
			return v
		}
		switch {
		case w == "committed":
			f.ReadCommitted = true
		case w == "reader=unknown":
			f.ReplicaID = -2
		case !option:
			err = fmt.Errorf("unexpected %q", w)
		case key == "hw":
			f.HighWatermark = number(64)
		case key == "follower":
			f.ReplicaID = int32(number(32))
		case key == "err":
			f.ErrorCode = int16(number(16))
		case key == "aborted":
			var a kafka.AbortedTransaction
			if _, e := fmt.Sscanf(value, "%d@%d", &a.ProducerID, &a.FirstOffset); e != nil {
				err = fmt.Errorf("%q is no aborted transaction", value)
			}
			f.Aborted = append(f.Aborted, a)
		default:
			offset, e := strconv.ParseInt(key, 10, 64)
			if e != nil {
				return fmt.Errorf("%q is no offset", key)
			}
			b, e := s.batch(value)
			if e != nil {
				return e
			}
			b.BaseOffset = offset
			batches = append(batches, b)
		}
		if err != nil {
			return err
		}
	}
	s.emit(f)
	for _, b := range batches {
		s.emit(&kafka.BatchFetched{PartitionFetched: f, Batch: b})
	}
	return nil
}

func (s *script) gap(c *conn, words []string) error {
	if len(words) == 0 || words[0] != "client" && words[0] != "server" {
		return fmt.Errorf("a side is needed")
	}
	inside := len(words) == 2 && words[1] == "inside"
	if len(words) > 1 && !inside {
		return none(words[1:])
	}
	s.emit(&kafka.GapSeen{Seen: s.seen(c), FromClient: words[0] == "client", Bytes: 1000, Hidden: !inside})
	return nil
}

func (s *script) leader(c *conn, words []string) error {
	if len(words) != 3 {
		return fmt.Errorf("a topic/partition, a leader and an epoch are needed")
	}
	t, n, err := topicPartition(words[0])
	if err != nil {
		return err
	}
	id, err := strconv.ParseInt(words[1], 10, 32)
	if err != nil {
		return err
	}
	epoch, err := strconv.ParseInt(words[2], 10, 32)
	s.emit(&kafka.LeaderNamed{Seen: s.seen(c), Topic: t, Partition: n, LeaderID: int32(id), LeaderEpoch: int32(epoch)})
	return err
}

func (s *script) cluster(c *conn, words []string) error {
	if len(words) == 0 {
		return fmt.Errorf("a cluster id is needed")
	}
	d := &kafka.ClusterDescribed{Seen: s.seen(c), ClusterID: words[0]}
	for _, w := range words[1:] {
		n, err := strconv.ParseUint(w, 10, 8)
		if err != nil {
			return fmt.Errorf("%q is no broker", w)
		}
		host := netip.AddrFrom4([4]byte{10, 9, 0, byte(n)}).String()
		d.Brokers = append(d.Brokers, kafka.Broker{NodeID: int32(n), Host: host, Port: 9092})
	}
	s.emit(d)
	return nil
}

func (s *script) topic(c *conn, words []string) error {
	internal := len(words) == 2 && words[1] == "internal"
	if len(words) != 1 && !internal {
		return fmt.Errorf("one topic is needed")
	}
	t, err := topic(words[0])
	s.emit(&kafka.TopicNamed{Seen: s.seen(c), Topic: t, Internal: internal})
	return err
}

func (s *script) remove(c *conn, words []string) error {
	if len(words) != 1 {
		return fmt.Errorf("one topic is needed")
	}
	t, err := topic(words[0])
	s.emit(&kafka.TopicDeleted{Seen: s.seen(c), Topic: t})
	return err
}

func (s *script) grant(c *conn, words []string) error {
	g := &kafka.ProducerGranted{Seen: s.seen(c), OldProducerID: -1, OldProducerEpoch: -1, ProducerID: -1, ProducerEpoch: -1}
	g.Request = &kafka.Request{Seen: s.seen(c), APIKey: 22, APIVersion: 4, ClientID: c.client, HasClientID: true}
	if len(words) == 0 {
		return fmt.Errorf("an id/epoch is needed")
	}
	var err error
	if g.ProducerID, g.ProducerEpoch, err = idEpoch(words[0]); err != nil {
		return err
	}
	for _, w := range words[1:] {
		key, value, _ := strings.Cut(w, "=")
		switch key {
		case "from":
			g.OldProducerID, g.OldProducerEpoch, err = idEpoch(value)
		case "txn":
			g.TransactionalID = &value
		case "err":
			var n int64
			n, err = strconv.ParseInt(value, 10, 16)
			g.ErrorCode, g.ProducerID, g.ProducerEpoch = int16(n), -1, -1
		default:
			err = fmt.Errorf("unexpected %q", w)
		}
		if err != nil {
			return err
		}
	}
	s.emit(g)
	return nil
}

func idEpoch(w string) (int64, int16, error) {
	id, epoch, _ := strings.Cut(w, "/")
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return 0, 0, fmt.Errorf("%q is no id/epoch", w)
	}
	e, err := strconv.ParseInt(epoch, 10, 16)
	if err != nil {
		return 0, 0, fmt.Errorf("%q is no id/epoch", w)
	}
	return n, int16(e), nil
}

// transactionEnd reads ID/EPOCH commit|abort.
func (s *script) transactionEnd(c *conn, words []string) (*kafka.TransactionEnding, error) {
	if len(words) != 2 || words[1] != "commit" && words[1] != "abort" {
		return nil, fmt.Errorf("an id/epoch and commit or abort are needed")
	}
	id, epoch, err := idEpoch(words[0])
	return &kafka.TransactionEnding{Seen: s.seen(c), TransactionalID: "x", ProducerID: id, ProducerEpoch: epoch, Commit: words[1] == "commit"}, err
}

func (s *script) ending(c *conn, words []string) error {
	e, err := s.transactionEnd(c, words)
	if err == nil {
		c.ending = e
		s.emit(e)
	}
	return err
}

func (s *script) marker(c *conn, words []string) error {
	e, err := s.transactionEnd(c, words)
	if err == nil {
		e.Marker = true
		s.emit(e)
	}
	return err
}

func (s *script) ended(c *conn, words []string) error {
	if c.ending == nil || len(words) != 1 {
		return fmt.Errorf("an end and its next identity are needed")
	}
	e := &kafka.TransactionEnded{TransactionEnding: c.ending, Answer: s.seen(c), NewProducerID: -1, NewProducerEpoch: -1}
	c.ending = nil
	var err error
	if words[0] != "-" {
		e.NewProducerID, e.NewProducerEpoch, err = idEpoch(words[0])
	}
	s.emit(e)
	return err
}

func (s *script) commits(c *conn, words []string) error {
	if len(words) != 2 {
		return fmt.Errorf("a topic/partition and an offset are needed")
	}
	t, n, err := topicPartition(words[0])
	if err != nil {
		return err
	}
	offset, err := strconv.ParseInt(words[1], 10, 64)
	s.emit(&kafka.OffsetCommitted{Seen: s.seen(c), Group: "g", Topic: t, Partition: n, Offset: offset})
	return err
}

func (s *script) software(c *conn, words []string) error {
	if len(words) != 2 {
		return fmt.Errorf("a name and a version are needed")
	}
	s.emit(&kafka.ClientNamed{Seen: s.seen(c), ClientID: c.client, SoftwareName: words[0], SoftwareVersion: words[1]})
	return nil
}
