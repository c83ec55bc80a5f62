package main

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/kdupscan/kdupscan/kafka/kafkatest"
	"github.com/kdupscan/kdupscan/pcap/pcaptest"
)

// Credentials are in no output. Every story is told again by clients that log in first, in the open and inside TLS, is spoilt
// as captures get spoilt, and goes through every way that kdupscan has to say something.

// secretWord is in all that the clients of these tests prove themselves with.
const secretWord = "Tr0ub4dor&3-horse-battery-staple"

// traces are pieces of the secret, in all forms in which bytes are shown: any twelve bytes of it have a piece in them.
var traces = func() (all []string) {
	for i := 0; i+8 <= len(secretWord); i += 4 {
		piece := secretWord[i : i+8]
		all = append(all, piece, hex.EncodeToString([]byte(piece)), strings.ToUpper(hex.EncodeToString([]byte(piece))),
			fmt.Sprintf("% x", piece), strings.ReplaceAll(piece, "&", "&amp;"), strings.ReplaceAll(piece, "&", `\u0026`))
	}
	for i := range 3 { // base64 has three ways to cut bytes; its first and last digits depend on the neighbours
		digits := base64.RawStdEncoding.EncodeToString([]byte(secretWord[i:]))
		for at := 4; at+12 <= len(digits); at += 8 {
			all = append(all, digits[at:at+12])
		}
	}
	return all
}()

// wantNoTrace looks for the secret, and for the secrets of a key log.
func wantNoTrace(t *testing.T, what, text string, keyLog []byte) {
	t.Helper()
	for _, trace := range traces {
		if strings.Contains(text, trace) {
			t.Errorf("%s: %q of the secret is in the output", what, trace)
			return
		}
	}
	for _, line := range strings.Split(strings.TrimSpace(string(keyLog)), "\n") {
		if words := strings.Fields(line); len(words) == 3 && strings.Contains(strings.ToLower(text), words[2][:20]) {
			t.Errorf("%s: a secret of the key log is in the output", what)
		}
	}
}

// tellAll runs the commands on packets and looks into all that they say. Evidence that is not redacted is frames as they were
// captured, so it is not looked into, and neither are recorded packets.
func tellAll(t *testing.T, packets []pcaptest.Packet, keyLog []byte, formats ...string) (verdict string) {
	t.Helper()
	dir := t.TempDir()
	capture, keys := filepath.Join(dir, "a.pcap"), filepath.Join(dir, "keys.log")
	mustWrite(t, capture, pcaptest.PCAP{}.Encode(packets...))
	var more []string
	if keyLog != nil {
		mustWrite(t, keys, keyLog)
		more = []string{"--keylog", keys}
	}
	check := func(what, text string) { t.Helper(); wantNoTrace(t, what, text, keyLog) }
	for _, format := range formats {
		_, stdout, stderr := runScan(nil, append([]string{capture, "--output", format, "--payloads"}, more...)...)
		check(format, stdout+stderr)
		if format == "json" {
			var s summary
			if err := json.Unmarshal([]byte(stdout), &s); err != nil {
				t.Errorf("%v; stderr %s", err, stderr)
			}
			verdict = s.Verdict
		}
	}
	for _, redact := range []string{"", "--redact", "--redact=all", "--redact=all=payload"} {
		if redact != "--redact" && len(formats) < 4 {
			continue
		}
		file := filepath.Join(dir, "evidence.pcapng")
		args := append([]string{capture, "--evidence", file}, more...)
		if redact != "" {
			args = append(args, redact)
		}
		_, stdout, stderr := runScan(nil, args...)
		check("--evidence "+redact, stdout+stderr)
		if data, err := os.ReadFile(file); err == nil && redact != "" {
			check("evidence "+redact, string(data))
		}
	}
	if len(formats) == 4 {
		checkLive(t, dir, append([]string{"live", "-r", capture}, more...), check)
	}
	return verdict
}

