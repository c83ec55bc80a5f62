package evidence

import (
	"io"
	"net/netip"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
)

// tcpWriter writes packets as raw IP with TCP: there are no link layer addresses that would have to be kept secret.
type tcpWriter struct {
	out    *pcap.Writer
	names  *Pseudonyms
	buffer gopacket.SerializeBuffer
	conns  map[*conn]*progress
	count  uint16 // of packets, for the identification of IPv4
}

// progress is how far the streams of a connection have come, by direction.
type progress struct{ sent, acked [2]int64 }

func newTCPWriter(w io.Writer, names *Pseudonyms, comment string) *tcpWriter {
	return &tcpWriter{
		out: pcap.NewWriter(w, pcap.WriterOptions{Application: application, Comment: comment}), names: names,
		buffer: gopacket.NewSerializeBuffer(), conns: make(map[*conn]*progress),
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
	h := layers.TCP{
		Seq: p.conn.sequence(p.dir, offset), Ack: p.conn.sequence(other, at.acked[other]), Window: 1<<16 - 1,
		SYN: p.flags&reassembly.SYN != 0, ACK: p.flags&reassembly.ACK != 0, PSH: p.flags&reassembly.PSH != 0,
		FIN: p.flags&reassembly.FIN != 0, RST: p.flags&reassembly.RST != 0,
	}
	if h.SYN {
		h.Seq-- // it has a number of its own
		h.Options = []layers.TCPOption{
			{OptionType: layers.TCPOptionKindMSS, OptionLength: 4, OptionData: []byte{maxSegment >> 8, maxSegment & 0xff}},
			{OptionType: layers.TCPOptionKindWindowScale, OptionLength: 3, OptionData: []byte{14}}, // so that no window is ever full
		}
	}
	if !h.ACK {
		h.Ack = 0
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
func (t *tcpWriter) packet(p *packet, h *layers.TCP) error {
	from, to := t.ends(p)
	h.SrcPort, h.DstPort = layers.TCPPort(from.Port()), layers.TCPPort(to.Port())
	t.count++
	const hops = 64
	var network gopacket.SerializableLayer
	var err error
	if from.Addr().Is4() {
		ip := &layers.IPv4{
			Version: 4, TTL: hops, Id: t.count, Flags: layers.IPv4DontFragment, Protocol: layers.IPProtocolTCP,
			SrcIP: from.Addr().AsSlice(), DstIP: to.Addr().AsSlice(),
		}
		network, err = ip, h.SetNetworkLayerForChecksum(ip)
	} else {
		ip := &layers.IPv6{
			Version: 6, HopLimit: hops, NextHeader: layers.IPProtocolTCP, SrcIP: from.Addr().AsSlice(), DstIP: to.Addr().AsSlice(),
		}
		network, err = ip, h.SetNetworkLayerForChecksum(ip)
	}
	if err != nil {
		return err
	}
	payload := append(append([]byte(nil), p.data...), make([]byte, p.missing)...)
	options := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	if err := gopacket.SerializeLayers(t.buffer, options, network, h, gopacket.Payload(payload)); err != nil {
		return err
	}
	wire := t.buffer.Bytes()
	f := pcap.Frame{Ref: p.at, LinkType: pcap.LinkTypeRaw, OriginalLength: len(wire), Data: wire[:len(wire)-p.missing]}
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
