package main

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/http"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/report"
)

// unhealthyAfter is how long the analysis may stand still before the run counts as ill.
const unhealthyAfter = 30 * time.Second

// metricsServer serves the counters of a live run over HTTP: /metrics in the text format of Prometheus (version 0.0.4), and
// /healthz. Nothing else is there, and nothing can be changed through it.
type metricsServer struct {
	listener net.Listener
	server   http.Server
	run      *liveRun
}

func newMetricsServer(address string, run *liveRun) (*metricsServer, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--metrics %s: %w", address, err)
	}
	m := &metricsServer{listener: listener, run: run}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", m.metrics)
	mux.HandleFunc("GET /healthz", m.health)
	m.server = http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, MaxHeaderBytes: 1 << 14}
	return m, nil
}

func (m *metricsServer) start() {
	m.run.monitor.beat.Store(time.Now().UnixNano())
	go m.server.Serve(m.listener) //nolint:errcheck // it ends with stop
}

func (m *metricsServer) stop() { _ = m.server.Close() }

func (m *metricsServer) health(w http.ResponseWriter, _ *http.Request) {
	if idle := time.Since(time.Unix(0, m.run.monitor.beat.Load())); idle > unhealthyAfter {
		http.Error(w, fmt.Sprintf("the analysis has stood still for %v", idle.Round(time.Second)), http.StatusServiceUnavailable)
		return
	}
	_, _ = fmt.Fprintln(w, "ok")
}

func (m *metricsServer) metrics(w http.ResponseWriter, _ *http.Request) {
	var p prometheus
	m.run.count(&p)
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write(p.Bytes()) // who has gone away needs no counters
}

// prometheus is a text of metrics.
type prometheus struct{ bytes.Buffer }

// metric begins a metric; its samples follow.
func (p *prometheus) metric(name, kind, help string) {
	fmt.Fprintf(&p.Buffer, "# HELP kdupscan_%s %s\n# TYPE kdupscan_%s %s\n", name, help, name, kind)
}

// labelEscapes are those of the text format; what is not UTF-8 or not printable was cleaned before.
var labelEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// sample adds a sample; labels are names and values in turn.
func (p *prometheus) sample(name string, value float64, labels ...string) {
	p.WriteString("kdupscan_" + name)
	for i := 0; i < len(labels); i += 2 {
		fmt.Fprintf(&p.Buffer, `%s%s="%s"`, map[bool]string{true: "{", false: ","}[i == 0], labels[i], labelEscapes.Replace(report.Line(labels[i+1])))
	}
	if len(labels) > 0 {
		p.WriteByte('}')
	}
	p.WriteString(" " + strconv.FormatFloat(value, 'f', -1, 64) + "\n")
}

func (p *prometheus) one(name, kind, help string, value float64) {
	p.metric(name, kind, help)
	p.sample(name, value)
}

// count writes all counters of the run.
func (l *liveRun) count(p *prometheus) {
	l.countCapture(p)
	if s := l.monitor.status.Load(); s != nil {
		s.count(p)
	}
	l.countOutlets(p)
	if l.tape != nil {
		l.tape.counts.count(p)
	}
	memory := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(memory)
	p.one("memory_bytes", "gauge", "Memory in use, the kernel's ring not counted.", float64(memory[0].Value.Uint64()-memory[1].Value.Uint64()))
	p.one("memory_limit_bytes", "gauge", "Memory to keep to (--memory).", float64(l.options.memory))
}

