package pcap

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/zeebo/xxh3"
)

// Errors of NewReader and Open. They come wrapped, with the base name of the file.
var (
	ErrNotCapture = errors.New("not a pcap or pcapng file")
	ErrEmpty      = errors.New("empty file")
	ErrNoCaptures = errors.New("no captures")
)

const (
	// maxPacket bounds the captured length of a packet: eight times the largest one that Linux makes (BIG TCP, 512 KiB).
	// Not the snapshot length of the header, which real files exceed.
	maxPacket = 4 << 20
	// usualPacket is the snapshot length of tcpdump and Wireshark. A longer packet is believed when what follows it is
	// believable too.
	usualPacket = 256 << 10
	// maxDamages bounds Capture.Damage for a file that is damaged all over; the last entry then stands for all the rest.
	maxDamages = 100
	// maxLinkTypes bounds Capture.LinkTypes; real files have two or three.
	maxLinkTypes = 64
	// fingerprintBytes of each packet enter the fingerprint: headers and the start of the payload, which differ between
	// any two captures, and which the decoder touches anyway.
	fingerprintBytes = 96
)

// Reader reads one capture. It implements Source.
type Reader struct {
	buf     buffer
	format  format
	release func()
	capture Capture
	more    int // damages beyond maxDamages
	done    bool
}

// format is one of the file formats. next fills all of f except Capture and Number, or returns io.EOF.
type format interface {
	next(f *Frame) error
}

// NewReader reads the beginning of a capture, which is decompressed as needed. The name is for Capture.Name and errors:
// ErrNotCapture, ErrEmpty, or why r could not be read. Close frees the decompressor; it does not close r.
func NewReader(r io.Reader, name string) (*Reader, error) {
	return newReader(r, name, make(idleBlocks, maxIdleBlocks))
}

