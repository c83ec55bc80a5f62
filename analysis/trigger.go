package analysis

import (
	"cmp"
	"slices"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
)

// maxEpochsPassed bounds how many epochs on from the first one the event is looked for that forced a producer out of that, and from how many
// later ones on, at which its records come again, it is looked for anew. Clients pass over few.
const maxEpochsPassed = 64

// departures are the bumps out of one epoch for which a trigger was looked for.
type departures struct {
	count int
	last  *Trigger
}

// triggerOnce looks for what forced a producer out of an epoch before a time. That is one event, however many later epochs there are.
func (j *judgement) triggerOnce(k bumpKey, at pcap.Timestamp) *Trigger {
	key := bumpKey{cluster: k.cluster, from: k.from}
	d := j.departures[key]
	if d.count < maxEpochsPassed {
		d = departures{d.count + 1, j.trigger(k.cluster, k.from, k.to, at)}
		j.departures[key] = d
	}
	return d.last
}

// trigger looks for the event that forced a producer from one identity to another before a time: the
// earliest error that is not retriable after which nothing newly sent under the old epoch was answered OK; else a batch
// that was never answered nor sent again; else one that was not sent again after an error; else a lost connection.
func (j *judgement) trigger(cluster string, from, to producerEpoch, at pcap.Timestamp) *Trigger {
	var old []*send
	epochs := j.epochsOf(from.producer)
	first, _ := slices.BinarySearch(epochs, from.epoch)
	for _, e := range epochs[first:min(len(epochs), first+maxEpochsPassed)] {
		if e >= to.epoch && from.producer == to.producer {
			break
		}
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
	errors := refusedBefore(old, at)
	if len(errors) == 0 {
		return nil
	}
	newOK := map[int16]pcap.Timestamp{}  // by epoch: when the last new batch that was answered OK was sent
	ok := map[sentBatch]pcap.Timestamp{} // of those that were sent more than once
	again, seen := sentAgain(old), map[sentBatch]bool{}
	for _, s := range old {
		key, resent, retry := s.sentBatch(), again[s.bytesOf()], false
		if resent {
			retry, seen[key] = seen[key], true
		}
		if a := s.reply(); a == nil || a.At.Time > at || a.ErrorCode != 0 {
			continue
		}
		if resent {
			ok[key] = s.sent.At.Time
		}
		if !retry {
			newOK[key.epoch] = s.sent.At.Time
		}
	}
	for _, s := range errors {
		key := s.sentBatch()
		if max(newOK[key.epoch], ok[key]) <= s.reply().At.Time {
			return s.errorAnswered()
		}
	}
	return nil
}

// refusedBefore returns the sends that were refused for good before a time, by their answers.
func refusedBefore(old []*send, at pcap.Timestamp) []*send {
	var errors []*send
	parts := partsOf(old)
	for _, s := range old {
		if a := s.reply(); a != nil && a.At.Time <= at && s.refusedForGood(parts) {
			errors = append(errors, s)
		}
	}
	slices.SortStableFunc(errors, func(a, b *send) int { return cmp.Compare(a.reply().At.Time, b.reply().At.Time) })
	return errors
}

func (s *send) sentBatch() sentBatch {
	return sentBatch{s.sent.Topic, s.sent.Partition, identityOf(s.sent.Batch), s.sent.Batch.CRC}
}

// refusedForGood reports whether the send was answered with an error after which no client sends the batch again as it is. One that is too
// large may come again in parts.
func (s *send) refusedForGood(parts map[partAt]*send) bool {
	code := s.reply().ErrorCode
	if code != errMessageTooLarge {
		return code != 0 && !retriable[code]
	}
	first, last := parts[s.firstPart()], parts[s.lastPart()]
	return !(first.isPartOf(s) || last.isPartOf(s))
}

// partAt is what a batch has in common with its first part, or with its last one.
type partAt struct {
	topic     kafka.Topic
	partition int32
	sequenceAt
	last bool
}

func (s *send) firstPart() partAt {
	b := s.sent.Batch
	return partAt{s.sent.Topic, s.sent.Partition, sequenceAt{producerEpoch{b.ProducerID, b.ProducerEpoch}, b.BaseSequence}, false}
}

func (s *send) lastPart() partAt {
	at := s.firstPart()
	at.sequence, at.last = s.sent.Batch.LastSequence(), true
	return at
}

// partsOf finds the latest sends by their ends, where some were too large.
func partsOf(old []*send) map[partAt]*send {
	parts := map[partAt]*send{}
	if slices.ContainsFunc(old, func(s *send) bool { a := s.reply(); return a != nil && a.ErrorCode == errMessageTooLarge }) {
		for _, s := range old {
			parts[s.firstPart()], parts[s.lastPart()] = s, s
		}
	}
	return parts
}

// isPartOf reports whether a send came after another one and has some of its sequences and no others. Both are of one producer epoch.
func (s *send) isPartOf(whole *send) bool {
	if s == nil || s.order <= whole.order {
		return false
	}
	a, b := identityOf(s.sent.Batch), identityOf(whole.sent.Batch)
	return a != b && kafka.SequenceDistance(b.base, a.base) >= 0 && kafka.SequenceDistance(a.last, b.last) >= 0
}

// expiryTrigger finds a batch that was left unanswered and whose records never came again: it expired in the client.
func (j *judgement) expiryTrigger(old []*send) *Trigger {
	for _, s := range old {
		if s.sent.Acks == 0 || s.mayBeAnswered() || len(s.sent.Batch.Records) == 0 || j.cameAgain(s) {
			continue
		}
		return &Trigger{Kind: TriggerNoAnswer, Topic: s.sent.Topic, Partition: s.sent.Partition, At: position(&s.sent.Seen)}
	}
	return nil
}

// givenUpTrigger finds a batch that expired between retries: the client went on with new records under the new identity, and never sent
// the batch again after an error that it retries.
func (j *judgement) givenUpTrigger(old []*send, to producerEpoch, at pcap.Timestamp) *Trigger {
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
func (p *partition) takesNew(id producerEpoch) bool {
	if p.news == nil && p.chains != nil {
		p.news = map[producerEpoch]bool{}
		for _, b := range p.batches {
			own := producerEpoch{b.id.producer, b.id.epoch}
			p.news[own] = p.news[own] || len(b.sends) > 0 && slices.ContainsFunc(b.records, func(r kafka.Record) bool {
				n := p.chains.lookup(entry{b, r.Delta})
				return n == nil || n.prev == nil
			})
		}
	}
	return p.news[id]
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
