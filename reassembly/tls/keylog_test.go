package tls

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

const (
	testRandom = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
	testSecret = "a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebf"
)

func TestKeyLog(t *testing.T) {
	long := testSecret + testSecret[:32]
	for _, c := range []struct {
		name, log   string
		sessions    int
		bad         int64
		traffic     string // the client's traffic secret
		handshake   bool
		masterBytes int
	}{
		{name: "empty"},
		{name: "comment", log: "# made by hand\n\n   \n"},
		{name: "one", log: "CLIENT_TRAFFIC_SECRET_0 " + testRandom + " " + testSecret + "\n", sessions: 1, traffic: testSecret},
		{name: "Windows", log: "CLIENT_TRAFFIC_SECRET_0 " + testRandom + " " + testSecret + "\r\n# \r\n", sessions: 1, traffic: testSecret},
		{name: "no last newline", log: "CLIENT_TRAFFIC_SECRET_0 " + testRandom + " " + testSecret, sessions: 1, traffic: testSecret},
		{name: "capitals", log: strings.ToUpper("CLIENT_TRAFFIC_SECRET_0 " + testRandom + " " + testSecret), sessions: 1, traffic: testSecret},
		{name: "SHA-384", log: "CLIENT_TRAFFIC_SECRET_0 " + testRandom + " " + long, sessions: 1, traffic: long},
		{name: "several", log: "CLIENT_HANDSHAKE_TRAFFIC_SECRET " + testRandom + " " + testSecret + "\nCLIENT_TRAFFIC_SECRET_0 " + testRandom + " " + testSecret + "\n",
			sessions: 1, traffic: testSecret, handshake: true},
		{name: "master", log: "CLIENT_RANDOM " + testRandom + " " + long, sessions: 1, masterBytes: 48},
		{name: "short master", log: "CLIENT_RANDOM " + testRandom + " " + testSecret + "\n", bad: 1},
		{name: "other labels", log: "RSA 0123456789abcdef " + long + "\nEXPORTER_SECRET " + testRandom + " " + testSecret + "\n"},
		{name: "not hex", log: "CLIENT_RANDOM " + testRandom + " " + strings.Repeat("zz", 48) + "\n", bad: 1},
		{name: "odd digits", log: "CLIENT_TRAFFIC_SECRET_0 " + testRandom + " " + testSecret[1:] + "\n", bad: 1},
		{name: "short random", log: "CLIENT_TRAFFIC_SECRET_0 " + testRandom[2:] + " " + testSecret + "\n", bad: 1},
		{name: "no secret", log: "CLIENT_TRAFFIC_SECRET_0 " + testRandom + "\n", bad: 1},
		{name: "prose", log: "This is no key log.\nAt all.\n", bad: 2},
		{name: "endless line", log: strings.Repeat("x", 3*maxLine) + "\nCLIENT_TRAFFIC_SECRET_0 " + testRandom + " " + testSecret + "\n", sessions: 1, traffic: testSecret, bad: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			whole := NewKeys(nil)
			if err := NewKeyLog(strings.NewReader(c.log), whole).Read(); err != nil {
				t.Fatal(err)
			}
			pieces := NewKeys(nil)
			if err := NewKeyLog(iotest.OneByteReader(strings.NewReader(c.log)), pieces).Read(); err != nil {
				t.Fatal(err)
			}
			for _, k := range []*Keys{whole, pieces} {
				if k.Len() != c.sessions || k.Bad() != c.bad {
					t.Errorf("%d sessions, %d bad lines; want %d, %d", k.Len(), k.Bad(), c.sessions, c.bad)
				}
				s := k.find([randomSize]byte(unhex(t, testRandom)))
				if s == nil {
					s = &session{}
				}
				if got := s.secrets[secretKinds[labelClientTraffic]].value(); !bytes.Equal(got, unhex(t, c.traffic)) {
					t.Errorf("traffic secret %x, want %s", got, c.traffic)
				}
				if got := s.secrets[secretKinds[labelClientHandshake]].value() != nil; got != c.handshake {
					t.Errorf("handshake secret: %v", got)
				}
				if got := len(s.secrets[0].value()); got != c.masterBytes {
					t.Errorf("a master secret of %d bytes, want %d", got, c.masterBytes)
				}
			}
		})
	}
}

