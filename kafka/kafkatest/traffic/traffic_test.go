package traffic

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"
)

// little is traffic of all kinds in two megabytes.
func little() Config {
	c := read(sized(plain, 2e6))
	c.Faults = 1
	return c
}

func TestSameConfigSameBytes(t *testing.T) {
	write := func(seed uint64) []byte {
		c := little()
		c.Seed = seed
		var out bytes.Buffer
		if _, err := Write(&out, c); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	first := write(1)
	if !bytes.Equal(first, write(1)) {
		t.Error("equal configs give other bytes")
	}
	if bytes.Equal(first, write(2)) {
		t.Error("another seed gives the same bytes")
	}
	if n := len(first); n < 2e6 || n > 3e6 {
		t.Errorf("%d bytes", n)
	}
}

// TestFrames reads the file with gopacket: all layers decode, times do not go back, and the parts of frames that are swapped,
// lost and repeated are those asked for.
func TestFrames(t *testing.T) {
	for _, test := range []struct {
		name                   string
		swapped, lost, repeats float64
		segment                int
	}{
		{"as sent", 0, 0, 0, mss},
		{"GRO", 0, 0, 0, gro},
		{"swapped", 0.05, 0, 0, mss},
		{"lost", 0, 0.05, 0, mss},
		{"retransmitted", 0, 0, 0.05, mss},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := little()
			c.Swapped, c.Lost, c.Retransmitted, c.SegmentBytes = test.swapped, test.lost, test.repeats, test.segment
			var out bytes.Buffer
			if _, err := Write(&out, c); err != nil {
				t.Fatal(err)
			}
			have := readFrames(t, &out)
			for _, count := range []struct {
				what  string
				n     int
				asked float64
			}{{"before its turn", have.early, test.swapped + test.lost}, {"again", have.again, test.swapped + test.repeats}} {
				part := float64(count.n) / float64(have.data)
				if part > 2*count.asked || part < count.asked/4-0.001 {
					t.Errorf("%d of %d segments come %s, asked for %.3f", count.n, have.data, count.what, count.asked)
				}
			}
		})
	}
}

// frames are counts of segments with payload.
type frames struct{ data, early, again int }

func readFrames(t *testing.T, file io.Reader) (f frames) {
	t.Helper()
	r, err := pcapgo.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	next := make(map[[2]gopacket.Flow]uint32)
	var last int64
	for {
		data, info, err := r.ReadPacketData()
		if errors.Is(err, io.EOF) {
			return f
		}
		if err != nil {
			t.Fatal(err)
		}
		if at := info.Timestamp.UnixMicro(); at < last {
			t.Fatalf("time goes back at %v", info.Timestamp)
		} else {
			last = at
		}
		packet := gopacket.NewPacket(data, layers.LayerTypeEthernet, gopacket.Default)
		tcp, ok := packet.TransportLayer().(*layers.TCP)
		if packet.ErrorLayer() != nil || !ok {
			t.Fatalf("frame at %v: %v", info.Timestamp, packet)
		}
		if len(tcp.Payload) == 0 {
			continue
		}
		f.data++
		flow := [2]gopacket.Flow{packet.NetworkLayer().NetworkFlow(), tcp.TransportFlow()}
		want, known := next[flow]
		switch ahead := int32(tcp.Seq - want); {
		case known && ahead > 0:
			f.early++
		case known && ahead < 0:
			f.again++
			continue
		}
		next[flow] = tcp.Seq + uint32(len(tcp.Payload))
	}
}

func TestWrongConfig(t *testing.T) {
	for name, spoil := range map[string]func(*Config){
		"no broker":      func(c *Config) { c.Brokers = 0 },
		"short records":  func(c *Config) { c.RecordBytes = 10 },
		"few partitions": func(c *Config) { c.Topics, c.Partitions = 1, 1 },
		"codec":          func(c *Config) { c.Codec = 1 },
	} {
		c := little()
		spoil(&c)
		if _, err := Write(io.Discard, c); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// BenchmarkWrite gives bytes of capture.
func BenchmarkWrite(b *testing.B) {
	c := sized(plain, 16e6)
	b.SetBytes(c.Size)
	for b.Loop() {
		if _, err := Write(io.Discard, c); err != nil {
			b.Fatal(err)
		}
	}
}
