package kafka

import (
	"math/rand"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
)

// turn is one message of a conversation.
type turn struct {
	dir   reassembly.Direction
	bytes []byte
}

// produceTurns is a Produce exchange over one partition.
func produceTurns(version int16, correlation int32, acks int16, records []byte, offset int64) []turn {
	q := kmsg.NewPtrProduceRequest()
	q.Acks = acks
	q.Topics = []kmsg.ProduceRequestTopic{{Topic: "orders", TopicID: testTopicID, Partitions: []kmsg.ProduceRequestTopicPartition{{Partition: 3, Records: records}}}}
	a := kmsg.NewPtrProduceResponse()
	p := kmsg.NewProduceResponseTopicPartition()
	p.Partition, p.BaseOffset = 3, offset
	a.Topics = []kmsg.ProduceResponseTopic{{Topic: "orders", TopicID: testTopicID, Partitions: []kmsg.ProduceResponseTopicPartition{p}}}
	turns := []turn{{asks, request(q, version, correlation, "rdkafka")}}
	if acks != 0 {
		turns = append(turns, turn{answers, answer(a, version, correlation)})
	}
	return turns
}

// conversation is what a small producer says: versions, metadata, an id, and some batches, the last one pipelined.
func conversation(t testing.TB) []turn {
	versions := kmsg.NewPtrApiVersionsRequest()
	versions.ClientSoftwareName, versions.ClientSoftwareVersion = "librdkafka", "2.6.1"
	turns := []turn{
		{asks, request(versions, 3, 1, "rdkafka")},
		{answers, answer(kmsg.NewPtrApiVersionsResponse(), 3, 1)},
	}
	e := metadataExchange(nil, 12)
	turns = append(turns, turn{asks, request(e.request, 12, 2, "rdkafka")}, turn{answers, answer(e.answer, 12, 2)})
	e = initProducerIDExchange(nil, 4)
	turns = append(turns, turn{asks, request(e.request, 4, 3, "rdkafka")}, turn{answers, answer(e.answer, 4, 3)})
	for i := range int32(3) {
		turns = append(turns, produceTurns(10, 4+i, -1, testBatch(7078, 2*i), int64(100+2*i))...)
	}
	a, b := produceTurns(10, 7, -1, testBatch(7078, 6), 106), produceTurns(10, 8, -1, testBatch(7078, 8), 108)
	return append(turns, a[0], b[0], a[1], b[1])
}

func (s *script) say(turns ...turn) *script {
	for _, t := range turns {
		s.data(t.dir, t.bytes)
	}
	return s
}

func TestConversation(t *testing.T) {
	s := newScript(true).say(conversation(t)...).ack(answers).close(reassembly.ClosedFIN)
	o := run(s)
	if len(o.notes) != 0 {
		t.Errorf("notes %v", o.notes)
	}
	if n := len(of[*BatchSent](o)); n != 5 || o.stats.ProducedBatches != 5 || o.stats.Records != 10 {
		t.Errorf("%d batches, stats %+v", n, o.stats)
	}
	acked := of[*AnswerAcked](o)
	if len(acked) != 5 || acked[4].Request.CorrelationID != 8 {
		t.Errorf("acknowledged %v", acked)
	}
	named := of[*ClientNamed](o)
	if len(named) != 1 || named[0].ClientID != "rdkafka" || named[0].SoftwareName != "librdkafka" || named[0].SoftwareVersion != "2.6.1" {
		t.Errorf("named %+v", named)
	}
	answered := of[*BatchAnswered](o)
	if len(answered) != 5 || answered[4].Request.At.Number != 15 || answered[4].At.Number != 17 {
		t.Errorf("answered %+v", answered)
	}
	opened := of[*LinkOpened](o)
	if len(opened) != 1 || opened[0].At.Number != 1 || opened[0].Link.Late || opened[0].Link.Client != s.conn.A {
		t.Errorf("opened %+v", opened)
	}
}

