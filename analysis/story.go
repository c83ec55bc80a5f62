package analysis

import (
	"cmp"
	"slices"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
)

// event returns an Event about the batch with nothing known that does not apply.
func (b *batch) event(kind EventKind, at Position, number int) Event {
	return Event{
		Kind: kind, At: at, Offset: NoOffset, Topic: b.p.topic, Partition: b.p.number,
		ProducerID: b.id.producer, ProducerEpoch: b.id.epoch, BaseSequence: b.id.base, LastSequence: b.lastSequence(),
		RecordCount: b.count(), CRC: b.info.CRC, HasBatch: true,
		Acks: -1, LeaderID: -1, LeaderEpoch: -1, PreviousEpoch: -1, ReplicaID: -2, Copy: number,
	}
}

// events tells what was seen of a batch: its sends with their answers, and where it was fetched at the place of its fate.
func (b *batch) events(number int, f fate) []Event {
	var all []Event
	for _, s := range b.sends {
		request, answer := b.sendEvents(s, number)
		if n := len(all); n >= 2 && alike(all[n-2], request) && alike(all[n-1], answer) {
			all[n-2].repeat(&request)
			all[n-1].repeat(&answer)
			continue
		}
		all = append(all, request, answer)
		all = append(all, b.relayEvents(s, number)...)
		if e, unheard := b.unheardEvent(s, number); unheard {
			all = append(all, e)
		}
	}
	all = slices.DeleteFunc(all, func(e Event) bool { return e.At.IsZero() })
	for _, v := range b.views {
		if v.base != f.offset && f.offset != NoOffset {
			continue
		}
		for _, o := range []*kafka.PartitionFetched{v.consumer, v.replica} {
			if o == nil {
				continue
			}
			e := b.event(EventFetchResponse, position(&o.Seen), number)
			e.Offset, e.LeaderEpoch, e.ReplicaID, e.HasError = v.batch.BaseOffset, v.leaderEpoch, o.ReplicaID, true
			e.CorrelationID, e.HasCorrelation = o.CorrelationID, true
			all = append(all, e)
			break // a consumer's view is the stronger one
		}
	}
	return all
}

// repeat lets the event stand for an equal one too.
func (e *Event) repeat(again *Event) {
	if e.Repeat < len(e.RepeatedIn) && again.At.Capture == e.At.Capture {
		e.RepeatedIn[e.Repeat] = again.At.Number
	}
	e.Repeat++
}

func (b *batch) requestEvent(s *send, number int) Event {
	e := b.event(EventProduceRequest, position(&s.sent.Seen), number)
	e.Acks = s.sent.Acks
	if r := s.sent.Request; r != nil {
		e.CorrelationID, e.HasCorrelation = r.CorrelationID, true
	}
	return e
}

// sendEvents returns the request and its answer, the connection's end instead of that, or (with a zero position) neither.
func (b *batch) sendEvents(s *send, number int) (request, answer Event) {
	request = b.requestEvent(s, number)
	a := s.reply()
	switch {
	case a != nil:
		answer = b.event(EventProduceResponse, position(&a.Seen), number)
		answer.CorrelationID, answer.HasCorrelation = a.CorrelationID, true
		answer.ErrorCode, answer.HasError = a.ErrorCode, true
		if a.BaseOffset >= 0 {
			answer.Offset = a.BaseOffset
		}
		answer.Deduplicated = b.isRetryAnswer(s, a)
		for _, l := range b.p.leaders {
			if l.at.Ref == a.At {
				answer.LeaderID, answer.LeaderEpoch = l.id, l.epoch
			}
		}
	case s.sent.Acks != 0:
		if at, lost := s.link.lost(); lost {
			answer = b.event(EventConnectionLost, positionOf(s.link, at), number)
		}
	}
	return request, answer
}

// unheardEvent returns the end of a connection whose client was not seen to acknowledge an OK: it sends again although a broker had answered.
func (b *batch) unheardEvent(s *send, number int) (Event, bool) {
	at, lost := s.link.lost()
	if a := s.answer; !lost || a == nil || a.ErrorCode != 0 || at.Time < a.At.Time {
		return Event{}, false
	}
	if _, heard := s.seenOK(); heard {
		return Event{}, false
	}
	e := b.event(EventConnectionLost, positionOf(s.link, at), number)
	e.Unheard = true
	return e, true
}

// alike reports whether two events tell the same, but for when.
func alike(a, b Event) bool {
	return a.Kind == b.Kind && a.At.Server == b.At.Server && a.HasError == b.HasError && a.ErrorCode == b.ErrorCode &&
		a.Offset == b.Offset && a.Offset == NoOffset && a.Deduplicated == b.Deduplicated
}

