package tls

import (
	"bytes"
	"crypto/tls"
	"math/rand"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
)

// TestConnectionsAreApart: what comes out of a connection does not depend on those beside and before it, of which parts are used again.
func TestConnectionsAreApart(t *testing.T) {
	random := rand.New(rand.NewSource(29))
	known, unknown := newPair(tls.VersionTLS13), newPair(tls.VersionTLS12)
	sealed, _, _ := known.run(t, conversation())
	closed, _, _ := unknown.run(t, conversation())
	plain := &recording{writes: []write{{reassembly.FromA, bytes.Repeat([]byte("ask"), 50)}, {reassembly.FromB, bytes.Repeat([]byte("tell"), 50)}}}
	proxied := &recording{writes: slices.Insert(slices.Clone(plain.writes), 0, write{reassembly.FromA, []byte("PROXY TCP4 198.51.100.7 192.0.2.1 51234 9092\r\n")})}
	keys := keysOf(t, known.log.String())
	const count = 200
	var all [count][]reassembly.Event
	var got [count]*plaintext
	of := map[*reassembly.Conn]int{}
	for i := range all {
		r, size := []*recording{sealed, closed, plain, plain, proxied, {}}[random.Intn(6)], []int{400, 1448}[random.Intn(2)]
		if r == plain || r == proxied {
			size = 3 // less than tells what it is
		}
		events := r.events(size)
		events[0].Conn.SynSeen = random.Intn(4) > 0
		if random.Intn(2) == 0 {
			events = lose(events, func(int, *reassembly.Event) bool { return random.Intn(20) == 0 })
		}
		if random.Intn(4) == 0 { // ends early
			events = append(events[:1+random.Intn(len(events)-1)], events[len(events)-1])
		}
		all[i], got[i], of[events[0].Conn] = events, &plaintext{t: t}, i
	}
	now := 0
	d := NewDecrypter(keys, DefaultLimits(), func(e *reassembly.Event) { got[of[e.Conn]].handle(e) }, func(n pcap.Note) { got[now].note(n) })
	left := all
	for open, begun := []int{}, 0; begun < count || len(open) > 0; {
		if begun < count && len(open) < 10 {
			open = append(open, begun)
			begun++
		}
		at := random.Intn(len(open))
		now = open[at]
		e := left[now][0]
		if left[now] = left[now][1:]; len(left[now]) == 0 {
			open = slices.Delete(open, at, at+1)
		}
		e.Data = bytes.Clone(e.Data)
		d.Handle(&e)
		for i := range e.Data {
			e.Data[i] = 0xee
		}
	}
	if d.buffered != 0 {
		t.Errorf("%d bytes are still accounted for", d.buffered)
	}
	for i := range all {
		alone := decryptAll(t, keys, all[i])
		got[i].wantUntouched(alone.events)
		if diff := cmp.Diff(alone.notes, got[i].notes); diff != "" || alone.details != got[i].details {
			t.Errorf("connection %d: %s%s, alone %s", i, diff, got[i].details, alone.details)
		}
	}
}