// growing is a file that another process is writing.
type growing struct{ bytes.Buffer }

// A key log is read on where the last reading ended, also inside of a line.
func TestKeyLogGrows(t *testing.T) {
	var file growing
	keys := NewKeys(nil)
	log := NewKeyLog(&file, keys)
	line := "CLIENT_TRAFFIC_SECRET_0 " + testRandom + " " + testSecret + testSecret[:32] + "\n"
	for i := range line {
		file.WriteByte(line[i])
		if err := log.Read(); err != nil {
			t.Fatal(err)
		}
	}
	s := keys.find([randomSize]byte(unhex(t, testRandom)))
	if s == nil || len(s.secrets[secretKinds[labelClientTraffic]].value()) != 48 || keys.Bad() != 0 {
		t.Errorf("%v, %d bad lines", s != nil, keys.Bad())
	}
	failing := NewKeyLog(iotest.ErrReader(io.ErrUnexpectedEOF), keys)
	if err := failing.Read(); err != io.ErrUnexpectedEOF {
		t.Errorf("error %v", err)
	}
}

// Keys of a later layer come first, and secrets of one session may be spread over both.
func TestKeysOnABase(t *testing.T) {
	base := keysOf(t, "CLIENT_HANDSHAKE_TRAFFIC_SECRET "+testRandom+" "+testSecret)
	keys := NewKeys(base)
	keys.AddLog([]byte("CLIENT_TRAFFIC_SECRET_0 " + testRandom + " " + testSecret + "\n"))
	s := keys.find([randomSize]byte(unhex(t, testRandom)))
	if s.secrets[secretKinds[labelClientHandshake]].value() == nil || s.secrets[secretKinds[labelClientTraffic]].value() == nil {
		t.Error("a secret is missing")
	}
	if b := base.find([randomSize]byte(unhex(t, testRandom))); b.secrets[secretKinds[labelClientTraffic]].value() != nil {
		t.Error("the base has changed")
	}
}

// Keys that come after the packets open what has waited for them.
func TestKeysComeLate(t *testing.T) {
	pair := newPair(0x0304)
	r, sent, _ := pair.run(t, conversation())
	events := r.events(1448)
	for _, after := range []int{1, 5, len(events) / 2, len(events) - 1} {
		p := &plaintext{t: t}
		keys := NewKeys(nil)
		d := NewDecrypter(keys, DefaultLimits(), p.handle, p.note)
		events[0].Conn.State = nil
		for i := range events {
			if i == after {
				keys.AddLog([]byte(pair.log.String()))
			}
			d.Handle(&events[i])
		}
		p.wantPlain(sent)
	}
}

// What waits for keys is bounded, for one connection and in all.
func TestWaitingIsBounded(t *testing.T) {
	pair := newPair(0x0304)
	r, _, _ := pair.run(t, conversation())
	for name, limits := range map[string]Limits{
		"tls-no-key":       {ConnectionBytes: 64 << 10, BufferedBytes: 1 << 20},
		"tls-buffer-limit": {ConnectionBytes: 1 << 20, BufferedBytes: 64 << 10},
	} {
		events := r.events(1448)
		p := &plaintext{t: t}
		d := NewDecrypter(NewKeys(nil), limits, p.handle, p.note)
		for i := range events {
			d.Handle(&events[i])
			if d.buffered > 66<<10 {
				t.Fatalf("%s: %d bytes wait", name, d.buffered)
			}
		}
		p.wantUntouched(events)
		if fmt.Sprint(p.notes) != "map["+name+":1]" {
			t.Errorf("notes %v, want one %s", p.notes, name)
		}
	}
}

// No secret enters a note.
func TestNotesHoldNoSecrets(t *testing.T) {
	pair := newPair(0x0304)
	r, _, _ := pair.run(t, conversation())
	log := pair.log.String()
	p := decryptAll(t, keysOf(t, log), lose(r.events(700), lossEvery(9)))
	for _, line := range strings.Split(strings.TrimSpace(log), "\n") {
		secret := strings.Fields(line)[2]
		if strings.Contains(strings.ToLower(p.details), secret[:16]) {
			t.Error("a secret is in a note")
		}
	}
}
