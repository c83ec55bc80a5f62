package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/kdupscan/kdupscan/lab/clients"
	"github.com/kdupscan/kdupscan/lab/cluster"
	"github.com/kdupscan/kdupscan/lab/truth"
)

// mode is how a producer is set up.
type mode string

// Modes.
const (
	plain         mode = "without idempotence"
	idempotent    mode = "idempotent"
	transactional mode = "transactional"
)

// What the log must hold in the end: the cause of its duplicates, none, or whatever chance makes of it.
const (
	once  = "no duplicate"
	free  = "any outcome"
	blind = "blind-retry"
	bump  = "epoch-bump"
	stamp = "application-resend" // sarama stamps a record anew at some retries, which looks like an application's
	skip  = ""                   // not played
)

// scenario is one client under one fault. It passes when the fault has come about, the log holds what is expected, and
// kdupscan's report of the wire agrees with the log.
type scenario struct {
	client clients.Client
	mode   mode
	fault  *fault
	want   string
	seal   *seal // nil: connections are plain
}

// table has a row for each fault and mode. Its columns are the clients: librdkafka 2.6.1, librdkafka 2.11.1, Java, franz-go,
// sarama.
var table = []struct {
	fault *fault
	mode  mode
	want  [5]string
}{
	{notLeader, plain, [5]string{blind, blind, blind, blind, stamp}},
	{notLeader, idempotent, [5]string{once, once, once, once, once}},
	{timedOut, plain, [5]string{blind, blind, blind, blind, stamp}},
	{timedOut, idempotent, [5]string{once, once, once, once, once}},
	{afterAppend, plain, [5]string{blind, blind, blind, blind, stamp}},
	{afterAppend, idempotent, [5]string{once, once, once, once, once}},
	{swallowed, plain, [5]string{blind, blind, blind, blind, blind}},
	{swallowed, idempotent, [5]string{once, once, once, once, once}},
	{swallowed, transactional, [5]string{once, once, once, once, skip}},
	{late, plain, [5]string{blind, blind, blind, blind, once}},
	{late, idempotent, [5]string{once, once, once, once, once}},
	{quiet, transactional, [5]string{once, once, once, once, once}},
	{outOfOrderElsewhere, idempotent, [5]string{once, once, once, once, once}},
	{lostElsewhere, idempotent, [5]string{bump, bump, once, once, once}},
	{leaderMoved, plain, [5]string{blind, blind, blind, blind, stamp}},
	{leaderMoved, idempotent, [5]string{once, once, once, once, once}},
	{leaderMovedToPaused, idempotent, [5]string{free, free, free, skip, skip}},
	{leaderPaused, plain, [5]string{free, free, free, free, free}},
	{leaderPaused, idempotent, [5]string{free, skip, free, free, free}},
	{expired, idempotent, [5]string{bump, bump, once, skip, skip}},
	{brokerKilled, plain, [5]string{blind, skip, skip, blind, skip}},
	{brokerKilled, idempotent, [5]string{once, skip, once, skip, skip}},
}

// scenarios are the cells of the table, and those inside TLS.
func scenarios(p clients.Programs) (all []scenario) {
	columns := []clients.Client{p.Librdkafka261, p.Librdkafka2111, p.Java, p.FranzGo, p.Sarama}
	for _, row := range table {
		for i, want := range row.want {
			if want != skip {
				all = append(all, scenario{client: columns[i], mode: row.mode, fault: row.fault, want: want})
			}
		}
	}
	return append(all, sealed(p)...)
}

func (s scenario) name() string {
	if s.seal != nil {
		words := []string{s.client.Name, string(s.mode), s.seal.suite.Name}
		if s.seal.mechanism != "" {
			words = append(words, "SASL "+s.seal.mechanism)
		}
		return fmt.Sprintf("%s, keys by %s: %s", strings.Join(words, ", "), s.seal.keys, s.fault.name)
	}
	return fmt.Sprintf("%s, %s: %s", s.client.Name, s.mode, s.fault.name)
}

// file is the name in a form for files.
func (s scenario) file() string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == ',' || r == ':' || r == '\'':
			return -1
		default:
			return r
		}
	}, s.name())
}

// device is the interface that packets are captured from: the loopback itself, or by way of the device for all.
func (s scenario) device() string {
	if s.mode == idempotent {
		return "any"
	}
	return "lo"
}

// port is that of the clients' side.
func (s scenario) port() int {
	switch {
	case s.seal == nil:
		return cluster.ProxyPort
	case s.seal.mechanism == "":
		return cluster.TLSPort
	default:
		return cluster.SASLPort
	}
}

// brokers are the addresses that clients begin with.
func (s scenario) brokers() (all []string) {
	for _, node := range cluster.Nodes {
		all = append(all, cluster.Address(node, s.port()))
	}
	return all
}

// workload is what the producer sends.
func (s scenario) workload(st *stage) clients.Workload {
	w := clients.Workload{
		Topic: st.topic, Security: st.security, ClientID: "writer", Partitions: 2, Count: 40, Pause: 40 * time.Millisecond, Timeout: time.Second,
		Idempotent: s.mode != plain, Options: s.fault.options(s.client),
	}
	if s.mode == transactional {
		w.Transaction = 4
	}
	if s.fault.count > 0 {
		w.Count = s.fault.count
	}
	if s.fault.timeout > 0 {
		w.Timeout = s.fault.timeout
	}
	return w
}

// expects reports whether the log holds what the scenario wants.
func (s scenario) expects(t *truth.Truth) bool {
	switch s.want {
	case free:
		return true
	case once:
		return len(t.Duplicates) == 0
	}
	for _, d := range t.Duplicates {
		if d.Cause == s.want {
			return true
		}
	}
	return false
}
