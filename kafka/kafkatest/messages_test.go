package kafkatest_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kdupscan/kdupscan/kafka/kafkatest"
	"github.com/kdupscan/kdupscan/pcap/pcaptest"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// TestEveryVersion sends each API in each version; read checks that all of it decodes and encodes again.
func TestEveryVersion(t *testing.T) {
	s := kafkatest.NewScenario(start)
	c := s.Connect("client-a", 1)
	c.TransactionalID = "tx"
	requests := 0
	versions := func(last int16, exchange func(int16)) {
		for version := range last + 1 {
			exchange(version)
			requests++
		}
	}
	b := kafkatest.Batch{Topic: "a", Partition: 1, ProducerID: 7, Records: s.Records("x")}
	b2 := b
	b2.Topic = "b"
	versions(13, func(v int16) {
		c.Produce(v, -1, b, b2, b).Answer(
			kafkatest.OK(1), kafkatest.AppendedBut(kafkatest.NotLeader, 7).NamingLeader(3, 18), kafkatest.Deduplicated(b.At(3, 1)))
	})
	versions(18, func(v int16) {
		c.Fetch(v, kafkatest.From{Topic: "a", Partition: 1, Offset: 5, LeaderEpoch: 2}, kafkatest.From{Topic: "b"}).
			Answer(kafkatest.Stored(b.At(5, 2)), kafkatest.Data{ErrorCode: kafkatest.NotLeader, Leader: 2, LeaderEpoch: 4})
	})
	versions(13, func(v int16) {
		c.Metadata(v, "a").Answer(kafkatest.Leader{"a", 0, 1, 2}, kafkatest.Leader{"a", 1, -1, 2})
	})
	versions(5, func(v int16) { c.InitProducerID(v, 7, 1).Answer(7, 2) })
	versions(5, func(v int16) { c.EndTxn(v, 7, 1, true).Answer(7, 2) })
	versions(3, func(v int16) { c.AddPartitionsToTxn(v, 7, 1, "a", 0).Answer() })
	versions(2, func(v int16) { c.WriteTxnMarkers(v, kafkatest.Marker("a", 0, 7, 1, true, 1), true).Answer() })
	versions(11, func(v int16) { c.ListOffsets(v, "a", 0, -1).Answer(9, 1) })
	versions(4, func(v int16) { c.OffsetForLeaderEpoch(v, "a", 0, 3).Answer(3, 17) })
	versions(10, func(v int16) { c.OffsetCommit(v, "g", "a", 0, 5).Answer() })
	versions(7, func(v int16) { c.CreateTopics(v, "a").Answer() })
	versions(6, func(v int16) { c.DeleteTopics(v, "a").Answer() })
	versions(5, func(v int16) { c.APIVersions(v, "lib", "1.0").Answer() })

	w := read(t, s.Packets())
	if len(w.requests) != requests || len(w.responses) != requests || w.torn != 0 {
		t.Errorf("%d requests, %d answers, %d bytes left; want %d of both", len(w.requests), len(w.responses), w.torn, requests)
	}
}

