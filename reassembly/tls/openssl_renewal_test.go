package tls

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kdupscan/kdupscan/reassembly"
)

// What follows a renegotiation is read with the keys that the log has for its own client random. Without them it is a gap,
// and it is said why; what came before is there.
func TestOpenSSLRenegotiation(t *testing.T) {
	lines := []string{"before", "R", "between the two", "R", "after"}
	for _, cipher := range []string{"ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-SHA384", "ECDHE-ECDSA-CHACHA20-POLY1305"} {
		t.Run(cipher, func(t *testing.T) {
			t.Parallel()
			server, log := opensslServer(t, writeCertificate(t, certificates()[0]), "-client_renegotiation")
			address, recorded := relay(t, server)
			sent := opensslTalk(t, address, lines, "-tls1_2", "-cipher", cipher)
			r := recorded()
			keys, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			for _, size := range []int{100, 1448} {
				decryptAll(t, keysOf(t, string(keys)), r.events(size)).wantPlain(sent)
			}
			first := strings.SplitAfterN(string(keys), "CLIENT_RANDOM", 3) // a comment, the first key, those of the renegotiations
			p := decryptAll(t, keysOf(t, strings.TrimSuffix(first[0]+first[1], "CLIENT_RANDOM")), r.events(1448))
			if !strings.HasPrefix(string(p.data[0]), "before\n") || strings.Contains(string(p.data[0]), "between") || len(p.gaps[0]) == 0 || p.notes[CodeNoKey] != 1 || !p.closed {
				t.Errorf("%q of %q, notes %v", p.data[0], sent[0], p.notes)
			}
			// A loss before the renegotiation does not hide its hellos: of the client's writes, the third is "before".
			n := 0
			dropped := lose(r.events(1448), func(_ int, e *reassembly.Event) bool {
				if e.Dir == reassembly.FromA {
					n++
				}
				return e.Dir == reassembly.FromA && n == 3
			})
			p = decryptAll(t, keysOf(t, string(keys)), dropped)
			if text := string(p.data[0]); strings.Contains(text, "before") || !strings.HasSuffix(text, "between the two\nafter\n") || p.notes[CodeRecordLost] != 1 {
				t.Errorf("%q, notes %v", text, p.notes)
			}
		})
	}
}

// Keys of a renegotiation that come late serve the connection from there on.
func TestOpenSSLRenegotiationLateKeys(t *testing.T) {
	server, log := opensslServer(t, writeCertificate(t, certificates()[0]), "-client_renegotiation")
	address, recorded := relay(t, server)
	opensslTalk(t, address, []string{"before", "R", "after", "the last"}, "-tls1_2")
	r := recorded()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.SplitAfterN(string(text), "CLIENT_RANDOM", 3)
	keys := keysOf(t, strings.TrimSuffix(parts[0]+parts[1], "CLIENT_RANDOM"))
	p := &plaintext{t: t}
	d := NewDecrypter(keys, DefaultLimits(), p.handle, p.note)
	events := r.events(1 << 16)
	last := 0
	for i, e := range events {
		if e.Kind == reassembly.Data && e.Dir == reassembly.FromA && e.Data[0] == typeApplicationData {
			last = i
		}
	}
	for i := range events {
		if i == last {
			keys.AddLog([]byte("CLIENT_RANDOM" + parts[2]))
		}
		d.Handle(&events[i])
	}
	if text := string(p.data[0]); !strings.HasPrefix(text, "before\n") || !strings.HasSuffix(text, "the last\n") || p.notes[CodeNoKey] != 1 || len(p.gaps[0]) != 1 {
		t.Errorf("%q, gaps %v, notes %v", text, p.gaps, p.notes)
	}
}

// Early data is read with its own secret, and noted without.
func TestOpenSSLEarlyData(t *testing.T) {
	if !opensslHas("-early_data") {
		t.Skip("this openssl lacks an option")
	}
	server, log := startServer(t, writeCertificate(t, certificates()[0]), "-early_data", "-tls1_3")
	session := filepath.Join(t.TempDir(), "session")
	early := filepath.Join(t.TempDir(), "early")
	if err := os.WriteFile(early, []byte("the early bird\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var r *recording
	for _, args := range [][]string{{"-sess_out", session}, {"-sess_in", session, "-early_data", early}} {
		address, recorded := relay(t, server)
		in, out := start(t, exec.Command("openssl", append([]string{"s_client", "-connect", address, "-tls1_3"}, args...)...))
		for end := time.Now().Add(patience); time.Now().Before(end); { // the ticket comes after the handshake
			if info, err := os.Stat(session); err == nil && info.Size() > 0 {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		fmt.Fprintln(in, "hello")
		in.Close()
		io.Copy(io.Discard, out)
		r = recorded()
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{100, 1448} {
		p := decryptAll(t, keysOf(t, string(text)), r.events(size))
		if got := string(p.data[0]); got != "the early bird\nhello\n" || p.notes[CodeUnsupported] != 0 || p.notes[CodeDecrypted] != 1 {
			t.Errorf("%q, notes %v", got, p.notes)
		}
	}
	p := decryptAll(t, keysOf(t, strings.ReplaceAll(string(text), labelEarly, "OTHER")), r.events(1448))
	if got := string(p.data[0]); got != "hello\n" || p.notes[CodeUnsupported] != 1 {
		t.Errorf("without the secret %q, notes %v", got, p.notes)
	}
}
