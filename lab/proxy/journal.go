package proxy

import (
	"context"
	"sync"
	"time"
)

// Batch is one batch of one Produce request and what became of it, as the client's side of the wire shows it.
type Batch struct {
	Connection    string // of the client
	Node          int32
	Version       int16 // of the request
	Acks          int16
	Topic         string
	Partition     int32
	ProducerID    int64
	ProducerEpoch int16
	Sequence      int32
	Records       int32
	CRC           uint32
	SentAt        time.Time
	Rule          *Rule // the fault that befell it, if any

	Answered   bool // an answer was sent to the client
	AnsweredAt time.Time
	Error      int16
	Offset     int64 // -1: none
	AppendTime int64 // -1: none
}

// identity is what a retry of the batch has in common with it.
type identity struct {
	topic     string
	partition int32
	producer  int64
	epoch     int16
	sequence  int32
	crc       uint32
}

func (b *Batch) identity() identity {
	i := identity{b.Topic, b.Partition, b.ProducerID, b.ProducerEpoch, b.Sequence, 0}
	if b.ProducerID < 0 {
		i.crc = b.CRC
	}
	return i
}

// Journal is the list of batches in the order of their requests. It is safe for use by several goroutines.
type Journal struct {
	mu      sync.Mutex
	changed chan struct{} // closed and made anew at each change
	batches []*Batch
	seen    map[identity]bool
	rules   []*Rule
}

func newJournal(rules []*Rule) *Journal {
	return &Journal{changed: make(chan struct{}), seen: make(map[identity]bool), rules: rules}
}

// sent enters a batch and decides which fault befalls it.
func (j *Journal) sent(b *Batch) {
	j.mu.Lock()
	defer j.mu.Unlock()
	b.Offset, b.AppendTime, b.SentAt = -1, -1, time.Now()
	repeated := j.seen[b.identity()]
	j.seen[b.identity()] = true
	for _, r := range j.rules {
		if r.strikes(b, repeated, b.SentAt) {
			b.Rule = r
			break
		}
	}
	j.batches = append(j.batches, b)
	j.wake()
}

// update changes entries.
func (j *Journal) update(f func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	f()
	j.wake()
}

func (j *Journal) wake() {
	close(j.changed)
	j.changed = make(chan struct{})
}

// Batches returns a copy of all entries.
func (j *Journal) Batches() []Batch {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.copy()
}

func (j *Journal) copy() []Batch {
	all := make([]Batch, len(j.batches))
	for i, b := range j.batches {
		all[i] = *b
	}
	return all
}

// Await returns when the entries are as wanted, or with the error of ctx.
func (j *Journal) Await(ctx context.Context, wanted func([]Batch) bool) error {
	for {
		j.mu.Lock()
		changed, all := j.changed, j.copy()
		j.mu.Unlock()
		if wanted(all) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
