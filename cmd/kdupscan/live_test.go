package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kdupscan/kdupscan/analysis"
	"github.com/kdupscan/kdupscan/kafka/kafkatest"
	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/report"
)

// deadline is how long a test waits for what should come within a second or so.
const deadline = 20 * time.Second

// lines is where a run writes: who waits for a text is told when it has come.
type lines struct {
	mu      sync.Mutex
	text    bytes.Buffer
	written chan struct{} // closed and replaced with every write
}

func newLines() *lines { return &lines{written: make(chan struct{})} }

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.written)
	l.written = make(chan struct{})
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// await waits until a line matches, and returns it.
func (l *lines) await(t *testing.T, pattern string) string {
	t.Helper()
	wanted := regexp.MustCompile("(?m)^.*" + pattern + ".*$")
	timeout := time.NewTimer(deadline)
	defer timeout.Stop()
	for {
		l.mu.Lock()
		text, written := l.text.String(), l.written
		l.mu.Unlock()
		if line := wanted.FindString(text); line != "" {
			return line
		}
		select {
		case <-written:
		case <-timeout.C:
			t.Fatalf("no line %q in\n%s", pattern, text)
		}
	}
}

// liveTest is a run of kdupscan live within the test.
type liveTest struct {
	*liveRun
	alerts, errs *lines
	ctx          context.Context
	stop         context.CancelFunc
	done         chan struct{}
	result       *analysis.Result
	err          error
}

// liveDefaults are the options of the command when no flag is given.
func liveDefaults() *liveOptions {
	return &liveOptions{
		scanOptions: scanOptions{output: "json", minVerdict: verdict(analysis.Possible), ports: make(ports), workers: 2, memory: defaultMemory},
		snaplen:     size{value: 256 << 10}, ring: size{value: 8 << 20}, record: defaultRecordOptions(),
	}
}

// startLive begins a run whose alerts go to lines. Tests that have to change it first use prepareLive and begin.
func startLive(t *testing.T, o *liveOptions, stdin io.Reader) *liveTest {
	t.Helper()
	l := prepareLive(t, o, stdin)
	l.begin()
	return l
}

func prepareLive(t *testing.T, o *liveOptions, stdin io.Reader) *liveTest {
	t.Helper()
	o.alerts, o.out = "-", filepath.Join(t.TempDir(), "report")
	l := &liveTest{alerts: newLines(), errs: newLines(), done: make(chan struct{})}
	l.ctx, l.stop = context.WithCancel(t.Context())
	l.liveRun = &liveRun{options: o, stdout: l.alerts, stderr: l.errs}
	if err := l.open(l.ctx, stdin); errors.Is(err, pcap.ErrNoPermission) || errors.Is(err, errors.ErrUnsupported) {
		t.Skip("raw sockets are refused")
	} else if err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *liveTest) begin() {
	go func() {
		defer close(l.done)
		l.result, l.err = l.run(l.ctx)
		l.source.Close()
	}()
}

// end waits for the end of the run and returns its report.
func (l *liveTest) end(t *testing.T) (status int, text string) {
	t.Helper()
	select {
	case <-l.done:
	case <-time.After(deadline):
		t.Fatal("the run does not end")
	}
	if l.err != nil {
		t.Fatal(l.err)
	}
	return written(t, l.result)
}

func written(t *testing.T, result *analysis.Result) (status int, text string) {
	t.Helper()
	var b bytes.Buffer
	if err := report.Write(&b, "json", result, report.Options{Version: version()}); err != nil {
		t.Fatal(err)
	}
	return report.ExitStatus(result, report.Options{}), b.String()
}

