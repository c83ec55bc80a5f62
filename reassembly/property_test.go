package reassembly

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/kdupscan/kdupscan/pcap"
)

// Any order of all segments gives the same bytes, as long as swapped segments are within reorderSegments.
func TestPermutations(t *testing.T) {
	tried := 0
	limits := DefaultLimits()
	limits.HistoryBytes = 1 << 12 // so that 3,000 of them are cheap
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		steps := []string{"AS", "BSa0"}
		length := [2]int64{rng.Int64N(60), rng.Int64N(60)}
		for side, name := range []string{"A", "B"} {
			ack := func() string { return fmt.Sprintf("a%d", rng.Int64N(length[1-side]+1)) }
			for at := int64(0); at < length[side]; {
				n := min(1+rng.Int64N(10), length[side]-at)
				steps = append(steps, fmt.Sprintf("%s%d+%d%s", name, at, n, ack()))
				if rng.IntN(4) == 0 { // again, with other borders
					low, high := rng.Int64N(at+1), at+rng.Int64N(n)+1
					steps = append(steps, fmt.Sprintf("%s%d+%d%s", name, low, high-low, ack()))
				}
				at += n
			}
			if rng.IntN(2) == 0 {
				steps = append(steps, fmt.Sprintf("%sF%d%s", name, length[side], ack()))
			}
			steps = append(steps, name+ack())
		}
		if len(steps) > reorderSegments {
			continue
		}
		tried++
		isn := fmt.Sprintf("A=%d B=%d ", uint32(rng.Uint64()), uint32(-rng.Int64N(100)))
		rng.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
		text := isn + strings.Join(steps, " ")
		r := run(t, limits, parse(t, text))
		if len(r.conns) != 1 {
			t.Fatalf("seed %d: %d connections of %s", seed, len(r.conns), text)
		}
		k := r.conns[1]
		if k.conn.A != endpointA || !k.conn.SynSeen {
			t.Fatalf("seed %d: %+v of %s", seed, k.conn, text)
		}
		for side, n := range length {
			if string(k.data[side]) != string(content(side, 0, int(n))) || k.gaps[side] != 0 {
				t.Fatalf("seed %d: side %d has %d bytes of %d, %d missing\nin  %s\nout %s", seed, side, len(k.data[side]), n, k.gaps[side], text, strings.Join(r.lines, " "))
			}
		}
	}
	if tried < 1000 {
		t.Errorf("only %d tried", tried)
	}
}

// What is missing is exactly what was not captured, whatever is lost, repeated and swapped on the way.
func TestLosses(t *testing.T) {
	limits := DefaultLimits()
	limits.HistoryBytes = 1 << 12
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 2))
		steps := []string{"AS", "BSa0", "Aa0"}
		captured := map[int64]bool{}
		length := int64(0)
		for range 100 {
			n := 1 + rng.Int64N(9)
			step := fmt.Sprintf("A%d+%d", length, n)
			for range 1 + rng.IntN(8)/7 - rng.IntN(6)/5 { // mostly once, now and then not at all or twice
				steps = append(steps, step)
				for i := range n {
					captured[length+i] = true
				}
			}
			length += n
			if rng.IntN(3) == 0 { // the receiver has it all
				steps = append(steps, fmt.Sprintf("Ba%d", length))
			}
		}
		for i := 3; i+4 < len(steps); i += 1 + rng.IntN(9) { // swaps over up to four frames
			j := i + 1 + rng.IntN(4)
			steps[i], steps[j] = steps[j], steps[i]
		}
		steps = append(steps, fmt.Sprintf("Ba%d", length), "@150ms", fmt.Sprintf("AF%d", length))
		text := strings.Join(steps, " ")
		r := run(t, limits, parse(t, text))
		k := r.conns[1]
		if missing := length - int64(len(captured)); int64(k.next[0]) != length || k.gaps[0] != missing || !k.finished[0] {
			t.Fatalf("seed %d: %d of %d bytes missing, want %d\nin  %s\nout %s", seed, k.gaps[0], length, missing, text, strings.Join(r.lines, " "))
		}
	}
}

// The events of a connection do not depend on the others, nor on how many Assemblers share the work.
func TestSpread(t *testing.T) {
	var segments []Segment
	rng := rand.New(rand.NewPCG(1, 3))
	for i := range 50 {
		steps := "AS BSa0 Aa0 A0+5 B0+9a5 A10+5 Ba15 B9+9a15 A5+5 A20+5 Ba25 @150ms B18+2 AF25 BF20 AR26"
		if i%3 == 0 {
			steps = strings.TrimPrefix(steps, "AS BSa0 Aa0 ") // a late start
		}
		own := parse(t, steps)
		for j := range own {
			for _, end := range []*netip.AddrPort{&own[j].Src, &own[j].Dst} {
				if *end == endpointA {
					*end = netip.AddrPortFrom(endpointA.Addr(), uint16(1000+i))
				}
			}
		}
		// Merge at random, keeping the order within the connection.
		merged := make([]Segment, 0, len(segments)+len(own))
		for len(segments)+len(own) > 0 {
			from := &segments
			if rng.IntN(len(segments)+len(own)) >= len(segments) {
				from = &own
			}
			merged = append(merged, (*from)[0])
			*from = (*from)[1:]
		}
		segments = merged
	}
	for i := range segments {
		segments[i].At.Number = pcap.FrameNumber(i + 1)
	}
	events := func(workers int) map[netip.AddrPort][]string {
		got := map[netip.AddrPort][]string{}
		assemblers := make([]*Assembler, workers)
		for i := range assemblers {
			assemblers[i] = NewAssembler(DefaultLimits(), func(e *Event) {
				client := e.Conn.A
				if client.Port() == endpointB.Port() {
					client = e.Conn.B
				}
				got[client] = append(got[client], fmt.Sprint(e.Kind, e.Dir, e.Offset, e.Length, string(e.Data), e.At, e.Gap, e.Close))
			}, func(pcap.Note) {})
		}
		for i := range segments {
			assemblers[segments[i].Hash()%uint64(workers)].Push(&segments[i])
		}
		for _, a := range assemblers {
			a.Finish()
		}
		return got
	}
	want := events(1)
	if len(want) != 50 {
		t.Fatalf("%d connections", len(want))
	}
	for _, workers := range []int{2, 7} {
		got := events(workers)
		for client := range want {
			if !slices.Equal(got[client], want[client]) {
				t.Errorf("%d workers, %v:\n got %v\nwant %v", workers, client, got[client], want[client])
			}
		}
	}
}
