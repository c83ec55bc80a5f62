package kafka

import (
	"math/rand"
	"net/netip"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
)

// anyScript is a connection of any kind: plain or foreign, whole or not, with what surrounds the data in any place.
func anyScript(t *testing.T, random *rand.Rand, i int) *script {
	s := newScript(random.Intn(2) == 0)
	s.conn.A = netip.AddrPortFrom(s.conn.A.Addr(), uint16(i+1))
	turns := conversation(t)
	switch random.Intn(6) {
	case 0:
		names := []string{"HTTP", "PostgreSQL", "Cassandra", "zeros"}
		b := foreign[names[random.Intn(len(names))]]
		turns = []turn{{asks, b[0]}, {answers, b[1]}}
	case 1:
		record := append([]byte{22, 3, 1, 0, 200, 1}, make([]byte, 199)...)
		turns = []turn{{asks, record}, {answers, record}}
	case 2:
		turns = slices.Insert(turns, 0, turn{asks, []byte(proxyVersion2)})
	case 3:
		turns = turns[random.Intn(len(turns)):]
	case 4:
		x := random.Intn(len(turns) - 1)
		turns[x], turns[x+1] = turns[x+1], turns[x]
	}
	turns = turns[:random.Intn(len(turns)+1)]
	for _, turn := range turns {
		for b := turn.bytes; len(b) > 0; {
			n := len(b)
			if random.Intn(3) == 0 {
				n = 1 + random.Intn(n)
			}
			switch random.Intn(12) {
			case 0:
				s.gap(turn.dir, n)
			case 1:
				s.ack(turn.dir)
				continue
			case 2:
				s.ack(turn.dir.Other())
				continue
			case 3:
				if random.Intn(8) == 0 {
					s.add(reassembly.Event{Kind: reassembly.Finish, Dir: turn.dir, Offset: s.next[turn.dir]})
				}
				continue
			default:
				s.data(turn.dir, b[:n])
			}
			b = b[n:]
		}
	}
	return s.close(reassembly.CloseReason(random.Intn(6)))
}

// TestConnectionsAreApart: what is seen of a connection does not depend on those beside and before it, of which parts are used again.
func TestConnectionsAreApart(t *testing.T) {
	random := rand.New(rand.NewSource(28))
	for round := range 30 {
		var scripts []*script
		for i := range 40 {
			scripts = append(scripts, anyScript(t, random, i))
		}
		observations, notes := map[netip.AddrPort][]Observation{}, map[netip.AddrPort][]pcap.Note{}
		var now netip.AddrPort
		d := NewDecoder(Options{Limits: DefaultLimits()},
			func(o Observation) { observations[now] = append(observations[now], o) },
			func(n pcap.Note) { notes[now] = append(notes[now], n) })
		left := make([]int, len(scripts))
		for open, begun := []int{}, 0; begun < len(scripts) || len(open) > 0; {
			if begun < len(scripts) && len(open) < 1+round {
				open = append(open, begun)
				begun++
			}
			at := random.Intn(len(open))
			i := open[at]
			e := scripts[i].events[left[i]]
			if left[i]++; left[i] == len(scripts[i].events) {
				open = slices.Delete(open, at, at+1)
			}
			e.Data = slices.Clone(e.Data)
			now = e.Conn.A
			d.Handle(&e)
			for j := range e.Data {
				e.Data[j] = 0xaa
			}
		}
		if d.buffered != 0 || len(d.work) != 0 {
			t.Errorf("%d bytes, %d chunks are left", d.buffered, len(d.work))
		}
		for _, s := range scripts {
			alone := run(s)
			for what, pair := range map[string][2]any{
				"observations": {alone.observations, observations[s.conn.A]},
				"notes":        {alone.notes, notes[s.conn.A]},
			} {
				if diff := cmp.Diff(pair[0], pair[1], cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
					t.Fatalf("round %d, %v: %s (-alone +beside others):\n%s", round, s.conn.A, what, diff)
				}
			}
		}
	}
}
