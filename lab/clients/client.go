package clients

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Client is a Kafka producer library of a certain version.
type Client struct {
	Name    string // as in the report of the lab: "librdkafka 2.6.1"
	Codec   string // none, gzip, snappy, lz4 or zstd: a different one for each client
	Command []string
	secure  func(s *Security, dir string) (words, env []string, err error) // dir is for files that it needs
}

// Workload is what a producer sends, and how.
type Workload struct {
	Topic, ClientID string
	Partitions      int
	Count           int
	Pause           time.Duration
	Timeout         time.Duration // of a request
	Acks            string        // all, 1 or 0; "" is all
	Codec           string        // given by the client
	Idempotent      bool
	Transaction     int               // rounds in one; 0: none
	Options         map[string]string // of the library
	Security        *Security         // nil: plain connections
}

// Programs are the producers' programs, built by Build.
type Programs struct {
	Librdkafka261, Librdkafka2111, Java, FranzGo, Sarama Client
}

// All are the producers; those that are built stand in dir, and jars has the Java client.
func All(dir, jars string) Programs {
	return Programs{
		Librdkafka261:  Client{"librdkafka 2.6.1", "none", []string{filepath.Join(dir, "librdkafka-2.6.1")}, secureLibrdkafka},
		Librdkafka2111: Client{"librdkafka 2.11.1", "zstd", []string{filepath.Join(dir, "librdkafka-2.11.1")}, secureLibrdkafka},
		Java: Client{"Java 4.3.1", "snappy", []string{"java", "-Xmx128m", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
			"-cp", dir + ":" + filepath.Join(jars, "*"), "Producer"}, secureJava},
		FranzGo: Client{"franz-go 1.22.3", "lz4", []string{"/proc/self/exe", "produce", "franz-go"}, secureGo},
		Sarama:  Client{"sarama 1.61.1", "gzip", []string{"/proc/self/exe", "produce", "sarama"}, secureGo},
	}
}

// IsGo reports whether the client has its TLS of Go's library.
func (c Client) IsGo() bool { return c.Command[0] == "/proc/self/exe" }

// Build builds the producers from the lab's sources into dir.
func Build(ctx context.Context, sources, dir, jars string) (Programs, error) {
	p := All(dir, jars)
	source := filepath.Join(sources, "librdkafka")
	for _, c := range [][]string{
		{"go", "build", "-C", source, "-o", p.Librdkafka261.Command[0], "."},
		{"go", "build", "-C", source, "-modfile=current.mod", "-o", p.Librdkafka2111.Command[0], "."},
		{"javac", "-cp", filepath.Join(jars, "*"), "-d", dir, filepath.Join(sources, "java", "Producer.java")},
	} {
		cmd := exec.CommandContext(ctx, c[0], c[1:]...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			return Programs{}, fmt.Errorf("%s: %w\n%s", strings.Join(c, " "), err, out)
		}
	}
	return p, nil
}

// Running is a producer at work.
type Running struct {
	cmd    *exec.Cmd
	output bytes.Buffer
	done   chan struct{}
	err    error
}

// Start starts the producer, which may need files in dir. It is killed at the end of ctx.
func (c Client) Start(ctx context.Context, dir string, brokers []string, w Workload) (*Running, error) {
	acks := w.Acks
	if acks == "" {
		acks = "all"
	}
	words := append([]string(nil), c.Command[1:]...)
	words = append(words,
		"brokers="+strings.Join(brokers, ","), "topic="+w.Topic, "client-id="+w.ClientID,
		"partitions="+strconv.Itoa(w.Partitions), "count="+strconv.Itoa(w.Count),
		fmt.Sprint("pause=", w.Pause.Milliseconds()), fmt.Sprint("timeout=", w.Timeout.Milliseconds()),
		"acks="+acks, "codec="+c.Codec, fmt.Sprint("idempotent=", w.Idempotent), fmt.Sprint("transaction=", w.Transaction))
	for name, value := range w.Options {
		words = append(words, "x."+name+"="+value)
	}
	env := os.Environ()
	if w.Security != nil {
		secure, set, err := c.secure(w.Security, dir)
		if err != nil {
			return nil, err
		}
		words, env = append(words, secure...), append(env, set...)
	}
	r := &Running{cmd: exec.CommandContext(ctx, c.Command[0], words...), done: make(chan struct{})}
	r.cmd.Env = env
	r.cmd.Stdout, r.cmd.Stderr = &r.output, &r.output
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := r.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		r.err = r.cmd.Wait()
		close(r.done)
	}()
	return r, nil
}

// Ended is closed when the producer has ended.
func (r *Running) Ended() <-chan struct{} { return r.done }

// Wait returns when the producer has ended, with how many records were acknowledged and how many failed.
func (r *Running) Wait() (acknowledged, failed int, err error) {
	<-r.done
	if r.err != nil {
		return 0, 0, fmt.Errorf("producer: %w\n%s", r.err, r.output.Bytes())
	}
	lines := strings.Split(strings.TrimSpace(r.output.String()), "\n")
	if _, err := fmt.Sscanf(lines[len(lines)-1], "acknowledged %d failed %d", &acknowledged, &failed); err != nil {
		return 0, 0, fmt.Errorf("producer said %q at its end", lines[len(lines)-1])
	}
	return acknowledged, failed, nil
}
