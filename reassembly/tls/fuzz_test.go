package tls

import (
	"bytes"
	"crypto/tls"
	"testing"

	"github.com/kdupscan/kdupscan/reassembly"
)

// FuzzKeyLog: any bytes are read without harm, in whole and in pieces alike, and what is kept has one of the two sizes.
func FuzzKeyLog(f *testing.F) {
	f.Add([]byte("CLIENT_RANDOM "+testRandom+" "+testSecret+testSecret[:32]+"\n# x\r\nRSA 00 11\n"), uint8(3))
	f.Add([]byte("CLIENT_TRAFFIC_SECRET_0 "+testRandom+" "+testSecret), uint8(1))
	f.Fuzz(func(t *testing.T, log []byte, piece uint8) {
		whole, pieces := NewKeys(nil), NewKeys(nil)
		if err := NewKeyLog(bytes.NewReader(log), whole).Read(); err != nil {
			t.Fatal(err)
		}
		l := NewKeyLog(nil, pieces)
		for rest := log; len(rest) > 0; {
			n := min(len(rest), int(piece)+1)
			l.take(rest[:n])
			rest = rest[n:]
		}
		l.keys.add(l.rest)
		if whole.Len() != pieces.Len() || whole.Bad() != pieces.Bad() {
			t.Errorf("%d sessions and %d bad lines in whole, %d and %d in pieces", whole.Len(), whole.Bad(), pieces.Len(), pieces.Bad())
		}
		for _, s := range whole.sessions {
			for i := range s.secrets {
				if n := len(s.secrets[i].value()); n != 0 && n != 32 && n != 48 {
					t.Errorf("a secret of %d bytes", n)
				}
			}
		}
	})
}

// FuzzHandshake: hellos of any bytes are read without harm, and those that are read have a random of their own bytes.
func FuzzHandshake(f *testing.F) {
	f.Add(append(append([]byte{3, 3}, make([]byte, 32)...), 0, 0, 2, 0x13, 1, 1, 0), true)
	f.Add(append(append([]byte{3, 3}, make([]byte, 32)...), 0, 0x13, 1, 0, 0, 6, 0, 43, 0, 2, 3, 4), false)
	f.Fuzz(func(t *testing.T, body []byte, client bool) {
		if client {
			if h, ok := readClientHello(body); ok && !bytes.Equal(h.random[:], body[2:34]) {
				t.Error("the random is not that of the hello")
			}
			return
		}
		if h, ok := readServerHello(body); ok && !bytes.Equal(h.random[:], body[2:34]) {
			t.Error("the random is not that of the hello")
		}
		var p prologue
		p.take(body, func(kind byte, body []byte) bool { return len(body) < 1<<24 })
	})
}

// FuzzRecords: a recorded connection with bytes changed, cut and lost never harms, keeps the promises of events, and what
// comes out without a loss was sent.
func FuzzRecords(f *testing.F) {
	type recorded struct {
		keys *Keys
		r    *recording
		sent [2]string
	}
	var all []recorded
	for _, c := range lossCases {
		p := c.pair()
		r, sent, _ := p.run(f, [][2]string{{"hello", "world"}, {string(make([]byte, 3000)), "ok"}, {"bye", "bye"}})
		keys := NewKeys(nil)
		keys.AddLog([]byte(p.log.String()))
		all = append(all, recorded{keys, r, sent})
	}
	f.Add(uint8(0), uint16(700), []byte{})
	f.Add(uint8(1), uint16(1448), []byte{0, 30, 1, 0, 1, 0, 2, 0})
	f.Add(uint8(2), uint16(90), []byte{1, 40, 0, 0, 0, 20, 5, 0})
	f.Fuzz(func(t *testing.T, which uint8, size uint16, edits []byte) {
		c := all[int(which)%len(all)]
		events := c.r.events(max(1, int(size)))
		for ; len(edits) >= 4; edits = edits[4:] {
			e := &events[int(edits[1])%len(events)]
			if e.Kind != reassembly.Data {
				continue
			}
			if edits[0]%2 == 0 {
				e.Kind, e.Data = reassembly.Gap, nil
				continue
			}
			e.Data = bytes.Clone(e.Data)
			e.Data[int(edits[2])%len(e.Data)] ^= edits[3]
		}
		p := decryptAll(t, c.keys, events)
		if !p.closed {
			t.Error("no Close")
		}
	})
}

// FuzzStream: any bytes as a TLS stream, with and without a hello before them.
func FuzzStream(f *testing.F) {
	p := newPair(tls.VersionTLS13)
	r, _, _ := p.run(f, [][2]string{{"a", "b"}})
	keys := NewKeys(nil)
	keys.AddLog([]byte(p.log.String()))
	f.Add(true, []byte{23, 3, 3, 0, 32})
	f.Add(false, []byte{22, 3, 1, 0, 5, 1, 0, 0, 1, 0})
	f.Fuzz(func(t *testing.T, greeted bool, data []byte) {
		own := &recording{}
		if greeted {
			own.writes = append(own.writes, r.writes...)
		}
		own.add(reassembly.FromB, data)
		own.add(reassembly.FromA, data)
		for _, size := range []int{5, 1448} {
			events := own.events(size)
			decryptAll(t, keys, events)
			decryptAll(t, keys, lose(events, func(i int, _ *reassembly.Event) bool { return i%11 == 10 }))
		}
	})
}
