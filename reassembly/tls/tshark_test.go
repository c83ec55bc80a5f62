package tls

import (
	"bytes"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/pcap/pcaptest"
	"github.com/kdupscan/kdupscan/reassembly"
)

// scanned is the plaintext of the connections of a capture, in the order in which they began.
type scanned struct {
	conns []*[2][]byte
	notes map[pcap.Code]int
}

// scanFile reads a capture down to the plaintext of its TLS connections, with the keys that it brings.
func scanFile(t *testing.T, name string) scanned {
	t.Helper()
	keys := NewKeys(nil)
	read := func(each func(*pcap.Frame)) []pcap.Capture {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		r, err := pcap.NewReader(f, filepath.Base(name))
		if err != nil {
			return []pcap.Capture{{}} // a file that is no capture
		}
		defer r.Close()
		var frame pcap.Frame
		for r.Next(&frame) == nil {
			each(&frame)
		}
		return r.Captures()
	}
	for _, s := range read(func(*pcap.Frame) {})[0].Secrets {
		keys.AddLog(s.Data)
	}
	s := scanned{notes: map[pcap.Code]int{}}
	byConn := map[*reassembly.Conn]*[2][]byte{}
	note := func(n pcap.Note) { s.notes[n.Code]++ }
	d := NewDecrypter(keys, DefaultLimits(), func(e *reassembly.Event) {
		if e.Kind != reassembly.Data {
			return
		}
		streams := byConn[e.Conn]
		if streams == nil {
			streams = &[2][]byte{}
			byConn[e.Conn] = streams
			s.conns = append(s.conns, streams)
		}
		streams[e.Dir] = append(streams[e.Dir], e.Data...)
	}, note)
	a := reassembly.NewAssembler(reassembly.DefaultLimits(), d.Handle, note)
	frames := reassembly.NewDecoder(reassembly.DefaultLimits(), note)
	read(func(f *pcap.Frame) { frames.Decode(f, a.Push) })
	a.Finish()
	return s
}

// tsharkFollow returns the plaintext of TLS stream n as tshark sees it; false if there is none.
func tsharkFollow(t *testing.T, name string, n int) (streams [2][]byte, ok bool) {
	t.Helper()
	out, err := exec.Command("tshark", "-r", name, "-q", "-z", fmt.Sprintf("follow,tls,raw,%d", n)).Output()
	if err != nil {
		t.Skipf("tshark: %v", err)
	}
	for _, line := range strings.Split(string(out), "\n") {
		side := 0
		if strings.HasPrefix(line, "\t") {
			side = 1
		}
		b, err := hex.DecodeString(strings.TrimSpace(line))
		if err != nil || len(b) == 0 {
			continue // a heading
		}
		streams[side] = append(streams[side], b...)
		ok = true
	}
	return streams, ok
}

// wantAsTshark compares every connection that tshark decrypts.
func wantAsTshark(t *testing.T, name string, streams int) {
	t.Helper()
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Skip("tshark is not installed")
	}
	s := scanFile(t, name)
	compared := 0
	for n := range streams {
		want, ok := tsharkFollow(t, name, n)
		if !ok {
			continue
		}
		compared++
		found := false
		for _, got := range s.conns {
			for first := range 2 { // tshark does not always name the client first
				found = found || bytes.Equal(got[0], want[first]) && bytes.Equal(got[1], want[1-first])
			}
		}
		if !found {
			t.Errorf("TLS stream %d: no connection has the %d and %d bytes that tshark shows; notes %v", n, len(want[0]), len(want[1]), s.notes)
		}
	}
	if compared == 0 {
		t.Fatal("tshark decrypts nothing")
	}
}

// What crypto/tls has sent, as tshark sees it.
func TestAsTsharkRecorded(t *testing.T) {
	var b pcaptest.PCAPNG
	b.Section()
	b.Interface(pcap.LinkTypeEthernet, 0)
	var conns []*pcaptest.Conversation
	cases := []lossCase{{version: tls.VersionTLS13}, {version: tls.VersionTLS12, suite: tls.TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256}}
	for i, c := range cases {
		p := c.pair()
		r, _, _ := p.run(t, conversation())
		b.Secrets(KeyLogSecret, []byte(p.log.String()))
		conn := pcaptest.NewConversation(netip.AddrPortFrom(netip.MustParseAddr("10.0.0.1"), uint16(40000+i)), netip.MustParseAddrPort("10.0.0.2:443"), time.Unix(1_700_000_000, 0))
		conn.Handshake()
		for _, w := range r.writes {
			if w.dir == reassembly.FromA {
				conn.Client(w.data)
			} else {
				conn.Server(w.data)
			}
		}
		conns = append(conns, conn)
	}
	for _, p := range pcaptest.Interleave(conns...) {
		b.Micro(0, p.Time, p.Data)
	}
	name := filepath.Join(t.TempDir(), "recorded.pcapng")
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	wantAsTshark(t, name, len(cases))
}

// Foreign captures, few of them with keys, are read without harm; of those with a TLS handshake it is said why it stays
// closed.
func TestForeignCaptures(t *testing.T) {
	root := filepath.Join("..", "..", "..", "shared", "corpus", "net")
	if _, err := os.Stat(root); err != nil {
		t.Skip("no corpus")
	}
	all := map[pcap.Code]int{}
	filepath.WalkDir(root, func(name string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		for code, n := range scanFile(t, name).notes {
			all[code] += n
		}
		return nil
	})
	for _, code := range []pcap.Code{CodeNoKey, CodeLateStart, CodeUnsupported} {
		if all[code] == 0 {
			t.Errorf("no %s in all of the corpus: %v", code, all)
		}
	}
}
