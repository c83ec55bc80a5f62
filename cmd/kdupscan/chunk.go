package main

import (
	"slices"
	"sync/atomic"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
)

const (
	// chunkBytes and chunkSegments end a chunk: enough work to make handing it over cheap, few enough bytes to stay in the
	// caches of the workers.
	chunkBytes    = 1 << 20
	chunkSegments = 4096
	// chunkBlocks is how many blocks a chunk holds: many files may be read in turns, and there may be little of use in a block.
	chunkBlocks = 16
	// chunkMemory is what the load of a chunk takes: its payloads, and its segments.
	chunkMemory = chunkBytes + chunkSegments*160
)

// segment is a segment of the capture, numbered in the order of frames.
type segment struct {
	reassembly.Segment
	order uint64
}

// observed is an observation and the segment that caused it.
type observed struct {
	kafka.Observation
	order uint64
}

// chunk is a run of segments on its way through the engine. Its buffers are used again.
type chunk struct {
	*load    // nil when the shards are done with it
	observed [shards][]observed
	pending  atomic.Int32  // shards that are not done with it
	done     chan struct{} // receives when none is left
	view     *view         // nil: nobody looks behind this chunk
}

// load is what a chunk brings to the shards.
type load struct {
	bytes    int           // of payloads
	blocks   []*pcap.Block // that payloads are in
	data     []byte        // payloads, copied where no block holds them
	count    int
	keyLogs  [][]byte // TLS keys that came while it was filled; they are known from its first segment on
	segments [shards][]segment
}

func newLoad() *load { return new(load) }

// loaded makes the load of a chunk when there was none yet.
func (c *chunk) loaded() *chunk {
	if c.load == nil {
		c.load = newLoad()
	}
	return c
}

func (l *load) reset() {
	for _, b := range l.blocks {
		b.Release()
	}
	l.bytes, l.blocks, l.data, l.count, l.keyLogs = 0, l.blocks[:0], l.data[:0], 0, nil
	for i := range l.segments {
		l.segments[i] = l.segments[i][:0]
	}
}

// full reports whether n more bytes belong into the next chunk.
func (l *load) full(n int) bool {
	return l.count == chunkSegments || l.count > 0 && l.bytes+n > chunkBytes
}

// add takes in a segment of a frame. Its payload is copied unless the block of the frame can be held.
func (l *load) add(s *reassembly.Segment, in *pcap.Block, order uint64) {
	list := &l.segments[s.Hash()%shards]
	*list = append(*list, segment{*s, order})
	l.count++
	l.bytes += len(s.Payload)
	if l.hold(in) {
		return
	}
	if l.data == nil {
		l.data = make([]byte, 0, chunkBytes)
	}
	from := len(l.data)
	l.data = append(l.data, s.Payload...)
	(*list)[len(*list)-1].Payload = l.data[from:len(l.data):len(l.data)]
}

// hold reports whether the load holds a block, and tries to.
func (l *load) hold(b *pcap.Block) bool {
	if b == nil || slices.Contains(l.blocks, b) {
		return b != nil
	}
	if len(l.blocks) == chunkBlocks {
		return false
	}
	b.Hold()
	l.blocks = append(l.blocks, b)
	return true
}

func (c *chunk) reset() {
	c.view = nil
	for i := range shards {
		clear(c.observed[i]) // let go of what has been merged
		c.observed[i] = c.observed[i][:0]
	}
}

// concerns reports whether a shard has to see the chunk.
func (c *chunk) concerns(shard int) bool {
	return len(c.segments[shard]) > 0 || len(c.keyLogs) > 0 || c.view != nil
}

// inOrder calls f for the observations, ordered by the segments that caused them.
func (c *chunk) inOrder(f func(kafka.Observation)) {
	var next [shards]int
	for {
		first := -1
		for i := range shards {
			if next[i] < len(c.observed[i]) && (first < 0 || c.observed[i][next[i]].order < c.observed[first][next[first]].order) {
				first = i
			}
		}
		if first < 0 {
			return
		}
		f(c.observed[first][next[first]].Observation)
		next[first]++
	}
}
