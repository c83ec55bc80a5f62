package kafka

import (
	"math/rand"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
)

// Any bytes may be lost: what is read is right, all that is lost is said, and what comes whole behind the last loss is read.
func TestAnyLoss(t *testing.T) {
	random := rand.New(rand.NewSource(78))
	turns := conversation(t)
	const first, last = int32(4), int32(12) // correlation ids of the Produce requests, offsets and sequences follow from them
	for i := int32(9); i <= last; i++ {
		turns = append(turns, produceTurns(10, i, -1, testBatch(7078, 2*(i-4)), int64(100+2*(i-4)))...)
	}
	for round := range 3000 {
		s := newScript(round%2 == 0)
		lost := [2]int64{}
		for i, turn := range turns {
			for b := turn.bytes; len(b) > 0; {
				n := 1 + random.Intn(len(b))
				if i < len(turns)-4 && (round%2 == 1 || i > 1) && random.Intn(8) == 0 {
					s.gap(turn.dir, n)
					lost[turn.dir] += int64(n)
				} else {
					s.data(turn.dir, b[:n])
				}
				b = b[n:]
			}
		}
		o := run(s.close(reassembly.EndOfInput))
		answered := map[int32]bool{}
		for _, a := range of[*BatchAnswered](o) {
			if a.BaseOffset != int64(100+2*(a.CorrelationID-first)) || a.Request != nil && a.Request.CorrelationID != a.CorrelationID {
				t.Fatalf("round %d: answer %+v", round, a)
			}
			answered[a.CorrelationID] = a.Request != nil
		}
		for _, b := range of[*BatchSent](o) {
			if b.Batch.BaseSequence != 2*(b.Request.CorrelationID-first) || b.Batch.NotCompared > CutShort {
				t.Fatalf("round %d: request %d has sequence %d, %v", round, b.Request.CorrelationID, b.Batch.BaseSequence, b.Batch.NotCompared)
			}
		}
		if !answered[last] {
			t.Fatalf("round %d: not back in step; %v", round, o.codes())
		}
		said := [2]int64{}
		for _, g := range of[*GapSeen](o) {
			if g.FromClient {
				said[asks] += g.Bytes
			} else {
				said[answers] += g.Bytes
			}
		}
		if said[asks] < lost[asks] || said[answers] < lost[answers] {
			t.Fatalf("round %d: %v bytes lost, %v said", round, lost, said)
		}
	}
}

// Bytes between two messages that are no message cost only themselves.
func TestOutOfStep(t *testing.T) {
	one, two := produceTurns(7, 1, -1, testBatch(7078, 0), 100), produceTurns(7, 2, -1, testBatch(7078, 2), 102)
	junk := slices.Repeat([]byte{0xfe, 0x0f}, 300)
	o := run(newScript(true).say(one...).data(asks, junk).say(two[0]).data(answers, junk).say(two[1]).close(reassembly.ClosedFIN))
	answered := of[*BatchAnswered](o)
	if len(answered) != 2 || answered[1].Request == nil {
		t.Errorf("answered %+v", answered)
	}
	for _, g := range of[*GapSeen](o) {
		if g.Bytes != int64(len(junk)) || !g.Hidden {
			t.Errorf("%+v", g)
		}
	}
	diff(t, []pcap.Code{CodeOutOfStep, CodeOutOfStep}, o.codes())
}