// checkLive runs kdupscan live with its alerts, its command for findings and its recording.
func checkLive(t *testing.T, dir string, args []string, check func(what, text string)) {
	t.Helper()
	alerts, found, recorded := filepath.Join(dir, "alerts"), filepath.Join(dir, "found"), filepath.Join(dir, "recorded")
	if err := os.Mkdir(recorded, 0o700); err != nil {
		t.Fatal(err)
	}
	args = append(args, "--payloads", "--output", "json", "--alerts", alerts, "--record", recorded)
	if runtime.GOOS != "windows" {
		args = append(args, "--on-finding", "cat >>'"+found+"'")
	}
	var stdout, stderr strings.Builder
	run(args, nil, &stdout, &stderr)
	check("live", stdout.String()+stderr.String())
	for _, name := range []string{alerts, found} {
		if data, err := os.ReadFile(name); err == nil {
			check(filepath.Base(name), string(data))
		}
	}
	err := filepath.WalkDir(recorded, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.Contains(entry.Name(), ".pcap") {
			return err
		}
		data, err := os.ReadFile(path)
		check("recorded "+entry.Name(), string(data))
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func mustWrite(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestNoCredentials: every story by one mechanism in turn, some by all, in the open and inside TLS; every output.
func TestNoCredentials(t *testing.T) {
	told := 0
	for i, c := range kafkatest.Scenarios() {
		told++
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			for n, l := range logins {
				if n != i%len(logins) && (testing.Short() || i%4 != 0) {
					continue
				}
				bare := (i+n)%2 == 0
				open, _, ok := loggedIn(t, c, l, bare, false)
				if !ok {
					t.Skip("not of whole connections")
				}
				formats := []string{"json"}
				if n == i%len(logins) {
					formats = []string{"json", "table", "markdown", "html"}
				}
				plain := tellAll(t, open, nil, formats...)
				if want := c.Truth.Verdict(); plain != want {
					t.Errorf("%s (bare: %t): %s, want %s", l.mechanism, bare, plain, want)
				}
				sealed, keyLog, _ := loggedIn(t, c, l, bare, true)
				if inside := tellAll(t, sealed, keyLog, formats...); inside != plain {
					t.Errorf("%s inside TLS, %s in the open", inside, plain)
				}
			}
		})
	}
	if told < 50 {
		t.Errorf("%d stories", told)
	}
}

// TestNoCredentialsWhenSpoilt: what is left of a login when packets are lost, cut or out of order, or the capture begins in it.
func TestNoCredentialsWhenSpoilt(t *testing.T) {
	for i, c := range kafkatest.Scenarios() {
		if i%12 != 0 || testing.Short() && i > 0 {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			l := logins[i/12%len(logins)]
			packets, _, ok := loggedIn(t, c, l, true, false)
			sealed, keyLog, _ := loggedIn(t, c, l, true, true)
			if !ok {
				t.Skip("not of whole connections")
			}
			for _, d := range degradations() {
				tellAll(t, d.spoil(packets, 1), nil, "json")
				tellAll(t, d.spoil(sealed, 1), keyLog, "json")
			}
			for from := 1; from < 16 && from < len(packets); from++ { // in the midst of the first login
				tellAll(t, packets[from:], nil, "json", "html")
			}
		})
	}
}

// TestNoCredentialsInMetrics reads what a run tells while it goes on.
func TestNoCredentialsInMetrics(t *testing.T) {
	for n, l := range logins {
		var c kafkatest.Case
		for _, c = range kafkatest.Scenarios() {
			if c.Name == "bump-after-45-elsewhere" {
				break
			}
		}
		packets, _, ok := loggedIn(t, c, l, n == 1, false)
		if !ok {
			t.Fatal("the story cannot be told")
		}
		in, out := io.Pipe()
		o := liveDefaults()
		o.read, o.metrics = "-", "127.0.0.1:0"
		go out.Write(pcaptest.PCAP{}.Encode(packets...))
		r := startLive(t, o, in)
		r.alerts.await(t, `"verdict":"confirmed"`)
		var text string
		for end := time.Now().Add(deadline); !strings.Contains(text, `kdupscan_requests_total{api="Produce"}`) && time.Now().Before(end); { // published each second
			text = ""
			for _, path := range []string{"/metrics", "/healthz", "/"} {
				resp, err := http.Get("http://" + r.metrics.listener.Addr().String() + path)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil {
					t.Fatal(err)
				}
				text += string(body)
			}
		}
		out.Close()
		_, report := r.end(t)
		if !strings.Contains(text, `kdupscan_requests_total{api="SASLHandshake"}`) || !strings.Contains(report, "epoch-bump") {
			t.Errorf("%s: the login was not seen in\n%s", l.mechanism, text)
		}
		wantNoTrace(t, l.mechanism, text+report+r.errs.String()+r.alerts.String(), nil)
	}
}
