package traffic

import (
	"slices"

	"github.com/kdupscan/kdupscan/kafka/kafkatest"
)

// fault is something that goes wrong with one batch: kind says what, and whether its records then stand twice.
type fault struct {
	kind          faultKind
	target        *target
	bump          *kafkatest.Bump
	first, second int64 // offsets of the copies
	records       int
}

type faultKind int

// The faults, and those that only look alike. Each is told by a function below.
const (
	epochBump faultKind = iota
	dedupFailure
	recognisedRetry // no duplicate
	refusedRetry    // no duplicate
	blindRetry
	faultKinds
)

var faultTypes = [faultKinds]struct {
	cause      string // "" no duplicate
	verdict    string // when nobody reads the copies
	idempotent bool
	script     func(*fault, *writer) []attempt
}{
	epochBump:       {"epoch-bump", "probable", true, (*fault).epochBump},
	dedupFailure:    {"broker-dedup-failure", "confirmed", true, (*fault).dedupFailure},
	recognisedRetry: {"", "", true, (*fault).recognisedRetry},
	refusedRetry:    {"", "", true, (*fault).refusedRetry},
	blindRetry:      {"blind-retry", "probable", false, (*fault).blindRetry},
}

// faults are all faults of a capture: which are still to come, and which have been told.
type faults struct {
	due  []due
	told []*fault
	read bool // there are consumers
}

// due is a fault that comes when so many bytes have been captured.
type due struct {
	after int64
	kind  faultKind
}

func newFaults(c *Config) faults {
	f := faults{read: c.Consumers > 0}
	var kinds []faultKind
	for kind := range faultKinds {
		if faultTypes[kind].idempotent && c.Idempotent > 0 || !faultTypes[kind].idempotent && c.Idempotent < 1 {
			kinds = append(kinds, kind)
		}
	}
	total := int64(c.Faults * len(kinds))
	for i := range total {
		f.due = append(f.due, due{after: c.Size * (i + 1) / (total + 1), kind: kinds[i%int64(len(kinds))]})
	}
	return f
}

// next returns the attempts of a fault that is due and that w can have, or nothing.
func (f *faults) next(w *writer) []attempt {
	if w.producer.fault != nil {
		return nil
	}
	for i, d := range f.due {
		if d.after > w.network.link.written {
			break
		}
		kind := &faultTypes[d.kind]
		if kind.idempotent != (w.producer.id >= 0) {
			continue
		}
		f.due = slices.Delete(f.due, i, i+1)
		told := &fault{kind: d.kind, target: &w.targets[w.network.random.IntN(len(w.targets))], records: w.network.config.BatchRecords}
		f.told = append(f.told, told)
		w.producer.fault = told
		script := kind.script(told, w)
		for i := range script {
			script[i].keep = true
			if i > 0 {
				script[i].wait = retryAfter
			}
		}
		return script
	}
	return nil
}

// epochBump: the leader stores a batch and answers NOT_LEADER_OR_FOLLOWER with its offset; the next batch is out of order, so
// the client renumbers both under a new epoch, in which nobody knows the first one.
func (f *fault) epochBump(w *writer) []attempt {
	t := f.target
	first, second := w.fresh(t), w.fresh(t)
	f.bump = &kafkatest.Bump{ProducerID: w.producer.id, FromEpoch: w.producer.epoch, ToEpoch: w.producer.epoch + 1, Local: true}
	bump := func() {
		w.producer.epoch++
		w.identify(first, t)
		w.identify(second, t)
	}
	return []attempt{
		{batch: first, answer: answer{code: kafkatest.NotLeader, stored: true}, offset: &f.first},
		{batch: second, answer: answer{code: kafkatest.OutOfOrderSequence}},
		{batch: first, before: bump, offset: &f.second, last: true},
		{batch: second, last: true},
	}
}

// dedupFailure: a batch is committed and answered NOT_ENOUGH_REPLICAS_AFTER_APPEND; the broker does not recognise the retry.
func (f *fault) dedupFailure(w *writer) []attempt {
	b := w.fresh(f.target)
	return []attempt{
		{batch: b, answer: answer{code: kafkatest.NotEnoughReplicasAfter, stored: true}, offset: &f.first},
		{batch: b, offset: &f.second, last: true},
	}
}

// recognisedRetry: the same, and the broker recognises the retry.
func (f *fault) recognisedRetry(w *writer) []attempt {
	b := w.fresh(f.target)
	return []attempt{
		{batch: b, answer: answer{code: kafkatest.NotEnoughReplicasAfter, stored: true}, offset: &f.first},
		{batch: b, answer: answer{known: &f.first}, last: true},
	}
}

// refusedRetry: the first attempt is refused.
func (f *fault) refusedRetry(w *writer) []attempt {
	b := w.fresh(f.target)
	return []attempt{
		{batch: b, answer: answer{code: kafkatest.NotLeader}},
		{batch: b, last: true},
	}
}

// blindRetry: a batch without producer id is stored and answered REQUEST_TIMED_OUT; the client sends it again.
func (f *fault) blindRetry(w *writer) []attempt {
	b := w.fresh(f.target)
	return []attempt{
		{batch: b, answer: answer{code: kafkatest.RequestTimedOut, stored: true}, offset: &f.first},
		{batch: b, offset: &f.second, last: true},
	}
}

// duplicates returns the truth.
func (f *faults) duplicates() []kafkatest.Duplicate {
	var all []kafkatest.Duplicate
	for _, told := range f.told {
		kind := &faultTypes[told.kind]
		if kind.cause == "" {
			continue
		}
		d := kafkatest.Duplicate{Topic: told.target.topic.name, Partition: told.target.index, Cause: kind.cause, Verdict: kind.verdict, Bump: told.bump}
		if f.read {
			d.Verdict = "confirmed"
		}
		for i := range int64(told.records) {
			d.Pairs = append(d.Pairs, []int64{told.first + i, told.second + i})
		}
		all = append(all, d)
	}
	return all
}
