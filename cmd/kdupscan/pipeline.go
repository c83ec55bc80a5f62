package main

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/kdupscan/kdupscan/analysis"
	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
)

// The pipeline of a scan:
//
//	reader ──chunks──▶ workers (a chunk goes to all of them, each has its shards) ──chunks──▶ merger ──▶ free chunks
//
// The reader decodes frames to TCP segments and copies them into chunks. Connections are spread over a fixed number of
// shards, each with an assembler and a Kafka decoder of its own; a worker runs one or more shards. The merger hands the
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
	// framesPerProgress is how many frames are read between looks at the clock.
	framesPerProgress = 4096
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

// chunk is a run of segments on its way through the pipeline. Its buffers are used again.
type chunk struct {
	data     []byte // the payloads, copied: those of a frame are valid until the next frame only
	count    int
	segments [shards][]segment
	observed [shards][]observed
	pending  sync.WaitGroup // workers that are not done with it
}

func (c *chunk) reset() {
	c.data, c.count = c.data[:0], 0
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
	copied := *s
	from := len(c.data)
	c.data = append(c.data, s.Payload...)
	copied.Payload = c.data[from:len(c.data):len(c.data)]
	shard := s.Hash() % shards
	c.segments[shard] = append(c.segments[shard], segment{copied, order})
	c.count++
}

// pipeline is one scan.
type pipeline struct {
	source   pcap.Source
	filter   frameFilter
	ports    ports
	budget   budget
	previews bool
	workers  int
	progress func(frames uint64) // called now and then while reading
}

// run reads the source to its end, or until ctx is done, and returns the result. The error is the source's.
func (p *pipeline) run(ctx context.Context) (*analysis.Result, error) {
	var all [shards]*shard
	for i := range all {
		all[i] = newShard(p.budget, p.previews)
	}
	workers := min(max(p.workers, 1), shards)
	free := make(chan *chunk, workers+chunksAhead)
	for range cap(free) {
		free <- &chunk{data: make([]byte, 0, chunkBytes)}
	}
	var running sync.WaitGroup
	queues := make([]chan *chunk, workers)
	for w := range queues {
		queues[w] = make(chan *chunk, cap(free))
		running.Go(func() { work(all[:], w, workers, queues[w]) })
	}
	found := make(notes)
	correlator := analysis.New(analysis.Options{Memory: p.budget.history(), Note: found.add})
	ordered := make(chan *chunk, cap(free))
	running.Go(func() { merge(correlator, ordered, free) })

	read, err := p.read(ctx, free, func(c *chunk) {
		c.pending.Add(workers)
		for _, queue := range queues {
			queue <- c
		}
		ordered <- c
	})
	for _, queue := range queues {
		close(queue)
	}
	close(ordered)
	running.Wait()
	if err != nil {
		return nil, err
	}
	return p.finish(correlator, all[:], found, read), nil
}

// read decodes all frames into chunks and gives those to send. It returns the notes of the decoder.
func (p *pipeline) read(ctx context.Context, free <-chan *chunk, send func(*chunk)) (notes, error) {
	found := make(notes)
	decoder := reassembly.NewDecoder(p.budget.reassembly(1), found.add)
	c := <-free
	var order uint64
	emit := func(s *reassembly.Segment) {
		if !p.ports.allows(s.Src.Port(), s.Dst.Port()) {
			return
		}
		if c.full(len(s.Payload)) {
			send(c)
			c = <-free
		}
		c.add(s, order)
		order++
	}
	var f pcap.Frame
	for frames := uint64(0); ; frames++ {
		if frames%framesPerProgress == 0 {
			p.progress(frames)
		}
		if ctx.Err() != nil {
			found.add(pcap.Note{Code: CodeInterrupted, At: f.Ref})
			break
		}
		err := p.source.Next(&f)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		wanted, err := p.filter.allows(&f)
		if err != nil {
			return nil, err
		}
		if wanted {
			decoder.Decode(&f, emit)
		}
	}
	send(c)
	return found, nil
}

// work runs the shards of worker w, one of n, on every chunk.
func work(all []*shard, w, n int, queue <-chan *chunk) {
	for c := range queue {
		for i := w; i < len(all); i += n {
			c.observed[i] = all[i].push(c.segments[i], c.observed[i])
		}
		c.pending.Done()
	}
}

// merge gives the observations of each chunk to the correlator, ordered by the segments that caused them.
func merge(correlator *analysis.Correlator, ordered <-chan *chunk, free chan<- *chunk) {
	for c := range ordered {
		c.pending.Wait()
		var next [shards]int
		for {
			first := -1
			for i := range shards {
				if next[i] < len(c.observed[i]) && (first < 0 || c.observed[i][next[i]].order < c.observed[first][next[first]].order) {
					first = i
				}
			}
			if first < 0 {
				break
			}
			correlator.Observe(c.observed[first][next[first]].Observation)
			next[first]++
		}
		c.reset()
		free <- c
	}
}

// finish ends all connections and puts the result together.
func (p *pipeline) finish(correlator *analysis.Correlator, all []*shard, found, read notes) *analysis.Result {
	for _, o := range lastObservations(all) {
		correlator.Observe(o)
	}
	result := correlator.Finish()
	for _, s := range all {
		tcp := s.assembler.Stats()
		result.Coverage.Stats.Add(s.decoder.Stats())
		result.Coverage.TCPConnections += tcp.Connections
		result.Coverage.Gaps += tcp.Gaps
		result.Coverage.GapBytes += tcp.GapBytes
		found.merge(s.notes)
	}
	result.Captures = p.source.Captures()
	found.merge(read)
	found.merge(captureNotes(result.Captures))
	for _, n := range result.Notes {
		found.count(n)
	}
	result.Notes = found.list()
	return result
}