// facts are observations without frames, but for where requests stand in their stream.
func facts(o outcome) []any {
	var list []any
	for _, obs := range o.without() {
		var r *Request
		switch obs := obs.(type) {
		case *BatchSent:
			r = obs.Request
		case *BatchAnswered:
			r = obs.Request
		case *ProducerGranted:
			r = obs.Request
		}
		list = append(list, obs)
		if r != nil {
			list = append(list, []int64{int64(r.Offset), r.Size, int64(r.CorrelationID)})
		}
	}
	return list
}

// Any split of the two streams into events gives the same observations.
func TestSplitsDoNotMatter(t *testing.T) {
	turns := conversation(t)
	want := facts(run(newScript(true).say(turns...).close(reassembly.ClosedFIN)))
	check := func(name string, cut func(n int) int) {
		s := newScript(true)
		for i := 0; i < len(turns); {
			// Turns of one direction in a row flow together.
			var b []byte
			dir := turns[i].dir
			for ; i < len(turns) && turns[i].dir == dir; i++ {
				b = append(b, turns[i].bytes...)
			}
			for len(b) > 0 {
				n := cut(len(b))
				s.data(dir, b[:n])
				b = b[n:]
			}
		}
		o := run(s.close(reassembly.ClosedFIN))
		if d := cmp.Diff(want, facts(o), observationOptions...); d != "" || len(o.notes) != 0 {
			t.Fatalf("%s: notes %v (-want +got)\n%s", name, o.notes, d)
		}
	}
	for size := 1; size < 80; size++ {
		check("equal parts", func(n int) int { return min(size, n) })
	}
	random := rand.New(rand.NewSource(1))
	for range 200 {
		check("random parts", func(n int) int { return 1 + random.Intn(n) })
	}
}

// Each direction starts late by any number of bytes: nothing is paired wrongly, and both are back in step.
func TestLateStart(t *testing.T) {
	turns := conversation(t)
	var total int
	for _, turn := range turns {
		total += len(turn.bytes)
	}
	for skip := 1; skip < total; skip++ {
		s := newScript(false)
		left := skip
		whole := map[int32]bool{} // correlation ids of Produce requests that are there whole
		asked := false
		for _, turn := range turns {
			b := turn.bytes
			n := min(left, len(b))
			left -= n
			if n == 0 && turn.dir == asks {
				asked = true
				if b[5] == byte(keyProduce) {
					whole[int32(b[11])] = true
				}
			}
			if n < len(b) {
				s.data(turn.dir, b[n:])
			}
		}
		o := run(s.close(reassembly.EndOfInput))
		sent := of[*BatchSent](o)
		if len(sent) < len(whole) {
			t.Fatalf("skip %d: %d batches, want %d", skip, len(sent), len(whole))
		}
		for _, b := range sent {
			if !whole[b.Request.CorrelationID] || b.Batch.BaseSequence != 2*(b.Request.CorrelationID-4) {
				t.Fatalf("skip %d: batch of request %d", skip, b.Request.CorrelationID)
			}
		}
		for _, a := range of[*BatchAnswered](o) {
			if a.BaseOffset != int64(100+2*(a.CorrelationID-4)) || a.Request != nil && a.Request.CorrelationID != a.CorrelationID {
				t.Fatalf("skip %d: answer %+v", skip, a)
			}
			delete(whole, a.CorrelationID)
		}
		if asked && len(whole) != 0 {
			t.Fatalf("skip %d: not answered: %v", skip, whole)
		}
		if opened := of[*LinkOpened](o); asked && (len(opened) != 1 || !opened[0].Link.Late || opened[0].Link.Client != s.conn.A) {
			t.Fatalf("skip %d: opened %v", skip, opened)
		}
	}
}

// A connection whose first frame came from the broker.
func TestClientIsWhoAsks(t *testing.T) {
	turns := conversation(t)
	for i := range turns {
		turns[i].dir = turns[i].dir.Other()
	}
	s := newScript(false).data(asks, turns[1].bytes[9:]).say(turns[2:]...).close(reassembly.EndOfInput)
	opened := of[*LinkOpened](run(s))
	if len(opened) != 1 || opened[0].Link.Client != s.conn.B || opened[0].Link.Server != s.conn.A {
		t.Fatalf("opened %+v", opened)
	}
}

