package main

import (
	"context"
	"io"
	"os"
	"time"
)

const (
	// streamBlock is how much is read of a pipe at once: what a pipe of Linux holds.
	streamBlock = 64 << 10
	// streamAhead is how many blocks are read ahead.
	streamAhead = 4
)

// stream is a pipe that a live run reads captures from. A pipe may be silent for long; Read calls idle meanwhile, and ends
// when the run does. It is for one goroutine; another one waits for the pipe, for as long as that takes.
type stream struct {
	ctx    context.Context
	filled chan []byte
	empty  chan []byte
	ended  error // set before filled is closed
	block  []byte
	rest   []byte // of block
	idle   func() // may be nil
}

// newStream opens a pipe by its name, - for stdin.
func newStream(ctx context.Context, name string, stdin io.Reader) *stream {
	s := &stream{ctx: ctx, filled: make(chan []byte, streamAhead), empty: make(chan []byte, streamAhead)}
	for range streamAhead {
		s.empty <- make([]byte, streamBlock)
	}
	go func() {
		defer close(s.filled)
		in := stdin
		if name != "-" {
			file, err := os.Open(name) // waits for who writes to the pipe
			if err != nil {
				s.ended = err
				return
			}
			defer func() { _ = file.Close() }()
			in = file
		}
		s.ended = s.pump(in)
	}()
	return s
}

func (s *stream) pump(in io.Reader) error {
	for block := range s.empty {
		n, err := in.Read(block[:cap(block)])
		s.filled <- block[:n]
		if err != nil {
			return err
		}
	}
	return nil
}

// Read implements io.Reader.
func (s *stream) Read(p []byte) (int, error) {
	for len(s.rest) == 0 {
		if s.block != nil {
			s.empty <- s.block
			s.block = nil
		}
		if err := s.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// next waits for a block.
func (s *stream) next() error {
	for {
		timer := time.NewTimer(tickEvery)
		select {
		case block, more := <-s.filled:
			timer.Stop()
			if !more {
				return s.ended
			}
			s.block, s.rest = block, block
			return nil
		case <-s.ctx.Done():
			timer.Stop()
			return io.EOF
		case <-timer.C:
			if s.idle != nil {
				s.idle()
			}
		}
	}
}
