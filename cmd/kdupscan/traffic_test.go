package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/kdupscan/kdupscan/kafka/kafkatest"
	"github.com/kdupscan/kdupscan/kafka/kafkatest/traffic"
	"github.com/kdupscan/kdupscan/pcap"
)

// trafficBytes is enough for every kind of fault of a preset, each a retry interval before the end.
const trafficBytes = 8e6

// TestTraffic scans traffic of every preset, cut to a few megabytes, as it was sent and spoiled: what stands twice is found,
// and nothing else.
func TestTraffic(t *testing.T) {
	done := make(map[traffic.Config]bool) // presets that differ in size only are equal now
	for name, preset := range traffic.Presets {
		for spoiled, spoil := range map[string]func(*traffic.Config){
			"as sent":       func(*traffic.Config) {},
			"retransmitted": func(c *traffic.Config) { c.Retransmitted = 0.01 },
			"GRO":           func(c *traffic.Config) { c.SegmentBytes = 32 << 10 },
			"lost":          func(c *traffic.Config) { c.Lost = 0.0005 },
		} {
			c := preset
			c.Size, c.Faults, c.Producers = trafficBytes, 1, min(c.Producers, 40)
			spoil(&c)
			if done[c] {
				continue
			}
			done[c] = true
			t.Run(name+" "+spoiled, func(t *testing.T) {
				var capture bytes.Buffer
				truth, err := traffic.Write(&capture, c)
				if err != nil {
					t.Fatal(err)
				}
				var want expectation
				if err := json.Unmarshal(kafkatest.Case{Truth: truth}.Expectation(), &want); err != nil {
					t.Fatal(err)
				}
				if len(want.Duplicates) != 3 {
					t.Fatalf("%d duplicates, want one of each kind", len(want.Duplicates))
				}
				status, out, _ := runScan(&capture, "--output", "json", "-")
				want.check(t, status, out)
			})
		}
	}
}

// TestTrafficInTurns deals the packets out to more files than a chunk holds blocks.
func TestTrafficInTurns(t *testing.T) {
	c := traffic.Presets["plain-500m"]
	c.Size, c.Faults = trafficBytes, 1
	var capture bytes.Buffer
	truth, err := traffic.Write(&capture, c)
	if err != nil {
		t.Fatal(err)
	}
	const header, record, files = 24, 16, chunkBlocks + 5
	var parts [files][]byte
	for i := range parts {
		parts[i] = bytes.Clone(capture.Bytes()[:header])
	}
	for i, rest := 0, capture.Bytes()[header:]; len(rest) > 0; i++ {
		n := record + binary.LittleEndian.Uint32(rest[8:])
		parts[i%files] = append(parts[i%files], rest[:n]...)
		rest = rest[n:]
	}
	dir := t.TempDir()
	for i, part := range parts {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), part, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var want expectation
	if err := json.Unmarshal(kafkatest.Case{Truth: truth}.Expectation(), &want); err != nil {
		t.Fatal(err)
	}
	status, out, _ := runScan(nil, "--output", "json", dir)
	want.check(t, status, out)
}

// BenchmarkScan runs the pipeline over a capture in memory; bytes are those of the capture, allocations those of a whole scan.
func BenchmarkScan(b *testing.B) {
	for _, name := range []string{"plain-500m", "fetch-1g", "small-1g", "zstd-500m", "lz4-500m", "snappy-500m", "many-2g"} {
		c := traffic.Presets[name]
		c.Size = 32e6
		var capture bytes.Buffer
		if _, err := traffic.Write(&capture, c); err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(capture.Len()))
			b.ReportAllocs()
			for b.Loop() {
				source, err := pcap.NewReader(bytes.NewReader(capture.Bytes()), name)
				if err != nil {
					b.Fatal(err)
				}
				p := pipeline{source: source, budget: budget(defaultMemory), workers: shards, progress: func(uint64) {}}
				if _, err := p.run(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