func TestEnds(t *testing.T) {
	first, second := produceTurns(7, 1, -1, testBatch(7078, 0), 100), produceTurns(7, 2, -1, testBatch(7078, 2), 102)
	silent := produceTurns(7, 3, 0, testBatch(7078, 4), 0)
	cut := second[0].bytes[:len(second[0].bytes)-3]
	for _, c := range []struct {
		name       string
		script     *script
		torn       []bool
		compared   []NotCompared
		unanswered []int32
		byClient   bool
	}{
		{"answered", newScript(true).say(first...).close(reassembly.ClosedFIN), []bool{false}, []NotCompared{Compared}, nil, false},
		{"not answered", newScript(true).say(first...).say(second[0]).close(reassembly.ClosedRST), []bool{false, false}, []NotCompared{Compared, Compared}, []int32{2}, true},
		{"torn", newScript(true).say(first...).data(asks, cut).close(reassembly.ClosedRST), []bool{false, true}, []NotCompared{Compared, CutShort}, nil, true},
		{"capture ends", newScript(true).say(first...).data(asks, cut).close(reassembly.EndOfInput), []bool{false, false}, []NotCompared{Compared, CutShort}, []int32{2}, false},
		{"acks=0", newScript(true).say(first...).say(silent...).close(reassembly.ClosedFIN), []bool{false, false}, []NotCompared{Compared, Compared}, nil, false},
		{"client's FIN", newScript(true).say(first...).add(reassembly.Event{Kind: reassembly.Finish, Dir: asks}).
			add(reassembly.Event{Kind: reassembly.Finish, Dir: answers}).close(reassembly.ClosedFIN), []bool{false}, []NotCompared{Compared}, nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := run(c.script)
			var torn []bool
			var compared []NotCompared
			for _, b := range of[*BatchSent](o) {
				torn = append(torn, b.Torn)
				compared = append(compared, b.Batch.NotCompared)
			}
			closed := of[*LinkClosed](o)
			if len(closed) != 1 || o.observations[len(o.observations)-1] != Observation(closed[0]) {
				t.Fatalf("closed %v", closed)
			}
			var unanswered []int32
			for _, r := range closed[0].Unanswered {
				unanswered = append(unanswered, r.CorrelationID)
			}
			diff(t, c.torn, torn)
			diff(t, c.compared, compared)
			diff(t, c.unanswered, unanswered)
			diff(t, c.byClient, closed[0].ByClient)
			diff(t, int64(len(c.unanswered)), o.stats.Unanswered)
		})
	}
}

