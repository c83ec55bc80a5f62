package analysis

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/kdupscan/kdupscan/kafka"
)

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
		case w == "shared":
			f.Shared = true
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

func (s *script) ends(c *conn, words []string) error {
	if len(words) != 3 {
		return fmt.Errorf("a topic/partition, an epoch and an offset are needed")
	}
	t, n, err := topicPartition(words[0])
	if err != nil {
		return err
	}
	asked, answered, other := strings.Cut(words[1], "=")
	if !other {
		answered = asked
	}
	var numbers [3]int64
	for i, w := range []string{asked, answered, words[2]} {
		if numbers[i], err = strconv.ParseInt(w, 10, 32); err != nil {
			return err
		}
	}
	s.emit(&kafka.EpochEnd{
		Seen: s.seen(c), Topic: t, Partition: n,
		AskedEpoch: int32(numbers[0]), LeaderEpoch: int32(numbers[1]), EndOffset: numbers[2],
	})
	return nil
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
