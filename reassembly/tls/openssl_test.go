package tls

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kdupscan/kdupscan/reassembly"
)

// opensslServer starts openssl s_server, which answers each line with the same line backwards. It returns its address and
// key log.
func opensslServer(t *testing.T, certificate string, args ...string) (address, log string) {
	t.Helper()
	return startServer(t, certificate, append([]string{"-rev"}, args...)...)
}

// startServer starts openssl s_server at a port of its own choice.
func startServer(t *testing.T, certificate string, args ...string) (address, log string) {
	t.Helper()
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("openssl is not installed")
	}
	log = filepath.Join(t.TempDir(), "keys.log")
	args = append([]string{"s_server", "-accept", "127.0.0.1:0", "-cert", certificate, "-key", certificate, "-keylogfile", log}, args...)
	_, out := start(t, exec.Command("openssl", args...))
	var said strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if where, ok := strings.CutPrefix(lines.Text(), "ACCEPT"); ok {
			go io.Copy(io.Discard, out)
			if where == "" {
				t.Skip("this openssl does not say at which port it listens")
			}
			return strings.TrimSpace(where), log
		}
	}
	t.Fatalf("openssl s_server does not listen\n%s", &said)
	return "", ""
}

// start runs a command until the test ends.
func start(t *testing.T, cmd *exec.Cmd) (in io.WriteCloser, out io.Reader) {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err = cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	return in, out
}

// relay passes one connection on to an address and records its bytes.
func relay(t *testing.T, to string) (address string, recorded func() *recording) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	r := &recording{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		a, err := l.Accept()
		if err != nil {
			return
		}
		b, err := net.Dial("tcp", to)
		if err != nil {
			a.Close()
			return
		}
		deadline := time.Now().Add(patience)
		a.SetDeadline(deadline)
		b.SetDeadline(deadline)
		var both sync.WaitGroup
		both.Go(func() {
			io.Copy(tapped{b, r, reassembly.FromA}, onlyReader{a})
			b.(*net.TCPConn).CloseWrite()
		})
		both.Go(func() {
			io.Copy(tapped{a, r, reassembly.FromB}, onlyReader{b})
			a.(*net.TCPConn).CloseWrite()
		})
		both.Wait()
	}()
	return l.Addr().String(), func() *recording {
		<-done
		return r
	}
}

type onlyReader struct{ io.Reader }

// opensslTalk runs openssl s_client, which sends the lines and waits for the answer to each. Lines of one letter are
// commands to s_client: K and k update the keys, R negotiates again.
func opensslTalk(t *testing.T, address string, lines []string, args ...string) (sent [2]string) {
	t.Helper()
	in, out := start(t, exec.Command("openssl", append([]string{"s_client", "-connect", address}, args...)...))
	answers := bufio.NewScanner(out)
	answers.Buffer(nil, 1<<20)
	for _, line := range lines {
		fmt.Fprintln(in, line)
		if said := map[string]string{"K": "KEYUPDATE", "k": "KEYUPDATE", "R": "RENEGOTIATING"}[line]; said != "" {
			for answers.Scan() && !strings.Contains(answers.Text(), said) {
			}
			continue
		}
		sent[0] += line + "\n"
		want := reversed(line)
		sent[1] += want + "\n"
		for answers.Scan() && answers.Text() != want {
		}
		if answers.Text() != want {
			t.Fatalf("no answer to %.40q", line)
		}
	}
	in.Close()
	io.Copy(io.Discard, out)
	return sent
}

