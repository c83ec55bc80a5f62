package analysis

import (
	"iter"

	"github.com/kdupscan/kdupscan/kafka"
)

// misrouted finds batches that were sent to a partition they do not belong to: the same bytes, producer
// id and sequence included, under two partitions, where the sequence continues the one partition and not the other. The CRC
// of a batch covers neither topic nor partition, so brokers take both.
func (j *judgement) misrouted() []group {
	at := map[body][]*batch{}
	var order []body
	again := j.bodiesAgain()
	if len(again) == 0 {
		return nil
	}
	for key, b := range j.bodies() {
		if !again[key.fingerprint()] {
			continue
		}
		if len(at[key]) == 1 {
			order = append(order, key)
		}
		at[key] = append(at[key], b)
	}
	shared := map[[2]*partition]int{}
	for _, key := range order {
		if pair := at[key]; len(pair) == 2 {
			shared[orderedPair(pair)]++
		}
	}
	var groups []group
	for _, key := range order {
		pair := at[key]
		if len(pair) != 2 || shared[orderedPair(pair)] > 1 {
			continue // a broadcast in lockstep
		}
		if g, ok := j.misroutedPair(pair[0], pair[1]); ok {
			groups = append(groups, g)
		}
	}
	return groups
}

// body is what two batches have in common when one is the other sent elsewhere.
type body struct {
	identity
	crc uint32
}

func (b body) fingerprint() kafka.Fingerprint {
	return mixed(uint64(b.crc), uint64(b.producer)<<31^uint64(uint32(b.base))^uint64(uint16(b.epoch))<<48)
}

// bodies returns the batches that can be misrouted, or be where one belongs.
func (j *judgement) bodies() iter.Seq2[body, *batch] {
	return func(yield func(body, *batch) bool) {
		for _, p := range j.partitions {
			for key, b := range p.sentBodies() {
				if !yield(key, b) {
					return
				}
			}
		}
	}
}

func (p *partition) sentBodies() iter.Seq2[body, *batch] {
	return func(yield func(body, *batch) bool) {
		if p.internal() {
			return
		}
		for _, b := range p.batches {
			if b.idempotent() && !b.info.Control() && evidence(b.info) && len(b.sends) > 0 && !yield(body{b.id, b.info.CRC}, b) {
				return
			}
		}
	}
}

// findBodies keeps of each body what tells it from others, while the batches are in the cache.
func (p *partition) findBodies() {
	p.bodies = make([]kafka.Fingerprint, 0, len(p.batches))
	for key := range p.sentBodies() {
		p.bodies = append(p.bodies, key.fingerprint())
	}
}

// bodiesAgain returns the bodies that several batches may share.
func (j *judgement) bodiesAgain() map[kafka.Fingerprint]bool {
	n := 0
	for _, p := range j.partitions {
		n += len(p.bodies)
	}
	keys := func(yield func(kafka.Fingerprint) bool) {
		for _, p := range j.partitions {
			for _, key := range p.bodies {
				if !yield(key) {
					return
				}
			}
		}
	}
	return metAgain(n, keys, func(key kafka.Fingerprint) kafka.Fingerprint { return key })
}

// orderedPair names the partitions of a pair regardless of the order of its batches.
func orderedPair(pair []*batch) [2]*partition {
	a, b := pair[0].p, pair[1].p
	if a.topic.Name > b.topic.Name || a.topic.Name == b.topic.Name && a.number > b.number {
		a, b = b, a
	}
	return [2]*partition{a, b}
}

func (j *judgement) misroutedPair(a, b *batch) (group, bool) {
	if before(b, a) {
		a, b = b, a
	}
	misfit, stray := j.misfit(a, b)
	if misfit == nil {
		return group{}, false
	}
	first, later := a.fate(), b.fate()
	if !later.acknowledged || first.grade <= refused {
		return group{}, false
	}
	g := group{cause: MisroutedBatch, misfit: misfit, stray: stray}
	for delta := range min(a.count(), maxWholeRecords) {
		d := duplicate{cause: MisroutedBatch, copies: []copyOf{{entry: entry{a, delta}, fate: first}, {entry: entry{b, delta}, fate: later}}}
		d.copies, d.verdict = weigh(d.copies)
		d.addDoubts()
		g.records = append(g.records, d)
	}
	g.verdict = g.records[0].verdict
	return g, true
}

// misfit returns the send that shows one of two equal batches to be foreign where it was sent, while the other belongs, and which
// of the two it is; nil if nothing shows that.
func (j *judgement) misfit(a, b *batch) (shown *send, stray int) {
	if a.belongs() {
		if s := j.foreign(b); s != nil {
			return s, 1
		}
	}
	if b.belongs() {
		return j.foreign(a), 0
	}
	return nil, 0
}

// belongs reports whether a batch's sequence continues, or is continued by, another batch of the partition.
func (b *batch) belongs() bool {
	return b.predecessor() != nil || b.successor() != nil
}

// foreign returns the send that shows that the partition's own sequences leave no place for the batch: its neighbour by
// sequence is not next to it, and none of the client's streams has a gap in which the batches between could hide. A neighbour that is missing
// proves nothing.
func (j *judgement) foreign(b *batch) *send {
	if b.belongs() {
		return nil
	}
	var neighbour *send
	since, until := b.first.Time, b.lastSent()
	consider := func(s *send) {
		o := s.sent.Batch
		if o.ProducerID != b.id.producer || o.ProducerEpoch != b.id.epoch || identityOf(o) == b.id {
			return
		}
		if neighbour == nil || distance(o.BaseSequence, b.id.base) < distance(neighbour.sent.Batch.BaseSequence, b.id.base) {
			neighbour = s
			since, until = min(s.sent.First.Time, b.first.Time), max(s.sent.At.Time, b.lastSent())
		}
	}
	for _, s := range b.p.sends {
		consider(s)
	}
	for _, s := range b.p.torn {
		consider(s)
	}
	if neighbour == nil || j.gapOf(b, since, until) {
		return nil
	}
	return neighbour
}

// distance is how far apart two sequences are.
func distance(a, b int32) int32 {
	d := kafka.SequenceDistance(a, b)
	return max(d, -d)
}
