package analysis

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
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

// trigger looks for the event that forced a producer from one identity to another before a time (VERDICTS section 4): the
// earliest error that is not retriable after which nothing newly sent under the old epoch was answered OK; else a batch
// that was never answered nor sent again; else a lost connection.
func (j *judgement) trigger(cluster string, from, to identity, at pcap.Timestamp) *Trigger {
	last := to.epoch
	if to.producer != from.producer {
		last = j.c.producers.get(cluster, from.producer).top + 1
	}
	var old []*send
	for e := from.epoch; e < last && e >= 0; e++ {
		for _, s := range j.sendsOf(cluster, producerEpoch{from.producer, e}) {
			if s.sent.At.Time <= at {
				old = append(old, s)
			}
		}
	}
	sortSends(old)
	if t := errorTrigger(old, at); t != nil {
		return t
	}
	if t := j.expiryTrigger(old, at); t != nil {
		return t
	}
	return lossTrigger(old, at)
}

// sentBatch tells the first send of a batch from retries of it.
type sentBatch struct {
	topic     kafka.Topic
	partition int32
	identity
	crc uint32
}

func errorTrigger(old []*send, at pcap.Timestamp) *Trigger {
	var errors []*send
	var okSent pcap.Timestamp // send time of the last newly sent batch that was answered OK
	seen := map[sentBatch]bool{}
	for _, s := range old {
		b := s.sent.Batch
		key := sentBatch{s.sent.Topic, s.sent.Partition, identityOf(b), b.CRC}
		retry := seen[key]
		seen[key] = true
		a := s.reply()
		if a == nil || a.At.Time > at {
			continue
		}
		if a.ErrorCode == 0 && !retry {
			okSent = max(okSent, s.sent.At.Time)
		} else if a.ErrorCode != 0 && !retriable[a.ErrorCode] {
			errors = append(errors, s)
		}
	}
	slices.SortStableFunc(errors, func(a, b *send) int { return cmp.Compare(a.reply().At.Time, b.reply().At.Time) })
	for _, s := range errors {
		a := s.reply()
		if okSent > a.At.Time {
			continue
		}
		return &Trigger{Kind: TriggerProduceError, HasError: true, ErrorCode: a.ErrorCode, Topic: s.sent.Topic, Partition: s.sent.Partition, At: position(&a.Seen)}
	}
	return nil
}

// expiryTrigger finds a batch that was left unanswered and whose records never came again: it expired in the client.
func (j *judgement) expiryTrigger(old []*send, at pcap.Timestamp) *Trigger {
	for _, s := range old {
		if s.sent.Acks == 0 || s.reply() != nil || s.unread || len(s.sent.Batch.Records) == 0 || j.cameAgain(s) {
			continue
		}
		return &Trigger{Kind: TriggerNoAnswer, Topic: s.sent.Topic, Partition: s.sent.Partition, At: position(&s.sent.Seen)}
	}
	return nil
}

// cameAgain reports whether what a send carried was sent again.
func (j *judgement) cameAgain(s *send) bool {
	cluster := j.c.topics.cluster(s.sent.Link.Server, s.sent.Topic)
	p := j.partition(cluster, historyKey{topic: s.sent.Topic, partition: s.sent.Partition}, s.sent.At.Time)
	b := newestLike(p.byIdentity[identityOf(s.sent.Batch)], s.sent.Batch)
	return b != nil && (b.sends[len(b.sends)-1].order != s.order || p.cameAgain(b))
}

// lossTrigger finds the last connection that ended with a request of the old identity unanswered.
func lossTrigger(old []*send, at pcap.Timestamp) *Trigger {
	var lost *send
	var last pcap.Ref
	for _, s := range old {
		if s.sent.Acks == 0 || s.reply() != nil || !s.link.lostBy(at) {
			continue
		}
		if end, _ := s.link.lost(); lost == nil || end.Time > last.Time {
			lost, last = s, end
		}
	}
	if lost == nil {
		return nil
	}
	return &Trigger{Kind: TriggerConnectionLost, Topic: lost.sent.Topic, Partition: lost.sent.Partition, At: positionOf(lost.link, last)}
}

// newProducerTrigger names what comes with another producer id when nothing forced it: the InitProducerId exchange, or the end
// of the connection of a process that was started anew.
func newProducerTrigger(from *batch, grant *kafka.ProducerGranted, at pcap.Timestamp) *Trigger {
	if grant != nil {
		return &Trigger{Kind: TriggerInitProducerID, Partition: -1, At: position(&grant.Seen)}
	}
	for i := len(from.sends) - 1; i >= 0; i-- {
		if l := from.sends[i].link; l.lostBy(at) {
			end, _ := l.lost()
			return &Trigger{Kind: TriggerConnectionLost, Partition: -1, At: positionOf(l, end)}
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
