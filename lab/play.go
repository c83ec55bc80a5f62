package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/kdupscan/kdupscan/lab/clients"
	"github.com/kdupscan/kdupscan/lab/cluster"
	"github.com/kdupscan/kdupscan/lab/proxy"
	"github.com/kdupscan/kdupscan/lab/truth"
)

// lab plays scenarios.
type lab struct {
	*workspace
	brokers *cluster.Cluster
	golden  string // folder for golden captures, "" for none
	topics  int    // made so far
}

// playTime bounds one attempt at a scenario.
const playTime = 2 * time.Minute

// errNoFault says that a scenario did not meet the fault that it is about.
var errNoFault = errors.New("the fault did not come about")

// stage is one attempt at a scenario, as its fault sees it.
type stage struct {
	brokers *cluster.Cluster
	proxy   *proxy.Proxy
	rules   []*proxy.Rule
	relay   *proxy.Relay // in place of the proxy: passes on what it cannot read
	topic   string
	roles   roles

	security *clients.Security // of sealed scenarios
	keyLogs  []string

	producer *clients.Running
}

// play plays a scenario until its fault has come about and compares the report with the truth.
func (l *lab) play(ctx context.Context, s scenario) (*outcome, error) {
	start := time.Now()
	for attempt := 1; ; attempt++ {
		o, err := l.attempt(ctx, s)
		switch {
		case err == nil:
			o.took, o.attempts = time.Since(start), attempt
			return o, nil
		case ctx.Err() != nil, !errors.Is(err, errNoFault), attempt == s.fault.attempts():
			return nil, err
		}
	}
}

func (l *lab) attempt(ctx context.Context, s scenario) (*outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, playTime)
	defer cancel()
	r, err := l.record(ctx, s)
	if err != nil {
		return nil, err
	}
	log, err := l.brokers.ReadLog(ctx, r.stage.topic)
	if err != nil {
		return nil, err
	}
	journal := r.stage.journal(log)
	if err := s.fault.check(r.stage.rules, journal); err != nil {
		return nil, err
	}
	o := &outcome{scenario: s, truth: truth.Of(log, journal, s.mode == transactional), journal: journal, failed: r.failed}
	if s.fault.open {
		o.truth.Open = truth.Unanswered(journal)
	}
	if !s.expects(o.truth) {
		return nil, fmt.Errorf("%w: %s, expected %s", errNoFault, o, s.want)
	}
	scanned, err := l.scan(ctx, r.file, r.stage.keyLogs)
	if err != nil {
		return nil, err
	}
	differences := o.truth.Compare(scanned)
	for _, d := range o.truth.Compare(r.live) {
		differences = append(differences, "live: "+d)
	}
	if len(differences) > 0 {
		return nil, fmt.Errorf("%s\n     %s\n     capture: %s", o, strings.Join(differences, "\n     "), r.file)
	}
	return o, l.keepGolden(s, o, r.file)
}

// recording is what is left of an attempt.
type recording struct {
	stage  *stage
	file   string        // the capture
	live   *truth.Report // what kdupscan said at the wire
	failed int           // records, by what the client told its application
}

// record lets the producer work under the fault, and then a reader read the whole log, in a capture and before kdupscan live.
func (l *lab) record(ctx context.Context, s scenario) (*recording, error) {
	st, err := l.prepare(ctx, s)
	if err != nil {
		return nil, err
	}
	defer st.close()
	r := &recording{stage: st, file: l.capture(s.file())}
	watcher, err := startLive(ctx, l.kdupscan(), s.device(), s.port(), st.keyLogs)
	if err != nil {
		return nil, err
	}
	defer watcher.kill()
	c, err := startCapture(ctx, s.device(), s.port(), r.file)
	if err != nil {
		return nil, err
	}
	defer c.kill()
	if r.failed, err = l.produce(ctx, s, st); err != nil {
		return nil, err
	}
	if err := l.readAll(ctx, s, st); err != nil {
		return nil, err
	}
	packets, err := c.stop(ctx)
	if err != nil {
		return nil, err
	}
	r.live, err = watcher.stop(ctx, packets)
	return r, err
}

