package main

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/kdupscan/kdupscan/analysis"
	"github.com/kdupscan/kdupscan/pcap"
)

// The engine that scan and live share:
//
//	reader ──chunks──▶ lanes, one for each shard, on the workers ──chunks──▶ merger ──▶ free chunks
//
// The reader decodes frames to TCP segments and puts them into chunks. Connections are spread over a fixed number of
// shards, each with an assembler, a decrypter and a Kafka decoder of its own. A chunk waits in the lanes of the shards that it
// has segments for; whatever worker is free takes up the lane that has waited longest. The merger hands the observations of a
// chunk to the correlator in the order of the segments that caused them. Since neither the shards nor that order depend on
// the number of workers, neither does the result, even where a bound of memory is hit.

// shards is the number of shards, and the most workers that are of use. Each shard has this part of the memory for
// unfinished messages; with more shards a Fetch answer of 50 MiB, a consumer's default, would not fit into a part.
const shards = 4

const (
	// chunksAhead is how many chunks may hold segments beside the one of each worker: one being filled, and the others so that
	// nobody waits for a slow one at once.
	chunksAhead = 4
	// chunksMerging is how many further chunks may hold nothing but observations: the workers go on while the correlator drops a
	// part of its history.
	chunksMerging = 12
)

// view is what the layers have counted behind one chunk; each of them fills in its part as the chunk passes.
type view struct {
	captures []pcap.Capture
	read     notes // of the reader
	shards   [shards]shardView
	report   bool // for a report, not for the counters alone
}

// engine takes segments to observations and these to one correlator. The reader calls take, tryTake, send and stop; the
// merger calls merged and is the only one to use the correlator until stop has returned.
type engine struct {
	shards     [shards]*shard
	lanes      [shards]lane
	ready      chan int // lanes to be taken up by a worker, each in it once at most
	workers    int
	correlator *analysis.Correlator
	found      notes // of the correlator
	loads      chan *load
	free       chan *chunk
	ordered    chan *chunk
	merged     func(*chunk) // called after the observations of a chunk were handed over; may be nil
	working    sync.WaitGroup
	merging    sync.WaitGroup
}

// lane holds the chunks that wait for one shard, in their order.
type lane struct {
	sync.Mutex
	waiting []*chunk
	taken   bool // it is ready, or a worker is in it
}

// newEngine returns an engine of which so many chunks may hold segments at once. It does nothing before start.
func newEngine(b budget, previews bool, workers, loads int) *engine {
	chunks := loads + chunksMerging
	e := &engine{
		ready: make(chan int, shards), workers: workers, found: make(notes),
		loads: make(chan *load, loads), free: make(chan *chunk, chunks), ordered: make(chan *chunk, chunks),
	}
	for i := range e.shards {
		e.shards[i] = newShard(b, previews)
	}
	for range loads {
		e.loads <- nil // made when it is needed
	}
	for range chunks {
		e.free <- &chunk{done: make(chan struct{}, 1)}
	}
	e.correlator = analysis.New(analysis.Options{Memory: b.history(), Note: e.found.add, Each: e.each})
	return e
}

func (e *engine) start() {
	for range e.workers {
		e.working.Go(e.work)
	}
	e.merging.Go(e.merge)
}

// take returns an empty chunk, and waits for one if all are on their way.
func (e *engine) take() *chunk {
	c := <-e.free
	c.load = <-e.loads
	return c.loaded()
}

// tryTake returns an empty chunk, or nil if all are on their way.
func (e *engine) tryTake() *chunk {
	select {
	case c := <-e.free:
		select {
		case c.load = <-e.loads:
			return c.loaded()
		default:
			e.free <- c
		}
	default:
	}
	return nil
}

// busy reports whether the engine has enough to do, so that a chunk may as well be filled.
func (e *engine) busy() bool { return len(e.ordered) >= chunksAhead }

// send gives a chunk away. It never waits.
func (e *engine) send(c *chunk) {
	c.pending.Store(1) // for the time until all lanes have it
	for i := range e.lanes {
		if c.concerns(i) {
			c.pending.Add(1)
			e.enqueue(i, c)
		}
	}
	e.leave(c)
	e.ordered <- c
}

// enqueue puts a chunk into a lane.
func (e *engine) enqueue(i int, c *chunk) {
	l := &e.lanes[i]
	l.Lock()
	defer l.Unlock()
	l.waiting = append(l.waiting, c)
	if !l.taken {
		l.taken = true
		e.ready <- i
	}
}

// work takes one chunk of a lane at a time, so that the oldest chunks are done first.
func (e *engine) work() {
	for i := range e.ready {
		l := &e.lanes[i]
		l.Lock()
		c := l.waiting[0]
		l.waiting = slices.Delete(l.waiting, 0, 1)
		l.Unlock()
		e.shards[i].take(c, i)
		e.leave(c)
		l.Lock()
		if l.taken = len(l.waiting) > 0; l.taken {
			e.ready <- i
		}
		l.Unlock()
	}
}

// leave says that a shard is done with a chunk; the last one frees the load.
func (e *engine) leave(c *chunk) {
	if c.pending.Add(-1) > 0 {
		return
	}
	c.load.reset()
	e.loads <- c.load
	c.load = nil
	c.done <- struct{}{}
}

// merge gives the observations of each chunk to the correlator.
func (e *engine) merge() {
	for c := range e.ordered {
		<-c.done
		c.inOrder(e.correlator.Observe)
		if e.merged != nil {
			e.merged(c)
		}
		c.reset()
		e.free <- c
	}
}

// each does n things side by side, for the correlator.
func (e *engine) each(n int, do func(int)) {
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(n, e.workers) {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				do(int(i))
			}
		})
	}
	all.Wait()
}

// stop waits until all chunks have been merged.
func (e *engine) stop() {
	close(e.ordered)
	e.merging.Wait()
	close(e.ready)
	e.working.Wait()
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
