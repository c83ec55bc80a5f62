package pcap

import (
	"fmt"
	"io"
	"math/bits"
)

// Magic numbers of the older format, in the byte order of the file.
const (
	magicMicro    = 0xa1b2c3d4
	magicNano     = 0xa1b23c4d
	magicModified = 0xa1b2cd34 // A. Kuznetzov's patched libpcap of about 1998: longer record headers
)

const (
	pcapHeaderLen     = 24
	recordHeaderLen   = 16
	modifiedHeaderLen = 24
)

// pcapFile is the older format (draft-ietf-opsawg-pcap).
type pcapFile struct {
	r         *Reader
	order     byteOrder
	headerLen int
	tick      Timestamp // nanoseconds in a unit of the second time field
	minor     uint16    // version 2.minor
	linkType  LinkType
	last      int64 // seconds of the last packet, -1 before the first
}

// record is the header of one packet.
type record struct {
	seconds  int64
	fraction uint32
	captured uint32
	original uint32
}

// magic takes the first four bytes of a file, read as big-endian, and reports whether it knows them.
func (p *pcapFile) magic(m uint32) bool {
	p.headerLen, p.tick = recordHeaderLen, 1000
	for _, p.order = range []byteOrder{true, false} {
		switch m {
		case magicMicro:
			return true
		case magicNano:
			p.tick = 1
			return true
		case magicModified:
			p.headerLen = modifiedHeaderLen
			return true
		}
		m = bits.ReverseBytes32(m)
	}
	return false
}

// readHeader consumes the file header: magic, version, time zone, accuracy (both unused), snapshot length, link type.
// The snapshot length bounds nothing: packets longer than it are common. The upper half of the link type tells of an FCS.
func (p *pcapFile) readHeader() {
	h := p.r.buf.rest()
	p.minor = p.order.uint16(h[6:])
	p.linkType = LinkType(p.order.uint32(h[20:]))
	p.last = -1
	p.r.capture.Format = "pcap"
	p.r.addLinkType(p.linkType)
	p.r.buf.skip(pcapHeaderLen)
}

func (p *pcapFile) record(h []byte) record {
	rec := record{
		seconds:  int64(p.order.uint32(h)),
		fraction: p.order.uint32(h[4:]),
		captured: p.order.uint32(h[8:]),
		original: p.order.uint32(h[12:]),
	}
	// Before version 2.4 the lengths could stand in the other order; an original length is never the smaller one.
	if p.minor < 4 && rec.captured > rec.original {
		rec.captured, rec.original = rec.original, rec.captured
	}
	return rec
}

func (p *pcapFile) next(f *Frame) error {
	b := &p.r.buf
	for {
		if !b.has(p.headerLen) {
			return p.r.ends("a record header")
		}
		rec := p.record(b.rest())
		suspect := p.suspect(rec)
		if (suspect || p.last < 0) && p.secondHeader() {
			continue
		}
		if suspect && !p.believable(rec) {
			if !p.resync(fmt.Sprintf("not a packet record (captured length %d)", rec.captured)) {
				return io.EOF
			}
			continue
		}
		n := p.headerLen + int(rec.captured)
		if !b.has(n) {
			if !p.resync("the file ends inside a packet") {
				return io.EOF
			}
			continue
		}
		p.last = rec.seconds
		f.Time = Timestamp(rec.seconds)*1e9 + Timestamp(rec.fraction)*p.tick
		f.Offset = b.offset
		f.LinkType = p.linkType
		f.Interface = 0
		f.Data = b.rest()[p.headerLen:n:n]
		f.OriginalLength = originalLength(rec.original, len(f.Data))
		b.skip(n)
		return nil
	}
}

// secondHeader begins anew where a second capture was appended to the first (cat a.pcap b.pcap).
func (p *pcapFile) secondHeader() bool {
	b := &p.r.buf
	if !b.has(pcapHeaderLen) {
		return false
	}
	h := b.rest()
	second := pcapFile{r: p.r}
	if !second.magic(byteOrder(true).uint32(h)) || second.order.uint16(h[4:]) != 2 {
		return false
	}
	second.readHeader()
	*p = second
	return true
}
