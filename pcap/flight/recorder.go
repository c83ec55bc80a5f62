package flight

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kdupscan/kdupscan/pcap"
)

const (
	// MinSize is the least Options.Size: the files of the ring then still hold some of the largest packets each.
	MinSize = 16 << 20
	// ringFiles is how many files the ring has when it is full. The oldest goes as a whole, so the more there are, the more
	// is there at any time; the fewer, the cheaper is a look at the folder.
	ringFiles = 16
	// maxFile is for large rings: what is kept around a moment should not be much more than was asked for.
	maxFile = 128 << 20
	// filesPerAge is how many files there are when traffic is low and age decides.
	filesPerAge = 64
)

// Files of the ring are called by the time of their first packet, so that their names sort as they were written.
const (
	prefix     = "kdupscan-"
	suffix     = ".pcapng"
	nameLayout = "20060102T150405.000000000Z"
)

// Options are the options of a Recorder.
type Options struct {
	Dir  string        // made when missing
	Size int64         // of the ring, in bytes, at least MinSize
	Age  time.Duration // of the oldest packet in the ring, give or take one file
	// KeepSize bounds what is kept in Dir/findings, beside the ring.
	KeepSize int64
	File     pcap.WriterOptions
}

// Recorder writes the ring. After an error of Write it has closed the file, and begins another one with the next Write: the
// caller decides when to try again.
type Recorder struct {
	options Options
	files   []*file // oldest first; the last one is being written if writer is not nil
	closed  int64   // bytes in the others
	writer  *pcap.Writer
	out     *os.File
	now     pcap.Timestamp // of the last packet
	keeper
}

// file is a file of the ring.
type file struct {
	name        string
	size        int64
	first, last pcap.Timestamp
}

// New returns a Recorder. Nothing is read or written before Write, so there is no error.
func New(o Options) *Recorder {
	o.Size = max(o.Size, MinSize)
	return &Recorder{options: o}
}

// Write records a frame. Errors are those of the file system.
func (r *Recorder) Write(f *pcap.Frame) error {
	if err := r.write(f); err != nil {
		r.giveUp()
		return err
	}
	return nil
}

func (r *Recorder) write(f *pcap.Frame) error {
	if r.writer != nil && r.full(f) {
		if err := r.closeFile(); err != nil {
			return err
		}
	}
	if r.writer == nil {
		if err := r.openFile(f); err != nil {
			return err
		}
	}
	if err := r.shrink(r.writer.Size(f, "")); err != nil {
		return err
	}
	if err := r.writer.Write(f, ""); err != nil {
		return err
	}
	current := r.files[len(r.files)-1]
	current.first, current.last = min(current.first, f.Time), max(current.last, f.Time)
	r.now = f.Time
	return nil
}

// full reports whether a frame belongs into the next file.
func (r *Recorder) full(f *pcap.Frame) bool {
	first := r.files[len(r.files)-1].first
	return r.writer.Size(f, "") > r.fileSize() || f.Time-first > pcap.Timestamp(r.options.Age/filesPerAge)
}

func (r *Recorder) fileSize() int64 { return min(r.options.Size/ringFiles, maxFile) }

// Flush hands to the system what has been written.
func (r *Recorder) Flush() error {
	if r.writer == nil {
		return nil
	}
	if err := r.writer.Flush(); err != nil {
		r.giveUp()
		return err
	}
	return nil
}

// Size returns the length of the ring's files.
func (r *Recorder) Size() int64 {
	if r.writer != nil {
		return r.closed + r.writer.Written()
	}
	return r.closed
}

// Files returns how many files the ring has.
func (r *Recorder) Files() int { return len(r.files) }

// Free deletes the oldest file of the ring that is not empty, to make room on a full disk. It reports whether there was one.
func (r *Recorder) Free() bool {
	for len(r.files) > 1 || len(r.files) == 1 && r.writer == nil {
		size := r.files[0].size
		if r.deleteOldest() != nil {
			return false
		}
		if size > 0 {
			return true
		}
	}
	return false
}

