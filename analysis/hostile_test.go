package analysis

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"testing"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
)

// fromBytes makes observations of arbitrary bytes: a handful of connections, requests, topics and contents, so that they meet,
// and numbers from the edges of their ranges. Nothing keeps to the protocol.
type fromBytes struct {
	data     []byte
	all      []kafka.Observation
	links    []*kafka.Link
	requests []*kafka.Request
	endings  []*kafka.TransactionEnding
	time     pcap.Timestamp
	frame    pcap.FrameNumber
}

func (f *fromBytes) byte() int {
	if len(f.data) == 0 {
		return 0
	}
	b := f.data[0]
	f.data = f.data[1:]
	return int(b)
}

// number returns a small number, or one from the edge of 64 bits; narrower fields take its lower bits.
func (f *fromBytes) number() int64 {
	edges := []int64{-1, -2, math.MinInt64, math.MaxInt64, math.MaxInt64 - 1, math.MaxInt32, math.MaxInt32 - 1, math.MinInt32, math.MaxInt16, math.MaxInt64 - math.MaxInt32, 1 << 62}
	if b := f.byte(); b < 200 {
		return int64(b % 16)
	} else {
		return edges[b%len(edges)]
	}
}

// producer is a producer id, often the same.
func (f *fromBytes) producer() int64 {
	if f.byte()%4 == 1 {
		return f.number()
	}
	return int64(f.byte()%3) - 1
}

// delta is a LastOffsetDelta, as a header may claim it.
func (f *fromBytes) delta(records int) int32 {
	switch f.byte() % 8 {
	case 0:
		return math.MaxInt32
	case 1:
		return int32(f.number())
	}
	return int32(records - 1)
}

func (f *fromBytes) seen() kafka.Seen {
	f.frame++
	step := f.byte()
	if step < 128 {
		f.time += pcap.Timestamp(step) * 1e6
	}
	at := pcap.Ref{Number: f.frame, Time: f.time}
	return kafka.Seen{Link: f.links[f.byte()%len(f.links)], First: at, At: at}
}

func (f *fromBytes) request() *kafka.Request {
	if n := f.byte() % 8; n < 2 || len(f.requests) == 0 {
		r := &kafka.Request{Seen: f.seen(), CorrelationID: int32(f.number()), ClientID: "p", HasClientID: n == 0, Seq: uint32(f.number())}
		f.requests = append(f.requests, r)
		return r
	}
	return f.requests[f.byte()%len(f.requests)]
}

func (f *fromBytes) topic() kafka.Topic {
	t := kafka.Topic{Name: []string{"t", "", "u", "__consumer_offsets"}[f.byte()%4]}
	t.ID[15] = byte(f.byte() % 3)
	return t
}

func (f *fromBytes) batch() *kafka.Batch {
	b := &kafka.Batch{
		BaseOffset: f.number(), Magic: int8(f.byte() % 4), PartitionLeaderEpoch: int32(f.number()), CRC: uint32(f.byte() % 4), CRCChecked: true,
		Attributes: int16(f.byte()), BaseTimestamp: f.number(), MaxTimestamp: f.number(),
		ProducerID: f.producer(), ProducerEpoch: int16(f.number()), BaseSequence: int32(f.number()), RecordCount: int32(f.number()), Size: int32(f.byte()),
		Marker: kafka.Marker(f.byte() % 4), InternalKeys: f.byte()%16 == 1,
	}
	n := f.byte() % 4
	at := int32(-1)
	for range n { // deltas rise, as kafka.Batch promises
		if at++; f.byte()%16 == 1 {
			at = max(at, int32(f.number()))
		}
		if at == math.MaxInt32 {
			break
		}
		b.Records = append(b.Records, kafka.Record{Content: kafka.Fingerprint{Lo: uint64(f.byte() % 3)}, Timestamp: int64(f.byte() % 2), Delta: at})
	}
	if b.LastOffsetDelta = f.delta(int(at) + 1); n > 0 {
		b.LastOffsetDelta = max(b.LastOffsetDelta, at)
	}
	return b
}

func (f *fromBytes) fetched() *kafka.PartitionFetched {
	p := &kafka.PartitionFetched{
		Seen: f.seen(), Topic: f.topic(), Partition: int32(f.byte() % 2), ReplicaID: int32(f.number()), FetchOffset: f.number(),
		HighWatermark: f.number(), LastStableOffset: f.number(), LogStartOffset: f.number(), ErrorCode: int16(f.byte() % 8 / 7),
	}
	if f.byte()%4 == 1 {
		p.Request = f.request()
		p.Aborted = []kafka.AbortedTransaction{{ProducerID: f.number(), FirstOffset: f.number()}}
	}
	return p
}

func (f *fromBytes) ending() *kafka.TransactionEnding {
	e := &kafka.TransactionEnding{Seen: f.seen(), ProducerID: f.number(), ProducerEpoch: int16(f.number()), Commit: f.byte()%2 == 1, Marker: f.byte()%2 == 1}
	f.endings = append(f.endings, e)
	return e
}