// TestProduceAnswer checks the fields on which the verdicts rest.
func TestProduceAnswer(t *testing.T) {
	s := kafkatest.NewScenario(start)
	c := s.Connect("client-a", 1)
	b := kafkatest.Batch{Topic: "a", ProducerID: 7, Records: s.Records("x")}
	stored := b.At(40, 3)
	answers := []kafkatest.Answer{
		kafkatest.OK(40), kafkatest.Deduplicated(stored), kafkatest.Refused(kafkatest.OutOfOrderSequence),
		kafkatest.AppendedBut(kafkatest.NotLeader, 41).NamingLeader(3, 18), kafkatest.OK(42).Timed(5000),
	}
	for _, a := range answers {
		c.Produce(10, -1, b).Answer(a)
	}
	type fields struct {
		Code         int16
		Base         int64
		Time         int64
		Leader, Each int32
		Brokers      int
	}
	want := []fields{
		{0, 40, -1, -1, -1, 0},
		{0, 40, start.UnixMilli(), -1, -1, 0}, // R4: the stored batch's largest timestamp
		{45, -1, -1, -1, -1, 0},
		{6, 41, -1, 3, 18, 1},
		{0, 42, 5000, -1, -1, 0},
	}
	var got []fields
	for _, m := range read(t, s.Packets()).responses {
		resp := m.response.(*kmsg.ProduceResponse)
		p := resp.Topics[0].Partitions[0]
		got = append(got, fields{p.ErrorCode, p.BaseOffset, p.LogAppendTime, p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch, len(resp.Brokers)})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTopicIDs(t *testing.T) {
	s := kafkatest.NewScenario(start)
	c := s.Connect("client-a", 1)
	first := s.TopicID("a")
	if first == s.TopicID("b") || first != s.TopicID("a") {
		t.Error("topic ids do not follow the names")
	}
	c.DeleteTopics(6, "a").Answer()
	if s.TopicID("a") == first {
		t.Error("a topic that is created again has its old id")
	}
}

func TestUnsupportedVersion(t *testing.T) {
	s := kafkatest.NewScenario(start)
	s.Connect("client-a", 1).APIVersions(3, "lib", "1.0").AnswerUnsupported()
	_, data, _ := streams(t, s.Packets())
	resp := kmsg.NewPtrApiVersionsResponse() // version 0
	if err := resp.ReadFrom(data["192.0.2.1:9092>198.51.100.1:40000"][8:]); err != nil || resp.ErrorCode != 35 {
		t.Errorf("error code %d, %v", resp.ErrorCode, err)
	}
}

// segment is a packet in short: who sends, payload bytes, and relative acknowledgement.
type segment struct {
	From  string
	Bytes int
	Ack   int
}

func segments(t *testing.T, packets []pcaptest.Packet) []segment {
	t.Helper()
	var out []segment
	isn := make(map[string]uint32)
	for _, p := range packets {
		tcp := tcpOf(p)
		from, to := "client", "server"
		if tcp.SrcPort == 9092 {
			from, to = to, from
		}
		if tcp.SYN {
			isn[from] = tcp.Seq
			continue
		}
		out = append(out, segment{from, len(tcp.Payload), int(tcp.Ack - isn[to] - 1)})
	}
	return out[1:] // without the handshake's last
}

func TestAcknowledgements(t *testing.T) {
	request, answer := make([]byte, 250), make([]byte, 30)
	tests := []struct {
		name string
		dial kafkatest.Dial
		tell func(*kafkatest.Scenario, *kafkatest.Conn)
		want []segment
	}{
		{"at once", kafkatest.Dial{MSS: 100}, func(_ *kafkatest.Scenario, c *kafkatest.Conn) {
			c.Write(request)
			c.ServerWrite(answer)
		}, []segment{{"client", 100, 0}, {"client", 100, 0}, {"client", 50, 0}, {"server", 0, 250}, {"server", 30, 250}, {"client", 0, 30}}},
		{"with the answer", kafkatest.Dial{DelayedAck: true}, func(s *kafkatest.Scenario, c *kafkatest.Conn) {
			c.Write(request)
			s.Advance(time.Millisecond)
			c.ServerWrite(answer)
			s.Advance(time.Second)
		}, []segment{{"client", 250, 0}, {"server", 30, 250}, {"client", 0, 30}}},
		{"after 40 ms", kafkatest.Dial{DelayedAck: true}, func(s *kafkatest.Scenario, c *kafkatest.Conn) {
			c.Write(request)
			s.Advance(time.Second)
			c.ServerWrite(answer)
		}, []segment{{"client", 250, 0}, {"server", 0, 250}, {"server", 30, 250}}},
		{"client deaf", kafkatest.Dial{}, func(_ *kafkatest.Scenario, c *kafkatest.Conn) {
			c.ClientDeaf = true
			c.Write(request)
			c.ServerWrite(answer)
			c.Reset()
		}, []segment{{"client", 250, 0}, {"server", 0, 250}, {"server", 30, 250}, {"client", 0, 0}}},
		{"server deaf", kafkatest.Dial{}, func(_ *kafkatest.Scenario, c *kafkatest.Conn) {
			c.ServerDeaf = true
			c.Write(request)
			c.ServerReset()
		}, []segment{{"client", 250, 0}, {"server", 0, 0}}},
		{"held", kafkatest.Dial{}, func(_ *kafkatest.Scenario, c *kafkatest.Conn) {
			c.Hold()
			c.Write(request)
			c.Write(request)
			c.Flush()
		}, []segment{{"client", 500, 0}, {"server", 0, 500}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := kafkatest.NewScenario(start)
			test.dial.ClientID, test.dial.Broker = "client-a", 1
			test.tell(s, s.Dial(test.dial))
			if diff := cmp.Diff(test.want, segments(t, s.Packets())); diff != "" {
				t.Error(diff)
			}
		})
	}
}
