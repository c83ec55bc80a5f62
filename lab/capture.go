package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"syscall"
	"time"

	"github.com/kdupscan/kdupscan/lab/cluster"
)

// capture is a running tcpdump at the clients' side of the proxy.
type capture struct {
	cmd    *exec.Cmd
	file   string
	port   int
	stderr bytes.Buffer
	ended  chan struct{}
}

// startCapture returns once packets are being recorded.
func startCapture(ctx context.Context, device string, port int, file string) (*capture, error) {
	if err := os.RemoveAll(file); err != nil {
		return nil, err
	}
	c := &capture{file: file, port: port, ended: make(chan struct{})}
	c.cmd = exec.Command("tcpdump", "-i", device, "-n", "-s", "0", "-B", "16384", "-U", "--immediate-mode", "-Z", "root", "-w", file,
		fmt.Sprintf("port %d", port))
	c.cmd.Stderr = &c.stderr
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = c.cmd.Wait() // what it has to say is in stderr
		close(c.ended)
	}()
	if err := c.mark(ctx, "begin"); err != nil {
		c.kill()
		return nil, err
	}
	return c, nil
}

// dropped is what tcpdump says at its end.
var dropped = regexp.MustCompile(`(\d+) packets? dropped by kernel`)

// stop ends the recording once all packets sent so far are in the file, and returns their number.
func (c *capture) stop(ctx context.Context) (packets int, err error) {
	err = c.mark(ctx, "end")
	c.kill()
	if err != nil {
		return 0, err
	}
	if m := dropped.FindSubmatch(c.stderr.Bytes()); m != nil && string(m[1]) != "0" {
		return 0, fmt.Errorf("%w: tcpdump lost %s packets on a busy machine", errNoFault, m[1])
	}
	data, err := os.ReadFile(c.file)
	if err != nil {
		return 0, err
	}
	const header, packetHeader = 24, 16 // of a pcap file; the third word of a packet's header is its captured length
	for at := header; at+packetHeader <= len(data); at += packetHeader + int(binary.NativeEndian.Uint32(data[at+8:])) {
		packets++
	}
	return packets, nil
}

func (c *capture) kill() {
	_ = c.cmd.Process.Signal(os.Interrupt) // it may have ended
	<-c.ended
}

// mark sends datagrams with a word of its own to the recorded port until one of them is in the file. Packets are recorded
// in order, so all that was sent before is in the file then.
func (c *capture) mark(ctx context.Context, word string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	conn, err := net.Dial("udp", cluster.Address(cluster.Nodes[0], c.port))
	if err != nil {
		return err
	}
	defer conn.Close()
	text := []byte("kdupscan lab: " + word)
	for {
		_, _ = conn.Write(text) // nobody listens there: an error says only that
		if data, err := os.ReadFile(c.file); err == nil && bytes.Contains(data, text) {
			return nil
		}
		select {
		case <-c.ended:
			return fmt.Errorf("tcpdump: %s", c.stderr.Bytes())
		case <-ctx.Done():
			return fmt.Errorf("waiting for tcpdump: %w", ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}
