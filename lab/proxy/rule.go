package proxy

import "time"

// Action is what happens to a batch that a rule strikes.
type Action int

// Actions.
const (
	AnswerError Action = iota + 1 // the broker appended; the client is told Error, with the real offset
	Refuse                        // the broker never sees the batch; the client is told Error, without an offset
	Swallow                       // the broker appended; the connection is closed in place of the answer
	Delay                         // the answer comes Delay later
)

// Rule is one fault. Its zero fields ask for nothing.
type Rule struct {
	Do        Action
	Error     int16
	Partition int32
	Skip      int           // so many batches of the partition pass first
	After     *Rule         // not before that rule has struck
	New       bool          // only batches that have not been sent before
	Lasting   time.Duration // strikes every batch for so long since it first struck; otherwise it strikes once
	Delay     time.Duration // hold the answer back for so long; for any action

	passed  int
	struck  int
	first   time.Time
	ofEpoch int16 // the producer epoch of the batch that it first struck: a lasting rule spares newer ones
}

// Struck reports how often the rule has struck. It may be called once the proxy is closed.
func (r *Rule) Struck() int { return r.struck }

// strikes decides whether the rule befalls a batch at the time now, and counts it.
func (r *Rule) strikes(b *Batch, repeated bool, now time.Time) bool {
	switch {
	case r.Partition != b.Partition, r.After != nil && r.After.struck == 0, r.New && repeated:
		return false
	case r.passed < r.Skip:
		r.passed++
		return false
	case r.struck == 0:
		r.first, r.ofEpoch = now, b.ProducerEpoch
	case r.Lasting == 0, now.Sub(r.first) > r.Lasting, r.ofEpoch != b.ProducerEpoch:
		return false
	}
	r.struck++
	return true
}
