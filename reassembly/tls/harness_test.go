package tls

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
)

// write is what one side of a connection wrote at once.
type write struct {
	dir  reassembly.Direction
	data []byte
}

// recording is the ciphertext of a connection, in the order in which it was written.
type recording struct {
	mu     sync.Mutex
	writes []write
}

func (r *recording) add(dir reassembly.Direction, data []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writes = append(r.writes, write{dir, bytes.Clone(data)})
}

// tapped records what is written to a connection.
type tapped struct {
	net.Conn
	to  *recording
	dir reassembly.Direction
}

func (t tapped) Write(b []byte) (int, error) {
	t.to.add(t.dir, b)
	return t.Conn.Write(b)
}

// patience is how long the other end of a connection may take, a foreign process or this one, on a busy machine.
const patience = time.Minute

// tap returns the two ends of a connection of which all bytes are recorded; the client is A.
func tap(t testing.TB) (client, server net.Conn, r *recording) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	b, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(patience)
	a.SetDeadline(deadline)
	b.SetDeadline(deadline)
	t.Cleanup(func() { a.Close(); b.Close() })
	r = &recording{}
	return tapped{a, r, reassembly.FromA}, tapped{b, r, reassembly.FromB}, r
}

// events cuts a recording into the events that a reassembler would give: segments of at most size bytes, each
// acknowledged by the next frame, FINs and a Close.
func (r *recording) events(size int) []reassembly.Event {
	conn := &reassembly.Conn{ID: 1, A: netip.MustParseAddrPort("10.0.0.1:40000"), B: netip.MustParseAddrPort("10.0.0.2:9093"), First: pcap.Ref{Number: 1, Time: 1e6}, SynSeen: true}
	var list []reassembly.Event
	var at [2]reassembly.StreamOffset
	frame := pcap.FrameNumber(0)
	add := func(e reassembly.Event) {
		frame++
		e.Conn, e.At = conn, pcap.Ref{Number: frame, Time: pcap.Timestamp(frame) * 1e6}
		list = append(list, e)
	}
	add(reassembly.Event{Kind: reassembly.Open})
	for _, w := range r.writes {
		for data := w.data; len(data) > 0; {
			n := min(size, len(data))
			add(reassembly.Event{Kind: reassembly.Data, Dir: w.dir, Offset: at[w.dir], Length: int64(n), Data: data[:n]})
			at[w.dir] += reassembly.StreamOffset(n)
			add(reassembly.Event{Kind: reassembly.Ack, Dir: w.dir, Offset: at[w.dir]})
			data = data[n:]
		}
	}
	add(reassembly.Event{Kind: reassembly.Finish, Dir: reassembly.FromA, Offset: at[0]})
	add(reassembly.Event{Kind: reassembly.Finish, Dir: reassembly.FromB, Offset: at[1]})
	add(reassembly.Event{Kind: reassembly.Close, Close: reassembly.ClosedFIN})
	return list
}

// lose replaces the data events for which drop is true by gaps.
func lose(events []reassembly.Event, drop func(i int, e *reassembly.Event) bool) []reassembly.Event {
	var list []reassembly.Event
	for i, e := range events {
		if e.Kind == reassembly.Data && drop(i, &e) {
			e.Kind, e.Data = reassembly.Gap, nil
		}
		list = append(list, e)
	}
	return list
}

// plaintext is what comes out of a Decrypter. It checks the promises that events make.
type plaintext struct {
	t       *testing.T
	data    [2][]byte // gaps are filled with zeros
	gaps    [2][]gap
	acked   [2]reassembly.StreamOffset
	ends    [2]map[reassembly.StreamOffset]pcap.Ref // ends of Data events and the frames they came in
	events  []reassembly.Event
	notes   map[pcap.Code]int
	details string
	closed  bool
}

type gap struct{ offset, length int64 }

// ownState stands for what a receiver keeps with a connection.
type ownState struct{ events int }

func (p *plaintext) handle(e *reassembly.Event) {
	s, ok := e.Conn.State.(*ownState)
	if !ok {
		if e.Conn.State != nil {
			p.t.Fatalf("foreign state %T", e.Conn.State)
		}
		s = &ownState{}
		e.Conn.State = s
	}
	if s.events != len(p.events) {
		p.t.Fatal("the state of the receiver was lost")
	}
	s.events++
	kept := *e
	kept.Data = bytes.Clone(e.Data)
	p.events = append(p.events, kept)
	if p.closed {
		p.t.Fatalf("%v after Close", e.Kind)
	}
	next := reassembly.StreamOffset(len(p.data[e.Dir]))
	switch e.Kind {
	case reassembly.Data:
		if e.Offset != next || e.Length != int64(len(e.Data)) || len(e.Data) == 0 || e.At.IsZero() {
			p.t.Fatalf("Data at %d of %d bytes (%d), want offset %d", e.Offset, len(e.Data), e.Length, next)
		}
		p.data[e.Dir] = append(p.data[e.Dir], e.Data...)
		if p.ends[e.Dir] == nil {
			p.ends[e.Dir] = map[reassembly.StreamOffset]pcap.Ref{}
		}
		p.ends[e.Dir][next+reassembly.StreamOffset(e.Length)] = e.At
	case reassembly.Gap:
		if e.Offset != next || e.Length <= 0 {
			p.t.Fatalf("Gap at %d of %d bytes, want offset %d", e.Offset, e.Length, next)
		}
		p.gaps[e.Dir] = append(p.gaps[e.Dir], gap{int64(e.Offset), e.Length})
		if e.Length < 1<<28 {
			p.data[e.Dir] = append(p.data[e.Dir], make([]byte, e.Length)...)
		}
	case reassembly.Ack:
		if e.Offset > next || e.Offset <= p.acked[e.Dir] {
			p.t.Fatalf("Ack of %d after %d, %d are there", e.Offset, p.acked[e.Dir], next)
		}
		p.acked[e.Dir] = e.Offset
	case reassembly.Finish:
		if e.Offset != next {
			p.t.Fatalf("Finish at %d, want %d", e.Offset, next)
		}
	case reassembly.Close:
		p.closed = true
	}
}

