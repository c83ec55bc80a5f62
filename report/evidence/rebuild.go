package evidence

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
)

// rebuild makes new connections of what is kept of the old ones.
type rebuild struct {
	plan      *Plan
	selection Selection
	redactor  *redactor
	conns     map[*reassembly.Conn]*conn
	current   *conn   // whose event is being handled
	kept      []*conn // in order of their first message
	packets   []packet
	bytes     int64
	remarked  map[frameKey]bool // frames whose comment has been given to a packet
	full      bool
}

// conn is a connection as it is written anew.
type conn struct {
	tcp     *reassembly.Conn
	link    *kafka.Link // nil until it is known to be Kafka's
	opened  pcap.Ref
	streams [2]stream // by direction
	kept    bool      // a message of it is written
	early   []packet  // what there was before the first of these
}

// stream is one direction of a connection as it is written anew.
type stream struct {
	next   int64                   // offset of the next byte
	bounds []bound                 // ends of written messages, in order
	acked  reassembly.StreamOffset // of the old stream, by the other side
	told   int64                   // what packets have acknowledged of the new stream
}

// bound is the end of a message in the old stream and in the new one.
type bound struct {
	old reassembly.StreamOffset
	new int64
}

// packet is one packet to be written.
type packet struct {
	conn    *conn
	at      pcap.Ref
	dir     reassembly.Direction
	flags   uint8
	offset  int64 // of data in the new stream, or one of the places below
	data    []byte
	missing int   // bytes on the wire behind data that the capture lacks
	acks    int64 // of the other stream; -1: what has been acknowledged before
	comment string
}

// Places of packets that carry nothing.
const (
	atEnd int64 = -1 // behind all data
	here  int64 = -2 // behind what was sent before
)

const (
	// maxSegment is what a packet carries: what offloading makes of segments, and what the length of an IP packet allows.
	maxSegment = 32 << 10
	// packetCost is what a packet needs in memory beside its data.
	packetCost = 200
)

// WriteRedacted writes the messages of a selection without what r replaces. open hands the source that Read has read to its
// argument, once or twice, each time from the start. The pseudonyms returned are those of the file.
func (p *Plan) WriteRedacted(w io.Writer, open func(use func(pcap.Source) error) error, s Selection, r Redaction) (*Pseudonyms, error) {
	names := newPseudonyms(p.digest.Sum(nil), r)
	redactor := newRedactor(names, p.options.Kafka)
	for {
		b := &rebuild{plan: p, selection: s, redactor: redactor, conns: make(map[*reassembly.Conn]*conn), remarked: make(map[frameKey]bool)}
		if err := open(b.read); err != nil {
			return nil, err
		}
		if redactor.batches.Stale() {
			redactor.batches.Again() // now that all CRCs are known
			continue
		}
		return names, b.write(w)
	}
}

func (b *rebuild) read(source pcap.Source) error {
	decoder := kafka.NewDecoder(kafka.Options{Limits: b.plan.options.Kafka, Messages: b.message}, b.observe, ignoreNote)
	err := b.plan.read(source, func(e *reassembly.Event) { b.handle(decoder, e) }, func(*pcap.Frame) {})
	if err == nil && b.full {
		err = ErrTooLarge
	}
	return err
}

// handle takes an event, first what it says of messages, then what it says of the connection.
func (b *rebuild) handle(decoder *kafka.Decoder, e *reassembly.Event) {
	c := b.conns[e.Conn]
	if c == nil {
		c = &conn{tcp: e.Conn, opened: e.At}
		b.conns[e.Conn] = c
	}
	b.current = c
	decoder.Handle(e)
	switch e.Kind {
	case reassembly.Ack:
		c.streams[e.Dir].acked = e.Offset
		b.acknowledge(c, e.Dir, e.At)
	case reassembly.Finish:
		b.add(packet{conn: c, at: e.At, dir: e.Dir, flags: reassembly.FIN | reassembly.ACK, offset: atEnd, acks: -1})
	case reassembly.Close:
		if e.Close == reassembly.ClosedRST {
			b.add(packet{conn: c, at: e.At, dir: e.Dir, flags: reassembly.RST | reassembly.ACK, offset: atEnd, acks: -1})
		}
		b.drop(c)
		delete(b.conns, e.Conn)
	}
}

// drop forgets what is not written of a connection.
func (b *rebuild) drop(c *conn) {
	for i := range c.early {
		b.bytes -= c.early[i].cost()
	}
	c.early = nil
}

// direction returns the direction of what the client sends, or the server.
func (c *conn) direction(fromClient bool) reassembly.Direction {
	if fromClient == (c.link.Client == c.tcp.A) {
		return reassembly.FromA
	}
	return reassembly.FromB
}

func (b *rebuild) observe(o kafka.Observation) {
	c := b.current
	b.plan.follow(o)
	switch o := o.(type) {
	case *kafka.LinkOpened:
		c.link = o.Link
	case *kafka.GapSeen:
		if o.Hidden {
			b.gap(c, o)
		}
	case *kafka.LinkClosed:
		for _, r := range o.Unanswered {
			delete(b.redactor.skipped, r)
		}
	}
}

// gap tells that messages may be hidden: by a packet of which the capture has the headers only.
func (b *rebuild) gap(c *conn, o *kafka.GapSeen) {
	dir := c.direction(o.FromClient)
	s := &c.streams[dir]
	n := int(min(o.Bytes, maxSegment))
	b.add(packet{conn: c, at: o.At, dir: dir, flags: reassembly.ACK, offset: s.next, missing: n, acks: -1})
	s.next += int64(n)
}

