package main

import (
	"context"
	"errors"
	"io"

	"github.com/kdupscan/kdupscan/analysis"
	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
)

// framesPerProgress is how many frames are read between looks at the clock.
const framesPerProgress = 4096

// pipeline is one scan: a source read into an engine.
type pipeline struct {
	source   pcap.Source
	filter   frameFilter
	ports    ports
	budget   budget
	previews bool
	secrets  *secrets // nil: only those of the captures
	workers  int
	progress func(frames uint64) // called now and then while reading
}

// run reads the source to its end, or until ctx is done, and returns the result. The error is the source's.
func (p *pipeline) run(ctx context.Context) (*analysis.Result, error) {
	workers := min(max(p.workers, 1), shards)
	e := newEngine(p.budget, p.previews, workers, workers+chunksAhead)
	if p.secrets == nil {
		p.secrets = newSecrets()
	}
	for _, s := range e.shards {
		s.keys.SetBase(p.secrets.base)
	}
	e.start()
	read, err := p.read(ctx, e)
	e.stop()
	if err != nil {
		return nil, err
	}
	read.merge(p.secrets.notes(e.shards[0].keys))
	return e.finish(p.source.Captures(), read), nil
}

// read decodes all frames into chunks and gives those to the engine. It returns the notes of the decoder.
func (p *pipeline) read(ctx context.Context, e *engine) (notes, error) {
	found := make(notes)
	decoder := reassembly.NewDecoder(p.budget.reassembly(1), found.add)
	c := e.take()
	send := func() {
		c.keyLogs = p.secrets.more(p.source.Captures())
		e.send(c)
	}
	var order uint64
	var f pcap.Frame
	emit := func(s *reassembly.Segment) {
		if !p.ports.allows(s.Src.Port(), s.Dst.Port()) {
			return
		}
		if c.full(len(s.Payload)) {
			send()
			c = e.take()
		}
		c.add(s, f.Block, order)
		order++
	}
	for frames := uint64(0); ; frames++ {
		if frames%framesPerProgress == 0 {
			p.progress(frames)
		}
		if ctx.Err() != nil {
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
	if ctx.Err() != nil { // whether it ended the loop or the input
		found.add(pcap.Note{Code: CodeInterrupted, At: f.Ref})
	}
	send()
	return found, nil
}