func (p *plaintext) note(n pcap.Note) {
	if p.notes == nil {
		p.notes = map[pcap.Code]int{}
	}
	p.notes[n.Code] += int(max(n.Count, 1))
	p.details += n.Connection + " " + n.Detail + "\n"
}

// decryptAll runs events through a Decrypter.
func decryptAll(t *testing.T, keys *Keys, events []reassembly.Event) *plaintext {
	t.Helper()
	p := &plaintext{t: t}
	d := NewDecrypter(keys, DefaultLimits(), p.handle, p.note)
	for i := range events {
		events[i].Conn.State = stateBefore(events[i].Conn.State, i)
		e := events[i]
		e.Data = bytes.Clone(e.Data) // borrowed: what is kept must be a copy
		d.Handle(&e)
		for j := range e.Data {
			e.Data[j] = 0xee
		}
	}
	if d.buffered != 0 {
		t.Errorf("%d bytes are still accounted for", d.buffered)
	}
	return p
}

// stateBefore clears the state that an earlier run has left.
func stateBefore(state any, i int) any {
	if i == 0 {
		return nil
	}
	return state
}

// keysOf reads a key log.
func keysOf(t *testing.T, log string) *Keys {
	t.Helper()
	keys := NewKeys(nil)
	if err := NewKeyLog(strings.NewReader(log), keys).Read(); err != nil {
		t.Fatal(err)
	}
	return keys
}

// wantPlain checks that all of both directions came out, with nothing but CodeDecrypted to say.
func (p *plaintext) wantPlain(want [2]string) {
	p.t.Helper()
	for dir := range want {
		if got := string(p.data[dir]); got != want[dir] {
			p.t.Errorf("direction %d: %d bytes %.80q, want %d %.80q", dir, len(got), got, len(want[dir]), want[dir])
		}
		if p.acked[dir] != reassembly.StreamOffset(len(want[dir])) {
			p.t.Errorf("direction %d: acknowledged up to %d, want %d", dir, p.acked[dir], len(want[dir]))
		}
	}
	if fmt.Sprint(p.notes) != fmt.Sprint(map[pcap.Code]int{CodeDecrypted: 1}) {
		p.t.Errorf("notes %v, want one %s", p.notes, CodeDecrypted)
	}
	if !p.closed {
		p.t.Error("no Close")
	}
}

// talk lets both sides say the messages in turn and returns what each has sent.
func talk(t testing.TB, client, server io.ReadWriter, messages [][2]string) (sent [2]string) {
	t.Helper()
	errs := make(chan error, 1)
	go func() {
		for _, m := range messages {
			if _, err := io.ReadFull(server, make([]byte, len(m[0]))); err != nil {
				errs <- fmt.Errorf("server: %w", err)
				return
			}
			if _, err := io.WriteString(server, m[1]); err != nil {
				errs <- err
				return
			}
		}
		errs <- nil
	}()
	for _, m := range messages {
		if _, err := io.WriteString(client, m[0]); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(client, make([]byte, len(m[1]))); err != nil {
			t.Fatalf("client: %v", err)
		}
		sent[0] += m[0]
		sent[1] += m[1]
	}
	if err := <-errs; err != nil {
		t.Fatal(err)
	}
	return sent
}

// wantUntouched checks that the events came out as they went in.
func (p *plaintext) wantUntouched(want []reassembly.Event) {
	p.t.Helper()
	if len(p.events) != len(want) {
		p.t.Fatalf("%d events, want %d", len(p.events), len(want))
	}
	for i := range want {
		g, w := p.events[i], want[i]
		if g.Kind != w.Kind || g.Dir != w.Dir || g.Offset != w.Offset || g.Length != w.Length || g.At != w.At || !bytes.Equal(g.Data, w.Data) {
			p.t.Fatalf("event %d is %+v, want %+v", i, g, w)
		}
	}
}

// lossEvery drops each nth event, but not the hellos.
func lossEvery(n int) func(int, *reassembly.Event) bool {
	return func(i int, _ *reassembly.Event) bool { return i > 40 && i%n == 0 }
}
