package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/kdupscan/kdupscan/analysis"
	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
	"github.com/kdupscan/kdupscan/report"
)

// A live run is an engine with a reader that never waits for it, and with a monitor that looks at the correlator after each
// chunk:
//
//	interface ─▶ liveReader ──chunks──▶ engine ──▶ monitor ──findings──▶ outlets ─▶ terminal, --alerts, --on-finding, reports
//	                  └───────reels──▶ tape ─▶ files                └──keep──▶ tape
//
// Each box is a goroutine, the engine several. All queues are bounded; where one is full, what is to go into it is dropped
// and counted. Nobody but the monitor touches the correlator.

// liveRun is one run of kdupscan live.
type liveRun struct {
	options        *liveOptions
	stdout, stderr io.Writer

	secrets *secrets
	source  io.Closer
	frames  pcap.Source
	network pcap.Live // nil when captures are read
	stream  *stream   // nil when an interface or a regular file is read
	engine  *engine
	reader  *liveReader
	monitor *monitor
	outlets *outlets
	tape    *tape // nil: nothing is recorded
	metrics *metricsServer
}

// closable is a source to be closed.
type closable interface {
	pcap.Source
	io.Closer
}

// open opens all that the run reads and writes. It fails for what was named and cannot be had, except for the folder of the
// recorder: detection goes on without it.
func (l *liveRun) open(ctx context.Context, stdin io.Reader) error {
	o := l.options
	var err error
	if l.secrets, err = o.keyLogs.open(); err != nil {
		return err
	}
	outlets, err := newOutlets(o, l.stdout, l.stderr)
	if err != nil {
		return err
	}
	l.outlets = outlets
	source, err := l.openSource(ctx, stdin)
	if err != nil {
		return err
	}
	l.source, l.frames = source, source
	l.build()
	if o.metrics != "" {
		if l.metrics, err = newMetricsServer(o.metrics, l); err != nil {
			_ = source.Close() // the other error is the one to tell
			return err
		}
	}
	return nil
}

func (l *liveRun) openSource(ctx context.Context, stdin io.Reader) (closable, error) {
	o := l.options
	if len(o.interfaces) > 0 {
		network, err := o.openInterfaces()
		if err != nil {
			return nil, err
		}
		l.network = network
		return network, nil
	}
	if info, err := os.Stat(o.read); o.read != "-" && (err != nil || info.Mode().IsRegular() || info.IsDir()) {
		return pcap.Open([]string{o.read}, nil)
	}
	l.stream = newStream(ctx, o.read, stdin)
	return pcap.Open([]string{"-"}, l.stream)
}

// build puts the run together.
func (l *liveRun) build() {
	o := l.options
	b := budget(o.memory)
	workers := min(max(int(o.workers), 1), shards)
	l.engine = newEngine(b, o.payloads, workers, workers+chunksAhead+b.queued())
	for _, s := range l.engine.shards {
		s.keys.SetBase(l.secrets.base)
	}
	l.monitor = &monitor{
		correlator: l.engine.correlator, complete: l.engine.complete, outlets: l.outlets, least: analysis.Verdict(o.minVerdict),
		key: runKey(), given: map[string]*given{}, counts: map[findingKind]uint64{}, learned: make(chan uint16, maxNarrowPorts), ports: map[uint16]bool{},
	}
	l.engine.merged = l.monitor.merged
	if o.record.dir != "" {
		l.tape = newTape(o.record, l.recordedFile(), b.reels(), l.outlets.say)
		l.tape.waits = l.network == nil
		l.outlets.keep = l.tape.keep
	}
	r := &liveReader{source: l.frames, engine: l.engine, tape: l.tape, ports: o.ports, found: make(notes), say: l.outlets.say, secrets: l.secrets}
	r.decoder = reassembly.NewDecoder(b.reassembly(1), r.found.add)
	switch {
	case l.network == nil:
		r.filter, r.waits = o.filter, true
	case o.filter.text == "":
		r.narrow = newNarrower(l.network, l.monitor.learned, l.secrets.base, l.outlets.say)
	}
	r.network = l.network
	if l.stream != nil {
		l.stream.idle = r.tick
	}
	l.reader = r
}

func (l *liveRun) recordedFile() pcap.WriterOptions {
	o := pcap.WriterOptions{Application: "kdupscan " + version(), Snaplen: int(l.options.snaplen.value)}
	if network := l.network; network != nil {
		o.InterfaceName = func(f *pcap.Frame) string { return network.Stats().Interfaces[f.Interface].Name }
	}
	return o
}

// run captures until ctx is done or the source ends, and returns the result. The error is the source's.
func (l *liveRun) run(ctx context.Context) (*analysis.Result, error) {
	l.outlets.start()
	if l.tape != nil {
		l.tape.start()
	}
	if l.metrics != nil {
		l.metrics.start()
		defer l.metrics.stop()
	}
	l.engine.start()
	undo := l.handle()
	if l.network != nil {
		l.outlets.say("capturing on %s", l.frames.Captures()[0].Name)
	}
	err := l.reader.run(ctx)
	undo()
	l.engine.stop()
	captures := l.frames.Captures()
	read := l.reader.notes()
	read.merge(l.secrets.notes(l.engine.shards[0].keys))
	result := l.engine.finish(captures, read)
	l.monitor.last(&view{captures: captures}, result.Coverage)
	deadline := time.Now().Add(patience)
	l.outlets.flush(deadline)
	if l.tape != nil {
		l.tape.stop(deadline)
	}
	l.outlets.stop(deadline)
	return result, err
}

// write writes the report, to --out or standard output.
func (l *liveRun) write(result *analysis.Result) error {
	return l.outlets.writeReport(l.stdout, result)
}

// handle acts on the signals for a run that goes on, until the returned function is called.
func (l *liveRun) handle() (undo func()) {
	return onSignals(func() { l.reader.wanted.Store(true) }, func() { l.outlets.reopen() })
}

// line is a line for standard error.
func line(format string, args ...any) string { return report.Line(fmt.Sprintf(format, args...)) }