// Gaps at and in a Produce request and its answer.
func TestGaps(t *testing.T) {
	one, two, three := produceTurns(7, 1, -1, testBatch(7078, 0), 100), produceTurns(7, 2, -1, testBatch(7078, 2), 102), produceTurns(7, 3, -1, testBatch(7078, 4), 104)
	q := func(t []turn) []byte { return t[0].bytes }
	a := func(t []turn) []byte { return t[1].bytes }
	n := len(q(two))
	start := func() *script { return newScript(true).say(one...) }
	end := func(s *script) *script { return s.say(three...).close(reassembly.EndOfInput) }
	for _, c := range []struct {
		name     string
		script   *script
		sent     []int32 // base sequences
		compared []NotCompared
		answered []int64
		hidden   []bool
		unasked  int
		codes    []pcap.Code
	}{
		{"inside a request", end(start().data(asks, q(two)[:n-20]).gap(asks, 10).data(asks, q(two)[n-10:]).data(answers, a(two))),
			[]int32{0, 2, 4}, []NotCompared{Compared, CutShort, Compared}, []int64{100, 102, 104}, []bool{false}, 0, []pcap.Code{CodeMessageCut, CodeBatchCut}},
		{"end of a request", end(start().data(asks, q(two)[:n-20]).gap(asks, 20).data(answers, a(two))),
			[]int32{0, 2, 4}, []NotCompared{Compared, CutShort, Compared}, []int64{100, 102, 104}, []bool{false}, 0, []pcap.Code{CodeMessageCut, CodeBatchCut}},
		{"before the batch header is whole", end(start().data(asks, q(two)[:60]).gap(asks, n-60).data(answers, a(two))),
			[]int32{0, 4}, []NotCompared{Compared, Compared}, []int64{100, 102, 104}, []bool{false}, 0, []pcap.Code{CodeMessageCut, CodeBatchCut}},
		{"whole request", end(start().gap(asks, n).data(answers, a(two))),
			[]int32{0, 4}, []NotCompared{Compared, Compared}, []int64{100, 102, 104}, []bool{true}, 1, []pcap.Code{CodeMessagesHidden}},
		{"border of two requests", end(start().data(asks, q(two)[:n-20]).gap(asks, 20+30).data(asks, q(two)[30:]).data(answers, a(two))),
			[]int32{0, 2, 4}, []NotCompared{Compared, CutShort, Compared}, []int64{100, 102, 104}, []bool{true, true}, 0,
			[]pcap.Code{CodeMessageCut, CodeBatchCut, CodeMessagesHidden, CodeOutOfStep}},
		{"inside a prefix", end(start().data(asks, q(two)[:2]).gap(asks, n-2).data(answers, a(two))),
			[]int32{0, 4}, []NotCompared{Compared, Compared}, []int64{100, 102, 104}, []bool{true, true}, 1, []pcap.Code{CodeMessagesHidden, CodeOutOfStep}},
		{"whole answer", end(start().data(asks, q(two)).gap(answers, len(a(two)))),
			[]int32{0, 2, 4}, []NotCompared{Compared, Compared, Compared}, []int64{100, 104}, []bool{true}, 0, []pcap.Code{CodeMessagesHidden}},
		{"inside an answer", end(start().data(asks, q(two)).data(answers, a(two)[:20]).gap(answers, len(a(two))-20)),
			[]int32{0, 2, 4}, []NotCompared{Compared, Compared, Compared}, []int64{100, 104}, []bool{false}, 0, []pcap.Code{CodeMessageCut}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := run(c.script)
			var sent []int32
			var compared []NotCompared
			for _, b := range of[*BatchSent](o) {
				sent = append(sent, b.Batch.BaseSequence)
				compared = append(compared, b.Batch.NotCompared)
			}
			var answered []int64
			unasked := 0
			for _, b := range of[*BatchAnswered](o) {
				answered = append(answered, b.BaseOffset)
				if b.Request == nil {
					unasked++
				} else if b.Request.CorrelationID != b.CorrelationID {
					t.Errorf("answer %d to request %d", b.CorrelationID, b.Request.CorrelationID)
				}
			}
			var hidden []bool
			for _, g := range of[*GapSeen](o) {
				hidden = append(hidden, g.Hidden)
			}
			diff(t, c.sent, sent)
			diff(t, c.compared, compared)
			diff(t, c.answered, answered)
			diff(t, c.hidden, hidden)
			diff(t, c.unasked, unasked)
			diff(t, c.codes, o.codes())
		})
	}
}

// With a short snaplen each packet gives the front of a request and a gap to its end.
func TestShortSnaplen(t *testing.T) {
	records := seal(batchOf(50, encodeRecords(keyed(slices.Repeat([]string{"key", "a value of some length"}, 50)...)...)))
	s := newScript(false)
	const snaplen, segment = 200, 1400
	for i := range int32(4) {
		turns := produceTurns(7, i, -1, records, int64(100+50*i))
		for b := turns[0].bytes; len(b) > 0; {
			n := min(segment, len(b))
			s.data(asks, b[:min(snaplen, n)])
			if n > snaplen {
				s.gap(asks, n-snaplen)
			}
			b = b[n:]
		}
		s.say(turns[1])
	}
	o := run(s.close(reassembly.EndOfInput))
	if len(of[*BatchSent](o)) != 4 || len(of[*BatchAnswered](o)) != 4 || o.stats.RecordsNotCompared != 200 {
		t.Fatalf("%d sent, %d answered, %+v", len(of[*BatchSent](o)), len(of[*BatchAnswered](o)), o.stats)
	}
	for _, a := range of[*BatchAnswered](o) {
		if a.Request == nil {
			t.Errorf("answer %d has no request", a.CorrelationID)
		}
	}
}

