package analysis

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/kdupscan/kdupscan/kafka"
)

// bump describes the change of identity between the first and the later copy, and looks for what forced it.
func (j *judgement) bump(g *group) *Bump {
	from, to := g.first(), g.later()
	key := [2]producerEpoch{{from.id.producer, from.id.epoch}, {to.id.producer, to.id.epoch}}
	cluster := to.p.cluster
	if known := j.bumps[key]; known != nil && j.mayBeOf(cluster, known.FirstSeen.Server) {
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
	b.Trigger = j.trigger(cluster, from.id, to.id, at)
	if b.Trigger == nil && b.NewProducerID >= 0 {
		b.Trigger = newProducerTrigger(from, grant, at)
	}
	return b
}

// firstSend returns the first send, on any partition, under the identity of a batch.
func (j *judgement) firstSend(b *batch) *send {
	if all := j.sendsOf(b.p.cluster, producerEpoch{b.id.producer, b.id.epoch}); len(all) > 0 {
		return all[0]
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
	if j.byProducer == nil {
		j.byProducer = map[producerEpoch][]*send{}
		for _, p := range j.partitions {
			for _, b := range p.batches {
				if j.suspected[b.id.producer] {
					at := producerEpoch{b.id.producer, b.id.epoch}
					j.byProducer[at] = append(j.byProducer[at], b.sends...)
				}
			}
		}
	}
	all := j.byProducer[id]
	if len(j.c.topics.known) > 1 {
		all = slices.DeleteFunc(slices.Clone(all), func(s *send) bool { return !j.mayBeOf(cluster, s.link.Server) })
	}
	sortSends(all)
	return all
}

// sortSends sorts by time. Sends are mostly in that order already.
func sortSends(all []*send) {
	byTime := func(a, b *send) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.order, b.order)) }
	if !slices.IsSortedFunc(all, byTime) {
		slices.SortStableFunc(all, byTime)
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
