package analysis

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
)

// capture builds large histories quickly: one process, one broker, a frame for each thing it does, 1 ms apart.
type capture struct {
	all     []kafka.Observation
	link    *kafka.Link
	time    pcap.Timestamp
	frame   pcap.FrameNumber
	content uint64
}

func newCapture() *capture {
	c := &capture{time: epochMillis * 1e6}
	c.connect()
	return c
}

// connect opens the next connection.
func (c *capture) connect() {
	n := uint32(c.frame)
	c.link = &kafka.Link{
		Client: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, 1}), uint16(n)), Server: netip.MustParseAddrPort("10.9.0.1:9092"),
		Base: [2]uint32{n, n + 1}, BaseKnown: [2]bool{true, true},
	}
	c.all = append(c.all, &kafka.LinkOpened{Seen: c.seen()})
}

func (c *capture) seen() kafka.Seen {
	c.time += 1e6
	c.frame++
	at := pcap.Ref{Number: c.frame, Time: c.time}
	return kafka.Seen{Link: c.link, First: at, At: at}
}

// batch makes a batch of one record of the given content, or of fresh content for 0.
func (c *capture) batch(id int64, epoch int16, sequence int32, content uint64) *kafka.Batch {
	if content == 0 {
		c.content++
		content = 1<<40 + c.content
	}
	b := &kafka.Batch{
		Magic: 2, PartitionLeaderEpoch: -1, CRCChecked: true, ProducerID: id, ProducerEpoch: epoch, BaseSequence: sequence, RecordCount: 1, Size: 80,
		Records: []kafka.Record{{Content: kafka.Fingerprint{Hi: content, Lo: content}, Timestamp: epochMillis}},
	}
	b.BaseTimestamp, b.MaxTimestamp = epochMillis, epochMillis
	b.CRC = uint32(content) ^ uint32(id)*7919 ^ uint32(epoch)*104729 ^ uint32(sequence)*31
	return b
}

var scaleTopic = kafka.Topic{Name: "t"}

func (c *capture) send(partition int32, b *kafka.Batch) *kafka.BatchSent {
	s := &kafka.BatchSent{Seen: c.seen(), Topic: scaleTopic, Partition: partition, Acks: -1, Batch: b}
	s.Request = &kafka.Request{Seen: s.Seen, CorrelationID: int32(c.frame), Seq: uint32(c.frame), ClientID: "p", HasClientID: true}
	c.all = append(c.all, s)
	return s
}

func (c *capture) answer(s *kafka.BatchSent, code int16, offset int64) {
	a := &kafka.BatchAnswered{Seen: c.seen(), Request: s.Request, CorrelationID: s.Request.CorrelationID, Topic: s.Topic, Partition: s.Partition, ErrorCode: code, BaseOffset: offset, LogAppendTime: -1}
	c.all = append(c.all, a, &kafka.AnswerAcked{Seen: c.seen(), Request: s.Request})
}

func (c *capture) fetch(partition int32, offset int64, b *kafka.Batch) {
	stored := *b
	stored.BaseOffset = offset
	f := &kafka.PartitionFetched{Seen: c.seen(), Topic: scaleTopic, Partition: partition, ReplicaID: -1, HighWatermark: offset + 1}
	c.all = append(c.all, f, &kafka.BatchFetched{PartitionFetched: f, Batch: &stored})
}

func (c *capture) lose() {
	c.all = append(c.all, &kafka.LinkClosed{Seen: c.seen(), Reason: reassembly.ClosedRST})
	c.connect()
}

// scaleHistory is a shape in which a history may grow. It gives what its findings must add up to, in records.
type scaleHistory struct {
	name  string
	build func(c *capture, n int) (records int)
}

