package main

import (
	"sync"

	"github.com/kdupscan/kdupscan/analysis"
	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
)

// The engine that scan and live share:
//
//	reader ──chunks──▶ workers (a chunk goes to all of them, each has its shards) ──chunks──▶ merger ──▶ free chunks
//
// The reader decodes frames to TCP segments and copies them into chunks. Connections are spread over a fixed number of
// shards, each with an assembler, a decrypter and a Kafka decoder of its own; a worker runs one or more shards. The merger hands the
// observations of a chunk to the correlator in the order of the segments that caused them. Since neither the shards nor
// that order depend on the number of workers, neither does the result, even where a bound of memory is hit.

// shards is the number of shards, and the most workers that are of use. Each shard has this part of the memory for
// unfinished messages; with more shards a Fetch answer of 50 MiB, a consumer's default, would not fit into a part.
const shards = 4

const (
	// chunkBytes and chunkSegments end a chunk: enough work to make handing it over cheap, few enough bytes to stay in the
	// caches of the workers.
	chunkBytes    = 1 << 20
	chunkSegments = 4096
	// chunksAhead is how many chunks there are beside the one of each worker: one being filled, one being merged, and two
	// so that nobody waits for a slow chunk at once.
	chunksAhead = 4
	// chunkMemory is what a chunk takes: its payloads, and its segments.
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
	data     []byte // the payloads, copied: those of a frame are valid until the next frame only
	count    int
	keyLogs  [][]byte // TLS keys that came while it was filled; they are known from its first segment on
	segments [shards][]segment
	observed [shards][]observed
	pending  sync.WaitGroup // workers that are not done with it
	view     *view          // nil: nobody looks behind this chunk
}

// view is what the layers have counted behind one chunk; each of them fills in its part as the chunk passes.
type view struct {
	captures []pcap.Capture
	read     notes // of the reader
	shards   [shards]shardView
	report   bool // for a report, not for the counters alone
}

func newChunk() *chunk { return &chunk{data: make([]byte, 0, chunkBytes)} }

func (c *chunk) reset() {
	c.data, c.count, c.keyLogs, c.view = c.data[:0], 0, nil, nil
	for i := range shards {
		c.segments[i] = c.segments[i][:0]
		clear(c.observed[i]) // let go of what has been merged
		c.observed[i] = c.observed[i][:0]
	}
}

// full reports whether n more bytes belong into the next chunk.
func (c *chunk) full(n int) bool {
	return c.count == chunkSegments || c.count > 0 && len(c.data)+n > chunkBytes
}

func (c *chunk) add(s *reassembly.Segment, order uint64) {
	from := len(c.data)
	c.data = append(c.data, s.Payload...)
	list := &c.segments[s.Hash()%shards]
	*list = append(*list, segment{*s, order})
	(*list)[len(*list)-1].Payload = c.data[from:len(c.data):len(c.data)]
	c.count++
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

// engine takes segments to observations and these to one correlator. The reader calls take, tryTake, send and stop; the
// merger calls merged and is the only one to use the correlator until stop has returned.
type engine struct {
	shards     [shards]*shard
	correlator *analysis.Correlator
	found      notes // of the correlator
	free       chan *chunk
	unmade     int // chunks that may still be made
	queues     []chan *chunk
	ordered    chan *chunk
	merged     func(*chunk) // called after the observations of a chunk were handed over; may be nil
	running    sync.WaitGroup
}

// newEngine returns an engine with at most so many chunks on their way. It does nothing before start.
func newEngine(b budget, previews bool, workers, chunks int) *engine {
	e := &engine{found: make(notes), free: make(chan *chunk, chunks), unmade: chunks, ordered: make(chan *chunk, chunks)}
	for i := range e.shards {
		e.shards[i] = newShard(b, previews)
	}
	e.correlator = analysis.New(analysis.Options{Memory: b.history(), Note: e.found.add})
	for range workers {
		e.queues = append(e.queues, make(chan *chunk, chunks))
	}
	return e
}

func (e *engine) start() {
	for w, queue := range e.queues {
		e.running.Go(func() { e.work(w, queue) })
	}
	e.running.Go(e.merge)
}

// take returns an empty chunk, and waits for one if all are on their way.
func (e *engine) take() *chunk {
	if c := e.tryTake(); c != nil {
		return c
	}
	return <-e.free
}

// tryTake returns an empty chunk, or nil if all are on their way.
func (e *engine) tryTake() *chunk {
	select {
	case c := <-e.free:
		return c
	default:
	}
	if e.unmade == 0 {
		return nil
	}
	e.unmade--
	return newChunk()
}

// busy reports whether the engine has enough to do, so that a chunk may as well be filled.
func (e *engine) busy() bool { return len(e.ordered) >= chunksAhead }

// send gives a chunk away. It never waits.
func (e *engine) send(c *chunk) {
	c.pending.Add(len(e.queues))
	for _, queue := range e.queues {
		queue <- c
	}
	e.ordered <- c
}

// stop waits until all chunks have been merged.
func (e *engine) stop() {
	for _, queue := range e.queues {
		close(queue)
	}
	close(e.ordered)
	e.running.Wait()
}

// work runs the shards of worker w on every chunk.
func (e *engine) work(w int, queue <-chan *chunk) {
	for c := range queue {
		for i := w; i < shards; i += len(e.queues) {
			c.observed[i] = e.shards[i].push(c.keyLogs, c.segments[i], c.observed[i])
			if c.view != nil {
				c.view.shards[i] = e.shards[i].view()
			}
		}
		c.pending.Done()
	}
}

// merge gives the observations of each chunk to the correlator.
func (e *engine) merge() {
	for c := range e.ordered {
		c.pending.Wait()
		c.inOrder(e.correlator.Observe)
		if e.merged != nil {
			e.merged(c)
		}
		c.reset()
		e.free <- c
	}
}

// finish ends all connections and puts the result together, after stop.
func (e *engine) finish(captures []pcap.Capture, read notes) *analysis.Result {
	for _, o := range lastObservations(e.shards[:]) {
		e.correlator.Observe(o)
	}
	v := view{captures: captures, read: read}
	for i, s := range e.shards {
		v.shards[i] = s.view()
	}
	return e.complete(e.correlator.Finish(), &v)
}

// complete adds to a result what the layers before the correlator have seen.
func (e *engine) complete(result *analysis.Result, v *view) *analysis.Result {
	result.Captures, result.Coverage = v.captures, v.coverage()
	all := make(notes)
	all.merge(e.found)
	all.merge(v.notes())
	for _, n := range result.Notes {
		all.count(n)
	}
	result.Notes = all.list()
	return result
}

func (v *view) coverage() analysis.Coverage {
	var c analysis.Coverage
	for i := range v.shards {
		s := &v.shards[i]
		c.Stats.Add(&s.kafka)
		c.TCPConnections += s.tcp.Connections
		c.Gaps += s.tcp.Gaps
		c.GapBytes += s.tcp.GapBytes
	}
	return c
}

// notes returns those of all layers but the correlator.
func (v *view) notes() notes {
	all := make(notes)
	for i := range v.shards {
		all.merge(v.shards[i].notes)
	}
	all.merge(v.read)
	all.merge(captureNotes(v.captures))
	return all
}
