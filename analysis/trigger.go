package analysis

import (
	"cmp"
	"slices"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
)

// trigger looks for the event that forced a producer from one identity to another before a time (VERDICTS section 4): the
// earliest error that is not retriable after which nothing newly sent under the old epoch was answered OK; else a batch
// that was never answered nor sent again; else one that was not sent again after an error; else a lost connection.
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
	t := cmp.Or(errorTrigger(old, at), j.expiryTrigger(old), j.givenUpTrigger(old, to, at), lossTrigger(old, at))
	if t != nil {
		t.Topic = j.c.topics.resolve(cluster, t.Topic, t.At.Time)
	}
	return t
}

// sentBatch tells the first send of a batch from retries of it.
type sentBatch struct {
	topic     kafka.Topic
	partition int32
	identity
	crc uint32
}

// errorTrigger finds the earliest error that is not retriable after which the client sent nothing under that epoch that was answered OK: no new
// batch, and not the refused one.
func errorTrigger(old []*send, at pcap.Timestamp) *Trigger {
	var errors []*send
	newOK := map[int16]pcap.Timestamp{} // by epoch: when the last new batch that was answered OK was sent
	ok := map[sentBatch]pcap.Timestamp{}
	seen := map[sentBatch]bool{}
	for _, s := range old {
		key := s.sentBatch()
		retry := seen[key]
		seen[key] = true
		a := s.reply()
		switch {
		case a == nil || a.At.Time > at:
		case a.ErrorCode == 0:
			ok[key] = s.sent.At.Time
			if !retry {
				newOK[key.epoch] = s.sent.At.Time
			}
		case s.refusedForGood(old):
			errors = append(errors, s)
		}
	}
	slices.SortStableFunc(errors, func(a, b *send) int { return cmp.Compare(a.reply().At.Time, b.reply().At.Time) })
	for _, s := range errors {
		key := s.sentBatch()
		if max(newOK[key.epoch], ok[key]) <= s.reply().At.Time {
			return s.errorAnswered()
		}
	}
	return nil
}

func (s *send) sentBatch() sentBatch {
	return sentBatch{s.sent.Topic, s.sent.Partition, identityOf(s.sent.Batch), s.sent.Batch.CRC}
}

// refusedForGood reports whether the send was answered with an error after which no client sends the batch again as it is. One that is too
// large may come again in parts.
func (s *send) refusedForGood(old []*send) bool {
	code := s.reply().ErrorCode
	if code != errMessageTooLarge {
		return code != 0 && !retriable[code]
	}
	return !slices.ContainsFunc(old, func(o *send) bool { return o.order > s.order && o.isPartOf(s) })
}

// isPartOf reports whether a send has some of the sequences of another one, and no others.
func (s *send) isPartOf(whole *send) bool {
	a, b := identityOf(s.sent.Batch), identityOf(whole.sent.Batch)
	return s.sent.Topic == whole.sent.Topic && s.sent.Partition == whole.sent.Partition && a.producer == b.producer && a.epoch == b.epoch &&
		a != b && kafka.SequenceDistance(b.base, a.base) >= 0 && kafka.SequenceDistance(a.last, b.last) >= 0
}

// expiryTrigger finds a batch that was left unanswered and whose records never came again: it expired in the client.
func (j *judgement) expiryTrigger(old []*send) *Trigger {
	for _, s := range old {
		if s.sent.Acks == 0 || s.reply() != nil || s.unread || len(s.sent.Batch.Records) == 0 || j.cameAgain(s) {
			continue
		}
		return &Trigger{Kind: TriggerNoAnswer, Topic: s.sent.Topic, Partition: s.sent.Partition, At: position(&s.sent.Seen)}
	}
	return nil
}

// givenUpTrigger finds a batch that expired between retries: the client went on with new records under the new identity, and never sent
// the batch again after an error that it retries.
func (j *judgement) givenUpTrigger(old []*send, to identity, at pcap.Timestamp) *Trigger {
	for _, s := range old {
		a := s.reply()
		if a != nil && a.At.Time <= at && retriable[a.ErrorCode] && len(s.sent.Batch.Records) > 0 && !j.cameAgain(s) && j.partitionOf(s).takesNew(to) {
			return s.errorAnswered()
		}
	}
	return nil
}

// errorAnswered is the answer to the send as a trigger.
func (s *send) errorAnswered() *Trigger {
	a := s.reply()
	return &Trigger{Kind: TriggerProduceError, HasError: true, ErrorCode: a.ErrorCode, Topic: s.sent.Topic, Partition: s.sent.Partition, At: position(&a.Seen)}
}

// cameAgain reports whether what a send carried was sent again.
func (j *judgement) cameAgain(s *send) bool {
	p := j.partitionOf(s)
	b := newestLike(p.byIdentity[identityOf(s.sent.Batch)], s.sent.Batch)
	return b != nil && (b.sends[len(b.sends)-1].order != s.order || p.cameAgain(b))
}

// partitionOf returns the partition that a send went to.
func (j *judgement) partitionOf(s *send) *partition {
	cluster := j.c.topics.cluster(s.sent.Link.Server, s.sent.Topic)
	return j.partition(cluster, historyKey{topic: s.sent.Topic, partition: s.sent.Partition}, s.sent.At.Time)
}

// takesNew reports whether records that are no later copies were sent to the partition under an identity.
func (p *partition) takesNew(id identity) bool {
	if p.chains == nil {
		return false
	}
	return slices.ContainsFunc(p.batches, func(b *batch) bool {
		return b.id.producer == id.producer && b.id.epoch == id.epoch && len(b.sends) > 0 && slices.ContainsFunc(b.records, func(r kafka.Record) bool {
			n := p.chains.lookup(entry{b, r.Delta})
			return n == nil || n.prev == nil
		})
	})
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
