package pcap

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

const (
	// maxNesting of compressions: files are compressed twice by accident, not more often.
	maxNesting = 2
	// maxZstdWindow is what zstd itself accepts without --long; the window is memory.
	maxZstdWindow = 128 << 20
	// compressedBuffer serves to look at the first bytes, and gzip to read by the byte; all others read past it.
	compressedBuffer = 16 << 10
)

// codec is a compression format, known by its first bytes.
type codec struct {
	name string
	is   func(magic []byte) bool
	open func(r *bufio.Reader) (io.Reader, func(), error)
}

var codecs = []codec{
	{"gzip", isGzip, openGzip},
	{"zstd", isZstd, openZstd},
	{"lz4", isLZ4, openLZ4},
}

const magicLen = 4

func isGzip(m []byte) bool { return m[0] == 0x1f && m[1] == 0x8b && m[2] == 8 }

// isZstd also knows the skippable frames that pzstd begins with.
func isZstd(m []byte) bool {
	magic := byteOrder(false).uint32(m)
	return magic == 0xfd2fb528 || magic&^0xf == 0x184d2a50
}

func isLZ4(m []byte) bool { return byteOrder(false).uint32(m) == 0x184d2204 }

// decompress undoes the compressions around a capture. The name is that of the outermost one, "" for none. The function
// it returns frees the decompressors.
func decompress(r io.Reader) (src io.Reader, name string, release func(), err error) {
	release = func() {}
	for depth := 0; ; depth++ {
		buffered := bufio.NewReaderSize(r, compressedBuffer)
		c := codecOf(buffered)
		if c == nil {
			return buffered, name, release, nil
		}
		if depth == maxNesting {
			release()
			return nil, "", nil, fmt.Errorf("%w (compressed more than %d times)", ErrNotCapture, maxNesting)
		}
		opened, free, err := c.open(buffered)
		if err != nil {
			release()
			return nil, "", nil, fmt.Errorf("%w (%s)", ErrNotCapture, readFailure(codecError{c.name, err}))
		}
		if name == "" {
			name = c.name
		}
		outer := release
		release = func() { free(); outer() }
		r = codecReader{c.name, opened}
	}
}

func codecOf(r *bufio.Reader) *codec {
	magic, _ := r.Peek(magicLen)
	if len(magic) < magicLen {
		return nil
	}
	for i := range codecs {
		if codecs[i].is(magic) {
			return &codecs[i]
		}
	}
	return nil
}

func openGzip(r *bufio.Reader) (io.Reader, func(), error) {
	z, err := gzip.NewReader(r) // reads all members
	return z, func() {}, err
}

// openZstd decodes in the caller's goroutine.
func openZstd(r *bufio.Reader) (io.Reader, func(), error) {
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxZstdWindow))
	if err != nil {
		return nil, nil, err
	}
	return z, z.Close, nil
}

func openLZ4(r *bufio.Reader) (io.Reader, func(), error) {
	return lz4.NewReader(r), func() {}, nil // reads all frames
}

// codecReader marks the errors of a decompressor with its name.
type codecReader struct {
	name string
	io.Reader
}

func (c codecReader) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if err != nil && err != io.EOF {
		var inner codecError
		if !errors.As(err, &inner) {
			err = codecError{c.name, err}
		}
	}
	return n, err
}

type codecError struct {
	codec string
	error
}

func (e codecError) Unwrap() error { return e.error }

// readFailure says in one line why a source ended early. It names no path.
func readFailure(err error) string {
	if path := new(fs.PathError); errors.As(err, &path) {
		return fmt.Sprintf("reading failed: %v", path.Err)
	}
	var c codecError
	switch {
	case !errors.As(err, &c):
		return fmt.Sprintf("reading failed: %v", err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Sprintf("the %s data is cut off", c.codec)
	}
	return fmt.Sprintf("the %s data is damaged (%v)", c.codec, c.error)
}
