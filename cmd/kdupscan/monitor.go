package main

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/kdupscan/kdupscan/analysis"
	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
)

const (
	// alertsEvery is how often the correlator is asked for alerts at most.
	alertsEvery = 200 * time.Millisecond
	// alertsShare bounds what asking costs: it waits this many times as long as the last answer took.
	alertsShare = 10
	// maxGiven bounds the findings whose numbers are remembered, as the correlator remembers which it gave.
	maxGiven = 1 << 16
)

// monitor looks at the correlator of a live run: it asks for alerts, for reports so far, and keeps the counters. It runs in
// the merger of the engine, and after that has stopped in the caller of last.
type monitor struct {
	correlator *analysis.Correlator
	complete   func(*analysis.Result, *view) *analysis.Result
	outlets    *outlets
	least      analysis.Verdict
	key        uint64 // see runKey
	learned    chan uint16
	ports      map[uint16]bool // those learned

	changed  bool // something was observed since the last call for alerts
	next     time.Time
	given    map[string]*given // by the alert's key
	order    []string          // of given, oldest first
	number   int               // of the last finding
	counts   map[findingKind]uint64
	captures []pcap.Capture
	coverage analysis.Coverage

	status atomic.Pointer[liveStatus]
	beat   atomic.Int64 // when it last ran, Unix time in nanoseconds
}

// given is a finding that was given.
type given struct {
	number int
	name   string // of its folder
}

// findingKind is what findings are counted by.
type findingKind struct {
	cause   analysis.Cause
	verdict analysis.Verdict
}

// liveStatus is what the counters show; it is not changed once published.
type liveStatus struct {
	coverage analysis.Coverage
	notes    notes
	findings map[findingKind]uint64
}

// alert is a finding on its way out.
type alert struct {
	analysis.Alert
	given
	captures []pcap.Capture
	coverage analysis.Coverage
}

// merged is called after each chunk, and at least every tick.
func (m *monitor) merged(c *chunk) {
	now := time.Now()
	m.beat.Store(now.UnixNano())
	for i := range c.observed {
		m.changed = m.changed || len(c.observed[i]) > 0
		for _, o := range c.observed[i] {
			m.learn(o.Observation)
		}
	}
	if c.view != nil {
		m.captures, m.coverage = c.view.captures, c.view.coverage()
	}
	if m.changed && !now.Before(m.next) {
		m.alerts()
		m.next = now.Add(max(alertsEvery, alertsShare*time.Since(now)))
	}
	if c.view != nil {
		m.publish(c.view)
	}
}

func (m *monitor) learn(o kafka.Observation) {
	port, ok := kafkaPort(o)
	if !ok || m.ports[port] || len(m.ports) > maxNarrowPorts {
		return
	}
	select {
	case m.learned <- port:
		m.ports[port] = true
	default: // nobody narrows, or it is late; another connection will show it
	}
}

// publish updates the counters, and writes a report if one is asked for.
func (m *monitor) publish(v *view) {
	s := &liveStatus{coverage: m.coverage, notes: make(notes), findings: make(map[findingKind]uint64)}
	for kind, n := range m.counts {
		s.findings[kind] = n
	}
	interim := m.complete(&analysis.Result{}, v)
	for _, n := range interim.Notes {
		s.notes.count(n)
	}
	m.status.Store(s)
	if v.report {
		m.outlets.interim(m.complete(m.correlator.Interim(), v))
	}
}

// last gives what became known at the end.
func (m *monitor) last(v *view, coverage analysis.Coverage) {
	m.captures, m.coverage = v.captures, coverage
	m.alerts()
}

func (m *monitor) alerts() {
	m.changed = false
	for _, a := range m.correlator.Alerts() {
		if a.Finding.Verdict < m.least {
			continue
		}
		m.counts[findingKind{a.Finding.Cause, a.Finding.Verdict}]++
		g := m.given[a.Key]
		if g == nil {
			g = m.give(&a)
		}
		m.outlets.alert(&alert{Alert: a, given: *g, captures: m.alertCaptures(), coverage: m.coverage})
	}
}

// give numbers a finding.
func (m *monitor) give(a *analysis.Alert) *given {
	if len(m.order) == maxGiven {
		delete(m.given, m.order[0])
		m.order = m.order[1:]
	}
	m.number++
	at := a.Finding.LaterAt.Time().Format("20060102T150405Z")
	g := &given{m.number, fmt.Sprintf("%s-F%d-%s", at, m.number, a.Finding.Cause)}
	m.given[a.Key] = g
	m.order = append(m.order, a.Key)
	return g
}

// alertCaptures returns the captures as alerts name them: with one key for the hashes of all alerts.
func (m *monitor) alertCaptures() []pcap.Capture {
	named := make([]pcap.Capture, len(m.captures))
	for i, c := range m.captures {
		named[i] = c
		named[i].Fingerprint = m.key
	}
	return named
}
