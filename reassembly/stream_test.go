package reassembly

import (
	"bytes"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kdupscan/kdupscan/pcap"
)

var (
	endpointA = netip.MustParseAddrPort("10.0.0.1:40000")
	endpointB = netip.MustParseAddrPort("10.0.0.2:9092")
)

// A script is a row of steps, one segment each; A is the side with port 40000.
//
//	AS  BS     SYN from A; SYN from B, which acknowledges A's SYN once that was sent
//	A0+5       five bytes at stream offset 0; the content follows from the offset
//	A0+5x      the same with other content
//	A0+5/2     the same, of which snaplen left two bytes
//	A0+5a7     the same, acknowledging B's bytes before 7
//	Aa7        no bytes, acknowledging
//	AF5  AR5   FIN, RST at offset 5 (with +3: with payload; with a7: acknowledging as well)
//	@50ms      time passes
//	A=100      initial sequence number of A from here on, as if a new connection
type script struct {
	isn  [2]uint32
	syn  [2]bool
	now  pcap.Timestamp
	n    pcap.FrameNumber
	list []Segment
}

func parse(t testing.TB, text string) []Segment {
	t.Helper()
	p := script{isn: [2]uint32{1000, 5000}}
	for _, step := range strings.Fields(text) {
		if err := p.step(step); err != nil {
			t.Fatalf("step %q: %v", step, err)
		}
	}
	return p.list
}

func (p *script) step(step string) error {
	if step[0] == '@' {
		d, err := time.ParseDuration(step[1:])
		p.now += pcap.Timestamp(d)
		return err
	}
	side := int(step[0] - 'A')
	if rest, ok := strings.CutPrefix(step[1:], "="); ok {
		n, err := strconv.ParseUint(rest, 10, 32)
		p.isn[side], p.syn[side] = uint32(n), false
		return err
	}
	p.n++
	s := Segment{Src: endpointA, Dst: endpointB, Window: 1000, At: pcap.Ref{Number: p.n, Time: p.now}}
	if side == 1 {
		s.Src, s.Dst = s.Dst, s.Src
	}
	body, ack, acks := strings.Cut(step[1:], "a")
	if acks {
		n, err := strconv.ParseInt(ack, 10, 64)
		if err != nil {
			return err
		}
		s.Flags |= ACK
		s.Ack = p.isn[1-side] + 1 + uint32(n)
	}
	err := p.body(&s, side, body)
	p.list = append(p.list, s)
	return err
}

func (p *script) body(s *Segment, side int, body string) error {
	s.Seq = p.isn[side] + 1
	switch {
	case body == "":
		return nil
	case body[0] == 'S':
		s.Seq--
		s.Flags |= SYN
		if p.syn[side] = true; p.syn[1-side] && side == 1 && s.Flags&ACK == 0 {
			s.Flags |= ACK
			s.Ack = p.isn[1-side] + 1
		}
		if body = body[1:]; body == "" {
			return nil
		}
	case body[0] == 'F':
		s.Flags |= FIN
		body = body[1:]
	case body[0] == 'R':
		s.Flags |= RST
		body = body[1:]
	}
	if !strings.Contains(body, "+") {
		body += "+0"
	}
	body, other := strings.CutSuffix(body, "x")
	body, captured, isCut := strings.Cut(body, "/")
	var offset, length int64
	if _, err := fmt.Sscanf(body, "%d+%d", &offset, &length); err != nil {
		return err
	}
	s.Seq += uint32(offset)
	s.Length = int(length)
	s.Payload = content(side, offset, int(length))
	if other {
		for i := range s.Payload {
			s.Payload[i] ^= 0xff
		}
	}
	if isCut {
		n, err := strconv.Atoi(captured)
		s.Payload = s.Payload[:n]
		return err
	}
	return nil
}

// content returns the bytes that a side sends at an offset: no two neighbours are alike, nor the two sides.
func content(side int, offset int64, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		x := uint64(offset+int64(i))*2 + uint64(side)
		b[i] = byte(x * 0x9e3779b97f4a7c15 >> 40)
	}
	return b
}

// transcript runs segments through an Assembler under the checker and writes its events in the notation of the scripts.
type transcript struct {
	checker
	lines []string
	notes []string
}