// An answer that was captured before its request is paired nevertheless.
func TestAnswerBeforeItsRequest(t *testing.T) {
	one, two := produceTurns(7, 1, -1, testBatch(7078, 0), 100), produceTurns(7, 2, -1, testBatch(7078, 2), 102)
	o := run(newScript(true).say(one...).say(two[1], two[0]).close(reassembly.ClosedFIN))
	answered := of[*BatchAnswered](o)
	if len(answered) != 2 || answered[1].Request == nil || answered[1].Request.CorrelationID != 2 {
		t.Fatalf("answered %+v", answered)
	}
	if o.stats.Unanswered != 0 || len(o.notes) != 0 {
		t.Errorf("%d unanswered, notes %v", o.stats.Unanswered, o.notes)
	}
}

// Two requests with one correlation id are answered oldest first.
func TestEqualCorrelationIDs(t *testing.T) {
	one, two := produceTurns(7, 5, -1, testBatch(7078, 0), 100), produceTurns(7, 5, -1, testBatch(7078, 2), 102)
	o := run(newScript(true).say(one[0], two[0], one[1], two[1]).close(reassembly.ClosedFIN))
	answered := of[*BatchAnswered](o)
	if len(answered) != 2 || answered[0].Request.Offset != 0 || int(answered[1].Request.Offset) != len(one[0].bytes) {
		t.Fatalf("answered %+v", answered)
	}
}

// Answers alone: Produce and Fetch are told by their structure, others are counted.
func TestAnswersAlone(t *testing.T) {
	for version := range apis[keyProduce].newest + 1 {
		s := newScript(false).say(produceTurns(version, 1, -1, testBatch(7078, 0), 100)[1], produceTurns(version, 2, -1, testBatch(7078, 0), 102)[1])
		o := run(s.close(reassembly.EndOfInput))
		answered := of[*BatchAnswered](o)
		if version == 1 { // the same bytes are a Fetch answer of version 0 without records
			if len(answered) != 0 {
				t.Errorf("Produce 1 is ambiguous and was read: %+v", answered)
			}
			continue
		}
		if len(answered) != 2 || answered[0].Request != nil || answered[1].CorrelationID != 2 || answered[1].BaseOffset != 102 {
			t.Errorf("Produce %d: %+v", version, answered)
		}
		if opened := of[*LinkOpened](o); len(opened) != 1 || opened[0].Link.Server != s.conn.B {
			t.Errorf("Produce %d: opened %+v", version, opened)
		}
	}
	for version := range apis[keyFetch].newest + 1 {
		e := fetchExchange(t, version)
		o := run(newScript(false).data(answers, answer(e.answer, version, 1)).close(reassembly.EndOfInput))
		fetched := of[*PartitionFetched](o)
		if len(fetched) != 2 || fetched[0].ReplicaID != -2 || fetched[0].FetchOffset != -1 || len(of[*BatchFetched](o)) != 2 {
			t.Errorf("Fetch %d: %+v", version, fetched)
		}
	}
}

// The offsets of an incremental fetch session are those last asked for.
func TestFetchSession(t *testing.T) {
	ask := func(correlation, session, epoch int32, forgotten []int32, offsets map[int32]int64) turn {
		q := kmsg.NewPtrFetchRequest()
		q.SessionID, q.SessionEpoch = session, epoch
		topic := kmsg.NewFetchRequestTopic()
		topic.Topic = "orders"
		for i := range int32(3) {
			if offset, ok := offsets[i]; ok {
				p := kmsg.NewFetchRequestTopicPartition()
				p.Partition, p.FetchOffset = i, offset
				topic.Partitions = append(topic.Partitions, p)
			}
		}
		if len(topic.Partitions) > 0 {
			q.Topics = append(q.Topics, topic)
		}
		if forgotten != nil {
			q.ForgottenTopics = []kmsg.FetchRequestForgottenTopic{{Topic: "orders", Partitions: forgotten}}
		}
		return turn{asks, request(q, 11, correlation, "reader")}
	}
	reply := func(correlation, session int32, partitions ...int32) turn {
		a := kmsg.NewPtrFetchResponse()
		a.SessionID = session
		topic := kmsg.NewFetchResponseTopic()
		topic.Topic = "orders"
		for _, i := range partitions {
			p := kmsg.NewFetchResponseTopicPartition()
			p.Partition = i
			topic.Partitions = append(topic.Partitions, p)
		}
		a.Topics = append(a.Topics, topic)
		return turn{answers, answer(a, 11, correlation)}
	}
	o := run(newScript(true).say(
		ask(1, 0, 0, nil, map[int32]int64{0: 10, 1: 20}), reply(1, 9, 0, 1),
		ask(2, 9, 1, nil, map[int32]int64{0: 15, 2: 30}), reply(2, 9, 0, 1, 2),
		ask(3, 9, 2, []int32{1}, nil), reply(3, 9, 0, 1),
		ask(4, 33, 7, nil, map[int32]int64{1: 40}), reply(4, 33, 1, 2), // a session that began earlier
		ask(5, 0, -1, nil, map[int32]int64{0: 50}), reply(5, 0, 0, 1), // no session
	).close(reassembly.ClosedFIN))
	var got []int64
	for _, p := range of[*PartitionFetched](o) {
		got = append(got, p.FetchOffset)
	}
	diff(t, []int64{10, 20, 15, 20, 30, 15, -1, 40, -1, 50, -1}, got)
}

