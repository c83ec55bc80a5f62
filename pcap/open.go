package pcap

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
)

// FileSource is a Source over files.
type FileSource interface {
	Source
	// Close closes what is still open. Captures still works after it.
	Close() error
	// Progress returns how many bytes of the files have been read, and how many there are, or -1 if a pipe is among them.
	// Both count compressed bytes. Any goroutine may call it.
	Progress() (read, total int64)
}

// stdinName is the capture name of standard input.
const stdinName = "stdin"

// Open reads captures, merged by time as Merge does. A path is a file, a pipe, a folder, or "-" for stdin. Of a folder its
// own files are read in order of their names, as far as they are captures; folders inside are not entered.
//
// Each file is opened at once to read its first packet, and again when its turn comes, so a rotated set of thousands of
// files needs only those open that overlap in time. Errors name the base name; beside those of the system they are
// ErrNotCapture, ErrEmpty and ErrNoCaptures. A file that vanishes later is damage.
func Open(paths []string, stdin io.Reader) (FileSource, error) {
	fsrc := &fileSource{idle: make(idleBlocks, maxIdleBlocks)}
	var sources []Source
	for _, path := range paths {
		opened, err := fsrc.open(path, stdin)
		if err != nil {
			_ = fsrc.Close() // the other error is the one to tell
			return nil, err
		}
		if path == "-" {
			stdin = nil
		}
		sources = append(sources, opened...)
	}
	if len(sources) == 0 {
		return nil, ErrNoCaptures
	}
	fsrc.Source = newMerged(sources)
	return fsrc, nil
}

// fileSource is what Open returns.
type fileSource struct {
	Source
	closers []io.Closer
	idle    idleBlocks // of all files
	read    atomic.Int64
	total   int64 // -1: unknown
}

func (s *fileSource) Progress() (read, total int64) { return s.read.Load(), s.total }

func (s *fileSource) Close() error {
	var errs []error
	for _, c := range s.closers {
		errs = append(errs, c.Close())
	}
	s.closers = nil
	return errors.Join(errs...)
}

// open returns the sources of one path.
func (s *fileSource) open(path string, stdin io.Reader) ([]Source, error) {
	if path == "-" {
		if stdin == nil {
			return nil, fmt.Errorf("%s: can be read only once", stdinName)
		}
		return s.stream(stdin, stdinName)
	}
	name := filepath.Base(path)
	info, err := os.Stat(path)
	if err != nil {
		return nil, systemError(name, err)
	}
	switch {
	case info.IsDir():
		return s.folder(path, name)
	case info.Mode().IsRegular():
		f, err := s.file(path, info.Size())
		return []Source{f}, err
	}
	pipe, err := os.Open(path)
	if err != nil {
		return nil, systemError(name, err)
	}
	s.closers = append(s.closers, pipe)
	return s.stream(pipe, name)
}

// stream returns a source that can be read only once.
func (s *fileSource) stream(r io.Reader, name string) ([]Source, error) {
	s.addTotal(-1)
	rd, err := newReader(countingReader{r, &s.read}, name, s.idle)
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, rd)
	return []Source{rd}, nil
}

// folder returns the captures among the files of a folder. A file that cannot be read is an error, since nobody knows what
// it holds.
func (s *fileSource) folder(path, name string) ([]Source, error) {
	entries, err := os.ReadDir(path) // sorted by name
	if err != nil {
		return nil, systemError(name, err)
	}
	var sources []Source
	for _, entry := range entries {
		file := filepath.Join(path, entry.Name())
		info, err := os.Stat(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a dangling link, or rotated away just now
		}
		if err != nil {
			return nil, systemError(entry.Name(), err)
		}
		if !info.Mode().IsRegular() {
			continue
		}
		f, err := s.file(file, info.Size())
		if errors.Is(err, ErrNotCapture) || errors.Is(err, ErrEmpty) {
			continue
		}
		if err != nil {
			return nil, err
		}
		sources = append(sources, f)
	}
	if len(sources) == 0 {
		return nil, fmt.Errorf("%s: %w in this folder", name, ErrNoCaptures)
	}
	return sources, nil
}

// file looks at the first packet of a regular file.
func (s *fileSource) file(path string, size int64) (*file, error) {
	f := &file{path: path, name: filepath.Base(path), idle: s.idle, read: &s.read}
	if err := f.peek(); err != nil {
		return nil, err
	}
	s.addTotal(size)
	if !f.any {
		s.read.Add(size) // it is not read again
	}
	s.closers = append(s.closers, f)
	return f, nil
}

func (s *fileSource) addTotal(size int64) {
	if size < 0 || s.total < 0 {
		s.total = -1
		return
	}
	s.total += size
}

// file is a capture that is opened when it is needed and closed at its end.
type file struct {
	path    string
	name    string
	idle    idleBlocks
	read    *atomic.Int64
	first   Timestamp
	any     bool // there is a first packet
	reader  *Reader
	handle  *os.File
	capture Capture // while no reader is open
	done    bool
}

// peek reads up to the first packet and closes the file again. What it learned of the packet is forgotten, unless there
// is none.
func (f *file) peek() error {
	if err := f.start(new(atomic.Int64)); err != nil {
		return err
	}
	before := f.reader.Captures()[0]
	var frame Frame
	f.any = f.reader.Next(&frame) == nil
	f.first = frame.Time
	err := f.Close()
	if f.any {
		f.done = false
		f.capture = Capture{Name: before.Name, Format: before.Format, Compression: before.Compression}
	}
	return err
}

func (f *file) firstTime() (Timestamp, bool) { return f.first, f.any }

// start opens the file.
func (f *file) start(read *atomic.Int64) error {
	handle, err := os.Open(f.path)
	if err != nil {
		return systemError(f.name, err)
	}
	reader, err := newReader(countingReader{handle, read}, f.name, f.idle)
	if err != nil {
		_ = handle.Close()
		return err
	}
	f.handle, f.reader = handle, reader
	return nil
}

func (f *file) Next(frame *Frame) error {
	if f.done {
		return io.EOF
	}
	if f.reader == nil {
		if err := f.start(f.read); err != nil {
			f.done = true
			f.capture.Damage = []Damage{{What: "the file could not be opened again (" + err.Error() + ")", Lost: -1}}
			return io.EOF
		}
	}
	err := f.reader.Next(frame)
	if err != nil {
		_ = f.Close() // all has been read
	}
	return err
}

func (f *file) Captures() []Capture {
	if f.reader != nil {
		return f.reader.Captures()
	}
	return []Capture{f.capture}
}

// Close ends the file; its capture is kept.
func (f *file) Close() error {
	f.done = true
	if f.reader == nil {
		return nil
	}
	f.capture = f.reader.Captures()[0]
	_ = f.reader.Close()
	f.reader = nil
	return f.handle.Close()
}

// systemError names the file by its base name only.
func systemError(name string, err error) error {
	if path := new(fs.PathError); errors.As(err, &path) {
		err = path.Err
	}
	return fmt.Errorf("%s: %w", name, err)
}

type countingReader struct {
	io.Reader
	n *atomic.Int64
}

func (c countingReader) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n.Add(int64(n))
	return n, err
}
