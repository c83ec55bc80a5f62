package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sys/unix"

	"github.com/kdupscan/kdupscan/pcap"
)

// isolated reports whether the test is alone in namespaces of its own, of network and mounts, with nothing but lo. Where it
// is not, it runs the test again as a process that is, and takes over the outcome.
func isolated(t *testing.T) bool {
	t.Helper()
	const variable = "KDUPSCAN_ISOLATED"
	if os.Getenv(variable) == t.Name() {
		lo, err := unix.NewIfreq("lo")
		if err != nil {
			t.Fatal(err)
		}
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		lo.SetUint16(unix.IFF_UP)
		if err := errors.Join(unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo), unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")); err != nil {
			t.Fatal(err)
		}
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.v", "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), variable+"="+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	cmd.Args = append(cmd.Args, "-test.timeout=5m")
	out, err := cmd.CombinedOutput()
	switch {
	case errors.Is(err, syscall.EPERM):
		t.Skip("raw sockets are refused: not root")
	case err != nil:
		t.Errorf("%v\n%s", err, out)
	case bytes.Contains(out, []byte("--- SKIP: "+t.Name()+" ")):
		t.Skipf("%s", out)
	}
	if testing.Verbose() {
		t.Logf("%s", out)
	}
	return false
}

// onLo is a run that captures from lo.
func onLo(t *testing.T, change func(*liveOptions)) *liveTest {
	t.Helper()
	o := liveDefaults()
	o.interfaces = []string{"lo"}
	if change != nil {
		change(o)
	}
	return startLive(t, o, nil)
}

// TestLiveFindsAsItHappens: real clients, faults injected: the finding is there while they still run, the report is what the
// log shows, and the recording gives the same findings.
func TestLiveFindsAsItHappens(t *testing.T) {
	if !isolated(t) {
		return
	}
	timedOut := kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Partitions: []int32{0}, Err: kerr.RequestTimedOut}
	for _, c := range []struct {
		name   string
		send   producer
		faults []kfake.Fault
		cut    bool
	}{
		{name: "franz-go without idempotence", send: franzGo(kgo.DisableIdempotentWrite()), faults: []kfake.Fault{timedOut}},
		{name: "sarama without idempotence", send: saramaProducer(false), faults: []kfake.Fault{timedOut}},
		{name: "sarama without idempotence, connection cut", send: saramaProducer(false), cut: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var r recorder
			cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "orders"), kfake.ListenFn(r.listen))
			if err != nil {
				t.Fatal(err)
			}
			defer cluster.Close()
			dir := t.TempDir()
			l := onLo(t, func(o *liveOptions) { o.record.dir = dir })
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			c.send(ctx, t, cluster.ListenAddrs(), func() {
				r.cutNext.Store(c.cut)
				cluster.Fault(c.faults...)
			})
			proven := time.Now()
			l.alerts.await(t, `"cause":"blind-retry"`)
			t.Logf("alert at most %v after the proof", time.Since(proven).Round(time.Millisecond))
			twice := standTwice(ctx, t, cluster)
			l.alerts.await(t, `"verdict":"confirmed","cause":"blind-retry"`)
			l.stop()
			status, text := l.end(t)
			checkTwice(t, status, text, "blind-retry", twice)
			status, replayed, _ := runScan(nil, "--output", "json", dir)
			checkTwice(t, status, replayed, "blind-retry", twice)
			if findingsOf(t, replayed) != findingsOf(t, text) {
				t.Errorf("the recording gives other findings:\n%s\n%s", findingsOf(t, replayed), findingsOf(t, text))
			}
		})
	}
}

