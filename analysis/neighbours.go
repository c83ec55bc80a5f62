package analysis

import (
	"slices"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
)

// neighbours finds the batches of a partition by the sequences at their ends, and when their producers were at work.
type neighbours struct {
	byFirst, byLast map[sequenceAt][]*batch
	uses            map[int64]*used // by producer id
}

// used is when the oldest and the newest batch of a producer were first sent.
type used struct{ oldest, newest pcap.Timestamp }

// sequenceAt is a sequence of a producer epoch.
type sequenceAt struct {
	producerEpoch
	sequence int32
}

// adjacent indexes the batches that were sent. Few judgements need it.
func (p *partition) adjacent() *neighbours {
	if p.neighbours == nil {
		n := &neighbours{map[sequenceAt][]*batch{}, map[sequenceAt][]*batch{}, map[int64]*used{}}
		for _, b := range p.batches {
			if b.idempotent() && len(b.sends) > 0 {
				own := producerEpoch{b.id.producer, b.id.epoch}
				first, last := sequenceAt{own, b.id.base}, sequenceAt{own, b.id.last}
				n.byFirst[first] = append(n.byFirst[first], b)
				n.byLast[last] = append(n.byLast[last], b)
				u := n.uses[b.id.producer]
				if u == nil {
					u = &used{oldest: b.first.Time}
					n.uses[b.id.producer] = u
				}
				u.newest = b.first.Time // batches are in the order of their first sends
			}
		}
		p.neighbours = n
	}
	return p.neighbours
}

// predecessor returns the batch sent before b with the sequences just before b's, nil if none was seen.
func (b *batch) predecessor() *batch {
	own := producerEpoch{b.id.producer, b.id.epoch}
	for _, o := range slices.Backward(b.p.adjacent().byLast[sequenceAt{own, kafka.AddSequence(b.id.base, -1)}]) {
		if before(o, b) {
			return o
		}
	}
	return nil
}

// successor returns the batch sent after b with the sequences just behind b's, nil if none was seen.
func (b *batch) successor() *batch {
	own := producerEpoch{b.id.producer, b.id.epoch}
	for _, o := range b.p.adjacent().byFirst[sequenceAt{own, kafka.AddSequence(b.id.last, 1)}] {
		if before(b, o) {
			return o
		}
	}
	return nil
}
