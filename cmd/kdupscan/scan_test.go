package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/report"
)

// sharedCaptures returns captures with known answers that lie beside the project, where they are.
func sharedCaptures(tb testing.TB, folder string) []string {
	tb.Helper()
	all, err := filepath.Glob(filepath.Join("..", "..", "..", "shared", "captures", folder, "*.pcap*"))
	if err != nil {
		tb.Fatal(err)
	}
	if len(all) == 0 {
		tb.Skip("the shared captures are not here")
	}
	return all
}

// runScan runs the command in this process.
func runScan(stdin io.Reader, args ...string) (status int, stdout, stderr string) {
	var out, errs bytes.Buffer
	status = run(append([]string{"scan"}, args...), stdin, &out, &errs)
	return status, out.String(), errs.String()
}

// TestWorkersDoNotShow: the same bytes for any number of workers.
func TestWorkersDoNotShow(t *testing.T) {
	for _, folder := range []string{"seed", "cases", "lab"} {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			captures := sharedCaptures(t, folder)
			if testing.Short() && len(captures) > 3 {
				captures = captures[:3]
			}
			for _, capture := range captures {
				args := []string{"--output", "json", "--payloads", capture}
				status, want, _ := runScan(nil, append(args, "--workers", "1")...)
				if status == statusMisuse {
					t.Fatalf("%s: status %d", capture, status)
				}
				for _, n := range []int{2, 8} {
					if again, have, _ := runScan(nil, append(args, "--workers", strconv.Itoa(n))...); again != status || have != want {
						t.Errorf("%s: another report with %d workers", filepath.Base(capture), n)
					}
				}
			}
		})
	}
}

// TestOneScanOfAllCaptures merges many captures into one run: connections, cases and clocks mixed.
func TestOneScanOfAllCaptures(t *testing.T) {
	captures := sharedCaptures(t, "cases")
	_, want, _ := runScan(nil, append([]string{"--output", "json", "--workers", "1", "--memory", "32MiB"}, captures...)...)
	_, have, _ := runScan(nil, append([]string{"--output", "json", "--workers", "8", "--memory", "32MiB"}, captures...)...)
	if have != want || !strings.Contains(want, `"verdict": "duplicates"`) {
		t.Error("another report with 8 workers, or no duplicates")
	}
}

func TestPortsRestrict(t *testing.T) {
	capture := filepath.Join("..", "..", "..", "shared", "captures", "seed", "seed-a.pcap")
	if _, err := os.Stat(capture); err != nil {
		t.Skip("the shared captures are not here")
	}
	for ports, want := range map[string]int{"40001,40003": 1, "40001": 3, "9": 3} {
		status, out, _ := runScan(nil, "--ports", ports, capture)
		if ports != "40001" && status != want {
			t.Errorf("--ports %s: status %d, want %d\n%s", ports, status, want, out)
		}
	}
}

func TestHostileFileName(t *testing.T) {
	status, out, errs := runScan(nil, "no\x1b]0;such\x07\nfile\u202e.pcap")
	if status != statusMisuse || out != "" || strings.Count(errs, "\n") != 1 || strings.ContainsAny(errs, "\x1b\x07\u202e") {
		t.Errorf("status %d, stderr %q", status, errs)
	}
}

// endless is a source that yields one frame again and again.
type endless struct{ frames pcap.FrameNumber }

func (e *endless) Next(f *pcap.Frame) error {
	e.frames++
	*f = pcap.Frame{Ref: pcap.Ref{Number: e.frames, Time: 1}, LinkType: pcap.LinkTypeEthernet, OriginalLength: len(arpFrame), Data: []byte(arpFrame)}
	return nil
}

func (e *endless) Captures() []pcap.Capture {
	return []pcap.Capture{{Name: "endless", Packets: uint64(e.frames)}}
}

// TestInterrupt: what was read so far is reported, and that it is not all.
func TestInterrupt(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	checks := 0
	p := pipeline{source: &endless{}, budget: budget(defaultMemory), workers: 2, progress: func(uint64) {
		if checks++; checks == 3 {
			stop()
		}
	}}
	result, err := p.run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Notes) != 1 || result.Notes[0].Code != CodeInterrupted || result.Captures[0].Packets == 0 {
		t.Errorf("notes %+v", result.Notes)
	}
}

// failing is a source that breaks off.
type failing struct{ endless }

var errFailing = errors.New("input/output error")

func (f *failing) Next(frame *pcap.Frame) error {
	if f.frames == 10_000 {
		return errFailing
	}
	return f.endless.Next(frame)
}

func TestSourceError(t *testing.T) {
	p := pipeline{source: &failing{}, budget: budget(defaultMemory), workers: 2, progress: func(uint64) {}}
	if _, err := p.run(t.Context()); !errors.Is(err, errFailing) {
		t.Errorf("error %v", err)
	}
}

// FuzzScan feeds bytes to the whole program. Whatever they are: no panic, an end, one of the four statuses, a report
// exactly if the status is not 2, and the same report for one and two workers.
func FuzzScan(f *testing.F) {
	for _, capture := range captures {
		f.Add([]byte(capture))
	}
	for _, folder := range []string{"seed", "cases"} {
		all, _ := filepath.Glob(filepath.Join("..", "..", "..", "shared", "captures", folder, "*.pcap*"))
		for _, name := range all {
			if content, err := os.ReadFile(name); err == nil && len(content) < 32<<10 {
				f.Add(content)
			}
		}
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		for _, format := range report.Formats() {
			args := []string{"--output", format, "--payloads", "--memory", "64MiB", "-"}
			status, out, errs := runScan(bytes.NewReader(content), append(args, "--workers", "1")...)
			if (out == "") != (status == statusMisuse) || status < 0 || status > 3 {
				t.Fatalf("status %d, %d bytes of report, %s", status, len(out), errs)
			}
			if again, have, _ := runScan(bytes.NewReader(content), append(args, "--workers", "2")...); again != status || have != out {
				t.Errorf("%s: another report with two workers", format)
			}
		}
	})
}