// SaslHandshake 0 is followed by tokens without headers; they are neither requests nor loss of step.
func TestRawTokens(t *testing.T) {
	handshake := kmsg.NewPtrSASLHandshakeRequest()
	handshake.Mechanism = "PLAIN"
	token := []byte("\x00\x00\x00\x0b\x00Alice\x00pass")
	turns := []turn{
		{asks, request(handshake, 0, 1, "rdkafka")}, {answers, answer(kmsg.NewPtrSASLHandshakeResponse(), 0, 1)},
		{asks, token[:4+11]}, {answers, []byte{0, 0, 0, 0}},
	}
	turns[2].bytes[3] = byte(len(turns[2].bytes) - 4)
	for version := range apis[keyProduce].newest + 1 {
		o := run(newScript(true).say(turns...).say(produceTurns(version, 2, -1, testBatch(7078, 0), 100)...).close(reassembly.ClosedFIN))
		if len(of[*BatchAnswered](o)) != 1 || of[*BatchAnswered](o)[0].Request == nil || len(o.notes) != 0 || o.stats.Requests != 2 {
			t.Errorf("Produce %d: notes %v, %+v", version, o.notes, o.stats)
		}
	}
}

// A version that is not known is counted, and its answer is known to be unread.
func TestUnknownVersion(t *testing.T) {
	turns := produceTurns(13, 2, -1, testBatch(7078, 2), 102)
	turns[0].bytes[7] = 14
	o := run(newScript(true).say(produceTurns(13, 1, -1, testBatch(7078, 0), 100)...).say(turns...).close(reassembly.ClosedFIN))
	if n := o.stats.APIs[API{keyProduce, 14}]; n == nil || *n != (APIStats{1, 1, 2}) {
		t.Errorf("%+v", n)
	}
	diff(t, []pcap.Code{CodeAPIVersionUnknown}, o.codes())
	if unread := of[*AnswerUnread](o); len(unread) != 1 || unread[0].Request.CorrelationID != 2 {
		t.Errorf("unread %+v", unread)
	}
}

// A broker that does not know the version of an ApiVersions request answers in version 0.
func TestAPIVersionsFallback(t *testing.T) {
	for version := range apis[keyAPIVersions].newest + 1 {
		a := kmsg.NewPtrApiVersionsResponse()
		a.ErrorCode = 35
		a.ApiKeys = []kmsg.ApiVersionsResponseApiKey{{ApiKey: 18, MaxVersion: 2}}
		q := request(kmsg.NewPtrApiVersionsRequest(), version, 1, "client-1")
		o := run(newScript(true).data(asks, q).data(answers, answer(a, 0, 1)).close(reassembly.ClosedFIN))
		if n := o.stats.APIs[API{keyAPIVersions, version}]; n == nil || n.Undecoded != 0 || n.Responses != 1 || len(o.notes) != 0 {
			t.Errorf("version %d: %+v, notes %v", version, n, o.notes)
		}
	}
}