func newReader(r io.Reader, name string, idle idleBlocks) (*Reader, error) {
	src, compression, release, err := decompress(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	rd := &Reader{release: release, capture: Capture{Name: name, Compression: compression}}
	rd.buf.src, rd.buf.idle = src, idle
	if err := rd.open(); err != nil {
		release()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return rd, nil
}

// open finds the format by the first bytes.
func (r *Reader) open() error {
	if !r.buf.has(4) {
		switch err := r.buf.err; {
		case errors.As(err, new(codecError)):
			return fmt.Errorf("%w (%s)", ErrNotCapture, readFailure(err))
		case err != io.EOF:
			return errors.New(readFailure(err))
		case len(r.buf.rest()) == 0:
			return ErrEmpty
		}
		return ErrNotCapture
	}
	magic := binary.BigEndian.Uint32(r.buf.rest())
	if magic == blockSection {
		r.format = newPcapngFile(r)
		if !r.format.(*pcapngFile).startsWell() {
			return fmt.Errorf("%w (its first block is no section header)", ErrNotCapture)
		}
		return nil
	}
	p := &pcapFile{r: r}
	if !p.magic(magic) {
		return fmt.Errorf("%w (it begins with %08x)", ErrNotCapture, magic)
	}
	if !r.buf.has(pcapHeaderLen) {
		return fmt.Errorf("%w (its header is cut off at byte %d)", ErrNotCapture, len(r.buf.rest()))
	}
	p.readHeader()
	r.format = p
	return nil
}

// Next fills f with the next packet; see Source.
func (r *Reader) Next(f *Frame) error {
	if r.done {
		return io.EOF
	}
	if err := r.format.next(f); err != nil {
		r.done = true
		return err
	}
	f.Block = r.buf.block
	r.capture.add(f)
	return nil
}

// add counts a packet and numbers it.
func (c *Capture) add(f *Frame) {
	c.Packets++
	c.Bytes += uint64(len(f.Data))
	if f.OriginalLength > len(f.Data) {
		c.CutShort++
	}
	if c.Packets == 1 {
		c.First, c.Last = f.Time, f.Time
	}
	c.First, c.Last = min(c.First, f.Time), max(c.Last, f.Time)
	c.Fingerprint = fingerprint(c.Fingerprint, f)
	f.Capture, f.Number = 0, FrameNumber(c.Packets)
}

// fingerprint chains the digest over one more packet. Nothing of the file format enters it, so the same packets have the
// same fingerprint as pcap and as pcapng.
func fingerprint(sum uint64, f *Frame) uint64 {
	const odd = 0x9e3779b97f4a7c15 // spreads the lengths over the word
	seed := sum ^ uint64(f.Time) ^ (uint64(f.OriginalLength)<<32|uint64(len(f.Data)))*odd
	return xxh3.HashSeed(f.Data[:min(len(f.Data), fingerprintBytes)], seed)
}

// Captures returns one capture, as far as it has been read.
func (r *Reader) Captures() []Capture {
	c := r.capture
	c.LinkTypes = slices.Clone(c.LinkTypes)
	c.Damage = slices.Clone(c.Damage)
	c.Secrets = slices.Clone(c.Secrets)
	if c.Dropped != nil {
		dropped := *c.Dropped
		c.Dropped = &dropped
	}
	return []Capture{c}
}

// Close frees the decompressor and the buffer. Captures still works after it.
func (r *Reader) Close() error {
	r.done = true
	r.release()
	r.release = func() {}
	r.buf.free()
	r.buf = buffer{err: io.EOF}
	return nil
}

// damaged records that lost bytes from offset on could not be read, and returns the entry's number, from 1.
func (r *Reader) damaged(offset FileOffset, what string, lost int64) int {
	c := &r.capture
	if len(c.Damage) < maxDamages {
		c.Damage = append(c.Damage, Damage{Offset: offset, Frame: FrameNumber(c.Packets), What: what, Lost: lost})
		return len(c.Damage)
	}
	r.more++
	last := &c.Damage[maxDamages-1]
	last.What = fmt.Sprintf("this and %d later places could not be read", r.more)
	if lost < 0 {
		last.Lost = -1
	} else {
		last.Lost += lost
	}
	return maxDamages
}

// lostMore adds n bytes to an entry.
func (r *Reader) lostMore(entry, n int) { r.capture.Damage[entry-1].Lost += int64(n) }

// lostRest records that nothing could be read from offset on, and why.
func (r *Reader) lostRest(offset FileOffset, what string) {
	if r.buf.err != nil && r.buf.err != io.EOF {
		what = readFailure(r.buf.err)
	}
	r.damaged(offset, what, -1)
}

// ends records why the file stops inside of what, unless it stops as it should, and returns io.EOF.
func (r *Reader) ends(what string) error {
	if len(r.buf.rest()) > 0 || r.buf.err != io.EOF {
		r.lostRest(r.buf.offset, "the file ends inside "+what)
	}
	return io.EOF
}

// addLinkType keeps the distinct link types in order of appearance.
func (r *Reader) addLinkType(t LinkType) {
	c := &r.capture
	if len(c.LinkTypes) < maxLinkTypes && !slices.Contains(c.LinkTypes, t) {
		c.LinkTypes = append(c.LinkTypes, t)
	}
}

// originalLength makes a length that is an int on every system and not below what was captured: some writers leave it 0.
func originalLength(wire uint32, captured int) int {
	return max(int(min(wire, math.MaxInt32)), captured)
}

// byteOrder is that of a file or section; true means big-endian.
type byteOrder bool

func (o byteOrder) uint16(b []byte) uint16 {
	if o {
		return binary.BigEndian.Uint16(b)
	}
	return binary.LittleEndian.Uint16(b)
}

func (o byteOrder) uint32(b []byte) uint32 {
	if o {
		return binary.BigEndian.Uint32(b)
	}
	return binary.LittleEndian.Uint32(b)
}

func (o byteOrder) uint64(b []byte) uint64 {
	if o {
		return binary.BigEndian.Uint64(b)
	}
	return binary.LittleEndian.Uint64(b)
}
