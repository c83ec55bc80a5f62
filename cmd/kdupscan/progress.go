package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// progressEvery is how often the progress line is rewritten: often enough to look alive.
const progressEvery = 200 * time.Millisecond

// progress is a line on a terminal that says how far a scan has come. It is for one goroutine.
type progress struct {
	w     io.Writer // nil: nobody looks
	next  time.Time
	shown bool
}

func newProgress(w io.Writer) *progress {
	if !isTerminal(w) {
		return &progress{}
	}
	return &progress{w: w, next: time.Now().Add(progressEvery)}
}

// measured is a source that knows how many bytes of its input it has read, and of how many; -1 where nobody knows.
type measured interface{ Progress() (read, total int64) }

// update says how many frames have been read, and how much of the source.
func (p *progress) update(frames uint64, source measured) {
	if p.w == nil || time.Now().Before(p.next) {
		return
	}
	read, total := source.Progress()
	p.next = time.Now().Add(progressEvery)
	p.shown = true
	const mib = 1 << 20
	if total > 0 {
		fmt.Fprintf(p.w, "\r\x1b[K%3d %% of %d MiB, %d packets", read*100/total, total/mib, frames)
		return
	}
	fmt.Fprintf(p.w, "\r\x1b[K%d MiB, %d packets", read/mib, frames)
}

// done takes the line away.
func (p *progress) done() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Columns of a report on a terminal: below the least its tables fall apart, above the most lines are hard to read.
const leastWidth, mostWidth = 80, 160

// terminalWidth returns the width of a terminal within bounds, and 0 for anything else.
func terminalWidth(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width <= 0 {
		return 0
	}
	return min(max(width, leastWidth), mostWidth)
}
