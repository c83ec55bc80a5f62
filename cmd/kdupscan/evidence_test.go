package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kdupscan/kdupscan/kafka/kafkatest"
	"github.com/kdupscan/kdupscan/pcap/pcaptest"
)

// TestEvidenceOfCaptures writes the evidence of every capture with findings, and scans it.
func TestEvidenceOfCaptures(t *testing.T) {
	var captures []string
	for _, pattern := range []string{
		filepath.Join("..", "..", "testdata", "*", "*.pcap*"),
		filepath.Join("..", "..", "..", "shared", "captures", "*", "*.pcap*"),
	} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		captures = append(captures, found...)
	}
	for _, capture := range captures {
		t.Run(filepath.Base(capture), func(t *testing.T) {
			t.Parallel()
			proves(t, capture)
		})
	}
}

// TestEvidenceOfScenarios does so for every story, and for what two capture points see of one.
func TestEvidenceOfScenarios(t *testing.T) {
	for _, c := range kafkatest.Scenarios() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			one, two := filepath.Join(dir, "one.pcap"), filepath.Join(dir, "two.pcap")
			if err := os.WriteFile(one, c.Pcap(), 0o644); err != nil {
				t.Fatal(err)
			}
			proves(t, one)
			if c.Spoil != nil {
				return
			}
			s := kafkatest.NewScenario(kafkatest.Start)
			s.IPv6 = c.IPv6
			c.Tell(s)
			other := pcaptest.PCAP{}.Encode(kafkatest.VantagePoint(s.Packets(), 50_000)...)
			if err := os.WriteFile(two, other, 0o644); err != nil {
				t.Fatal(err)
			}
			proves(t, one, two)
		})
	}
}

// proved is what the findings of a report say, without what evidence may change.
type proved struct {
	Findings []struct {
		Verdict, Cause string
		Partition      int32
		RecordCount    int `json:"record_count"`
		Records        []struct{ Offsets []any }
		Bump           map[string]any
	}
}

// proves checks that the evidence of the captures, in all forms, gives their findings.
func proves(t *testing.T, captures ...string) {
	t.Helper()
	for _, flag := range []string{"", "--redact", "--redact=all"} {
		file := filepath.Join(t.TempDir(), "evidence.pcapng")
		args := append([]string{"--output", "json", "--evidence", file}, captures...)
		if flag != "" {
			args = append(args, flag)
		}
		status, before, stderr := runScan(nil, args...)
		if strings.Contains(stderr, "no findings") {
			return
		}
		if status != 1 || !strings.Contains(stderr, "it gives the same findings") {
			t.Fatalf("%s: status %d, %s", flag, status, stderr)
		}
		_, after, _ := runScan(nil, "--output", "json", file)
		if have, want := proof(t, after), proof(t, before); !slices.Equal(have, want) {
			t.Errorf("%s: have %v\nwant %v", flag, have, want)
		}
	}
}

func proof(t *testing.T, report string) []string {
	t.Helper()
	var p proved
	if err := json.Unmarshal([]byte(report), &p); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, f := range p.Findings {
		for field := range f.Bump {
			if field == "first_seen" || field == "trigger" {
				delete(f.Bump, field) // they name frames
			}
		}
		line, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(line))
	}
	slices.Sort(lines)
	return lines
}

// TestTsharkReadsEvidence: tshark, where there is one, opens redacted files, finds all checksums right and no message malformed that
// was not so before.
func TestTsharkReadsEvidence(t *testing.T) {
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Skip("tshark is not here")
	}
	for _, name := range []string{"seed/seed-a.pcap", "seed/seed-b.pcap", "retry/broker-dedup-failure.pcap"} {
		capture := filepath.Join("..", "..", "testdata", filepath.FromSlash(name))
		for _, flag := range []string{"--redact", "--redact=all"} {
			file := filepath.Join(t.TempDir(), "evidence.pcapng")
			if status, _, stderr := runScan(nil, "--evidence", file, flag, capture); status != 1 {
				t.Fatalf("%s: status %d, %s", name, status, stderr)
			}
			if out := tshark(t, file, `ip.checksum.status == "Bad" or tcp.checksum.status == "Bad" or tcp.analysis.flags`); out != "" {
				t.Errorf("%s %s:\n%s", name, flag, out)
			}
			if before := tshark(t, capture, "_ws.malformed"); before == "" {
				if out := tshark(t, file, "_ws.malformed"); out != "" {
					t.Errorf("%s %s:\n%s", name, flag, out)
				}
			}
		}
	}
}

func tshark(t *testing.T, file, filter string) string {
	t.Helper()
	args := []string{"-r", file, "-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", "-d", "tcp.port==40000-40010,kafka", "-Y", filter}
	out, err := exec.Command("tshark", args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