// produce runs the producer under the fault and returns how many records failed at the client.
func (l *lab) produce(ctx context.Context, s scenario, st *stage) (failed int, err error) {
	if st.producer, err = s.client.Start(ctx, l.dir, s.brokers(), s.workload(st)); err != nil {
		return 0, err
	}
	if s.fault.act != nil {
		if err := s.fault.act(ctx, st); err != nil {
			return 0, err
		}
	}
	if _, failed, err = st.producer.Wait(); err != nil {
		return failed, err
	}
	if st.relay != nil {
		return failed, s.checkSuites(st.relay.Suites())
	}
	if s.fault.act == nil {
		return failed, nil
	}
	return failed, l.brokers.AwaitInSync(ctx)
}

// readAll reads the topic to its end, where the capture sees it.
func (l *lab) readAll(ctx context.Context, s scenario, st *stage) error {
	log, err := l.brokers.ReadLog(ctx, st.topic)
	if err != nil {
		return err
	}
	ends := make(map[int32]int64)
	for _, b := range log {
		ends[b.Partition] = b.LastOffset + 1
	}
	if err := clients.Read(ctx, s.brokers(), st.topic, ends, st.security.Reader()); err != nil {
		return fmt.Errorf("reading %s: %w", st.topic, err)
	}
	return nil
}

// close ends what stands between the clients and the brokers.
func (st *stage) close() {
	if st.proxy != nil {
		st.proxy.Close()
	}
	if st.relay != nil {
		st.relay.Close()
	}
}

// journal is what the clients' side of the wire showed: as the proxy saw it or, where nobody could read it, as it must have been.
func (st *stage) journal(log []cluster.Batch) []proxy.Batch {
	if st.proxy != nil {
		return st.proxy.Batches()
	}
	return truth.Acknowledged(log)
}

// prepare makes the topic of an attempt and the proxy.
func (l *lab) prepare(ctx context.Context, s scenario) (*stage, error) {
	controller, err := l.brokers.Controller(ctx)
	if err != nil {
		return nil, err
	}
	r := rolesAround(controller)
	l.topics++
	st := &stage{brokers: l.brokers, roles: r, topic: fmt.Sprintf("%s-%d", s.fault.topic, l.topics)}
	if err := l.brokers.CreateTopic(ctx, st.topic, r.replicas(), nil); err != nil {
		return nil, err
	}
	if s.fault.rules != nil {
		st.rules = s.fault.rules()
	}
	if s.seal != nil {
		return st, l.prepareSealed(s, st)
	}
	var routes []proxy.Route
	for _, node := range cluster.Nodes {
		routes = append(routes, proxy.Route{Node: node, Listen: cluster.Proxy(node), To: cluster.Broker(node)})
	}
	st.proxy, err = proxy.Listen(routes, st.rules)
	return st, err
}

// scan runs kdupscan, and looks into each form of its report for what must not be there.
func (l *lab) scan(ctx context.Context, file string, keyLogs []string) (*truth.Report, error) {
	var out []byte
	for _, format := range []string{"table", "markdown", "html", "json"} { // the last one is read
		if len(keyLogs) == 0 && format != "json" {
			continue
		}
		args := append([]string{"scan", "--output", format, "--payloads", file}, keyLogFlags(keyLogs)...)
		cmd := exec.CommandContext(ctx, l.kdupscan(), args...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		var err error
		out, err = cmd.Output()
		var exit *exec.ExitError
		if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) { // 1: duplicates
			return nil, fmt.Errorf("kdupscan scan %s: %w\n%s", file, err, stderr.Bytes())
		}
		if err := revealing(out, stderr.Bytes()); err != nil {
			return nil, fmt.Errorf("%w: scan --output %s %s", err, format, file)
		}
	}
	r := &truth.Report{}
	if err := json.Unmarshal(out, r); err != nil {
		return nil, fmt.Errorf("kdupscan scan %s: %w", file, err)
	}
	return r, nil
}
