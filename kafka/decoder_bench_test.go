package kafka

import (
	"bytes"
	"fmt"
	"math/rand"
	"testing"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
)

// BenchmarkProduce reads a stream of Produce requests and answers; bytes are those of the requests and answers, allocations
// those of one exchange.
func BenchmarkProduce(b *testing.B) {
	for _, version := range []int16{7, 10} {
		for _, size := range []int{200, 16 << 10} {
			for _, segment := range []int{1448, 64 << 10} {
				b.Run(fmt.Sprintf("v%d/records=%d/segment=%d", version, size, segment), func(b *testing.B) {
					benchmarkProduce(b, version, size, segment)
				})
			}
		}
	}
}

func benchmarkProduce(b *testing.B, version int16, size, segment int) {
	value := string(make([]byte, 100))
	var pairs []string
	for range max(1, size/110) {
		pairs = append(pairs, "key", value)
	}
	turns := produceTurns(version, 1, -1, seal(batchOf(len(pairs)/2, encodeRecords(keyed(pairs...)...))), 100)
	d := NewDecoder(Options{Limits: DefaultLimits()}, func(Observation) {}, func(n pcap.Note) { b.Fatal(n) })
	s := newScript(true)
	d.Handle(&s.events[0])
	var next [2]reassembly.StreamOffset
	b.SetBytes(int64(len(turns[0].bytes) + len(turns[1].bytes)))
	b.ReportAllocs()
	for b.Loop() {
		for _, turn := range turns {
			for data := turn.bytes; len(data) > 0; {
				n := min(segment, len(data))
				s.frame++
				d.Handle(&reassembly.Event{
					Kind: reassembly.Data, Conn: s.conn, Dir: turn.dir, Offset: next[turn.dir], Length: int64(n), Data: data[:n],
					At: pcap.Ref{Number: s.frame},
				})
				next[turn.dir] += reassembly.StreamOffset(n)
				data = data[n:]
			}
		}
		d.Handle(&reassembly.Event{Kind: reassembly.Ack, Conn: s.conn, Dir: answers, Offset: next[answers], At: pcap.Ref{Number: s.frame}})
	}
}

// BenchmarkForeign searches the bytes of a connection that carries no Kafka and whose beginning is missing.
func BenchmarkForeign(b *testing.B) {
	random := rand.New(rand.NewSource(1))
	noise, text, zeros := make([]byte, 1448), bytes.Repeat([]byte("GET / HTTP/1.1\r\n"), 90), make([]byte, 1448)
	random.Read(noise)
	for name, data := range map[string][]byte{"noise": noise, "text": text, "zeros": zeros} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			d := NewDecoder(Options{Limits: DefaultLimits()}, func(Observation) {}, func(pcap.Note) {})
			s := newScript(false)
			var at reassembly.StreamOffset
			for b.Loop() {
				if _, state := s.conn.State.(ignored); state {
					s.conn.State = nil // a new connection after the budget
				}
				d.Handle(&reassembly.Event{Kind: reassembly.Data, Conn: s.conn, Offset: at, Length: int64(len(data)), Data: data, At: pcap.Ref{Number: 1}})
				at += reassembly.StreamOffset(len(data))
			}
		})
	}
}
