package pcap

import (
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"strings"
	"unicode/utf8"
)

const (
	// writeBuffer is how many bytes are gathered for one write: enough to make the calls cheap.
	writeBuffer = 64 << 10
	// maxComment bounds the comment of a packet to what the length of an option can say.
	maxComment = math.MaxUint16
)

// Options that Writer uses beside those it shares with the reader (draft-ietf-opsawg-pcapng, sections 3.5, 4.1, 4.2, 4.6).
const (
	optEnd         = 0
	optComment     = 1
	optApplication = 4 // shb_userappl
	optName        = 2 // if_name
	optReceived    = 4 // isb_ifrecv, 8 bytes
)

// WriterOptions are the options of NewWriter.
type WriterOptions struct {
	Application string // what wrote the file; may be empty
	Comment     string // on the whole file; may be empty
	Snaplen     int    // stands in the interface blocks; 0 for none
	// InterfaceName returns the name of the interface of a frame; it is called once for each interface. It may be nil.
	InterfaceName func(f *Frame) string
}

// Writer writes a pcapng file of one section: little-endian, times in nanoseconds. Each interface of each capture, and each
// link type of it, becomes an interface of the file, described before its first packet.
//
// Blocks are handed to the io.Writer whole and in order, so a file that was cut off anywhere holds all packets before that
// place. The first error sticks: what follows a block that was written in part could not be read.
//
// Frames are borrowed until the call returns. A Writer is for one goroutine.
type Writer struct {
	w          io.Writer
	options    WriterOptions
	buffer     []byte // whole blocks, not yet handed over
	handed     int64  // bytes handed over
	interfaces []writerInterface
	last       Timestamp
	err        error
}

// writerInterface is an interface of the file.
type writerInterface struct {
	key     interfaceKey
	packets uint64
}

type interfaceKey struct {
	capture, number int
	link            LinkType
}

// NewWriter begins a file. Nothing is handed to w before Flush or before there is enough of it.
func NewWriter(w io.Writer, o WriterOptions) *Writer {
	p := &Writer{w: w, options: o}
	p.begin(blockSection)
	p.put32(byteOrderMagic)
	p.put32(1) // version 1.0
	p.put64(math.MaxUint64)
	if o.Comment != "" {
		p.option(optComment, cut(o.Comment))
	}
	if o.Application != "" {
		p.option(optApplication, cut(o.Application))
	}
	if o.Comment != "" || o.Application != "" {
		p.endOptions()
	}
	p.end(0)
	return p
}

// Write adds a packet, with a comment if there is one. A time before 1970 is written as 1970.
func (p *Writer) Write(f *Frame, comment string) error {
	if p.err != nil {
		return p.err
	}
	n := p.interfaceOf(f)
	p.interfaces[n].packets++
	p.last = max(p.last, f.Time)
	start := p.begin(blockEnhanced)
	p.put32(uint32(n))
	p.time(f.Time)
	p.put32(uint32(len(f.Data)))
	p.put32(uint32(min(max(f.OriginalLength, len(f.Data)), math.MaxInt32)))
	p.buffer = append(p.buffer, f.Data...)
	p.pad()
	if comment != "" {
		p.option(optComment, cut(comment))
		p.endOptions()
	}
	p.end(start)
	if len(p.buffer) >= writeBuffer {
		return p.Flush()
	}
	return nil
}

// Secrets adds a block with secrets, such as the keys of TLS: before the packets that need them.
func (p *Writer) Secrets(s Secret) error {
	if p.err != nil {
		return p.err
	}
	start := p.begin(blockSecrets)
	p.put32(s.Type)
	p.put32(uint32(len(s.Data)))
	p.buffer = append(p.buffer, s.Data...)
	p.pad()
	p.end(start)
	return nil
}

// Size returns the length that the file would have after Write of this packet and Close.
func (p *Writer) Size(f *Frame, comment string) int64 {
	const packet, options, statistics = blockOverhead + 20, 4 + 4, blockOverhead + 12 + 12 + 4
	size := p.Written() + packet + int64(padded(len(f.Data)))
	if comment != "" {
		size += options + int64(padded(len(cut(comment))))
	}
	interfaces := len(p.interfaces)
	if p.find(f) < 0 {
		size += int64(p.describedLength(f))
		interfaces++
	}
	return size + int64(interfaces)*statistics
}

// Written returns the length of the file so far, what is not handed over yet included.
func (p *Writer) Written() int64 { return p.handed + int64(len(p.buffer)) }