// TestSecondSignal: while the end is held up, here by a report that nobody takes, a second signal ends the run at once.
func TestSecondSignal(t *testing.T) {
	for _, again := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(again.String(), func(t *testing.T) {
			p := &process{Cmd: exec.Command(os.Args[0]), errs: newLines()}
			p.Args, p.Stderr = []string{"kdupscan", "live", "-r", "-", "--output", "html"}, p.errs
			var err error
			if p.in, err = p.StdinPipe(); err != nil {
				t.Fatal(err)
			}
			nobody, out, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer nobody.Close()
			// A pipe of one page takes a part of the report and no more.
			if _, err := unix.FcntlInt(out.Fd(), unix.F_SETPIPE_SZ, os.Getpagesize()); err != nil {
				t.Skip(err)
			}
			p.Stdout = out
			if err := p.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { p.Process.Kill() })
			out.Close()
			before, _ := incident()
			p.write(t, before)
			p.errs.await(t, "F1: ")
			p.signal(t, syscall.SIGTERM)
			if _, err := nobody.Read(make([]byte, 1)); err != nil { // it writes its report now, and is held up
				t.Fatal(err)
			}
			ended, end := make(chan struct{}), time.Now().Add(deadline)
			go func() { err = p.Wait(); close(ended) }()
			for wait := true; wait; { // more than one where the process had no time yet to let go of signals
				_ = p.Process.Signal(again) // it may have ended just now
				select {
				case <-ended:
					wait = false
				case <-time.After(time.Second):
					if time.Now().After(end) {
						t.Fatalf("it does not end\n%s", p.errs)
					}
				}
			}
			if status := p.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != again {
				t.Errorf("%v: %v\n%s", again, err, p.errs)
			}
		})
	}
}

// TestNarrowing: once it is known where Kafka is, other traffic is left to the kernel; Kafka on a new port is found in a look
// at all of them, on connections that were there before.
func TestNarrowing(t *testing.T) {
	if !isolated(t) {
		return
	}
	clusters := make([]*kfake.Cluster, 2)
	for i := range clusters {
		var err error
		if clusters[i], err = kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "orders")); err != nil {
			t.Fatal(err)
		}
		defer clusters[i].Close()
	}
	port := func(c *kfake.Cluster) string {
		_, port, err := net.SplitHostPort(c.ListenAddrs()[0])
		if err != nil {
			t.Fatal(err)
		}
		return port
	}
	o := liveDefaults()
	o.interfaces = []string{"lo"}
	l := prepareLive(t, o, nil)
	n := l.reader.narrow
	n.settle, n.every, n.look = 100*time.Millisecond, 100*time.Millisecond, 200*time.Millisecond
	l.begin()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	franzGo()(ctx, t, clusters[0].ListenAddrs(), func() {})
	l.errs.await(t, "capturing port "+port(clusters[0])+" from now on")

	noise, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer noise.Close()
	go func() {
		for {
			conn, err := noise.Accept()
			if err != nil {
				return
			}
			go io.Copy(io.Discard, conn)
		}
	}()
	conn, err := net.Dial("tcp", noise.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	// Rounds go on until the second port is found; the fault comes behind.
	client, err := kgo.NewClient(kgo.SeedBrokers(clusters[1].ListenAddrs()...), kgo.ClientID("writer"), kgo.DisableIdempotentWrite(),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.RetryBackoffFn(func(int) time.Duration { return 20 * time.Millisecond }))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	found := "port " + port(clusters[1]) + " carries Kafka too"
	send := func(i int) {
		if err := client.ProduceSync(ctx, franzGoRound(i)...).FirstErr(); err != nil {
			t.Fatal(err)
		}
		conn.Write(make([]byte, 1000))
	}
	rounds := 0
	for ; !strings.Contains(l.errs.String(), found) && ctx.Err() == nil; rounds++ {
		send(rounds)
	}
	clusters[1].Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Partitions: []int32{0}, Err: kerr.RequestTimedOut})
	send(rounds)
	l.alerts.await(t, `"cause":"blind-retry"`)
	l.stop()
	l.end(t)
	if gaps := l.result.Coverage.Gaps; gaps > 0 {
		t.Errorf("%d gaps: the looks show in the report", gaps)
	}
}

