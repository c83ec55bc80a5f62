package evidence

import (
	"io"
	"net/netip"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
)

// tcpWriter writes packets as raw IP with TCP: there are no link layer addresses that would have to be kept secret.
type tcpWriter struct {
	out   *pcap.Writer
	names *Pseudonyms
	wire  []byte // the packet being written
	conns map[*conn]*progress
	count uint16 // of packets, for the identification of IPv4
}

// progress is how far the streams of a connection have come, by direction.
type progress struct{ sent, acked [2]int64 }

func newTCPWriter(w io.Writer, names *Pseudonyms, comment string) *tcpWriter {
	return &tcpWriter{
		out: pcap.NewWriter(w, pcap.WriterOptions{Application: application, Comment: comment}), names: names,
		conns: make(map[*conn]*progress),
	}
}

func (t *tcpWriter) close() error { return t.out.Close() }

// write writes the next packet in order.
func (t *tcpWriter) write(p *packet) error {
	at := t.conns[p.conn]
	if at == nil {
		at = new(progress)
		t.conns[p.conn] = at
	}
	other := p.dir.Other()
	if p.acks >= 0 {
		at.acked[other] = max(at.acked[other], p.acks)
	}
	offset := p.offset
	switch offset {
	case atEnd:
		offset = p.conn.streams[p.dir].next
	case here:
		offset = at.sent[p.dir]
	}
	at.sent[p.dir] = max(at.sent[p.dir], offset+int64(len(p.data)+p.missing))
	h := tcpHeader{seq: p.conn.sequence(p.dir, offset), flags: p.flags}
	if p.flags&reassembly.SYN != 0 {
		h.seq-- // it has a number of its own
	}
	if p.flags&reassembly.ACK != 0 {
		h.ack = p.conn.sequence(other, at.acked[other])
	}
	return t.packet(p, &h)
}

// sequence returns the sequence number of an offset of a stream. The first one stays that of the capture: by it two views of one
// connection are known to be one.
func (c *conn) sequence(d reassembly.Direction, offset int64) uint32 {
	if !c.tcp.BaseKnown[d] {
		return 1 + uint32(offset)
	}
	return c.tcp.Base[d] + uint32(offset)
}

// packet writes a packet, cut where bytes of it are missing.
func (t *tcpWriter) packet(p *packet, h *tcpHeader) error {
	from, to := t.ends(p)
	t.count++
	segment := h.size() + len(p.data) + p.missing
	t.wire = appendIP(t.wire[:0], from.Addr(), to.Addr(), t.count, segment)
	start := len(t.wire)
	t.wire = h.append(t.wire, from.Port(), to.Port())
	t.wire = append(append(t.wire, p.data...), make([]byte, p.missing)...)
	sumTCP(t.wire[start:], from.Addr(), to.Addr())
	f := pcap.Frame{Ref: p.at, LinkType: pcap.LinkTypeRaw, OriginalLength: len(t.wire), Data: t.wire[:len(t.wire)-p.missing]}
	f.Capture = 0 // it is one file now
	return t.out.Write(&f, p.comment)
}

// ends returns sender and receiver as they are to be shown.
func (t *tcpWriter) ends(p *packet) (from, to netip.AddrPort) {
	l := p.conn.link
	client, server := t.names.client(l.Client), t.names.server(l.Server)
	if p.dir == p.conn.direction(true) {
		return client, server
	}
	return server, client
}
