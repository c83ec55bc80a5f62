package traffic

import (
	"fmt"

	"github.com/kdupscan/kdupscan/kafka/kafkatest"
)

// Config says what the traffic is like.
type Config struct {
	Seed uint64
	// Size is how many bytes of capture are written before the clients begin to stop; what is under way is finished.
	Size int64

	Brokers    int
	Topics     int
	Partitions int // of each topic; the brokers lead them in turn
	Producers  int // each has a connection to every broker
	Consumers  int // of one group that reads everything; each has a connection to every broker

	Idempotent     float64 // this part of the producers has a producer id
	ProduceVersion int16   // 3 to 13
	FetchVersion   int16   // 4 to 18
	Codec          kafkatest.Codec
	RecordBytes    int // key and value, at least minRecordBytes
	BatchRecords   int

	SegmentBytes  int     // TCP payload of a frame at most: an MSS, or up to 65,160 as GRO makes them
	Swapped       float64 // this part of the frames changes places with the next one
	Lost          float64 // this part of the frames with payload is not captured; those of faults are
	Retransmitted float64 // this part of the segments comes twice

	// Faults is how many there are of each kind that the producers can have: see fault.go.
	Faults int
}

// What Linux puts into a segment on Ethernet with timestamps, and what GRO makes of 45 of those.
const (
	mss = 1448
	gro = 45 * mss
)

// plain is what the presets differ from: 20 connections, of which no one reads.
var plain = Config{
	Seed: 1, Size: 500e6,
	Brokers: 5, Topics: 2, Partitions: 15, Producers: 4,
	Idempotent: 0.75, ProduceVersion: 7, FetchVersion: 12,
	RecordBytes: 1024, BatchRecords: 16,
	SegmentBytes: mss, Faults: 2,
}

// Presets are the inputs of docs/performance.md, by name.
var Presets = map[string]Config{
	"plain-500m":  plain,
	"fetch-1g":    read(sized(plain, 1e9)),
	"small-1g":    small(read(sized(plain, 1e9))),
	"zstd-500m":   coded(plain, kafkatest.Zstd),
	"lz4-500m":    coded(plain, kafkatest.LZ4),
	"snappy-500m": coded(plain, kafkatest.SnappyXerial),
	"size-500m":   read(plain),
	"size-2g":     read(sized(plain, 2e9)),
	"size-8g":     read(sized(plain, 8e9)),
	"many-2g":     many(sized(plain, 2e9)),
	"plain-2g":    sized(plain, 2e9),
}

func sized(c Config, bytes int64) Config {
	c.Size = bytes
	return c
}

func read(c Config) Config {
	c.ProduceVersion, c.Consumers, c.Swapped = 10, 2, 0.005
	return c
}

func small(c Config) Config {
	c.RecordBytes = 100
	return c
}

func coded(c Config, codec kafkatest.Codec) Config {
	c.Codec, c.BatchRecords = codec, 64 // clients with a codec linger for larger batches
	return c
}

// many is 100,000 connections that are all open at once, each with a request or two.
func many(c Config) Config {
	c.Brokers, c.Topics, c.Partitions, c.Producers = 20, 200, 100, 5000
	return c
}

// check returns what is wrong with c.
func (c *Config) check() error {
	type bound struct {
		name             string
		have, least, max int64
	}
	for _, b := range []bound{
		{"brokers", int64(c.Brokers), 1, 250},
		{"topics", int64(c.Topics), 1, 1e5},
		{"partitions", int64(c.Partitions), 1, 1e5},
		{"producers", int64(c.Producers), 1, 60000},
		{"consumers", int64(c.Consumers), 0, 60000},
		{"Produce version", int64(c.ProduceVersion), 3, 13},
		{"Fetch version", int64(c.FetchVersion), 4, 18},
		{"bytes of a record", int64(c.RecordBytes), int64(minRecordBytes), maxText},
		{"records of a batch", int64(c.BatchRecords), 1, 1e6},
		{"bytes of a segment", int64(c.SegmentBytes), 1, gro},
		{"partitions of all topics", int64(c.Topics * c.Partitions), int64(c.Brokers), 1e6},
	} {
		if b.have < b.least || b.have > b.max {
			return fmt.Errorf("%s: %d is not in %d to %d", b.name, b.have, b.least, b.max)
		}
	}
	switch c.Codec {
	case kafkatest.None, kafkatest.SnappyXerial, kafkatest.LZ4, kafkatest.Zstd:
		return nil
	}
	return fmt.Errorf("codec %d is for the small stories of kafkatest only", c.Codec)
}
