//go:build unix

package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// process is kdupscan live as a process that reads captures from a pipe.
type process struct {
	*exec.Cmd
	in        io.WriteCloser
	out, errs *lines
}

func startProcess(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(os.Args[0]), out: newLines(), errs: newLines()}
	p.Args = append([]string{"kdupscan", "live", "-r", "-"}, args...)
	p.Stdout, p.Stderr = p.out, p.errs
	var err error
	if p.in, err = p.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Process.Kill() })
	return p
}

func (p *process) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := p.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

func (p *process) write(t *testing.T, data []byte) {
	t.Helper()
	if _, err := p.in.Write(data); err != nil {
		t.Fatal(err)
	}
}

// TestSignals: SIGUSR1 writes a report so far, SIGHUP opens the file of alerts again, SIGTERM ends with the report though the
// pipe is still open.
func TestSignals(t *testing.T) {
	before, after := incident()
	alerts := filepath.Join(t.TempDir(), "alerts")
	p := startProcess(t, "--alerts", alerts)
	p.write(t, before)
	p.errs.await(t, "F1: ")
	p.signal(t, syscall.SIGUSR1)
	p.errs.await(t, "^1 finding|^2 records (may|probably) stand twice")

	moved := alerts + ".1"
	if err := os.Rename(alerts, moved); err != nil {
		t.Fatal(err)
	}
	p.signal(t, syscall.SIGHUP)
	for end := time.Now().Add(deadline); ; {
		if _, err := os.Stat(alerts); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the file of alerts is not made anew")
		}
	}
	p.write(t, after)
	p.errs.await(t, "F1 is surer now")
	p.signal(t, syscall.SIGTERM)
	started := time.Now()
	err := p.Wait()
	t.Logf("ended after %v", time.Since(started).Round(time.Millisecond))
	if p.ProcessState.ExitCode() != 1 || !strings.Contains(p.out.String(), "(confirmed): retry without a producer id") {
		t.Errorf("%v\n%s\n%s", err, p.out, p.errs)
	}
	for name, want := range map[string]string{moved: `"verdict":"p`, alerts: `"verdict":"confirmed"`} {
		if content, err := os.ReadFile(name); err != nil || strings.Count(string(content), "\n") != 1 || !strings.Contains(string(content), want) {
			t.Errorf("%s: %v %s", filepath.Base(name), err, content)
		}
	}
}

// TestInterimToFile: a report so far goes to --out, and so does the last one.
func TestInterimToFile(t *testing.T) {
	before, after := incident()
	out := filepath.Join(t.TempDir(), "report")
	p := startProcess(t, "--out", out, "--output", "json")
	p.write(t, before)
	p.errs.await(t, "F1: ")
	p.signal(t, syscall.SIGUSR1)
	for end := time.Now().Add(deadline); ; {
		if content, err := os.ReadFile(out); err == nil {
			if !strings.Contains(string(content), `"verdict": "p`) {
				t.Errorf("report so far: %s", content)
			}
			break
		}
		if time.Now().After(end) {
			t.Fatal("no report so far")
		}
	}
	p.write(t, after)
	p.in.Close()
	if err := p.Wait(); p.ProcessState.ExitCode() != 1 {
		t.Errorf("%v\n%s", err, p.errs)
	}
	if content, err := os.ReadFile(out); err != nil || !strings.Contains(string(content), `"verdict": "confirmed"`) || p.out.String() != "" {
		t.Errorf("%v: %s", err, content)
	}
}

// TestHookIsKilled: a command that takes too long is killed with all that it has started, and the next finding is not lost.
func TestHookIsKilled(t *testing.T) {
	dir := t.TempDir()
	pids, told := filepath.Join(dir, "pids"), filepath.Join(dir, "told")
	errs := newLines()
	h := newHook("cat >> "+told+"; sleep 1000 & echo $! >> "+pids+"; wait", errs)
	h.limit = 300 * time.Millisecond
	h.start(func(format string, args ...any) { errs.Write([]byte(line(format, args...) + "\n")) })
	h.run([]byte(`{"id":"F1"}`))
	h.run([]byte(`{"id":"F2"}`))
	for h.failed.Load() < 2 {
		errs.await(t, "deadline exceeded")
	}
	h.stop(time.Now().Add(deadline))
	if content, err := os.ReadFile(told); err != nil || string(content) != "{\"id\":\"F1\"}\n{\"id\":\"F2\"}\n" {
		t.Errorf("%v %q", err, content)
	}
	content, err := os.ReadFile(pids)
	if err != nil || h.ran.Load() != 2 {
		t.Fatal(err, h.ran.Load())
	}
	for _, field := range strings.Fields(string(content)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(deadline); !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH); {
			if time.Now().After(end) {
				t.Fatalf("process %d still runs", pid)
			}
		}
	}
}
