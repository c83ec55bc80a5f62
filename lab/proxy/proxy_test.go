package proxy

import (
	"context"
	"encoding/binary"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const version = 9 // of Produce: flexible, with topic names

// broker answers every batch OK, with the offset 70 + partition; it tells how many batches each request had.
func broker(t *testing.T) (address string, got <-chan int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	batches := make(chan int, 10)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		for {
			m, err := readMessage(conn)
			if err != nil {
				return
			}
			r, err := parseRequest(m)
			if err != nil || r.body.ReadFrom(m[r.bodyAt:]) != nil {
				return
			}
			response := r.body.ResponseKind().(*kmsg.ProduceResponse)
			n := 0
			for _, t := range r.body.(*kmsg.ProduceRequest).Topics {
				topic := kmsg.NewProduceResponseTopic()
				topic.Topic = t.Topic
				for _, p := range t.Partitions {
					answer := kmsg.NewProduceResponseTopicPartition()
					answer.Partition, answer.BaseOffset = p.Partition, 70+int64(p.Partition)
					topic.Partitions = append(topic.Partitions, answer)
					n++
				}
				response.Topics = append(response.Topics, topic)
			}
			batches <- n
			if _, err := conn.Write(r.encode(response)); err != nil {
				return
			}
		}
	}()
	return l.Addr().String(), batches
}

// produceRequest has one batch for each of two partitions.
func produceRequest() *request {
	body := kmsg.NewPtrProduceRequest()
	body.Version, body.Acks = version, -1
	topic := kmsg.NewProduceRequestTopic()
	topic.Topic = "orders"
	for p := range int32(2) {
		partition := kmsg.NewProduceRequestTopicPartition()
		batch := kmsg.RecordBatch{Length: 49, Magic: 2, ProducerID: 7, FirstSequence: 3, CRC: 0x1234}
		partition.Partition, partition.Records = p, batch.AppendTo(nil)
		topic.Partitions = append(topic.Partitions, partition)
	}
	body.Topics = append(body.Topics, topic)
	header := []byte{0, 0, 0, 0, 0, 0, 0, version, 0, 0, 0, 42, 0, 1, 'w', 0} // length, key, version, correlation id, client id, tags
	r := &request{message: header, version: version, correlation: 42, bodyAt: len(header), body: body}
	r.message = r.reencode()
	return r
}

// TestFaults sends a request with two batches and looks at what the broker gets and the client is told.
func TestFaults(t *testing.T) {
	type answer struct {
		code   int16
		offset int64
	}
	ok := [2]answer{{0, 70}, {0, 71}}
	for _, c := range []struct {
		name  string
		rules []*Rule
		got   int // batches that the broker gets; 0: no request
		want  *[2]answer
	}{
		{"no fault", nil, 2, &ok},
		{"error with the offset", []*Rule{{Do: AnswerError, Error: 6}}, 2, &[2]answer{{6, 70}, {0, 71}}},
		{"one batch refused", []*Rule{{Do: Refuse, Error: 45, Partition: 1}}, 1, &[2]answer{{0, 70}, {45, -1}}},
		{"all refused", []*Rule{{Do: Refuse, Error: 6}, {Do: Refuse, Error: 6, Partition: 1}}, 0, &[2]answer{{6, -1}, {6, -1}}},
		{"answer swallowed", []*Rule{{Do: Swallow}}, 2, nil},
		{"answer delayed", []*Rule{{Do: Delay, Delay: time.Millisecond}}, 2, &ok},
	} {
		t.Run(c.name, func(t *testing.T) {
			address, got := broker(t)
			p, err := Listen([]Route{{Node: 1, Listen: "127.0.0.1:0", To: address}}, c.rules)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			conn, err := net.Dial("tcp", p.listeners[0].Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			r := produceRequest()
			if _, err := conn.Write(r.message); err != nil {
				t.Fatal(err)
			}
			m, err := readMessage(conn)
			if (err == nil) != (c.want != nil) {
				t.Fatalf("answer %x, %v", m, err)
			}
			if c.got > 0 {
				if n := <-got; n != c.got {
					t.Errorf("the broker got %d batches, want %d", n, c.got)
				}
			}
			var want [2]answer
			if c.want != nil {
				want = *c.want
				response, err := r.answer(m)
				if err != nil || binary.BigEndian.Uint32(m[4:]) != 42 {
					t.Fatalf("answer %x: %v", m, err)
				}
				for _, topic := range response.(*kmsg.ProduceResponse).Topics {
					for _, a := range topic.Partitions {
						if have := (answer{a.ErrorCode, a.BaseOffset}); have != want[a.Partition] {
							t.Errorf("partition %d: told %v, want %v", a.Partition, have, want[a.Partition])
						}
					}
				}
			}
			checkJournal(t, p, c.want != nil)
		})
	}
}

// checkJournal: both batches are in the journal as they were sent, and answered or not.
func checkJournal(t *testing.T, p *Proxy, answered bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	err := p.Await(ctx, func(all []Batch) bool {
		return len(all) == 2 && all[0].Answered == answered && all[1].Answered == answered
	})
	if err != nil {
		t.Fatalf("journal %+v", p.Batches())
	}
	for i, b := range p.Batches() {
		if b.Topic != "orders" || b.Partition != int32(i) || b.ProducerID != 7 || b.Sequence != 3 || b.CRC != 0x1234 || b.Node != 1 {
			t.Errorf("journal has %+v", b)
		}
	}
}