func (l *liveRun) countCapture(p *prometheus) {
	p.metric("dropped_packets_total", "counter", "Packets that were not analysed: the kernel's ring, or the queue behind it, was full.")
	p.sample("dropped_packets_total", float64(l.reader.dropped.Load()), "where", "queue")
	if l.network == nil {
		return
	}
	stats := l.network.Stats()
	p.sample("dropped_packets_total", float64(stats.Dropped), "where", "kernel")
	for _, m := range []struct {
		name, kind, help string
		value            func(pcap.LiveInterface) float64
	}{
		{"packets_total", "counter", "Packets captured.", func(i pcap.LiveInterface) float64 { return float64(i.Packets) }},
		{"bytes_total", "counter", "Bytes captured.", func(i pcap.LiveInterface) float64 { return float64(i.Bytes) }},
		{"interface_up", "gauge", "Whether the interface exists.", func(i pcap.LiveInterface) float64 { return truth(i.Present) }},
	} {
		p.metric(m.name, m.kind, m.help)
		for _, i := range stats.Interfaces {
			p.sample(m.name, m.value(i), "interface", i.Name)
		}
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// count writes what the layers have counted.
func (s *liveStatus) count(p *prometheus) {
	c := &s.coverage
	p.one("tcp_connections_total", "counter", "TCP connections seen.", float64(c.TCPConnections))
	p.metric("connections_total", "counter", "Ended and recognised connections by what they carry.")
	p.sample("connections_total", float64(c.Connections), "kind", "kafka")
	p.sample("connections_total", float64(c.TLS), "kind", "tls")
	p.sample("connections_total", float64(c.Other), "kind", "other")
	p.one("gaps_total", "counter", "Holes in TCP streams.", float64(c.Gaps))
	p.one("gap_bytes_total", "counter", "Bytes in holes of TCP streams.", float64(c.GapBytes))
	requests := make(map[string]int64)
	for api, n := range c.APIs {
		requests[apiName(api)] += n.Requests
	}
	p.metric("requests_total", "counter", "Kafka requests by API.")
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		p.sample("requests_total", float64(requests[name]), "api", name)
	}
	p.metric("batches_total", "counter", "Record batches by how they were seen.")
	p.sample("batches_total", float64(c.ProducedBatches), "seen", "produced")
	p.sample("batches_total", float64(c.FetchedBatches), "seen", "fetched")
	p.one("records_total", "counter", "Records compared.", float64(c.Records))
	p.metric("findings_total", "counter", "Findings given by cause and verdict; one whose verdict rises counts for each.")
	kinds := slices.SortedFunc(maps.Keys(s.findings), func(a, b findingKind) int {
		return cmp.Or(cmp.Compare(a.cause, b.cause), cmp.Compare(a.verdict, b.verdict))
	})
	for _, kind := range kinds {
		v := verdict(kind.verdict)
		p.sample("findings_total", float64(s.findings[kind]), "cause", string(kind.cause), "verdict", v.String())
	}
	p.metric("notes_total", "counter", "Limits and oddities by code; kdupscan explain CODE says what each means. Evictions are among them.")
	for _, n := range s.notes.list() {
		p.sample("notes_total", float64(n.Count), "code", string(n.Code))
	}
}

// apiName is the name of an API; what hostile traffic makes up has one name for all.
func apiName(api kafka.API) string {
	return kmsg.NameForKey(api.Key)
}

func (l *liveRun) countOutlets(p *prometheus) {
	o := l.outlets
	p.one("alerts_total", "counter", "Findings written to the terminal and --alerts.", float64(o.given.Load()))
	p.one("alerts_lost_total", "counter", "Lines, alerts and reports that were dropped: terminal or disk too slow.", float64(o.lost.Load()))
	p.one("output_failures_total", "counter", "Writes of alerts and reports that failed.", float64(o.failed.Load()))
	if h := o.hook; h != nil {
		p.one("commands_total", "counter", "Runs of --on-finding.", float64(h.ran.Load()))
		p.one("command_failures_total", "counter", "Runs of --on-finding that failed or took too long.", float64(h.failed.Load()))
		p.one("commands_lost_total", "counter", "Findings that --on-finding was not run for: too many at once.", float64(h.lost.Load()))
	}
}

func (c *tapeCounts) count(p *prometheus) {
	p.one("recording", "gauge", "Whether packets are being recorded.", truth(c.recording.Load()))
	p.one("recorded_packets_total", "counter", "Packets recorded.", float64(c.recorded.Load()))
	p.metric("unrecorded_packets_total", "counter", "Packets not recorded: the disk was too slow (queue) or failed (disk).")
	p.sample("unrecorded_packets_total", float64(c.queueFull.Load()), "why", "queue")
	p.sample("unrecorded_packets_total", float64(c.unwritten.Load()), "why", "disk")
	p.one("record_failures_total", "counter", "Errors of the disk while recording.", float64(c.failures.Load()))
	p.one("record_files", "gauge", "Files of the recording.", float64(c.files.Load()))
	p.one("record_bytes", "gauge", "Size of the recording.", float64(c.bytes.Load()))
	p.one("kept_bytes", "gauge", "Size of what is kept of findings.", float64(c.kept.Load()))
	p.one("keep_failures_total", "counter", "Findings whose packets were not all kept.", float64(c.keepFailures.Load()))
}