// Bounds that are hit are noted, and the rest goes on.
func TestBounds(t *testing.T) {
	handle := func(limits Limits, s *script) outcome {
		var o outcome
		d := NewDecoder(Options{Limits: limits}, func(obs Observation) { o.observations = append(o.observations, obs) },
			func(n pcap.Note) { o.notes = append(o.notes, n) })
		for i := range s.events {
			d.Handle(&s.events[i])
		}
		o.stats = d.Stats()
		return o
	}
	exchanges := [][]turn{
		produceTurns(7, 1, -1, testBatch(7078, 0), 100), produceTurns(7, 2, -1, testBatch(7078, 2), 102), produceTurns(7, 3, -1, testBatch(7078, 4), 104),
	}

	limits := DefaultLimits()
	limits.MaxPending = 2
	s := newScript(true)
	for _, e := range exchanges {
		s.say(e[0])
	}
	for _, e := range exchanges {
		s.say(e[1])
	}
	o := handle(limits, s.close(reassembly.ClosedFIN))
	diff(t, []pcap.Code{CodePendingFull}, o.codes())
	if answered := of[*BatchAnswered](o); len(answered) != 3 || answered[0].Request != nil || answered[1].Request == nil {
		t.Errorf("pending: %+v", answered)
	}

	limits = DefaultLimits()
	limits.MaxBuffered = int64(len(exchanges[0][0].bytes))
	big := seal(batchOf(50, encodeRecords(keyed(slices.Repeat([]string{"key", "value"}, 50)...)...)))
	exchanges[1] = produceTurns(7, 2, -1, big, 102)
	s = newScript(true).say(exchanges[0]...)
	for b := exchanges[1][0].bytes; len(b) > 0; b = b[min(10, len(b)):] {
		s.data(asks, b[:min(10, len(b))])
	}
	o = handle(limits, s.say(exchanges[1][1]).say(exchanges[2]...).close(reassembly.ClosedFIN))
	diff(t, []pcap.Code{CodeMessageTooLarge, CodeBatchCut}, o.codes())
	if answered := of[*BatchAnswered](o); len(answered) != 3 || answered[1].Request == nil {
		t.Errorf("buffered: %+v", answered)
	}

	limits = DefaultLimits()
	limits.MaxMessage = len(exchanges[0][0].bytes) + 10
	long := produceTurns(7, 2, -1, append(testBatch(1, 0), testBatch(1, 2)...), 102)
	o = handle(limits, newScript(true).say(exchanges[0]...).say(long[0], long[1]).say(exchanges[2]...).close(reassembly.ClosedFIN))
	diff(t, []pcap.Code{CodeOutOfStep}, o.codes())
	if len(of[*BatchSent](o)) != 2 {
		t.Errorf("message: %+v", of[*BatchSent](o))
	}
}

// ControlledShutdown 0 has no client id.
func TestControlledShutdown(t *testing.T) {
	q := []byte{0, 0, 0, 12, 0, 7, 0, 0, 0, 0, 0, 2, 0, 0, 0, 9}
	s := newScript(true).say(produceTurns(7, 1, -1, testBatch(7078, 0), 100)...).data(asks, q)
	s.data(answers, answer(kmsg.NewPtrControlledShutdownResponse(), 0, 2))
	o := run(s.say(produceTurns(7, 3, -1, testBatch(7078, 2), 102)...).close(reassembly.ClosedFIN))
	if len(o.notes) != 0 || o.stats.Requests != 3 || o.stats.Responses != 3 {
		t.Errorf("notes %v, %+v", o.notes, o.stats)
	}
}

// A capture that begins within a long message, in segments, is in step at the next one; each direction alone too.
func TestLateStartInLongMessages(t *testing.T) {
	value := make([]byte, 700_000)
	rand.New(rand.NewSource(5)).Read(value)
	long := seal(batchOf(1, encodeRecords(kmsg.Record{Value: value})))
	var turns []turn
	for i := range int32(4) {
		records := long
		if i == 2 {
			records = testBatch(7078, 0)
		}
		turns = append(turns, produceTurns(10, i, -1, records, int64(100+i))...)
		a := fetchExchange(t, 12)
		a.answer.(*kmsg.FetchResponse).Topics[0].Partitions[0].RecordBatches = records
		turns = append(turns, turn{asks, request(a.request, 12, 1000+i, "rdkafka")}, turn{answers, answer(a.answer, 12, 1000+i)})
	}
	for _, c := range []struct {
		name          string
		keep          func(reassembly.Direction) bool
		sent, fetched int
	}{
		{"both", func(reassembly.Direction) bool { return true }, 3, 4},
		{"client", func(d reassembly.Direction) bool { return d == asks }, 3, 0},
		{"server", func(d reassembly.Direction) bool { return d == answers }, 0, 4},
	} {
		s := newScript(false)
		for i, turn := range turns {
			b := turn.bytes
			if i == 0 {
				b = b[5000:]
			}
			for len(b) > 0 && c.keep(turn.dir) {
				n := min(1448, len(b))
				s.data(turn.dir, b[:n])
				b = b[n:]
			}
		}
		o := run(s.close(reassembly.EndOfInput))
		if len(of[*BatchSent](o)) != c.sent || len(of[*BatchFetched](o)) != c.fetched {
			t.Errorf("%s: %d sent, %d fetched, %v", c.name, len(of[*BatchSent](o)), len(of[*BatchFetched](o)), o.codes())
		}
		if opened := of[*LinkOpened](o); len(opened) != 1 || opened[0].Link.Client != s.conn.A {
			t.Errorf("%s: opened %+v", c.name, opened)
		}
	}
}
