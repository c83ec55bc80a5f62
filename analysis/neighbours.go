package analysis

import (
	"slices"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
)

// neighbours finds the batches of a partition by the sequences at their ends, and when their producers and clients were at work.
type neighbours struct {
	byFirst, byLast map[sequenceAt][]*batch
	producers       uses[int64]
	clients         uses[client]
	links           uses[*link]
}

// uses is when the oldest and the newest batch of each producer, client or connection were first sent.
type uses[K comparable] map[K]*[2]pcap.Timestamp

// add takes in a batch. Batches come in the order of their first sends.
func (u uses[K]) add(key K, at pcap.Timestamp) {
	if times := u[key]; times != nil {
		times[1] = at
		return
	}
	u[key] = &[2]pcap.Timestamp{at, at}
}

// overlap reports whether new batches came from the one when the other was in use already.
func (u uses[K]) overlap(one, other K) bool {
	a, b := u[one], u[other]
	return a != nil && b != nil && a[1] > b[0]
}

// sequenceAt is a sequence of a producer epoch.
type sequenceAt struct {
	producerEpoch
	sequence int32
}

// adjacent indexes the batches that were sent. Few judgements need it.
func (p *partition) adjacent() *neighbours {
	if p.neighbours == nil {
		n := &neighbours{map[sequenceAt][]*batch{}, map[sequenceAt][]*batch{}, uses[int64]{}, uses[client]{}, uses[*link]{}}
		for _, b := range p.batches {
			if len(b.sends) == 0 {
				continue
			}
			for _, leg := range b.sends[0].all() { // a proxy is at work with its clients
				n.clients.add(leg.link.client(), b.first.Time)
				n.links.add(leg.link, b.first.Time)
			}
			if b.idempotent() {
				own := producerEpoch{b.id.producer, b.id.epoch}
				first, last := sequenceAt{own, b.id.base}, sequenceAt{own, b.id.last}
				n.byFirst[first] = append(n.byFirst[first], b)
				n.byLast[last] = append(n.byLast[last], b)
				n.producers.add(b.id.producer, b.first.Time)
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
