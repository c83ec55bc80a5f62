package tls

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
)

// numbered returns messages of a size whose content says where in the stream each byte stands, so that what comes out
// after a loss can be checked against its offset.
func numbered(count, size int) [][2]string {
	var list [][2]string
	at := [2]int{}
	for range count {
		var m [2]string
		for side := range m {
			var b strings.Builder
			for b.Len() < size {
				fmt.Fprintf(&b, "%08d", at[side]+b.Len())
			}
			m[side] = b.String()
			at[side] += b.Len()
		}
		list = append(list, m)
	}
	return list
}

// lossCase is a suite and whether it tells how long the plaintext of a lost record was.
type lossCase struct {
	name    string
	version uint16
	suite   uint16
	exact   bool
}

var lossCases = []lossCase{
	{"1.3", tls.VersionTLS13, 0, true},
	{"1.2 GCM", tls.VersionTLS12, tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, true},
	{"1.2 ChaCha20", tls.VersionTLS12, tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, true},
	{"1.2 CBC", tls.VersionTLS12, tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA, false},
}

// pairOf returns peers for a case.
func (c lossCase) pair() pair {
	if c.suite == 0 {
		return newPair(c.version)
	}
	return newPair(c.version, c.suite)
}

// Losing segments costs the records that they hold, no more: what comes out is what was sent at these offsets.
func TestLoss(t *testing.T) {
	for _, c := range lossCases {
		p := c.pair()
		r, sent, _ := p.run(t, numbered(150, 3000))
		keys := keysOf(t, p.log.String())
		for _, size := range []int{100, 1448, 9000} {
			t.Run(fmt.Sprintf("%s in %d", c.name, size), func(t *testing.T) {
				events := r.events(size)
				random := rand.New(rand.NewPCG(1, uint64(size)))
				lostEvents := 0
				dropped := lose(events, func(i int, _ *reassembly.Event) bool {
					drop := i > 40 && random.IntN(50) == 0
					if drop {
						lostEvents++
					}
					return drop
				})
				p := decryptAll(t, keys, dropped)
				lost := 0
				for dir := range sent {
					for _, g := range p.gaps[dir] {
						lost += int(g.length)
					}
					if c.exact {
						p.wantAtOffsets(dir, sent[dir])
					} else {
						p.wantSomewhere(dir, sent[dir])
					}
				}
				// A segment hits at most the records that it overlaps: here of 3000 bytes, one write each.
				if most := lostEvents * (size + 2*(3000+100)); lost > most {
					t.Errorf("%d bytes lost in %d segments of %d, want at most %d", lost, lostEvents, size, most)
				}
				if lostEvents == 0 || lost == 0 || p.notes[CodeRecordLost] == 0 || p.notes[CodeRecordBad] > 0 || p.notes[CodeBroken] > 0 {
					t.Errorf("%d segments, %d bytes lost; notes %v", lostEvents, lost, p.notes)
				}
			})
		}
	}
}

// wantAtOffsets checks that every byte stands where it was sent, gaps aside.
func (p *plaintext) wantAtOffsets(dir int, sent string) {
	p.t.Helper()
	got := bytes.Clone(p.data[dir])
	if len(got) != len(sent) {
		p.t.Fatalf("direction %d: %d bytes, want %d", dir, len(got), len(sent))
	}
	for _, g := range p.gaps[dir] {
		copy(got[g.offset:g.offset+g.length], sent[g.offset:])
	}
	if string(got) != sent {
		p.t.Errorf("direction %d: bytes differ outside of gaps", dir)
	}
}

// wantSomewhere checks that each run between gaps was sent.
func (p *plaintext) wantSomewhere(dir int, sent string) {
	p.t.Helper()
	at := 0
	for _, e := range p.events {
		if e.Kind != reassembly.Data || int(e.Dir) != dir {
			continue
		}
		i := strings.Index(sent[at:], string(e.Data))
		if i < 0 {
			p.t.Fatalf("direction %d: %.40q was not sent in this order", dir, e.Data)
		}
		at += i + len(e.Data)
	}
}

// Loss in the handshake behind the hellos: keys change unseen.
func TestLossInHandshake(t *testing.T) {
	for _, c := range lossCases {
		p := c.pair()
		r, sent, _ := p.run(t, numbered(20, 3000))
		keys := keysOf(t, p.log.String())
		events := r.events(200)
		// The first segments of each direction hold the hello.
		for first := 2; first < 40; first++ {
			var seen [2]int
			dropped := lose(events, func(_ int, e *reassembly.Event) bool {
				seen[e.Dir]++
				return seen[e.Dir] >= 4 && seen[e.Dir] >= first && seen[e.Dir] < first+3
			})
			p := decryptAll(t, keys, dropped)
			for dir := range sent {
				if n := len(p.data[dir]); n < len(sent[dir])*9/10 {
					t.Errorf("%s from %d, direction %d: %d bytes of %d; %v", c.name, first, dir, n, len(sent[dir]), p.notes)
				}
			}
		}
	}
}

// A gap of many records is bridged as far as sequence numbers are tried.
func TestLongGap(t *testing.T) {
	for _, c := range lossCases {
		p := c.pair()
		r, sent, _ := p.run(t, numbered(1200, 40))
		keys := keysOf(t, p.log.String())
		dropped := lose(r.events(1448), func(i int, e *reassembly.Event) bool { return i > 60 && i < 60+2*900 })
		got := decryptAll(t, keys, dropped)
		for dir := range sent {
			if c.exact {
				got.wantAtOffsets(dir, sent[dir])
			} else {
				got.wantSomewhere(dir, sent[dir])
			}
			if tail := sent[dir][len(sent[dir])-400:]; !bytes.HasSuffix(got.data[dir], []byte(tail)) {
				t.Errorf("%s, direction %d: the end is missing", c.name, dir)
			}
		}
	}
}