// findingsOf returns the findings of a report as text, without what depends on how a capture is cut into files.
func findingsOf(t *testing.T, text string) string {
	t.Helper()
	var r struct {
		Findings []map[string]any `json:"findings"`
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		delete(f, "display_filter")
		delete(f, "explanation") // names frames
	}
	b, err := json.MarshalIndent(r.Findings, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	place := regexp.MustCompile(`"(capture|frame|text|hash)": [^\n]*\n`)
	return place.ReplaceAllString(string(b), "")
}

// TestLiveReadsAsScanDoes: the report of live -r is that of scan, byte for byte, and the recording gives the same findings.
func TestLiveReadsAsScanDoes(t *testing.T) {
	captures := append(sharedCaptures(t, "seed"), sharedCaptures(t, "cases")...)
	if testing.Short() {
		captures = captures[:3]
	}
	for _, capture := range captures {
		t.Run(filepath.Base(capture), func(t *testing.T) {
			t.Parallel()
			status, want, _ := runScan(nil, "--output", "json", capture)
			dir := t.TempDir()
			var have, errs bytes.Buffer
			args := []string{"live", "-r", capture, "--output", "json", "--memory", "64MiB", "--record", dir, "--record-age", "1000000h"}
			if again := run(args, nil, &have, &errs); again != status || have.String() != want {
				t.Errorf("status %d, want %d; or another report", again, status)
			}
			_, recorded, _ := runScan(nil, "--output", "json", dir)
			if findingsOf(t, recorded) != findingsOf(t, want) {
				t.Error("the recording gives other findings")
			}
		})
	}
}

// incident is a capture with one finding that is possible at first and confirmed by a later fetch; cut says where.
func incident() (before, after []byte) {
	s := kafkatest.NewScenario(kafkatest.Start)
	producer := s.Connect("writer", 1)
	producer.Metadata(9, "orders").Answer(kafkatest.Leader{Topic: "orders", Leader: 1})
	batch := kafkatest.Batch{Topic: "orders", Records: s.Records("once", "and twice")}
	producer.Produce(9, -1, batch)
	s.Advance(31 * time.Second)
	producer.Reset()
	again := s.Connect("writer", 1)
	again.Produce(9, -1, batch).Answer(kafkatest.OK(12))
	s.Advance(time.Second)
	n := len(s.Pcap())
	consumer := s.Connect("reader", 1)
	consumer.Fetch(12, kafkatest.From{Topic: "orders", Offset: 10}).Answer(kafkatest.Stored(batch.At(10, 0), batch.At(12, 0)))
	consumer.Close()
	all := s.Pcap()
	return all[:n], all[n:]
}

// TestAlertRises: a finding is given once, and again when it is surer, under one number; what surrounds it is kept.
func TestAlertRises(t *testing.T) {
	before, after := incident()
	in, out := io.Pipe()
	o := liveDefaults()
	o.read, o.record.dir = "-", t.TempDir()
	go out.Write(before)
	l := startLive(t, o, in)
	possible := l.alerts.await(t, `"verdict":"(possible|probable)"`)
	go func() {
		out.Write(after)
		out.Close()
	}()
	confirmed := l.alerts.await(t, `"verdict":"confirmed"`)
	status, text := l.end(t)
	if status != 1 || !strings.HasPrefix(possible, `{"id":"F1",`) || !strings.HasPrefix(confirmed, `{"id":"F1",`) {
		t.Errorf("status %d\n%s\n%s", status, possible, confirmed)
	}
	if alerts := strings.Split(strings.TrimSpace(l.alerts.String()), "\n"); len(alerts) != 2 {
		t.Errorf("%d alerts: %s", len(alerts), l.alerts)
	}
	var r struct {
		Findings []json.RawMessage `json:"findings"`
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil || len(r.Findings) != 1 {
		t.Errorf("%d findings (%v)", len(r.Findings), err)
	}
	kept, err := filepath.Glob(filepath.Join(o.record.dir, "findings", "*-F1-blind-retry"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("kept %v %v; %s", kept, err, l.errs)
	}
	if again, evidence, _ := runScan(nil, "--output", "json", kept[0]); again != 1 || findingsOf(t, evidence) != findingsOf(t, text) {
		t.Errorf("what is kept shows another finding: status %d", again)
	}
	checkTimes(t, kept[0])
	for name, want := range map[string]string{"report.txt": "(confirmed)", "report.json": `"verdict": "confirmed"`} {
		if content, err := os.ReadFile(filepath.Join(kept[0], name)); err != nil || !strings.Contains(string(content), want) {
			t.Errorf("%s: %v\n%s", name, err, content)
		}
	}
}

// checkTimes compares the packets that the report beside kept files names by their times with those that a scan of the files
// names by their numbers.
func checkTimes(t *testing.T, dir string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "report.txt"))
	if err != nil {
		t.Fatal(err)
	}
	byTime := regexp.MustCompile(`frame\.time_epoch in \{([0-9.,]+)\}`).FindSubmatch(text)
	if byTime == nil {
		t.Fatalf("no filter by time in\n%s", text)
	}
	source, err := pcap.Open([]string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	var have []string
	for f := (pcap.Frame{}); source.Next(&f) == nil; {
		for _, at := range strings.Split(string(byTime[1]), ",") {
			if at == fmt.Sprintf("%d.%09d", f.Time/1e9, f.Time%1e9) {
				have = append(have, fmt.Sprint(f.Number))
			}
		}
	}
	_, scanned, _ := runScan(nil, "--output", "json", dir)
	var r struct {
		Findings []struct {
			Filter map[string]string `json:"display_filter"`
		} `json:"findings"`
	}
	if err := json.Unmarshal([]byte(scanned), &r); err != nil || len(r.Findings) != 1 || len(r.Findings[0].Filter) != 1 {
		t.Fatalf("%v %s", err, scanned)
	}
	for _, filter := range r.Findings[0].Filter {
		var want []string
		for _, part := range regexp.MustCompile(`\d+(\.\.\d+)?`).FindAllString(filter, -1) { // "5" or "13..21"
			first, last, ranged := strings.Cut(part, "..")
			from, _ := strconv.Atoi(first)
			to := from
			if ranged {
				to, _ = strconv.Atoi(last)
			}
			for ; from <= to; from++ {
				want = append(want, fmt.Sprint(from))
			}
		}
		if !slices.Equal(have, want) {
			t.Errorf("by time %v, by number %v", have, want)
		}
	}
}

// TestReaderNeverWaits: while the analysis stands still, packets are read, and what finds no room is counted.
func TestReaderNeverWaits(t *testing.T) {
	o := liveDefaults()
	o.memory = leastMemory
	source := &churn{connections: 8_000}
	l := &liveRun{options: o, stdout: io.Discard, stderr: io.Discard, secrets: newSecrets(), source: source, frames: source}
	var err error
	if l.outlets, err = newOutlets(o, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	l.build()
	l.reader.waits = false
	goOn := make(chan struct{})
	l.engine.merged = func(*chunk) { <-goOn }
	l.engine.start()
	if err := l.reader.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	close(goOn)
	l.engine.stop()
	result := l.engine.finish(source.Captures(), l.reader.notes())
	dropped := l.reader.dropped.Load()
	if source.n != source.connections || dropped == 0 {
		t.Errorf("%d connections read, %d segments dropped", source.n, dropped)
	}
	for _, n := range result.Notes {
		if n.Code == CodeQueueFull && n.Count == int64(dropped) {
			return
		}
	}
	t.Errorf("no limit of %d segments in %v", dropped, result.Notes)
}

// TestMetrics reads the counters of a run as Prometheus does.
func TestMetrics(t *testing.T) {
	before, after := incident()
	in, out := io.Pipe()
	o := liveDefaults()
	o.read, o.record.dir, o.metrics, o.onFinding = "-", t.TempDir(), "127.0.0.1:0", "exit 3"
	go out.Write(append(before, after...))
	l := startLive(t, o, in)
	l.alerts.await(t, `"verdict":"confirmed"`)
	url := "http://" + l.metrics.listener.Addr().String()
	get := func(path string, want int) string {
		resp, err := http.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != want {
			t.Errorf("%s: status %d %v", path, resp.StatusCode, err)
		}
		return string(text)
	}
	var text string
	counted := regexp.MustCompile(`(?m)^kdupscan_findings_total\{cause="blind-retry",verdict="confirmed"\} 1$`)
	for end := time.Now().Add(deadline); !counted.MatchString(text) && time.Now().Before(end); { // published each second
		text = get("/metrics", http.StatusOK)
	}
	for _, want := range []string{
		`kdupscan_findings_total{cause="blind-retry",verdict="confirmed"} 1`, `kdupscan_requests_total{api="Produce"} 2`,
		`kdupscan_batches_total{seen="produced"} 2`, `kdupscan_batches_total{seen="fetched"} 2`, `kdupscan_tcp_connections_total 3`,
		`kdupscan_dropped_packets_total{where="queue"} 0`, `kdupscan_recording 1`, `kdupscan_unrecorded_packets_total{why="disk"} 0`,
	} {
		if !strings.Contains(text, "\n"+want+"\n") {
			t.Errorf("no sample %s in\n%s", want, text)
		}
	}
	typed := make(map[string]bool)
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		if name, isType := strings.CutPrefix(line, "# TYPE "); isType {
			typed[strings.Fields(name)[0]] = true
			continue
		}
		sample := regexp.MustCompile(`^([a-z_]+)(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.]+$`).FindStringSubmatch(line)
		if !strings.HasPrefix(line, "# HELP ") && (sample == nil || !typed[sample[1]]) {
			t.Errorf("not of the format: %s", line)
		}
	}
	if get("/healthz", http.StatusOK) != "ok\n" {
		t.Error("not healthy")
	}
	get("/debug/pprof/", http.StatusNotFound)
	l.monitor.beat.Store(time.Now().Add(-time.Hour).UnixNano())
	l.errs.await(t, `--on-finding: exit status 3`)
	l.stop()
	l.end(t)
}

// TestLiveCommandFailsLast checks that a command which fails for the last finding of a run is told of.
func TestLiveCommandFailsLast(t *testing.T) {
	var out, errs bytes.Buffer
	status := run([]string{"live", "-r", filepath.Join("..", "..", "testdata", "seed", "seed-a.pcap"), "--on-finding", "sleep 0.1; exit 3"}, nil, &out, &errs)
	if status != 1 || !strings.Contains(errs.String(), "--on-finding: exit status 3") {
		t.Errorf("status %d, %q", status, errs.String())
	}
}

func TestLiveMisuse(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"", "-i"},
		{"a.pcap", "a.pcap: live takes no files: name a capture with -r"},
		{"-i eth0 -r -", "exclude each other"},
		{"-r - --alerts -", "--out"},
		{"-r x --record d --record-size 1MiB", "at least 16MiB"},
		{"-r x --record d --before -1s", "--before -1s"},
		{"-r x --record d --record-age 0s", "--record-age 0s"},
		{"-r /does/not/exist", "exist: no such file"},
		{"-r x --metrics nowhere", "no such file"},
		{"-r x --alerts /does/not/exist", "no such file"},
	} {
		var out, errs bytes.Buffer
		status := run(append([]string{"live"}, strings.Fields(c.args)...), nil, &out, &errs)
		if status != statusMisuse || out.Len() > 0 || !strings.Contains(errs.String(), c.want) || strings.Count(errs.String(), "\n") != 1 {
			t.Errorf("%s: status %d, %q, want %q", c.args, status, errs.String(), c.want)
		}
	}
}