var scaleHistories = []scaleHistory{
	{"all answered", func(c *capture, n int) int {
		for i := range n {
			c.answer(c.send(0, c.batch(7, 0, int32(i), 0)), 0, int64(i))
		}
		return 0
	}},
	{"one direction, numbered", func(c *capture, n int) int {
		for i := range n {
			c.send(0, c.batch(7, 0, int32(i), 0))
		}
		return 0
	}},
	{"one direction, without id", func(c *capture, n int) int {
		for range n {
			c.send(0, c.batch(-1, -1, -1, 0))
		}
		return 0
	}},
	{"one direction, constant payload without id", func(c *capture, n int) int {
		for range n {
			c.send(0, c.batch(-1, -1, -1, 5))
		}
		return 0
	}},
	{"one direction, constant payload, numbered", func(c *capture, n int) int {
		for i := range n {
			c.send(0, c.batch(7, 0, int32(i), 5))
		}
		return 0
	}},
	{"one direction, many partitions", func(c *capture, n int) int {
		for i := range n {
			c.send(int32(i/5), c.batch(7, 0, int32(i%5), 0))
		}
		return 0
	}},
	{"one direction, many producers", func(c *capture, n int) int {
		for i := range n {
			c.send(0, c.batch(int64(i), 0, 0, 0))
		}
		return 0
	}},
	{"refused, numbered", func(c *capture, n int) int {
		for i := range n {
			c.answer(c.send(0, c.batch(7, 0, int32(i), 0)), 6, -1)
		}
		return 0
	}},
	{"refused, without id", func(c *capture, n int) int {
		for range n {
			c.answer(c.send(0, c.batch(-1, -1, -1, 0)), 6, -1)
		}
		return 0
	}},
	{"refused then stored, without id", func(c *capture, n int) int {
		for i := range n {
			b := c.batch(-1, -1, -1, 0)
			c.answer(c.send(0, b), 6, -1)
			c.answer(c.send(0, b), 0, int64(i))
		}
		return 0
	}},
	{"one batch retried again and again", func(c *capture, n int) int {
		b := c.batch(7, 0, 0, 0)
		for range n {
			c.answer(c.send(0, b), 6, -1)
		}
		return 0
	}},
	{"one batch without id retried again and again", func(c *capture, n int) int {
		b := c.batch(-1, -1, -1, 0)
		for i := range n {
			c.answer(c.send(0, b), 7, int64(i))
		}
		return 0
	}},
	{"blind retries, answers with offsets", func(c *capture, n int) int {
		for i := range n {
			b := c.batch(-1, -1, -1, 0)
			c.answer(c.send(0, b), 20, int64(2*i))
			c.answer(c.send(0, b), 0, int64(2*i+1))
		}
		return n
	}},
	{"blind retries, connections lost", func(c *capture, n int) int {
		for i := range n {
			b := c.batch(-1, -1, -1, 0)
			c.send(0, b)
			c.lose()
			c.answer(c.send(0, b), 0, int64(2*i+1))
		}
		return n
	}},
	{"one bump of all, unanswered", func(c *capture, n int) int {
		first := c.content
		for i := range n {
			c.send(0, c.batch(7, 0, int32(i), 0))
		}
		for i := range n {
			c.answer(c.send(0, c.batch(7, 1, int32(i), 1<<40+first+uint64(i)+1)), 0, int64(n+i))
		}
		return n
	}},
	{"one bump of a constant payload, unanswered", func(c *capture, n int) int {
		for i := range n {
			c.send(0, c.batch(7, 0, int32(i), 5))
		}
		for i := range n {
			c.answer(c.send(0, c.batch(7, 1, int32(i), 5)), 0, int64(n+i))
		}
		return n
	}},
	{"a bump of each producer", func(c *capture, n int) int {
		for i := range n {
			b := c.batch(int64(i), 0, 0, 0)
			again := c.batch(int64(i), 1, 0, b.Records[0].Content.Hi)
			c.answer(c.send(0, b), 20, int64(2*i))
			c.answer(c.send(0, again), 0, int64(2*i+1))
		}
		return n
	}},
	{"a bump for each batch", func(c *capture, n int) int {
		n = min(n, 32767)
		for i := range n {
			b := c.batch(7, int16(i), 5, 0)
			again := c.batch(7, int16(i+1), 0, b.Records[0].Content.Hi)
			c.answer(c.send(0, b), 20, int64(2*i))
			c.answer(c.send(0, again), 0, int64(2*i+1))
		}
		return n
	}},
	{"fetched only", func(c *capture, n int) int {
		for i := range n {
			c.fetch(0, int64(i), c.batch(-1, -1, -1, 0))
		}
		return 0
	}},
	{"fetched only, constant payload", func(c *capture, n int) int {
		for i := range n {
			c.fetch(0, int64(i), c.batch(7, 0, int32(i), 5))
		}
		return 0
	}},
	{"fetched only, all twice", func(c *capture, n int) int {
		for i := range n {
			b := c.batch(-1, -1, -1, 0)
			c.fetch(0, int64(2*i), b)
			c.fetch(0, int64(2*i+1), b)
		}
		return n
	}},
	{"fetched only, rival contents at one offset", func(c *capture, n int) int {
		for range n {
			c.fetch(0, 0, c.batch(-1, -1, -1, 0))
		}
		return 0
	}},
	{"fetched only, batches that overlap", func(c *capture, n int) int {
		for i := range n {
			b := c.batch(-1, -1, -1, 0)
			b.LastOffsetDelta = 1<<31 - 1
			c.fetch(0, int64(i), b)
		}
		return 0
	}},
	{"answered at one offset", func(c *capture, n int) int {
		for i := range n {
			c.answer(c.send(0, c.batch(7, 0, int32(i), 0)), 6, 0)
		}
		return 0
	}},
	{"many contents under one identity", func(c *capture, n int) int {
		for range n {
			c.answer(c.send(0, c.batch(7, 0, 0, 0)), 0, 0)
		}
		return 0
	}},
	{"transactions", func(c *capture, n int) int {
		for i := range n {
			b := c.batch(7, 0, int32(i), 0)
			b.Attributes = 16
			c.answer(c.send(0, b), 0, int64(2*i))
			c.all = append(c.all, &kafka.TransactionEnding{Seen: c.seen(), ProducerID: 7, Commit: true})
			m := c.batch(7, 0, -1, 1)
			m.Attributes, m.Marker, m.Records = 48, kafka.CommitMarker, nil
			c.fetch(0, int64(2*i), b)
			c.fetch(0, int64(2*i+1), m)
		}
		return 0
	}},
	{"connections", func(c *capture, n int) int {
		for i := range n {
			c.answer(c.send(0, c.batch(7, 0, int32(i), 0)), 6, -1)
			c.lose()
		}
		return 0
	}},
	{"leaders", func(c *capture, n int) int {
		for i := range n {
			c.all = append(c.all, &kafka.LeaderNamed{Seen: c.seen(), Topic: scaleTopic, LeaderID: int32(i % 3), LeaderEpoch: int32(i)})
			b := c.batch(-1, -1, -1, 0)
			c.answer(c.send(0, b), 20, int64(2*i))
			c.answer(c.send(0, b), 0, int64(2*i+1))
		}
		return n
	}},
	{"one request of many batches", func(c *capture, n int) int {
		lead := c.send(0, c.batch(7, 0, 0, 0))
		var rest []*kafka.BatchSent
		for i := range n {
			s := c.send(int32(i+1), c.batch(7, 0, 0, 0))
			s.Request = lead.Request
			rest = append(rest, s)
		}
		for _, s := range rest {
			a := &kafka.BatchAnswered{Seen: c.seen(), Request: s.Request, Topic: s.Topic, Partition: s.Partition, LogAppendTime: -1}
			c.all = append(c.all, a)
		}
		return 0
	}},
	{"misrouted", func(c *capture, n int) int {
		for i := range n {
			b := c.batch(7, 0, int32(2*i), 0)
			c.answer(c.send(0, b), 0, int64(i))
			c.answer(c.send(int32(i+1), b), 0, 0)
		}
		return -1
	}},
	{"repeats of an application", func(c *capture, n int) int {
		for i := range n {
			content := 1<<41 + uint64(i)
			c.answer(c.send(0, c.batch(7, 0, int32(2*i), content)), 0, int64(2*i))
			c.answer(c.send(0, c.batch(7, 0, int32(2*i+1), content)), 0, int64(2*i+1))
		}
		return 0
	}},
}

// scaleSize is large enough that work which grows with the square of the history is felt, and work that grows with its cube
// does not end.
const scaleSize = 2000

func TestScale(t *testing.T) {
	for _, h := range slices.Concat(scaleHistories, scaleOfTrouble) {
		t.Run(h.name, func(t *testing.T) {
			c := newCapture()
			want := h.build(c, scaleSize)
			r := judge(c.all)
			have := 0
			for _, f := range r.Findings {
				have += f.RecordCount
			}
			if want >= 0 && have != want {
				t.Errorf("%d records found, want %d", have, want)
			}
		})
	}
}

func BenchmarkScale(b *testing.B) {
	for _, h := range slices.Concat(scaleHistories, scaleOfTrouble) {
		b.Run(h.name, func(b *testing.B) {
			c := newCapture()
			h.build(c, 20000)
			for b.Loop() {
				judge(c.all)
			}
		})
	}
}
