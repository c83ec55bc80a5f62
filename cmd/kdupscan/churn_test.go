package main

import (
	"io"
	"math"
	"net/netip"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/kdupscan/kdupscan/kafka/kafkatest"
	"github.com/kdupscan/kdupscan/pcap"
)

// churn is a source of short connections, 10,000 a minute of capture time: each has a client port and a producer id of its
// own, negotiates, and every second one sends a batch.
type churn struct {
	connections int
	idempotent  bool         // a producer id for each
	frames      []pcap.Frame // of the current connection, yet to come
	n           int
	number      pcap.FrameNumber
	measure     map[int]func() // called before a connection
}

func (c *churn) Next(f *pcap.Frame) error {
	if len(c.frames) == 0 {
		if c.n == c.connections {
			return io.EOF
		}
		if measure := c.measure[c.n]; measure != nil {
			measure()
		}
		c.frames = churned(c.n, c.idempotent)
		c.n++
	}
	*f = c.frames[0]
	c.number++
	f.Number = c.number
	c.frames = c.frames[1:]
	return nil
}

func (c *churn) Close() error { return nil }

func (c *churn) Captures() []pcap.Capture {
	return []pcap.Capture{{Name: "churn", Format: "live", Packets: uint64(c.number)}}
}

// churned returns the packets of connection n.
func churned(n int, idempotent bool) []pcap.Frame {
	s := kafkatest.NewScenario(kafkatest.Start.Add(time.Duration(n) * time.Minute / 10_000))
	s.ClusterID = "churn"
	// The first connection of a story is always from the same port, so the address has to differ: 40,000 of them in turn.
	client := netip.AddrFrom4([4]byte{10, 9, byte(n / 200 % 200), byte(1 + n%200)})
	c := s.Dial(kafkatest.Dial{ClientID: "short", Broker: 1, Client: client, Software: "librdkafka", Version: "2.6.1"})
	if n%2 == 0 {
		batch := kafkatest.Batch{Topic: "orders", Partition: int32(n % 6), Records: s.Records("record " + strconv.Itoa(n))}
		if idempotent {
			c.InitProducerID(4, -1, -1).Answer(int64(n), 0)
			batch = batch.As(int64(n), 0, 0)
		}
		c.Produce(9, -1, batch).Answer(kafkatest.OK(int64(n)))
	}
	c.Close()
	return s.Frames()
}

// liveHeap returns the bytes that are in use.
func liveHeap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestChurn: short connections without end leave nothing behind.
func TestChurn(t *testing.T) {
	connections := 20_000
	if n, err := strconv.Atoi(os.Getenv("KDUPSCAN_CHURN")); err == nil {
		connections = n
	}
	for name, idempotent := range map[string]bool{"plain": false, "idempotent": true} {
		t.Run(name, func(t *testing.T) {
			testChurn(t, &churn{connections: connections, idempotent: idempotent, measure: make(map[int]func())})
		})
	}
}

func testChurn(t *testing.T, source *churn) {
	// The history fills up and is cut back by turns, and judging takes memory for a moment: what is compared are the least
	// sizes within two spans.
	early, late := uint64(math.MaxUint64), uint64(math.MaxUint64)
	for _, span := range []struct {
		from  int
		least *uint64
	}{{source.connections * 3 / 10, &early}, {source.connections * 7 / 10, &late}} {
		for i := range 10 {
			at := span.from + i*source.connections*3/100
			source.measure[at] = func() {
				heap := liveHeap()
				*span.least = min(*span.least, heap)
				t.Logf("%d connections: %.1f MiB in use", at, float64(heap)/(1<<20))
			}
		}
	}
	o := &liveOptions{scanOptions: scanOptions{output: "table", ports: make(ports), memory: leastMemory / 4, workers: 1}}
	l := &liveRun{options: o, stdout: io.Discard, stderr: io.Discard, secrets: newSecrets(), source: source, frames: source}
	var err error
	if l.outlets, err = newOutlets(o, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	l.build()
	result, err := l.run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := result.Coverage.Connections; n != int64(source.connections) || len(result.Findings) > 0 {
		t.Errorf("%d connections, %d findings", n, len(result.Findings))
	}
	// What grew without bound before took twice as much by then. The list of producers that were let go, which is bounded, makes
	// up to half as much again.
	if late > early+early*3/4 {
		t.Errorf("memory grows: from %d to %d bytes in use", early, late)
	}
}