func reversed(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

func TestOpenSSL(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 900)
	lines := []string{"hello", "a second one", long, "the last"}
	cases := []struct {
		name           string
		rsa            bool
		server, client []string
		lines          []string
	}{
		{"1.3 AES-128-GCM", false, nil, []string{"-tls1_3", "-ciphersuites", "TLS_AES_128_GCM_SHA256"}, lines},
		{"1.3 AES-256-GCM", false, nil, []string{"-tls1_3", "-ciphersuites", "TLS_AES_256_GCM_SHA384"}, lines},
		{"1.3 ChaCha20", false, nil, []string{"-tls1_3", "-ciphersuites", "TLS_CHACHA20_POLY1305_SHA256"}, lines},
		{"1.3 CCM", false, []string{"-ciphersuites", "TLS_AES_128_CCM_SHA256"}, []string{"-tls1_3", "-ciphersuites", "TLS_AES_128_CCM_SHA256"}, lines},
		{"1.3 CCM-8", false, []string{"-ciphersuites", "TLS_AES_128_CCM_8_SHA256"}, []string{"-tls1_3", "-ciphersuites", "TLS_AES_128_CCM_8_SHA256"}, lines},
		{"1.3 key updates", false, nil, []string{"-tls1_3"}, []string{"before", "K", "after the first", long, "k", "K", "after the third"}},
		{"1.3 no middlebox mode", false, []string{"-no_middlebox"}, []string{"-tls1_3", "-no_middlebox"}, lines},
		{"1.3 padded records", false, []string{"-record_padding", "512"}, []string{"-tls1_3", "-record_padding", "512"}, lines},
		{"1.2 CBC-SHA, encrypt-then-MAC", true, nil, []string{"-tls1_2", "-cipher", "ECDHE-RSA-AES128-SHA"}, lines},
		{"1.2 CBC-SHA256, encrypt-then-MAC", true, nil, []string{"-tls1_2", "-cipher", "AES256-SHA256"}, lines},
		{"1.2 CBC-SHA384, encrypt-then-MAC", false, nil, []string{"-tls1_2", "-cipher", "ECDHE-ECDSA-AES256-SHA384"}, lines},
		{"1.2 CBC-SHA384, MAC-then-encrypt", false, nil, []string{"-tls1_2", "-cipher", "ECDHE-ECDSA-AES256-SHA384", "-no_etm"}, lines},
		{"1.2 DHE GCM", true, nil, []string{"-tls1_2", "-cipher", "DHE-RSA-AES256-GCM-SHA384"}, lines},
		{"1.2 DHE ChaCha20", true, nil, []string{"-tls1_2", "-cipher", "DHE-RSA-CHACHA20-POLY1305"}, lines},
		{"1.2 DHE CBC", true, nil, []string{"-tls1_2", "-cipher", "DHE-RSA-AES128-SHA256"}, lines},
		{"1.2 RSA GCM", true, nil, []string{"-tls1_2", "-cipher", "AES128-GCM-SHA256"}, lines},
		{"1.2 CCM", false, nil, []string{"-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-CCM"}, lines},
		{"1.2 CCM-8", false, nil, []string{"-tls1_2", "-cipher", "ECDHE-ECDSA-AES256-CCM8"}, lines},
		{"1.2 without extended master secret", false, nil, []string{"-tls1_2", "-no_ems"}, lines},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			certificate := certificates()[0]
			if c.rsa {
				certificate = certificates()[1]
			}
			if slices.Contains(c.client, "-no_etm") && !opensslHas("-no_etm") || slices.Contains(c.client, "-no_ems") && !opensslHas("-no_ems") {
				t.Skip("this openssl lacks an option")
			}
			if slices.Contains(c.client, "-tls1_2") {
				c.server, c.client = append(c.server, "-cipher", "ALL:@SECLEVEL=0"), append(c.client, "-servername", "broker.test")
			}
			server, log := opensslServer(t, writeCertificate(t, certificate), c.server...)
			address, recorded := relay(t, server)
			sent := opensslTalk(t, address, c.lines, c.client...)
			r := recorded()
			keys, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			for _, size := range []int{300, 1 << 16} {
				decryptAll(t, keysOf(t, string(keys)), r.events(size)).wantPlain(sent)
			}
			if slices.Contains(c.lines, "K") {
				wantAfterLoss(t, keysOf(t, string(keys)), r, c.lines[len(c.lines)-1])
			}
		})
	}
}

// wantAfterLoss loses each piece of a connection in turn, key updates among them. What the client says last is there but
// where the pieces that carry it are lost.
func wantAfterLoss(t *testing.T, keys *Keys, r *recording, last string) {
	t.Helper()
	runs, missing := 0, 0
	for i, e := range r.events(300) {
		if e.Kind != reassembly.Data || i < 12 {
			continue
		}
		p := decryptAll(t, keys, lose(r.events(300), func(j int, _ *reassembly.Event) bool { return i == j }))
		runs++
		if !strings.Contains(string(p.data[0]), last) {
			missing++
		}
	}
	if runs < 20 || missing > 2 {
		t.Errorf("%q is missing after %d of %d losses", last, missing, runs)
	}
}

func opensslHas(option string) bool {
	help, _ := exec.Command("openssl", "s_client", "-help").CombinedOutput()
	return strings.Contains(string(help), option+" ")
}

// Resumption as OpenSSL does it, by ticket and by session id: it logs the keys of each connection.
func TestOpenSSLResumption(t *testing.T) {
	for _, c := range []struct {
		name           string
		server, client []string
	}{
		{"1.3 PSK", nil, []string{"-tls1_3"}},
		{"1.2 ticket", nil, []string{"-tls1_2"}},
		{"1.2 session id", []string{"-no_ticket"}, []string{"-tls1_2", "-no_ticket"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server, log := opensslServer(t, writeCertificate(t, certificates()[0]), c.server...)
			session := filepath.Join(t.TempDir(), "session")
			address, recorded := relay(t, server)
			opensslTalk(t, address, []string{"the first"}, append(c.client, "-sess_out", session)...)
			recorded()
			address, recorded = relay(t, server)
			sent := opensslTalk(t, address, []string{"the second", "and more"}, append(c.client, "-sess_in", session)...)
			r := recorded()
			keys, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			decryptAll(t, keysOf(t, string(keys)), r.events(1448)).wantPlain(sent)
		})
	}
}
