package main

import (
	"context"
	"errors"
	"io"
	"maps"
	"sync/atomic"
	"time"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
)

const (
	// tickEvery is how long a packet waits for others before it is analysed. An alert comes this much later at most.
	tickEvery = 50 * time.Millisecond
	// viewEvery is how old counters may be.
	viewEvery = time.Second
)

// liveReader hands packets to the tape and to the engine. From an interface it never waits for either of them.
type liveReader struct {
	source  pcap.Source
	network pcap.Live // nil when captures are read
	engine  *engine
	tape    *tape     // nil: nothing is recorded
	narrow  *narrower // nil: the filter stays as it is
	filter  frameFilter
	ports   ports
	decoder *reassembly.Decoder
	found   notes
	say     func(string, ...any)
	waits   bool // for a free chunk, since the source can wait
	secrets *secrets

	chunk   *chunk // being filled, or nil
	order   uint64
	ticked  pcap.Timestamp // capture time of the last tick
	viewed  time.Time
	at      pcap.Ref        // of the current frame
	firstAt pcap.Ref        // of the first one that found no chunk
	gone    map[string]bool // interfaces
	dropped atomic.Uint64   // segments that found no chunk
	wanted  atomic.Bool     // a report is asked for
}

// run reads until ctx is done or the source ends. The error is the source's.
func (r *liveReader) run(ctx context.Context) error {
	defer r.end()
	var f pcap.Frame
	for ctx.Err() == nil {
		err := r.source.Next(&f)
		switch {
		case errors.Is(err, pcap.ErrTimeout):
			r.tick()
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := r.frame(&f); err != nil {
			return err
		}
	}
	return nil
}

func (r *liveReader) frame(f *pcap.Frame) error {
	if since := f.Time - r.ticked; since < 0 || since >= pcap.Timestamp(tickEvery) {
		r.ticked = f.Time
		r.tick()
	}
	wanted, err := r.filter.allows(f)
	if err != nil || !wanted {
		return err
	}
	if r.narrow != nil {
		wanted = r.narrow.frame(f)
	}
	if r.tape != nil && wanted {
		r.tape.add(f)
	}
	r.at = f.Ref
	r.decoder.Decode(f, r.segment)
	return nil
}

func (r *liveReader) segment(s *reassembly.Segment) {
	if !r.ports.allows(s.Src.Port(), s.Dst.Port()) {
		return
	}
	if r.narrow != nil && !r.narrow.wants(s) {
		return
	}
	if r.chunk != nil && r.chunk.full(len(s.Payload)) {
		r.send()
	}
	if !r.take() {
		if r.dropped.Add(1) == 1 {
			r.firstAt = r.at
		}
		return
	}
	r.chunk.add(s, nil, r.order)
	r.order++
}

// take makes sure that there is a chunk to fill, and reports whether there is.
func (r *liveReader) take() bool {
	if r.chunk == nil {
		if r.waits {
			r.chunk = r.engine.take()
		} else {
			r.chunk = r.engine.tryTake()
		}
	}
	return r.chunk != nil
}

func (r *liveReader) send() {
	var captures []pcap.Capture
	if r.network == nil { // interfaces bring no keys
		captures = r.source.Captures()
	}
	r.chunk.keyLogs = r.secrets.more(captures)
	r.engine.send(r.chunk)
	r.chunk = nil
}

// tick sends on what has been gathered. It does so too when there is nothing, for who looks at the engine now and then.
func (r *liveReader) tick() {
	now := time.Now()
	if r.narrow != nil {
		r.narrow.tick(now)
	}
	if r.tape != nil {
		r.tape.tick()
	}
	report := r.wanted.Load()
	look := report || now.Sub(r.viewed) >= viewEvery
	if !look && r.engine.busy() || !r.take() {
		return
	}
	if look {
		r.wanted.CompareAndSwap(report, false)
		r.viewed = now
		r.chunk.view = &view{captures: r.source.Captures(), read: r.notes(), report: report}
		r.lookAtInterfaces()
	}
	r.send()
}

// end sends the rest.
func (r *liveReader) end() {
	if r.chunk != nil {
		r.send()
	}
	if r.tape != nil {
		r.tape.send()
	}
	if r.narrow != nil {
		r.narrow.end()
	}
}

// notes returns a copy of what was noted so far.
func (r *liveReader) notes() notes {
	n := make(notes)
	n.merge(r.found)
	if dropped := r.dropped.Load(); dropped > 0 {
		n.add(pcap.Note{Code: CodeQueueFull, At: r.firstAt, Count: int64(dropped)})
	}
	return n
}

// lookAtInterfaces says which have vanished and come back.
func (r *liveReader) lookAtInterfaces() {
	if r.network == nil {
		return
	}
	gone := make(map[string]bool)
	for _, i := range r.network.Stats().Interfaces {
		if gone[i.Name] = !i.Present; gone[i.Name] == r.gone[i.Name] {
			continue
		}
		if gone[i.Name] {
			r.say("interface %s is gone; its packets go on when it comes back", i.Name)
		} else {
			r.say("interface %s is back", i.Name)
		}
	}
	r.gone = maps.Clone(gone)
}