// TestInterfaceGoes: detection goes on while an interface vanishes, and its packets come again when it is back.
func TestInterfaceGoes(t *testing.T) {
	if !isolated(t) {
		return
	}
	ip := func(args string) {
		t.Helper()
		if out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput(); err != nil {
			t.Skipf("ip %s: %v %s", args, err, out)
		}
	}
	ip("link add kdup0 type veth peer name kdup1")
	ip("link set kdup0 up")
	l := onLo(t, func(o *liveOptions) { o.interfaces = []string{"lo", "kdup0"} })
	ip("link del kdup0")
	l.errs.await(t, "interface kdup0 is gone")
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "orders"))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	franzGo(kgo.DisableIdempotentWrite())(t.Context(), t, cluster.ListenAddrs(), func() {
		cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Partitions: []int32{0}, Err: kerr.RequestTimedOut})
	})
	l.alerts.await(t, `"cause":"blind-retry"`)
	ip("link add kdup0 type veth peer name kdup1")
	l.errs.await(t, "interface kdup0 is back")
	l.stop()
	if status, _ := l.end(t); status != 1 {
		t.Errorf("status %d", status)
	}
}

// TestDiskFull: on a full disk detection goes on without recording, which is told and counted, and recording goes on when
// there is room.
func TestDiskFull(t *testing.T) {
	if !isolated(t) {
		return
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("no tmpfs: %v", err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	fill := filepath.Join(dir, "fill")
	if err := os.WriteFile(fill, make([]byte, 8<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("filling the disk: %v", err)
	}
	before, after := incident()
	in, out := io.Pipe()
	o := liveDefaults()
	o.read, o.record.dir = "-", filepath.Join(dir, "record")
	go out.Write(before)
	l := prepareLive(t, o, in)
	l.tape.retry = 0
	l.begin()
	l.errs.await(t, "recording failed, detection goes on: .*no space left")
	l.alerts.await(t, `"cause":"blind-retry"`)
	if c := &l.tape.counts; c.recording.Load() || c.failures.Load() == 0 || c.unwritten.Load() == 0 {
		t.Errorf("recording %v, %d failures, %d packets not written", c.recording.Load(), c.failures.Load(), c.unwritten.Load())
	}
	if err := os.Remove(fill); err != nil {
		t.Fatal(err)
	}
	go func() {
		out.Write(after)
		out.Close()
	}()
	l.alerts.await(t, `"verdict":"confirmed"`)
	status, _ := l.end(t)
	if status != 1 || !l.tape.counts.recording.Load() || !strings.Contains(l.errs.String(), "recording again") {
		t.Errorf("status %d\n%s", status, l.errs)
	}
	if names, err := filepath.Glob(filepath.Join(dir, "record", "*.pcapng")); err != nil || len(names) == 0 {
		t.Errorf("files %v %v", names, err)
	}
}

// TestDiskOwnFull: a ring larger than its disk makes do with the disk.
func TestDiskOwnFull(t *testing.T) {
	if !isolated(t) {
		return
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=8m"); err != nil {
		t.Skipf("no tmpfs: %v", err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	said := newLines()
	o := defaultRecordOptions()
	o.dir, o.size.value = dir, 32<<20
	tape := newTape(o, pcap.WriterOptions{}, 4, func(format string, args ...any) { fmt.Fprintf(said, format+"\n", args...) })
	tape.waits = true
	tape.start()
	frame := pcap.Frame{LinkType: pcap.LinkTypeEthernet, Data: make([]byte, 60_000), OriginalLength: 60_000}
	for range 500 { // 30 MB
		frame.Time += 1e6
		tape.add(&frame)
	}
	tape.send()
	tape.stop(time.Now().Add(deadline))
	if c := &tape.counts; c.unwritten.Load() > 0 || !c.recording.Load() || said.String() != "" {
		t.Errorf("%d packets not written\n%s", c.unwritten.Load(), said)
	}
	source, err := pcap.Open([]string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	var last pcap.Frame
	n := 0
	for f := (pcap.Frame{}); source.Next(&f) == nil; n++ {
		last = f
	}
	if last.Time != frame.Time || n < 50 {
		t.Errorf("%d packets, the last of %d, want %d", n, last.Time, frame.Time)
	}
}

// TestSoak: a producer's fault is found beside a flood on the same interface, by the command as a process of its own.
// KDUPSCAN_SOAK makes it last, at 2.5 Gbit/s: 60s gives the figures of docs/performance.md, with -v.
func TestSoak(t *testing.T) {
	if !isolated(t) {
		return
	}
	span, rate := time.Second, 0.25e9 // what a machine that is busy with other tests can do
	if d, err := time.ParseDuration(os.Getenv("KDUPSCAN_SOAK")); err == nil {
		span, rate = d, 2.5e9
	}
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(2, "orders"))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	_, port, err := net.SplitHostPort(cluster.ListenAddrs()[0])
	if err != nil {
		t.Fatal(err)
	}
	for name, filter := range map[string][]string{"filter": {"--filter", "tcp port " + port}, "no filter": nil} {
		t.Run(name, func(t *testing.T) { soak(t, cluster, span, rate, filter) })
	}
}

func soak(t *testing.T, cluster *kfake.Cluster, span time.Duration, bits float64, filter []string) {
	dir := t.TempDir()
	out, errs := newLines(), newLines()
	cmd := exec.Command(os.Args[0])
	cmd.Args = append([]string{"kdupscan", "live", "-i", "lo", "--output", "json", "--record", dir, "--record-size", "256MiB"}, filter...)
	cmd.Stdout, cmd.Stderr = out, errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	errs.await(t, "capturing on lo")
	ctx, cancel := context.WithTimeout(t.Context(), span)
	defer cancel()
	flooded := make(chan int64)
	go func() { flooded <- flood(ctx, t, bits/8) }()
	start := time.Now()
	for ctx.Err() == nil {
		franzGo()(t.Context(), t, cluster.ListenAddrs(), func() {})
	}
	rate := float64(<-flooded) * 8 / time.Since(start).Seconds()
	franzGo(kgo.DisableIdempotentWrite())(t.Context(), t, cluster.ListenAddrs(), func() {
		cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Partitions: []int32{0}, Err: kerr.RequestTimedOut})
	})
	errs.await(t, "F1: .*retry without a producer id")
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 1 {
		t.Fatalf("%v\n%s", err, errs)
	}
	var r struct {
		Captures []struct {
			Packets uint64 `json:"packets"`
			Dropped uint64 `json:"dropped_packets"`
		} `json:"captures"`
		Coverage struct {
			Limits []struct {
				Code  string `json:"code"`
				Count int64  `json:"count"`
			} `json:"limits"`
		} `json:"coverage"`
		Findings []any `json:"findings"`
	}
	if err := json.Unmarshal([]byte(out.String()), &r); err != nil || len(r.Findings) != 1 {
		t.Fatalf("%d findings: %v\n%s", len(r.Findings), err, errs)
	}
	use := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	t.Logf("%.2f Gbit/s for %v: CPU %.1f %% of one processor, at most %d MiB resident; %d packets captured, %d dropped by the kernel; limits %v",
		rate/1e9, span, 100*(cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()).Seconds()/time.Since(start).Seconds(), use.Maxrss>>10,
		r.Captures[0].Packets, r.Captures[0].Dropped, r.Coverage.Limits)
}

// flood sends so many bytes a second over lo until ctx is done, and returns how many it were.
func flood(ctx context.Context, t *testing.T, rate float64) (sent int64) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Error(err)
		return
	}
	defer l.Close()
	go func() {
		if conn, err := l.Accept(); err == nil {
			_, _ = io.Copy(io.Discard, conn)
		}
	}()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	block := bytes.Repeat([]byte("no Kafka here. "), 1<<12)
	start := time.Now()
	pace := time.NewTicker(time.Millisecond)
	defer pace.Stop()
	for ctx.Err() == nil {
		for float64(sent) < rate*time.Since(start).Seconds() {
			n, err := conn.Write(block)
			if err != nil {
				t.Error(err)
				return
			}
			sent += int64(n)
		}
		<-pace.C
	}
	return sent
}