func (r *transcript) event(e *Event) {
	r.checker.event(e)
	side := 0
	if (e.Conn.A == endpointB) == (e.Dir == FromA) {
		side = 1
	}
	name, end := string(rune('A'+side)), int64(e.Offset)+e.Length
	line := ""
	switch e.Kind {
	case Open:
		line = "open" + name
	case Data:
		line = fmt.Sprintf("%s%d-%d", name, e.Offset, end)
		if string(e.Data) != string(content(side, int64(e.Offset), len(e.Data))) {
			line += "x"
		}
	case Gap:
		line = fmt.Sprintf("%s%d-%d:%s", name, e.Offset, end, map[GapReason]string{Lost: "lost", Cut: "cut"}[e.Gap])
	case Ack:
		line = fmt.Sprintf("ack%s%d", name, e.Offset)
	case Overlap:
		line = fmt.Sprintf("%s%d-%d:again", name, e.Offset, end)
		if e.Unequal {
			line += "!"
		}
	case Finish:
		line = fmt.Sprintf("fin%s%d", name, e.Offset)
	case Close:
		line = "close:" + map[CloseReason]string{ClosedFIN: "fin", ClosedRST: "rst" + name, Replaced: "replaced", Evicted: "evicted", EndOfInput: "end", ClosedStale: "stale"}[e.Close]
	}
	r.lines = append(r.lines, line)
}

func run(t testing.TB, limits Limits, segments []Segment) *transcript {
	t.Helper()
	r := &transcript{checker: checker{t: t}}
	a := NewAssembler(limits, r.event, func(n pcap.Note) { r.notes = append(r.notes, string(n.Code)) })
	for i := range segments {
		r.push(&segments[i])
		a.Push(&segments[i])
	}
	a.Finish()
	r.finish()
	if a.buffered != 0 || a.waiting.Len() != 0 || len(a.open) != 0 || a.lru.size != 0 || a.halfOpen.size != 0 {
		t.Errorf("after Finish: %d bytes in %d streams wait, %d connections are open", a.buffered, a.waiting.Len(), len(a.open))
	}
	return r
}

// checker verifies what event.go promises of all events.
type checker struct {
	t     testing.TB
	conns map[ConnID]*checked
	sent  map[pcap.Ref]Segment // if set, where the bytes of Data must have come from; with copies of the payloads
}

// push keeps a copy of s to compare Data with.
func (c *checker) push(s *Segment) {
	if c.sent == nil {
		c.sent = map[pcap.Ref]Segment{}
	}
	own := *s
	own.Payload = bytes.Clone(s.Payload)
	if s.Flags&SYN != 0 {
		own.Seq++
	}
	c.sent[s.At] = own
}

type checked struct {
	conn     *Conn
	next     [2]StreamOffset
	acked    [2]StreamOffset
	finished [2]bool
	closed   bool
	data     [2][]byte // without the gaps
	gaps     [2]int64
}

func (c *checker) event(e *Event) {
	c.t.Helper()
	if c.conns == nil {
		c.conns = map[ConnID]*checked{}
	}
	k := c.conns[e.Conn.ID]
	if (k == nil) != (e.Kind == Open) {
		c.t.Fatalf("%+v: Open is not exactly the first event", e)
	}
	if k == nil {
		c.conns[e.Conn.ID] = &checked{conn: e.Conn}
		return
	}
	if k.closed || k.conn != e.Conn {
		c.t.Fatalf("%+v: after Close, or of another Conn", e)
	}
	switch e.Kind {
	case Data, Gap:
		if e.Offset != k.next[e.Dir] || e.Length <= 0 || k.finished[e.Dir] || !e.Conn.BaseKnown[e.Dir] {
			c.t.Fatalf("%+v: the stream stands at %d", e, k.next[e.Dir])
		}
		if e.Kind == Data && int64(len(e.Data)) != e.Length || e.Kind == Gap && e.Data != nil {
			c.t.Fatalf("%+v: has %d bytes of data", e, len(e.Data))
		}
		k.next[e.Dir] += StreamOffset(e.Length)
		if e.Kind == Data && c.sent != nil {
			s, ok := c.sent[e.At]
			from := e.Conn.Base[e.Dir] + uint32(e.Offset) - s.Seq
			if !ok || int64(from)+e.Length > int64(len(s.Payload)) || !bytes.Equal(s.Payload[from:][:e.Length], e.Data) {
				c.t.Fatalf("%+v: its frame does not hold these bytes", e)
			}
		}
		k.data[e.Dir] = append(k.data[e.Dir], e.Data...)
		if e.Kind == Gap {
			k.gaps[e.Dir] += e.Length
		}
	case Ack:
		if e.Offset <= k.acked[e.Dir] {
			c.t.Fatalf("%+v: already acknowledged up to %d", e, k.acked[e.Dir])
		}
		k.acked[e.Dir] = e.Offset
	case Overlap:
		if e.Length <= 0 || e.Offset < 0 {
			c.t.Fatalf("%+v", e)
		}
	case Finish:
		if e.Offset != k.next[e.Dir] || k.finished[e.Dir] {
			c.t.Fatalf("%+v: the stream stands at %d", e, k.next[e.Dir])
		}
		k.finished[e.Dir] = true
	case Close:
		k.closed = true
	}
	if e.At.IsZero() {
		c.t.Fatalf("%+v names no frame", e)
	}
}

func (c *checker) finish() {
	c.t.Helper()
	for id, k := range c.conns {
		if !k.closed {
			c.t.Errorf("connection %d was not closed", id)
		}
	}
}
