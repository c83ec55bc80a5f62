package reassembly

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/kdupscan/kdupscan/pcap"
)

func TestBufferLimits(t *testing.T) {
	limits := DefaultLimits()
	limits.StreamBytes = 3 * (5 + chunkOverhead)
	in := hello + "A10+5 A20+5 A30+5 A40+5 A50+5"
	want := opened + "A0-10:lost A10-15 A15-20:lost A20-25 A25-30:lost A30-35 A35-40:lost A40-45 A45-50:lost A50-55 close:end"
	check := func(name string, limits Limits) {
		r := run(t, limits, parse(t, in))
		if got := strings.Join(r.lines, " "); got != want {
			t.Errorf("%s: events\n got %s\nwant %s", name, got, want)
		}
		if !slices.Contains(r.notes, string(CodeBufferLimit)) {
			t.Errorf("%s: notes %v", name, r.notes)
		}
	}
	check("bytes of a stream", limits)
	limits = DefaultLimits()
	limits.StreamChunks = 3
	check("chunks of a stream", limits)
	limits = DefaultLimits()
	limits.BufferedBytes = 3 * (5 + chunkOverhead)
	check("bytes in all", limits)
}

// The stream that has waited longest gives way, not the one that asks for room.
func TestBufferLimitTakesTheOldest(t *testing.T) {
	limits := DefaultLimits()
	limits.BufferedBytes = 2 * (5 + chunkOverhead)
	r := run(t, limits, parse(t, hello+"A10+5 B20+5 B30+5 B0+20"))
	want := opened + "A0-10:lost A10-15 B0-20 B20-25 B25-30:lost B30-35 close:end"
	if got := strings.Join(r.lines, " "); got != want {
		t.Errorf("events\n got %s\nwant %s", got, want)
	}
}

// A connection that turns out to run the other way keeps its place in the order of those that wait.
func TestBufferLimitAfterFlip(t *testing.T) {
	limits := DefaultLimits()
	limits.BufferedBytes = 5 + chunkOverhead
	r := run(t, limits, parse(t, "B5+5 AS B15+5 A0+5"))
	want := opened + "B0-5x A0-5 B5-10:lost B10-15x close:end"
	if got := strings.Join(r.lines, " "); got != want {
		t.Errorf("events\n got %s\nwant %s", got, want)
	}
}

// numbered returns a segment of one of many connections.
func numbered(i int, flags uint8, seq uint32, payload string) *Segment {
	client := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 50000)
	return &Segment{Src: client, Dst: endpointB, Flags: flags, Seq: seq, Payload: []byte(payload), Length: len(payload),
		At: pcap.Ref{Number: pcap.FrameNumber(i + 1), Time: pcap.Timestamp(i) * 1000}}
}

func TestConnectionLimits(t *testing.T) {
	limits := DefaultLimits()
	limits.HalfOpen, limits.Connections, limits.Closed = 10, 20, 5
	notes := map[pcap.Code]int{}
	check := checker{t: t}
	closes := map[CloseReason]int{}
	a := NewAssembler(limits, func(e *Event) {
		check.event(e)
		if e.Kind == Close {
			closes[e.Close]++
		}
	}, func(n pcap.Note) { notes[n.Code]++ })
	for i := range 1000 {
		a.Push(numbered(i, SYN, 1, ""))
		if len(a.open) > 10 {
			t.Fatalf("%d half-open connections", len(a.open))
		}
	}
	for i := 1000; i < 1100; i++ {
		a.Push(numbered(i, SYN, 1, ""))
		a.Push(numbered(i, ACK, 2, "x"))
		if len(a.open) > 30 {
			t.Fatalf("%d open connections", len(a.open))
		}
	}
	for i := 1080; i < 1100; i++ {
		a.Push(numbered(i, RST, 3, ""))
		if n := len(a.closed.newest); n > 5 {
			t.Fatalf("%d closed connections", n)
		}
	}
	a.Finish()
	check.finish()
	if notes[CodeHalfOpenEvicted] != 991 || notes[CodeEvicted] != 80 || notes[CodeClosedForgotten] != 15 {
		t.Errorf("notes %v", notes)
	}
	if closes[Evicted] != 991+80 || closes[ClosedRST] != 20 || closes[EndOfInput] != 9 {
		t.Errorf("closes %v", closes)
	}
	if s := a.Stats(); s.Connections != 1100 || s.Gaps != 0 {
		t.Errorf("stats %+v", s)
	}
}

// An idle connection of long ago is no loss when its place is needed.
func TestStale(t *testing.T) {
	limits := DefaultLimits()
	limits.Connections = 1
	var closes []CloseReason
	a := NewAssembler(limits, func(e *Event) {
		if e.Kind == Close {
			closes = append(closes, e.Close)
		}
	}, func(n pcap.Note) {
		if n.Code != CodeLateStart {
			t.Errorf("note %v", n)
		}
	})
	a.Push(numbered(1, ACK, 2, "x"))
	late := numbered(2, ACK, 2, "x")
	late.At.Time += staleAfter + 1
	a.Push(late)
	a.Finish()
	if !slices.Equal(closes, []CloseReason{ClosedStale, EndOfInput}) {
		t.Errorf("closed: %v", closes)
	}
}

func TestClosedPerFlow(t *testing.T) {
	var steps []string
	for i := range 3 * closedPerFlow {
		steps = append(steps, fmt.Sprintf("A=%d AS BR0a0", (i+1)*10_000_000))
	}
	r := run(t, DefaultLimits(), parse(t, strings.Join(steps, " ")))
	if len(r.conns) != 3*closedPerFlow {
		t.Errorf("%d connections", len(r.conns))
	}
}

// A stream of more than 4 GiB, whose numbers wrap twice; the payload is cut so that it stays small.
func TestLongStream(t *testing.T) {
	var end StreamOffset
	check := checker{t: t}
	a := NewAssembler(DefaultLimits(), func(e *Event) {
		check.event(e)
		if e.Kind == Data || e.Kind == Gap {
			end = e.Offset + StreamOffset(e.Length)
		}
	}, func(n pcap.Note) {
		if n.Code != CodeCut {
			t.Fatalf("note %v", n)
		}
	})
	const size, count = 200_000, 50_000 // 10 GB
	a.Push(numbered(0, SYN, 99, ""))
	order := [4]uint32{0, 2, 1, 3}
	for i := range uint32(count) {
		n := i&^3 + order[i&3]
		s := numbered(0, ACK, 100+n*size, "front")
		s.Length, s.At.Number = size, pcap.FrameNumber(i+2)
		a.Push(s)
	}
	a.Finish()
	check.finish()
	if end != size*count {
		t.Errorf("stream ends at %d, want %d", end, int64(size*count))
	}
}

func TestHash(t *testing.T) {
	buckets := [8]int{}
	for i := range 8000 {
		s := numbered(i, ACK, 0, "")
		back := Segment{Src: s.Dst, Dst: s.Src}
		if s.Hash() != back.Hash() {
			t.Fatalf("the directions of %v differ", s.Src)
		}
		buckets[s.Hash()%8]++
	}
	for _, n := range buckets {
		if n < 850 || n > 1150 {
			t.Fatalf("uneven: %v", buckets)
		}
	}
}
