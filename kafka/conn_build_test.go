package kafka

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
)

// script is the life of one connection, event by event. Each event has a frame of its own.
type script struct {
	conn   *reassembly.Conn
	events []reassembly.Event
	next   [2]reassembly.StreamOffset
	frame  pcap.FrameNumber
}

// newScript begins a connection whose client is A; seen says that its SYN was captured.
func newScript(seen bool) *script {
	s := &script{conn: &reassembly.Conn{
		A: netip.MustParseAddrPort("10.0.0.1:50000"), B: netip.MustParseAddrPort("10.0.0.2:9092"), SynSeen: seen,
		First: pcap.Ref{Number: 1, Time: 1e6},
	}}
	return s.add(reassembly.Event{Kind: reassembly.Open})
}

func (s *script) add(e reassembly.Event) *script {
	s.frame++
	e.Conn, e.At = s.conn, pcap.Ref{Number: s.frame, Time: pcap.Timestamp(s.frame) * 1e6}
	s.events = append(s.events, e)
	return s
}

func (s *script) data(dir reassembly.Direction, b []byte) *script {
	s.add(reassembly.Event{Kind: reassembly.Data, Dir: dir, Offset: s.next[dir], Length: int64(len(b)), Data: b})
	s.next[dir] += reassembly.StreamOffset(len(b))
	return s
}

func (s *script) gap(dir reassembly.Direction, n int) *script {
	s.add(reassembly.Event{Kind: reassembly.Gap, Dir: dir, Offset: s.next[dir], Length: int64(n)})
	s.next[dir] += reassembly.StreamOffset(n)
	return s
}

func (s *script) ack(dir reassembly.Direction) *script {
	return s.add(reassembly.Event{Kind: reassembly.Ack, Dir: dir, Offset: s.next[dir]})
}

func (s *script) close(reason reassembly.CloseReason) *script {
	return s.add(reassembly.Event{Kind: reassembly.Close, Close: reason})
}

const (
	asks    = reassembly.FromA
	answers = reassembly.FromB
)

// outcome is all that a Decoder says.
type outcome struct {
	observations []Observation
	notes        []pcap.Note
	stats        *Stats
}

// run gives the events of scripts to a Decoder, each with bytes of its own that are spoilt afterwards.
func run(scripts ...*script) outcome {
	var o outcome
	d := NewDecoder(Options{Limits: DefaultLimits()},
		func(obs Observation) { o.observations = append(o.observations, obs) },
		func(n pcap.Note) { o.notes = append(o.notes, n) })
	for _, s := range scripts {
		s.conn.State = nil
		for _, e := range s.events {
			e.Data = slices.Clone(e.Data)
			d.Handle(&e)
			for i := range e.Data {
				e.Data[i] = 0xaa
			}
		}
	}
	o.stats = d.Stats()
	return o
}

// of returns the observations of one type.
func of[T Observation](o outcome) []T {
	var list []T
	for _, obs := range o.observations {
		if t, ok := obs.(T); ok {
			list = append(list, t)
		}
	}
	return list
}

// codes returns the codes of the notes, in order.
func (o outcome) codes() []pcap.Code {
	var list []pcap.Code
	for _, n := range o.notes {
		list = append(list, n.Code)
	}
	return list
}

// without returns what was observed but for the connection's own life.
func (o outcome) without() []Observation {
	var list []Observation
	for _, obs := range o.observations {
		switch obs.(type) {
		case *LinkOpened, *LinkClosed, *ClientNamed:
		default:
			list = append(list, obs)
		}
	}
	return list
}

// request encodes a request as kmsg does.
func request(q kmsg.Request, version int16, correlation int32, client string) []byte {
	q.SetVersion(version)
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID(client)).AppendRequest(nil, q, correlation)
}

// answer encodes an answer: kmsg has the body only.
func answer(a kmsg.Response, version int16, correlation int32) []byte {
	a.SetVersion(version)
	b := binary.BigEndian.AppendUint32(make([]byte, 4), uint32(correlation))
	if a.IsFlexible() && a.Key() != keyAPIVersions {
		b = append(b, 0)
	}
	b = a.AppendTo(b)
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

// sameObservations compares observations without their places, and batches by their headers.
func sameObservations(t testing.TB, want, got []Observation) {
	t.Helper()
	if d := cmp.Diff(want, got, observationOptions...); d != "" {
		t.Fatalf("observations (-want +got):\n%s", d)
	}
}

var observationOptions = cmp.Options{
	cmpopts.IgnoreTypes(Seen{}, &Request{}),
	cmp.Transformer("batch", func(b *Batch) string {
		if b == nil {
			return "nil"
		}
		return fmt.Sprintf("pid %d/%d seq %d n %d offset %d crc %08x %v", b.ProducerID, b.ProducerEpoch, b.BaseSequence, b.RecordCount, b.BaseOffset, b.CRC, b.NotCompared)
	}),
}

// testBatch is a record batch of two records with an identity.
func testBatch(producerID int64, sequence int32) []byte {
	b := batchOf(2, encodeRecords(keyed("k1", "one", "k2", "two")...))
	b.ProducerID, b.ProducerEpoch, b.FirstSequence = producerID, 1, sequence
	return seal(b)
}

// header reads a batch that a test has made.
func header(t testing.TB, b []byte) *Batch {
	t.Helper()
	return one(t, testReader().ReadProduced, b)
}