// A connection of which the beginning is missing, or the ClientHello, passes untouched and is named.
func TestLateStart(t *testing.T) {
	p := newPair(tls.VersionTLS13)
	r, _, _ := p.run(t, conversation())
	keys := keysOf(t, p.log.String())
	whole := r.events(1448)
	t.Run("in the middle", func(t *testing.T) {
		late := []reassembly.Event{}
		var base [2]reassembly.StreamOffset
		var known [2]bool
		for _, e := range whole[60:] {
			e.Conn.SynSeen = false
			if !known[e.Dir] {
				base[e.Dir], known[e.Dir] = e.Offset, true
			}
			if e.Offset -= base[e.Dir]; e.Kind != reassembly.Ack || e.Offset > 0 {
				late = append(late, e)
			}
		}
		got := decryptAll(t, keys, late)
		got.wantUntouched(late)
		if fmt.Sprint(got.notes) != fmt.Sprint(map[pcap.Code]int{CodeLateStart: 1}) {
			t.Errorf("notes %v", got.notes)
		}
	})
	t.Run("without the client's hello", func(t *testing.T) {
		seen := false
		dropped := lose(whole, func(_ int, e *reassembly.Event) bool {
			first := !seen && e.Dir == reassembly.FromA
			seen = seen || first
			return first
		})
		got := decryptAll(t, keys, dropped)
		got.wantUntouched(dropped)
		if got.notes[CodeLateStart] != 1 {
			t.Errorf("notes %v", got.notes)
		}
	})
}

// A handshake that the server refuses hides nothing, so nothing is said, and nobody else is shown bytes that look encrypted.
func TestRefusedHandshake(t *testing.T) {
	p := newPair(tls.VersionTLS13)
	p.server.MinVersion, p.server.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
	a, b, r := tap(t)
	go tls.Server(b, p.server).Handshake()
	if err := tls.Client(a, p.client).Handshake(); err == nil {
		t.Fatal("the handshake succeeded")
	}
	events := r.events(1448)
	decryptAll(t, NewKeys(nil), events).wantNothing()
}

// Nor does a connection that its client has closed again before the handshake was over. What follows a hello may hide much,
// though, and bytes of unknown content may.
func TestUnfinishedHandshake(t *testing.T) {
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		t.Run(versionName(version), func(t *testing.T) { testUnfinished(t, newPair(version)) })
	}
}

func testUnfinished(t *testing.T, p pair) {
	r, _, _ := p.run(t, conversation())
	hello := recording{writes: []write{r.writes[0]}}
	if r.writes[0].dir != reassembly.FromA {
		t.Fatal("the server spoke first")
	}
	for size := range 3 {
		decryptAll(t, NewKeys(nil), hello.events(100+size*700)).wantNothing()
	}
	// Nothing is hidden before the client speaks again, nor behind that with TLS 1.2 until there is application data.
	hidden := false
	for n := 1; n < len(r.writes); n++ {
		spoken := r.writes[n].dir == reassembly.FromA && n > 1
		hidden = hidden || spoken && (p.client.MaxVersion == tls.VersionTLS13 || r.writes[n].data[0] == typeApplicationData)
		hello.writes = append(hello.writes, r.writes[n])
		events := hello.events(1448)
		got := decryptAll(t, NewKeys(nil), events)
		if !hidden {
			got.wantNothing()
			continue
		}
		got.wantUntouched(events)
		if got.notes[CodeNoKey] != 1 {
			t.Errorf("%d writes, notes %v", n+1, got.notes)
		}
	}
	client := recording{} // the server's side is not in the capture
	for _, w := range r.writes {
		if w.dir == reassembly.FromA {
			client.writes = append(client.writes, w)
		}
	}
	for name, events := range map[string][]reassembly.Event{
		"one side": client.events(1448),
		"a gap":    lose((&recording{writes: r.writes[:1]}).events(100), func(i int, _ *reassembly.Event) bool { return i > 1 }),
	} {
		t.Run(name, func(t *testing.T) { decryptAll(t, NewKeys(nil), events).wantUntouched(events) })
	}
}

// wantNothing checks that the connection came out without a byte and without a note.
func (p *plaintext) wantNothing() {
	p.t.Helper()
	if len(p.data[0])+len(p.data[1]) > 0 || len(p.gaps[0])+len(p.gaps[1]) > 0 || len(p.notes) != 0 || !p.closed {
		p.t.Errorf("%d and %d bytes, gaps %v, notes %v, closed %t", len(p.data[0]), len(p.data[1]), p.gaps, p.notes, p.closed)
	}
}

// Bytes changed on the way cost their record.
func TestBadRecord(t *testing.T) {
	for _, c := range lossCases {
		p := c.pair()
		r, sent, _ := p.run(t, numbered(20, 3000))
		events := r.events(1448)
		changed := 0
		for i := range events {
			if e := &events[i]; e.Kind == reassembly.Data && i > len(events)/2 && changed == 0 {
				e.Data = bytes.Clone(e.Data)
				e.Data[len(e.Data)/2] ^= 1
				changed++
			}
		}
		got := decryptAll(t, keysOf(t, p.log.String()), events)
		if got.notes[CodeRecordBad] != 1 {
			t.Errorf("%s: notes %v", c.name, got.notes)
		}
		for dir := range sent {
			if n := len(got.data[dir]); n < len(sent[dir]) {
				t.Errorf("%s: %d bytes, want %d", c.name, n, len(sent[dir]))
			}
		}
	}
}
