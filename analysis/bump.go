package analysis

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/kdupscan/kdupscan/kafka"
)

// bumpKey is a change of a producer's identity. Each cluster counts its producer ids for itself.
type bumpKey struct {
	cluster  string
	from, to producerEpoch
}

// bump describes the change of identity between the first and the later copy, and looks for what forced it.
func (j *judgement) bump(g *group) *Bump {
	from, to := g.first(), g.later()
	cluster := to.p.cluster
	key := bumpKey{cluster, producerEpoch{from.id.producer, from.id.epoch}, producerEpoch{to.id.producer, to.id.epoch}}
	if known := j.bumps[key]; known != nil {
		return known
	}
	b := &Bump{ProducerID: from.id.producer, FromEpoch: from.id.epoch, ToEpoch: to.id.epoch, NewProducerID: -1}
	if to.id.producer != from.id.producer {
		b.NewProducerID = to.id.producer
	}
	j.bumps[key] = b
	first := j.firstSend(to)
	grant := j.grant(cluster, b)
	b.Local = grant == nil
	switch {
	case grant != nil && (first == nil || grant.At.Time < first.sent.At.Time):
		b.FirstSeen = position(&grant.Seen)
	case first != nil:
		b.FirstSeen = position(&first.sent.Seen)
	default:
		v := to.views[0].bestSight()
		b.FirstSeen = position(&v.Seen)
	}
	at := b.FirstSeen.Time
	if grant != nil && grant.Request != nil {
		at = grant.Request.At.Time
	}
	b.Trigger = j.triggerOnce(key, at)
	if b.Trigger == nil && b.NewProducerID >= 0 {
		b.Trigger = newProducerTrigger(from, grant, at)
	}
	return b
}

// firstSend returns the first send, on any partition, under the identity of a batch, nil if none was seen.
func (j *judgement) firstSend(b *batch) *send {
	if all := j.sendsOf(b.p.cluster, producerEpoch{b.id.producer, b.id.epoch}); len(all) > 0 {
		return all[0]
	}
	if len(b.sends) > 0 {
		return b.sends[0] // to another cluster by its answers, but to the same topic by its id
	}
	return nil
}

// mayBeOf reports whether a server belongs to a cluster, as far as is known. Each cluster counts its producer ids for itself.
func (j *judgement) mayBeOf(cluster string, server netip.AddrPort) bool {
	own := j.c.topics.clusterOf(server)
	return own == cluster || own == "" || cluster == ""
}

// sendsOf returns the sends of a suspected producer's epoch over all partitions of a cluster, by time.
func (j *judgement) sendsOf(cluster string, id producerEpoch) []*send {
	j.findSends()
	all := j.byProducer[id]
	if len(j.c.topics.known) > 1 {
		all = slices.DeleteFunc(slices.Clone(all), func(s *send) bool { return !j.mayBeOf(cluster, s.link.Server) })
	}
	return all
}

// epochsOf returns the epochs under which a suspected producer sent, from the lowest on.
func (j *judgement) epochsOf(producer int64) []int16 {
	j.findSends()
	return j.epochs[producer]
}

// findSends sorts the sends of suspected producers by their epochs.
func (j *judgement) findSends() {
	if j.byProducer != nil {
		return
	}
	j.byProducer, j.epochs = map[producerEpoch][]*send{}, map[int64][]int16{}
	for _, p := range j.partitions {
		for _, b := range p.batches {
			if at := (producerEpoch{b.id.producer, b.id.epoch}); j.suspected[at.producer] && len(b.sends) > 0 {
				if j.byProducer[at] == nil {
					j.epochs[at.producer] = append(j.epochs[at.producer], at.epoch)
				}
				j.byProducer[at] = append(j.byProducer[at], b.sends...)
			}
		}
	}
	for _, all := range j.byProducer {
		sortSends(all)
	}
	for _, epochs := range j.epochs {
		slices.Sort(epochs)
	}
}

// sortSends sorts by time. Sends of one partition are mostly in that order already, and no two of them arrived as one.
func sortSends(all []*send) {
	byTime := func(a, b *send) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.order, b.order)) }
	if !slices.IsSortedFunc(all, byTime) {
		slices.SortFunc(all, byTime)
	}
}

// grant returns the InitProducerId exchange that gave the new identity, nil if none was seen.
func (j *judgement) grant(cluster string, b *Bump) *kafka.ProducerGranted {
	id := b.ProducerID
	if b.NewProducerID >= 0 {
		id = b.NewProducerID
	}
	for _, g := range j.c.producers.get(cluster, id).grants {
		if g.ErrorCode == 0 && g.ProducerID == id && g.ProducerEpoch == b.ToEpoch {
			return g
		}
	}
	return nil
}

// bumpEvents tells the change of identity: the trigger, the InitProducerId exchange and the first use.
func (j *judgement) bumpEvents(g *group, b *Bump) []Event {
	var all []Event
	to := g.later()
	change := to.event(EventEpochBump, b.FirstSeen, 0)
	change.HasBatch = false
	if grant := j.grant(to.p.cluster, b); grant != nil {
		change.Kind, change.ErrorCode, change.HasError = EventInitProducerID, grant.ErrorCode, true
		change.At = position(&grant.Seen)
	}
	all = append(all, change)
	if t := b.Trigger; t != nil && t.Kind != TriggerInitProducerID {
		e := Event{
			Kind: EventProduceResponse, At: t.At, Offset: NoOffset, Topic: t.Topic, Partition: t.Partition,
			ProducerID: b.ProducerID, ProducerEpoch: b.FromEpoch, ErrorCode: t.ErrorCode, HasError: t.HasError,
			Acks: -1, LeaderID: -1, LeaderEpoch: -1, PreviousEpoch: -1, ReplicaID: -2,
		}
		switch t.Kind {
		case TriggerNoAnswer:
			e.Kind = EventNoAnswer
		case TriggerConnectionLost:
			e.Kind = EventConnectionLost
		}
		all = append(all, e)
	}
	return all
}