// Flush hands over what has been written. Whether it survives a crash of the machine is up to Sync.
func (p *Writer) Flush() error {
	if p.err != nil || len(p.buffer) == 0 {
		return p.err
	}
	n, err := p.w.Write(p.buffer)
	if n < len(p.buffer) {
		err = cmp.Or(err, io.ErrShortWrite)
	}
	p.handed += int64(n)
	p.buffer = p.buffer[:0]
	p.err = err
	return err
}

// Sync flushes, and makes it durable if the io.Writer has a method Sync, as a file has.
func (p *Writer) Sync() error {
	if err := p.Flush(); err != nil {
		return err
	}
	if s, ok := p.w.(interface{ Sync() error }); ok {
		p.err = s.Sync()
	}
	return p.err
}

// errWriterClosed is the error of all calls after Close.
var errWriterClosed = errors.New("the capture file is closed")

// Close writes the counts of all interfaces and syncs. It does not close the io.Writer.
func (p *Writer) Close() error {
	if p.err != nil {
		return p.err
	}
	for i := range p.interfaces {
		f := &p.interfaces[i]
		start := p.begin(blockStatistics)
		p.put32(uint32(i))
		p.time(p.last)
		p.count(optReceived, f.packets)
		p.endOptions()
		p.end(start)
	}
	err := p.Sync()
	p.err = cmp.Or(err, errWriterClosed)
	return err
}

func keyOf(f *Frame) interfaceKey { return interfaceKey{f.Capture, f.Interface, f.LinkType} }

// find returns the interface of a frame in the file, or -1. Files have few.
func (p *Writer) find(f *Frame) int {
	key := keyOf(f)
	for i := range p.interfaces {
		if p.interfaces[i].key == key {
			return i
		}
	}
	return -1
}

// interfaceOf describes the interface if this is its first packet.
func (p *Writer) interfaceOf(f *Frame) int {
	if n := p.find(f); n >= 0 {
		return n
	}
	start := p.begin(blockInterface)
	p.put16(uint16(f.LinkType))
	p.put16(0)
	p.put32(uint32(p.options.Snaplen))
	if name := p.name(f); name != "" {
		p.option(optName, name)
	}
	p.option(optTimeResolution, "\x09")
	p.endOptions()
	p.end(start)
	p.interfaces = append(p.interfaces, writerInterface{key: keyOf(f)})
	return len(p.interfaces) - 1
}

func (p *Writer) describedLength(f *Frame) int {
	length := blockOverhead + 8 + 8 + 4
	if name := p.name(f); name != "" {
		length += 4 + padded(len(name))
	}
	return length
}

func (p *Writer) name(f *Frame) string {
	if p.options.InterfaceName == nil {
		return ""
	}
	return cut(p.options.InterfaceName(f))
}

// cut makes a text fit into an option, as UTF-8.
func cut(text string) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	if len(text) <= maxComment {
		return text
	}
	n := maxComment
	for !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// begin starts a block and returns its place in the buffer, for end.
func (p *Writer) begin(kind uint32) int {
	start := len(p.buffer)
	p.put32(kind)
	p.put32(0) // the length, see end
	return start
}

func (p *Writer) end(start int) {
	length := uint32(len(p.buffer) - start + 4)
	binary.LittleEndian.PutUint32(p.buffer[start+4:], length)
	p.put32(length)
}

func (p *Writer) option(code uint16, value string) {
	p.put16(code)
	p.put16(uint16(len(value)))
	p.buffer = append(p.buffer, value...)
	p.pad()
}

func (p *Writer) count(code uint16, n uint64) {
	p.put16(code)
	p.put16(8)
	p.put64(n)
}

func (p *Writer) endOptions() { p.put32(optEnd) }

// time writes the upper half first, whatever the byte order.
func (p *Writer) time(t Timestamp) {
	ticks := uint64(max(t, 0))
	p.put32(uint32(ticks >> 32))
	p.put32(uint32(ticks))
}

func (p *Writer) pad() {
	for len(p.buffer)%4 != 0 { // blocks are multiples of four bytes
		p.buffer = append(p.buffer, 0)
	}
}

func (p *Writer) put16(v uint16) { p.buffer = binary.LittleEndian.AppendUint16(p.buffer, v) }
func (p *Writer) put32(v uint32) { p.buffer = binary.LittleEndian.AppendUint32(p.buffer, v) }
func (p *Writer) put64(v uint64) { p.buffer = binary.LittleEndian.AppendUint64(p.buffer, v) }
