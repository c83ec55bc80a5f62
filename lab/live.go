package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/kdupscan/kdupscan/lab/truth"
)

// liveMetrics is where kdupscan live tells how far it is.
const liveMetrics = "127.0.0.1:19709"

// live is kdupscan at the wire while a scenario is played.
type live struct {
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
	ended          chan struct{}
	err            error
}

// startLive returns once kdupscan captures.
func startLive(ctx context.Context, program, device string, port int, keyLogs []string) (*live, error) {
	l := &live{ended: make(chan struct{})}
	args := []string{"live", "-i", device, "--filter", fmt.Sprintf("port %d", port), "--output", "json", "--metrics", liveMetrics, "--payloads"}
	l.cmd = exec.Command(program, append(args, keyLogFlags(keyLogs)...)...)
	l.cmd.Stdout, l.cmd.Stderr = &l.stdout, &l.stderr
	l.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := l.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		l.err = l.cmd.Wait()
		close(l.ended)
	}()
	if err := l.await(ctx, 0); err != nil {
		l.kill()
		return nil, err
	}
	return l, nil
}

func keyLogFlags(files []string) (flags []string) {
	for _, f := range files {
		flags = append(flags, "--keylog", f)
	}
	return flags
}

func (l *live) kill() {
	_ = l.cmd.Process.Kill() // it may have ended
	<-l.ended
}

// await returns when kdupscan has seen so many packets.
func (l *live) await(ctx context.Context, packets int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		if n, err := livePackets(ctx); err == nil && n >= packets {
			return nil
		}
		select {
		case <-l.ended:
			return fmt.Errorf("kdupscan live: %w\n%s", l.err, l.stderr.Bytes())
		case <-ctx.Done():
			return fmt.Errorf("waiting for kdupscan live: %w", ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// livePackets asks kdupscan how many packets it has captured.
func livePackets(ctx context.Context) (int, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+liveMetrics+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	packets := 0.0
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if name, value, ok := strings.Cut(lines.Text(), " "); ok && strings.HasPrefix(name, "kdupscan_packets_total{") { // one for each interface
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return 0, err
			}
			packets += n
		}
	}
	return int(packets), lines.Err()
}

// stop ends kdupscan once it has seen so many packets, and returns its report.
func (l *live) stop(ctx context.Context, packets int) (*truth.Report, error) {
	if err := l.await(ctx, packets); err != nil {
		return nil, err
	}
	if err := l.cmd.Process.Signal(os.Interrupt); err != nil {
		return nil, err
	}
	select {
	case <-l.ended:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	var exit *exec.ExitError
	if l.err != nil && (!errors.As(l.err, &exit) || exit.ExitCode() != 1) {
		return nil, fmt.Errorf("kdupscan live: %w\n%s", l.err, l.stderr.Bytes())
	}
	if err := revealing(l.stdout.Bytes(), l.stderr.Bytes()); err != nil {
		return nil, err
	}
	r := &truth.Report{}
	if err := json.Unmarshal(l.stdout.Bytes(), r); err != nil {
		return nil, fmt.Errorf("kdupscan live: %w", err)
	}
	return r, nil
}
