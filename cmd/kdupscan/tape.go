package main

import (
	"errors"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/pcap/flight"
)

const (
	// reelBytes and reelFrames end a reel: enough for one cheap write.
	reelBytes  = 1 << 20
	reelFrames = 4096
	// keepQueue is how many findings may wait for a slow disk.
	keepQueue = 64
	// retryEvery is how long nothing is recorded after an error, and quietFor how long further errors are counted only.
	retryEvery = 5 * time.Second
	quietFor   = time.Minute
	// freeTries is how many old files are given up for one reel on a full disk.
	freeTries = 8
)

// tape takes packets to the flight recorder, in a goroutine of its own: a slow disk costs the recording packets, and
// detection nothing. The methods add and send are the reader's.
type tape struct {
	recorder   *flight.Recorder
	say        func(string, ...any)
	free, full chan *reel
	reel       *reel // being filled, or nil
	keeps      chan keepJob
	done       chan struct{}
	waits      bool          // add may wait for the disk
	retry      time.Duration // retryEvery but in tests

	failedAt time.Time // zero: recording
	quiet    time.Time // until when errors are only counted
	counts   tapeCounts
}

// tapeCounts is what the counters show.
type tapeCounts struct {
	recorded, queueFull, unwritten atomic.Uint64 // packets
	failures, keepFailures         atomic.Uint64
	recording                      atomic.Bool
	files, bytes, kept             atomic.Int64
}

// reel is a run of packets on their way to the disk. Its buffers are used again.
type reel struct {
	data   []byte
	frames []pcap.Frame
}

// keepJob is what flight.Recorder.Keep takes.
type keepJob struct {
	name      string
	from, to  pcap.Timestamp
	documents map[string][]byte
}

func newTape(o recordOptions, file pcap.WriterOptions, reels int, say func(string, ...any)) *tape {
	t := &tape{
		recorder: flight.New(flight.Options{Dir: o.dir, Size: o.size.value, Age: o.age, KeepSize: o.keepSize.value, File: file}),
		say:      say, free: make(chan *reel, reels), full: make(chan *reel, reels), keeps: make(chan keepJob, keepQueue),
		done: make(chan struct{}), retry: retryEvery,
	}
	for range reels {
		t.free <- &reel{}
	}
	return t
}

func (t *tape) start() {
	t.counts.recording.Store(true)
	go t.run()
}

// stop waits until all is written, and gives up at the deadline.
func (t *tape) stop(deadline time.Time) {
	close(t.full)
	if !wait(t.done, deadline) {
		t.say("the disk of --record is too slow: the end of the recording is missing")
	}
}

// add takes a packet.
func (t *tape) add(f *pcap.Frame) {
	if t.reel != nil && (len(t.reel.frames) == reelFrames || len(t.reel.data)+len(f.Data) > reelBytes && len(t.reel.frames) > 0) {
		t.send()
	}
	if !t.take() {
		t.counts.queueFull.Add(1)
		return
	}
	copied := *f
	from := len(t.reel.data)
	t.reel.data = append(t.reel.data, f.Data...)
	copied.Data = t.reel.data[from:len(t.reel.data):len(t.reel.data)]
	t.reel.frames = append(t.reel.frames, copied)
}

// take makes sure that there is a reel to fill, and reports whether there is.
func (t *tape) take() bool {
	switch {
	case t.reel != nil:
	case t.waits:
		t.reel = <-t.free
	default:
		select {
		case t.reel = <-t.free:
		default:
		}
	}
	return t.reel != nil
}

// tick passes on what has been gathered, unless there is enough to do.
func (t *tape) tick() {
	if len(t.full) == 0 {
		t.send()
	}
}

// send passes on what has been gathered.
func (t *tape) send() {
	if t.reel != nil {
		t.full <- t.reel
		t.reel = nil
	}
}

// keep has a finding kept. It never waits.
func (t *tape) keep(job keepJob) {
	select {
	case t.keeps <- job:
	default:
		t.counts.keepFailures.Add(1)
	}
}

func (t *tape) run() {
	defer close(t.done)
	for {
		select {
		case job := <-t.keeps:
			t.keepNow(job)
		case r, more := <-t.full:
			if !more {
				t.end()
				return
			}
			t.record(r)
		}
	}
}

func (t *tape) end() {
	for len(t.keeps) > 0 {
		t.keepNow(<-t.keeps)
	}
	if err := t.recorder.Close(); err != nil {
		t.fail(err)
	}
	t.look()
}

func (t *tape) record(r *reel) {
	n := uint64(len(r.frames))
	waiting := !t.failedAt.IsZero() && time.Since(t.failedAt) < t.retry
	var err error
	if !waiting {
		err = t.write(r)
	}
	switch {
	case waiting:
		t.counts.unwritten.Add(n)
	case err != nil:
		t.counts.unwritten.Add(n)
		t.fail(err)
	default:
		t.counts.recorded.Add(n)
		if !t.failedAt.IsZero() {
			t.failedAt = time.Time{}
			t.counts.recording.Store(true)
			t.say("recording again")
		}
	}
	if err := t.recorder.KeepError(); err != nil {
		t.keepFailed(err)
	}
	t.look()
	r.data, r.frames = r.data[:0], r.frames[:0]
	t.free <- r
}

// write writes a reel and hands it to the system, as a whole: if the disk is full it is written again to another file, and
// what the one before got of it is there twice, which no reader minds.
func (t *tape) write(r *reel) error {
	err := t.writeOnce(r)
	for tries := 0; tries < freeTries && t.makeRoom(err); tries++ {
		err = t.writeOnce(r)
	}
	return err
}

func (t *tape) writeOnce(r *reel) error {
	for i := range r.frames {
		if err := t.recorder.Write(&r.frames[i]); err != nil {
			return err
		}
	}
	return t.recorder.Flush()
}

// makeRoom gives up the oldest file of the ring if the disk is full, and reports whether it did.
func (t *tape) makeRoom(err error) bool {
	return (errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)) && t.recorder.Free()
}

// fail stops recording for a while.
func (t *tape) fail(err error) {
	now := time.Now()
	t.failedAt = now
	t.counts.failures.Add(1)
	t.counts.recording.Store(false)
	if now.After(t.quiet) {
		t.quiet = now.Add(quietFor)
		t.say("recording failed, detection goes on: %v", err)
	}
}

func (t *tape) keepNow(job keepJob) {
	if err := t.recorder.Keep(job.name, job.from, job.to, job.documents); err != nil {
		t.keepFailed(err)
	}
	t.look()
}

func (t *tape) keepFailed(err error) {
	t.counts.keepFailures.Add(1)
	t.say("not all packets of a finding are kept: %v", err)
}

// look updates the counters.
func (t *tape) look() {
	t.counts.files.Store(int64(t.recorder.Files()))
	t.counts.bytes.Store(t.recorder.Size())
	t.counts.kept.Store(t.recorder.KeptSize())
}