// Close ends the file being written.
func (r *Recorder) Close() error {
	if r.writer == nil {
		return nil
	}
	return r.closeFile()
}

// openFile begins the next file, and takes the files of earlier runs into the ring if it is the first.
func (r *Recorder) openFile(f *pcap.Frame) error {
	if err := os.MkdirAll(r.options.Dir, 0o700); err != nil {
		return err
	}
	if r.files == nil {
		if err := r.adopt(); err != nil {
			return err
		}
	}
	name := prefix + f.Time.Time().Format(nameLayout) + suffix
	if n := len(r.files); n > 0 && name <= r.files[n-1].name { // the clock was set back
		name = strings.TrimSuffix(r.files[n-1].name, suffix) + "_" + suffix
	}
	// Packets are as private as the traffic is.
	out, err := os.OpenFile(filepath.Join(r.options.Dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	r.out, r.writer = out, pcap.NewWriter(out, r.options.File)
	r.files = append(r.files, &file{name: name, first: f.Time, last: f.Time})
	r.linkOpened()
	return nil
}

// adopt lists the files of earlier runs.
func (r *Recorder) adopt() error {
	entries, err := os.ReadDir(r.options.Dir) // sorted by name
	if err != nil {
		return err
	}
	r.files = []*file{}
	for _, entry := range entries {
		first, ok := timeOf(entry.Name())
		info, err := entry.Info()
		if !ok || err != nil || !info.Mode().IsRegular() {
			continue
		}
		last := max(first, pcap.Timestamp(info.ModTime().UnixNano()))
		r.files = append(r.files, &file{name: entry.Name(), size: info.Size(), first: first, last: last})
		r.closed += info.Size()
	}
	return nil
}

// timeOf returns the time in the name of a file of the ring.
func timeOf(name string) (pcap.Timestamp, bool) {
	stem, isRing := strings.CutPrefix(name, prefix)
	stem, isCapture := strings.CutSuffix(stem, suffix)
	t, err := time.Parse(nameLayout, strings.TrimRight(stem, "_"))
	return pcap.Timestamp(t.UnixNano()), isRing && isCapture && err == nil
}

// closeFile ends the file being written, which is not written to any more whatever the error.
func (r *Recorder) closeFile() error {
	err := errors.Join(r.writer.Close(), r.out.Close())
	r.closed += r.settle()
	return err
}

// giveUp leaves the file being written as it is.
func (r *Recorder) giveUp() {
	if r.writer != nil {
		_ = r.out.Close() // the error before it is the one to tell
		r.closed += r.settle()
	}
}

// settle makes the file being written one of the others and returns its size.
func (r *Recorder) settle() int64 {
	current := r.files[len(r.files)-1]
	current.size = r.writer.Written()
	if info, err := os.Stat(r.path(current)); err == nil {
		current.size = info.Size() // less than was written, where that failed
	}
	r.linkClosed(current)
	r.writer, r.out = nil, nil
	return current.size
}

// shrink deletes files while the ring is too large, with so many bytes in the file being written, or too old.
func (r *Recorder) shrink(current int64) error {
	for len(r.files) > 1 {
		tooOld := r.now-r.files[0].last > pcap.Timestamp(r.options.Age)
		if r.closed+current <= r.options.Size && !tooOld {
			break
		}
		if err := r.deleteOldest(); err != nil {
			return err
		}
	}
	return nil
}

func (r *Recorder) deleteOldest() error {
	oldest := r.files[0]
	if err := os.Remove(r.path(oldest)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	r.files = r.files[1:]
	r.closed -= oldest.size
	return nil
}

func (r *Recorder) path(f *file) string { return filepath.Join(r.options.Dir, f.name) }

// overlapping returns the files with packets between two times.
func (r *Recorder) overlapping(from, to pcap.Timestamp) []*file {
	var all []*file
	for _, f := range r.files {
		if f.first <= to && f.last >= from {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b *file) int { return cmp.Compare(a.name, b.name) })
	return all
}