func (f *fromBytes) observation() kafka.Observation {
	switch f.byte() % 20 {
	case 0:
		return &kafka.LinkClosed{Seen: f.seen(), Reason: reassembly.CloseReason(f.byte() % 8)}
	case 1:
		return &kafka.GapSeen{Seen: f.seen(), FromClient: f.byte()%2 == 0, Hidden: f.byte()%2 == 0, Bytes: f.number()}
	case 2, 3, 4, 5:
		s := &kafka.BatchSent{Seen: f.seen(), Request: f.request(), Topic: f.topic(), Partition: int32(f.byte() % 2), Acks: int16(f.byte()%4) - 2, Torn: f.byte()%16 == 1}
		if f.byte()%16 != 1 {
			s.Batch = f.batch()
		}
		if f.byte()%8 == 1 {
			id := "x"
			s.TransactionalID = &id
		}
		return s
	case 6, 7, 8:
		a := &kafka.BatchAnswered{Seen: f.seen(), Topic: f.topic(), Partition: int32(f.byte() % 2), ErrorCode: int16(f.number()), BaseOffset: f.number(), LogAppendTime: f.number()}
		if f.byte()%8 != 1 {
			a.Request = f.request()
		}
		return a
	case 9:
		return &kafka.AnswerAcked{Seen: f.seen(), Request: f.request()}
	case 10:
		return &kafka.AnswerUnread{Seen: f.seen(), Request: f.request()}
	case 11:
		return f.fetched()
	case 12, 13:
		return &kafka.BatchFetched{PartitionFetched: f.fetched(), Batch: f.batch()}
	case 14:
		return &kafka.LeaderNamed{Seen: f.seen(), Topic: f.topic(), Partition: int32(f.byte() % 2), LeaderID: int32(f.number()), LeaderEpoch: int32(f.number())}
	case 15:
		return &kafka.ClusterDescribed{Seen: f.seen(), ClusterID: []string{"", "A", "B"}[f.byte()%3], Brokers: []kafka.Broker{{Host: []string{"10.9.0.1", "::1", "x"}[f.byte()%3], Port: int32(f.number())}}}
	case 16:
		if f.byte()%4 == 1 {
			return &kafka.TopicDeleted{Seen: f.seen(), Topic: f.topic()}
		}
		return &kafka.TopicNamed{Seen: f.seen(), Topic: f.topic(), Internal: f.byte()%16 == 1}
	case 17:
		g := &kafka.ProducerGranted{Seen: f.seen(), OldProducerID: f.number(), OldProducerEpoch: int16(f.number()), ErrorCode: int16(f.byte() % 2), ProducerID: f.number(), ProducerEpoch: int16(f.number())}
		if f.byte()%2 == 1 {
			g.Request = f.request()
		}
		return g
	case 18:
		return f.ending()
	}
	if len(f.endings) > 0 && f.byte()%2 == 1 {
		return &kafka.TransactionEnded{TransactionEnding: f.endings[f.byte()%len(f.endings)], Answer: f.seen(), NewProducerID: f.number(), NewProducerEpoch: int16(f.number())}
	}
	if f.byte()%2 == 1 {
		return &kafka.EpochEnd{Seen: f.seen(), Topic: f.topic(), Partition: int32(f.byte() % 2), AskedEpoch: int32(f.number()), LeaderEpoch: int32(f.number()), EndOffset: f.number()}
	}
	return &kafka.OffsetCommitted{Seen: f.seen(), Topic: f.topic(), Partition: int32(f.byte() % 2), Offset: f.number()}
}

// observations reads all bytes.
func observations(data []byte) []kafka.Observation {
	f := &fromBytes{data: data, time: epochMillis * 1e6}
	for i := range 4 {
		f.links = append(f.links, &kafka.Link{
			Client: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i / 2)}), uint16(i)), Server: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 9, 0, byte(i % 2)}), 9092),
		})
	}
	for len(f.data) > 0 {
		f.all = append(f.all, f.observation())
	}
	return f.all
}

// Whatever is observed, Finish ends without a panic and gives a result that keeps its own rules, twice the same.
func FuzzObservations(f *testing.F) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 2))
		data := make([]byte, 600)
		for i := range 0 + len(data)/8 {
			binary.LittleEndian.PutUint64(data[8*i:], r.Uint64())
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 {
			data = data[:4096]
		}
		all := observations(data)
		soundResult(t, all)
	})
}

// Arbitrary observations with fixed seeds.
func TestHostileObservations(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 3))
		data := make([]byte, 2400)
		for i := range len(data) / 8 {
			binary.LittleEndian.PutUint64(data[8*i:], r.Uint64())
		}
		if soundResult(t, observations(data)); t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// soundResult judges observations twice: map order must not show.
func soundResult(t *testing.T, all []kafka.Observation) *Result {
	t.Helper()
	once, again := judge(all), judge(all)
	if !reflect.DeepEqual(once, again) {
		t.Errorf("two results of one history\n%s\n%s\n\n%s\n%s", describe(once), describeCounts(once.Counts), describe(again), describeCounts(again.Counts))
	}
	wellFormed(t, once)
	return once
}
