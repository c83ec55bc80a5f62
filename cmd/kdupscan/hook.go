package main

import (
	"bytes"
	"context"
	"io"
	"os/exec"
	"sync/atomic"
	"time"
)

const (
	// hookTime is how long a command may take for one finding.
	hookTime = 10 * time.Second
	// hookQueue is how many findings wait for the one before: a fault that repeats for hours is told of often enough.
	hookQueue = 64
)

// hook runs a command for each finding, one after another.
type hook struct {
	command string
	stderr  io.Writer
	queue   chan []byte
	ending  chan struct{} // closed by stop
	done    chan struct{}
	cancel  context.CancelFunc
	limit   time.Duration // hookTime but in tests
	ran     atomic.Uint64
	failed  atomic.Uint64
	lost    atomic.Uint64 // findings that found the queue full
}

func newHook(command string, stderr io.Writer) *hook {
	return &hook{command: command, stderr: stderr, queue: make(chan []byte, hookQueue), ending: make(chan struct{}), done: make(chan struct{}), limit: hookTime}
}

func (h *hook) start(say func(string, ...any)) {
	ctx, cancel := context.WithCancel(context.Background())
	h.cancel = cancel
	go func() {
		defer close(h.done)
		for {
			object, more := h.next()
			if !more {
				return
			}
			if err := h.runOne(ctx, object); err != nil {
				h.failed.Add(1)
				say("--on-finding: %v", err)
			}
		}
	}()
}

// next returns the next finding, or false when there is none and the run ends.
func (h *hook) next() ([]byte, bool) {
	select {
	case object := <-h.queue:
		return object, true
	default:
	}
	select {
	case object := <-h.queue:
		return object, true
	case <-h.ending:
		return nil, false
	}
}

// stop lets the commands for the findings so far finish, and kills what runs at the deadline.
func (h *hook) stop(deadline time.Time) {
	close(h.ending)
	if !wait(h.done, deadline) {
		h.cancel()
		<-h.done
	}
	h.cancel()
}

func (h *hook) run(object []byte) {
	select {
	case h.queue <- object:
	default:
		h.lost.Add(1)
	}
}

func (h *hook) runOne(ctx context.Context, object []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, h.limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", h.command)
	cmd.Stdin = bytes.NewReader(append(object[:len(object):len(object)], '\n'))
	cmd.Stdout, cmd.Stderr = h.stderr, h.stderr
	cmd.WaitDelay = time.Second / 4 // for who has left the process group and keeps the pipes open
	ownGroup(cmd)
	h.ran.Add(1)
	err := cmd.Run()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
