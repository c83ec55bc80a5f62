package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kdupscan/kdupscan/lab/clients"
	"github.com/kdupscan/kdupscan/lab/proxy"
)

// fault is what goes wrong in a scenario: rules of the proxy, or something done to the brokers.
type fault struct {
	name  string
	about string // for the matrix: one sentence
	topic string
	rules func() []*proxy.Rule
	act   func(ctx context.Context, st *stage) error
	seen  func(b *proxy.Batch) bool // some batch of the journal must be so, or the fault did not come about

	count       int           // of rounds, where the usual number is too small
	timeout     time.Duration // of a request, where not the usual one
	expiry      time.Duration // how long a record may wait for its acknowledgement, where not the client's default
	open        bool          // requests lie in sockets of a broker that is stopped or killed: see truth.Truth.Open
	oneInFlight bool          // the producer waits for each answer before it sends the next request

	tries int // attempts until the fault comes about; 0 is 3
}

func (f *fault) attempts() int { return max(f.tries, 3) }

// options are the client's own names for what the fault asks of the producer.
func (f *fault) options(c clients.Client) map[string]string {
	if c.IsGo() { // they have one request in flight without idempotence anyhow
		return nil
	}
	if f.oneInFlight {
		return map[string]string{"max.in.flight.requests.per.connection": "1"}
	}
	if f.expiry == 0 {
		return nil
	}
	name := "message.timeout.ms"
	if strings.HasPrefix(c.Name, "Java") {
		name = "delivery.timeout.ms"
	}
	return map[string]string{name: fmt.Sprint(f.expiry.Milliseconds())}
}

// check returns errNoFault where a rule has not struck or the journal has no batch that shows the fault.
func (f *fault) check(rules []*proxy.Rule, journal []proxy.Batch) error {
	for i, r := range rules {
		if r.Struck() == 0 {
			return fmt.Errorf("%w: rule %d never struck", errNoFault, i+1)
		}
	}
	for i := range journal {
		if f.seen == nil || f.seen(&journal[i]) {
			return nil
		}
	}
	return fmt.Errorf("%w: the wire does not show it", errNoFault)
}

// warmUp is how many batches of a partition pass before a fault.
const warmUp = 8

// quiet is no fault at all.
var quiet = &fault{name: "no fault", about: "Nothing goes wrong. Every fourth transaction is aborted, and its records are sent again.", topic: "orders"}

// answerError is an appended batch whose answer carries an error, as after a wait for the followers that failed.
func answerError(code int16, name, topic string) *fault {
	return &fault{
		name: fmt.Sprintf("error %d with the offset", code), topic: topic,
		about: fmt.Sprintf("One batch is appended and replicated; its answer says %s and the real offset.", name),
		rules: func() []*proxy.Rule { return []*proxy.Rule{{Do: proxy.AnswerError, Error: code, Skip: warmUp}} },
	}
}

// Errors that come after the append.
var (
	notLeader   = answerError(6, "NOT_LEADER_OR_FOLLOWER", "payments")
	timedOut    = answerError(7, "REQUEST_TIMED_OUT", "invoices")
	afterAppend = answerError(20, "NOT_ENOUGH_REPLICAS_AFTER_APPEND", "refunds")
)

// swallowed is an answer that never comes.
var swallowed = &fault{
	name: "answer swallowed", topic: "shipments",
	about: "One batch is appended and replicated; in place of its answer the connection is closed.",
	rules: func() []*proxy.Rule { return []*proxy.Rule{{Do: proxy.Swallow, Skip: warmUp}} },
}

// late is an answer that comes when the client no longer waits for it.
var late = &fault{
	name: "answer late", topic: "tickets",
	about: "One answer is held back longer than the client waits for it.",
	rules: func() []*proxy.Rule { return []*proxy.Rule{{Do: proxy.Delay, Skip: warmUp, Delay: 4 * time.Second}} },
}

// neverRecognised are the rules that keep the retry of an appended batch on partition 0 from the broker for a while, after
// the first rule has struck partition 1.
func neverRecognised(elsewhere *proxy.Rule) []*proxy.Rule {
	appended := &proxy.Rule{Do: proxy.AnswerError, Error: kerr.NotLeaderForPartition.Code, After: elsewhere, New: true}
	return []*proxy.Rule{
		elsewhere,
		appended,
		{Do: proxy.Refuse, Error: kerr.NotLeaderForPartition.Code, After: appended, Lasting: 800 * time.Millisecond},
	}
}

// outOfOrderElsewhere is a desynchronised partition that makes some clients give up the epoch of all partitions.
var outOfOrderElsewhere = &fault{
	name: "45 on another partition", topic: "stock",
	about: "Partition 1 is answered OUT_OF_ORDER_SEQUENCE_NUMBER once. On partition 0 one batch is appended and answered NOT_LEADER_OR_FOLLOWER with its offset, its retries the same without one.",
	rules: func() []*proxy.Rule {
		return neverRecognised(&proxy.Rule{Do: proxy.Refuse, Error: kerr.OutOfOrderSequenceNumber.Code, Partition: 1, Skip: warmUp, Delay: 150 * time.Millisecond})
	},
}

// lostElsewhere makes the broker itself say 45.
var lostElsewhere = &fault{
	name: "batch lost on another partition", topic: "bookings",
	about: "Partition 1 loses one batch (NOT_LEADER_OR_FOLLOWER without an offset) with others in flight behind it, which the broker itself answers OUT_OF_ORDER_SEQUENCE_NUMBER. On partition 0 one batch is appended and answered NOT_LEADER_OR_FOLLOWER with its offset, its retries the same without one.",
	rules: func() []*proxy.Rule {
		return neverRecognised(&proxy.Rule{Do: proxy.Refuse, Error: kerr.NotLeaderForPartition.Code, Partition: 1, Skip: warmUp, Delay: 150 * time.Millisecond})
	},
}