// timeline tells the whole story of a finding in time order: its copies, what happened to the partition's leader, and what
// changed the producer's identity.
func (j *judgement) timeline(g *group, f *Finding) []Event {
	var all []Event
	for _, c := range f.Copies {
		all = append(all, c.Evidence...)
	}
	from, to := g.first().first.Time, latest(all)
	p := g.later().p
	all = append(all, p.leaderChanges(from, to)...)
	if s := g.misfit; s != nil {
		all = append(all, j.misfitEvent(p.cluster, s))
		home := g.copy(1 - g.stray)
		for _, neighbour := range []*batch{home.predecessor(), home.successor()} {
			if neighbour != nil {
				all = append(all, j.misfitEvent(p.cluster, neighbour.sends[0]))
			}
		}
	}
	if b := f.Bump; b != nil {
		for _, e := range j.bumpEvents(g, b) {
			if !slices.ContainsFunc(all, e.toldBy) {
				all = append(all, e)
			}
		}
	}
	all = append(all, g.commits()...)
	sortEvents(all)
	return slices.CompactFunc(all, sameEvent)
}

// sameEvent reports whether two events are one thing that was seen. A connection is lost once, whatever batches were waiting on it.
func sameEvent(a, b Event) bool {
	return a.Kind == b.Kind && a.At == b.At && a.Topic == b.Topic && a.Partition == b.Partition && a.Copy == b.Copy && a.Offset == b.Offset &&
		(a.CRC == b.CRC || a.Kind == EventConnectionLost)
}

// toldBy reports whether another event says what this one says, and more: the trigger of a bump may be the answer to a copy.
func (e Event) toldBy(other Event) bool {
	return other.Kind == e.Kind && other.At == e.At && other.Topic == e.Topic && other.Partition == e.Partition && other.Copy > 0
}

// commits tells of the markers without which the copies in transactions would not count.
func (g *group) commits() []Event {
	var all []Event
	for _, one := range g.carried() {
		b, c := one.b, one.b.p.chains
		if !b.info.Transactional() || c == nil {
			continue
		}
		m, found := firstBehind(c.markersOf(c.producers.get(b.p.cluster, b.id.producer)), one.fate.offset)
		if !found || !m.commit {
			continue
		}
		e := Event{
			Kind: EventTransactionEnd, At: position(&m.seen), Offset: m.offset, Topic: b.p.topic, Partition: b.p.number,
			ProducerID: b.id.producer, ProducerEpoch: m.epoch, Acks: -1, LeaderID: -1, LeaderEpoch: -1, PreviousEpoch: -1, ReplicaID: -2,
		}
		if !slices.ContainsFunc(all, func(o Event) bool { return sameEvent(o, e) }) {
			all = append(all, e)
		}
	}
	slices.SortStableFunc(all, func(a, b Event) int { return cmp.Compare(a.Offset, b.Offset) })
	return all
}

// misfitEvent tells where the sequences of a partition stood: of the one to which a batch was sent by mistake, or of its own.
func (j *judgement) misfitEvent(cluster string, s *send) Event {
	kb := s.sent.Batch
	return Event{
		Kind: EventProduceRequest, At: position(&s.sent.Seen), Offset: NoOffset, Topic: j.c.topics.resolve(cluster, s.sent.Topic, s.at), Partition: s.sent.Partition,
		ProducerID: kb.ProducerID, ProducerEpoch: kb.ProducerEpoch, BaseSequence: kb.BaseSequence, LastSequence: kb.LastSequence(),
		RecordCount: kb.RecordCount, CRC: kb.CRC, HasBatch: true,
		Acks: s.sent.Acks, LeaderID: -1, LeaderEpoch: -1, PreviousEpoch: -1, ReplicaID: -2,
	}
}

func latest(all []Event) pcap.Timestamp {
	var to pcap.Timestamp
	for _, e := range all {
		to = max(to, e.At.Time)
	}
	return to
}

// leaderChanges lists the rises of the partition's leader epoch (or changes of its leader where epochs are unknown) within a
// time. What stale metadata says is left out.
func (p *partition) leaderChanges(from, to pcap.Timestamp) []Event {
	var all []Event
	for _, c := range p.rises() {
		if c.at.Time < from || c.at.Time > to {
			continue
		}
		all = append(all, Event{
			Kind: EventLeaderChange, At: c.at, Offset: NoOffset, Topic: p.topic, Partition: p.number, ProducerID: -1,
			Acks: -1, LeaderID: c.id, LeaderEpoch: c.epoch, PreviousEpoch: c.previous, ReplicaID: -2,
		})
	}
	return all
}

// rise is a change of leadership.
type rise struct {
	leaderSeen
	previous int32
}

func (p *partition) rises() []rise {
	if !p.risesKnown {
		p.changes, p.risesKnown = findRises(p.leaders), true
	}
	return p.changes
}

func findRises(leaders []leaderSeen) []rise {
	var all []rise
	top := leaderSeen{id: -1, epoch: -1}
	for _, l := range leaders {
		switch {
		case top.id < 0 && top.epoch < 0:
			top = l
		case l.epoch > top.epoch:
			if top.epoch >= 0 || l.id != top.id && l.id >= 0 && top.id >= 0 {
				all = append(all, rise{l, top.epoch})
			}
			top = l
		case l.epoch < 0 && top.epoch < 0 && l.id != top.id && l.id >= 0:
			all = append(all, rise{l, -1})
			top = l
		}
	}
	return all
}

func sortEvents(all []Event) {
	slices.SortStableFunc(all, func(a, b Event) int {
		return cmp.Or(cmp.Compare(a.At.Time, b.At.Time), cmp.Compare(a.At.Capture, b.At.Capture), cmp.Compare(a.At.Number, b.At.Number))
	})
}
