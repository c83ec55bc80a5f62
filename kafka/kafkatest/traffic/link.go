package traffic

import (
	"bufio"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"time"
)

// link writes the frames that pass over one Ethernet link to a pcap file with microseconds.
type link struct {
	out     *bufio.Writer
	err     error
	written int64         // bytes of capture
	now     time.Duration // since start
	random  *rand.Rand
	swapped float64
	lost    float64

	head     [recordHeader + frameHeader]byte
	held     []byte  // a frame that comes after the next one, with its record header; empty: none
	heldTime [8]byte // as in a record header
}

const (
	recordHeader = 16
	frameHeader  = 14 + 20 + 32 // Ethernet, IPv4, TCP with timestamps (RFC 7323)

	// writeBuffer is large enough that system calls do not count.
	writeBuffer = 1 << 20
	// nanosPerByte is that of 10 Gbit/s.
	nanosPerByte = 0.8
)

// start is when the capture begins: a date of no meaning.
var start = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

func newLink(w io.Writer, c *Config) *link {
	l := &link{
		out:     bufio.NewWriterSize(w, writeBuffer),
		random:  rand.New(rand.NewPCG(c.Seed, 0x6c696e6b)),
		swapped: c.Swapped, lost: c.Lost,
	}
	header := binary.LittleEndian.AppendUint32(nil, 0xa1b2c3d4)
	header = binary.LittleEndian.AppendUint16(header, 2)
	header = binary.LittleEndian.AppendUint16(header, 4)
	header = append(header, make([]byte, 8)...)                // zone, accuracy
	header = binary.LittleEndian.AppendUint32(header, 256<<10) // snaplen
	header = binary.LittleEndian.AppendUint32(header, 1)       // Ethernet
	l.write(header)
	return l
}

func (l *link) write(data []byte) {
	if l.err == nil {
		_, l.err = l.out.Write(data)
	}
	l.written += int64(len(data))
}

// TCP flags.
const (
	fin = 0x01
	syn = 0x02
	psh = 0x08
	ack = 0x10
)

// end is one end of a TCP connection.
type end struct {
	addr [4]byte
	port uint16
	next uint32 // sequence number of the next byte it sends
}

// frame sends one TCP segment. A frame that is to be kept is never lost.
func (l *link) frame(from, to *end, seq uint32, flags byte, payload []byte, keep bool) {
	l.now += time.Duration(float64(frameHeader+len(payload)+24) * nanosPerByte) // 24: preamble, check sequence and gap
	if len(payload) > 0 && !keep && l.lost > 0 && l.random.Float64() < l.lost {
		return
	}
	l.encode(from, to, seq, flags, payload)
	switch {
	case len(l.held) > 0: // the later frame goes first and takes the earlier one's time
		var late [8]byte
		copy(late[:], l.head[:8])
		copy(l.head[:], l.heldTime[:])
		l.write(l.head[:])
		l.write(payload)
		copy(l.held, late[:])
		l.write(l.held)
		l.held = l.held[:0]
	case l.swapped > 0 && l.random.Float64() < l.swapped:
		l.held = append(append(l.held, l.head[:]...), payload...)
		copy(l.heldTime[:], l.head[:8])
	default:
		l.write(l.head[:])
		l.write(payload)
	}
}

// encode fills head. The TCP checksum is left to the network card, as captures at the sender show it.
func (l *link) encode(from, to *end, seq uint32, flags byte, payload []byte) {
	at := start.Add(l.now)
	h := l.head[:]
	binary.LittleEndian.PutUint32(h, uint32(at.Unix()))
	binary.LittleEndian.PutUint32(h[4:], uint32(at.Nanosecond()/1000))
	binary.LittleEndian.PutUint32(h[8:], uint32(frameHeader+len(payload)))
	binary.LittleEndian.PutUint32(h[12:], uint32(frameHeader+len(payload)))

	eth := h[recordHeader:]
	copy(eth, []byte{2, 0, to.addr[0], to.addr[1], to.addr[2], to.addr[3], 2, 0, from.addr[0], from.addr[1], from.addr[2], from.addr[3], 8, 0})
	ip := eth[14:]
	copy(ip, []byte{0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 6, 0, 0})
	binary.BigEndian.PutUint16(ip[2:], uint16(20+32+len(payload)))
	copy(ip[12:], from.addr[:])
	copy(ip[16:], to.addr[:])
	binary.BigEndian.PutUint16(ip[10:], checksum(ip[:20]))
	tcp := ip[20:]
	binary.BigEndian.PutUint16(tcp, from.port)
	binary.BigEndian.PutUint16(tcp[2:], to.port)
	binary.BigEndian.PutUint32(tcp[4:], seq)
	binary.BigEndian.PutUint32(tcp[8:], 0)
	if flags&ack != 0 {
		binary.BigEndian.PutUint32(tcp[8:], to.next)
	}
	copy(tcp[12:], []byte{8 << 4, flags, 0x20, 0, 0, 0, 0, 0, 1, 1, 8, 10})
	millis := uint32(l.now / time.Millisecond)
	binary.BigEndian.PutUint32(tcp[24:], millis)
	binary.BigEndian.PutUint32(tcp[28:], millis)
}

// checksum is that of RFC 1071.
func checksum(header []byte) uint16 {
	var sum uint32
	for i := 0; i < len(header); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(header[i:]))
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}

// close writes what is held back.
func (l *link) close() error {
	l.write(l.held)
	if l.err == nil {
		l.err = l.out.Flush()
	}
	return l.err
}
