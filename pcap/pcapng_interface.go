package pcap

import (
	"math"
	"math/bits"
)

// Options of Interface Description Blocks and Interface Statistics Blocks (draft-ietf-opsawg-pcapng, sections 4.2 and 4.6).
const (
	optTimeResolution = 9  // 1 byte
	optTimeOffset     = 14 // 8 bytes, signed seconds
	optDrops          = 5  // isb_ifdrop, 8 bytes
	optSystemDrops    = 7  // isb_osdrop, 8 bytes
)

// maxInterfaces of one section; real files have one for each device of a host.
const maxInterfaces = 1 << 12

// ifDescription is what is kept of an interface.
type ifDescription struct {
	linkType     LinkType
	snapLen      uint32 // 0: no limit
	clock        clock
	packetDrops  uint64 // sum of what packet blocks say
	counterDrops uint64 // highest count in a statistics block
}

// drops of an interface: packet blocks and counters tell of the same ones.
func (i *ifDescription) drops() uint64 { return max(i.packetDrops, i.counterDrops) }

// addInterface reads an Interface Description Block: link type, two unused bytes, snapshot length, options.
func (p *pcapngFile) addInterface(body []byte) (fault string) {
	if len(body) < 8 {
		return "an interface block without room for its header"
	}
	if len(p.interfaces) == maxInterfaces {
		return "more interfaces in one section than are kept"
	}
	i := ifDescription{linkType: LinkType(p.order.uint16(body)), snapLen: p.order.uint32(body[4:])}
	resolution, offset := byte(6), int64(0)
	for o := (optionReader{order: p.order, rest: body[8:]}); o.next(); {
		switch {
		case o.code == optTimeResolution && len(o.value) == 1:
			resolution = o.value[0]
		case o.code == optTimeOffset && len(o.value) == 8:
			offset = int64(p.order.uint64(o.value))
		}
	}
	i.clock = newClock(resolution, offset)
	p.interfaces = append(p.interfaces, i)
	p.r.addLinkType(i.linkType)
	return ""
}

// statistics reads an Interface Statistics Block: interface, time, options. Its counters run from the start of the capture.
func (p *pcapngFile) statistics(body []byte) (fault string) {
	if len(body) < 12 {
		return "a statistics block without room for its header"
	}
	number := p.order.uint32(body)
	if uint64(number) >= uint64(len(p.interfaces)) {
		return "statistics of an interface that is not described"
	}
	var drops uint64
	said := false
	for o := (optionReader{order: p.order, rest: body[12:]}); o.next(); {
		if (o.code == optDrops || o.code == optSystemDrops) && len(o.value) == 8 {
			drops = addUint64(drops, p.order.uint64(o.value))
			said = true
		}
	}
	if said {
		i := &p.interfaces[number]
		before := i.drops()
		i.counterDrops = max(i.counterDrops, drops)
		p.addDropped(i.drops() - before)
	}
	return ""
}

func (p *pcapngFile) addPacketDrops(i *ifDescription, n uint64) {
	before := i.drops()
	i.packetDrops = addUint64(i.packetDrops, n)
	p.addDropped(i.drops() - before)
}

func (p *pcapngFile) addDropped(n uint64) {
	c := &p.r.capture
	if c.Dropped == nil {
		c.Dropped = new(uint64)
	}
	*c.Dropped = addUint64(*c.Dropped, n)
}

// addUint64 stops at the largest value: counters in files may be anything.
func addUint64(a, b uint64) uint64 {
	if sum, carry := bits.Add64(a, b, 0); carry == 0 {
		return sum
	}
	return math.MaxUint64
}

// clock turns the ticks of an interface into nanoseconds: ticks * mul >> shift / div + offset.
type clock struct {
	mul, div uint64
	shift    uint
	offset   int64 // nanoseconds
}

// newClock takes if_tsresol (a negative power of ten, or of two if the top bit is set) and if_tsoffset in seconds.
func newClock(resolution byte, offset int64) clock {
	const limit = math.MaxInt64 / int64(1e9)
	c := clock{mul: 1e9, div: 1, offset: min(max(offset, -limit), limit) * 1e9}
	exponent := uint(resolution & 0x7f)
	if resolution&0x80 != 0 {
		c.shift = exponent
		return c
	}
	for ; exponent > 0 && c.mul > 1; exponent-- {
		c.mul /= 10
	}
	// Finer than nanoseconds. Beyond 10^-28 no 64-bit count of ticks reaches one.
	for ; exponent > 0; exponent-- {
		if c.div > math.MaxUint64/10 {
			return clock{div: 1, offset: c.offset}
		}
		c.div *= 10
	}
	return c
}

// timestamp stops at the ends of the range of Timestamp.
func (c *clock) timestamp(ticks uint64) Timestamp {
	hi, lo := bits.Mul64(ticks, c.mul)
	if c.shift > 0 {
		hi, lo = shiftRight(hi, lo, c.shift)
	}
	if c.div > 1 {
		lo /= c.div // mul is 1 then, hi 0
	}
	if hi > 0 || lo > math.MaxInt64 {
		lo = math.MaxInt64
	}
	ns := int64(lo)
	if c.offset > 0 && ns > math.MaxInt64-c.offset {
		return math.MaxInt64
	}
	return Timestamp(ns + c.offset)
}

func shiftRight(hi, lo uint64, n uint) (uint64, uint64) {
	if n >= 64 {
		return 0, hi >> (n - 64)
	}
	return hi >> n, lo>>n | hi<<(64-n)
}

// optionReader walks over the options of a block: code, length, value, padding to four bytes; code 0 ends them, as does
// anything that does not fit.
type optionReader struct {
	order byteOrder
	code  uint16
	value []byte
	rest  []byte
}

func (o *optionReader) next() bool {
	if len(o.rest) < 4 {
		return false
	}
	o.code = o.order.uint16(o.rest)
	length := int(o.order.uint16(o.rest[2:]))
	o.rest = o.rest[4:]
	if o.code == 0 || length > len(o.rest) {
		return false
	}
	o.value = o.rest[:length]
	o.rest = o.rest[min(padded(length), len(o.rest)):]
	return true
}

// padded rounds up to four bytes.
func padded(n int) int { return (n + 3) &^ 3 }