// message takes a message of the current connection.
func (b *rebuild) message(m *kafka.Message) {
	if !b.plan.wantsMessage(m, b.selection) || b.full {
		return
	}
	w, ok := b.redactor.redact(m)
	if !ok {
		return
	}
	c := b.current
	if !c.kept {
		c.kept = true
		b.kept = append(b.kept, c)
		b.packets = append(b.packets, c.early...)
		c.early = nil
	}
	dir := c.direction(m.FromClient)
	s := &c.streams[dir]
	front := len(w.data)
	if m.First != m.At && !m.Torn {
		front = (front + 1) / 2 // the message ends when it ended
		if w.missing > 0 {
			front = len(w.data)
		}
	}
	comment := b.commentOn(m)
	b.send(c, dir, m.First, w.data[:front], 0)
	if m.Torn {
		w.missing = 0 // it never came
	}
	b.send(c, dir, m.At, w.data[front:], w.missing)
	if last := len(b.packets) - 1; last >= 0 {
		b.packets[last].comment = comment
	}
	s.bounds = append(s.bounds, bound{m.Start + reassembly.StreamOffset(prefixSize+m.Size), s.next})
	b.acknowledge(c, dir, m.At)
}

// commentOn returns the comment on the frame that completes m, for the first message of its connection that does.
func (b *rebuild) commentOn(m *kafka.Message) string {
	key := keyOf(m.At)
	if b.remarked[key] || !b.plan.remarksOn(m) {
		return ""
	}
	b.remarked[key] = true
	return b.plan.commentOn(m.At, b.redactor.Topic)
}

// send cuts data, and what is missing behind it, into packets.
func (b *rebuild) send(c *conn, dir reassembly.Direction, at pcap.Ref, data []byte, missing int) {
	s := &c.streams[dir]
	for len(data) > 0 || missing > 0 {
		n := min(len(data), maxSegment)
		lacks := min(missing, maxSegment-n)
		if n < len(data) {
			lacks = 0
		}
		b.add(packet{conn: c, at: at, dir: dir, flags: reassembly.ACK | reassembly.PSH, offset: s.next, data: data[:n], missing: lacks, acks: -1})
		data, missing = data[n:], missing-lacks
		s.next += int64(n + lacks)
	}
}

// acknowledge tells how much of a stream the other side has acknowledged, if that is news.
func (b *rebuild) acknowledge(c *conn, dir reassembly.Direction, at pcap.Ref) {
	s := &c.streams[dir]
	n, exact := slices.BinarySearchFunc(s.bounds, s.acked, func(b bound, to reassembly.StreamOffset) int { return cmp.Compare(b.old, to) })
	if exact {
		n++
	}
	if n == 0 || s.bounds[n-1].new <= s.told {
		return
	}
	s.told = s.bounds[n-1].new
	b.add(packet{conn: c, at: at, dir: dir.Other(), flags: reassembly.ACK, offset: here, acks: s.told})
}

func (b *rebuild) add(p packet) {
	if b.bytes += p.cost(); b.bytes > b.plan.options.Memory {
		b.full = true
		return
	}
	if !p.conn.kept {
		p.conn.early = append(p.conn.early, p)
		return
	}
	b.packets = append(b.packets, p)
}

// cost is what a packet needs in memory.
func (p *packet) cost() int64 { return int64(len(p.data)) + packetCost }

// write puts the packets in order and writes those of connections of which something is kept.
func (b *rebuild) write(w io.Writer) error {
	what := "keys, values and header values"
	if b.redactor.redaction == RedactAll {
		what = "keys, values, headers, names, addresses and ports of clients"
	}
	out := newTCPWriter(w, b.redactor.Pseudonyms, fmt.Sprintf("Evidence of %d findings: %s. Redacted: %s are pseudonyms. Packets are made anew: "+
		"messages, their times, acknowledgements and losses are those of the capture, sequence numbers, lengths and segments are not.",
		len(b.plan.findings), b.selection, what))
	packets := b.handshakes()
	single := true
	packets = append(packets, b.packets...)
	for i := range packets {
		single = single && packets[i].at.Capture == packets[0].at.Capture
	}
	slices.SortStableFunc(packets, func(x, y packet) int { return compare(x.at, y.at, single) })
	for i := range packets {
		if err := out.write(&packets[i]); err != nil {
			return err
		}
	}
	return out.close()
}

// handshakes returns the beginnings of the connections that were seen from the start.
func (b *rebuild) handshakes() []packet {
	var packets []packet
	for _, c := range b.kept {
		if c.link.Late || !c.tcp.SynSeen {
			continue
		}
		packets = append(packets,
			packet{conn: c, at: c.opened, dir: reassembly.FromA, flags: reassembly.SYN, acks: -1},
			packet{conn: c, at: c.opened, dir: reassembly.FromB, flags: reassembly.SYN | reassembly.ACK, acks: -1},
			packet{conn: c, at: c.opened, dir: reassembly.FromA, flags: reassembly.ACK, acks: -1})
	}
	return packets
}

// compare orders frames as they were read: by number in one capture, else by time.
func compare(a, b pcap.Ref, single bool) int {
	if single {
		return cmp.Compare(a.Number, b.Number)
	}
	return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Capture, b.Capture), cmp.Compare(a.Number, b.Number))
}
