package evidence

import (
	"strconv"

	"github.com/kdupscan/kdupscan/analysis"
	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
)

// facts are what the findings speak of.
type facts struct {
	events    map[frameKey][]event
	topics    map[kafka.Topic]bool // each with name only and with id only
	places    map[place]bool
	producers map[int64]bool
	from, to  pcap.Timestamp
}

// place is a partition, of a topic as in facts.topics.
type place struct {
	topic     kafka.Topic
	partition int32
}

// event is a step of a finding's story.
type event struct {
	analysis.Event
	remark remark
}

func factsOf(findings []*analysis.Finding) facts {
	f := facts{
		events: make(map[frameKey][]event), topics: make(map[kafka.Topic]bool), places: make(map[place]bool),
		producers: make(map[int64]bool),
	}
	for i, finding := range findings {
		f.add(i+1, finding)
	}
	return f
}

func (f *facts) add(number int, finding *analysis.Finding) {
	name := "F" + strconv.Itoa(number)
	f.place(finding.Topic, finding.Partition)
	for _, c := range finding.Copies {
		f.place(c.Topic, c.Partition)
		for _, b := range c.Batches {
			f.producer(b.ProducerID)
		}
		for i := range c.Evidence {
			f.event(name, &c.Evidence[i])
		}
	}
	for i := range finding.Timeline {
		f.event(name, &finding.Timeline[i])
	}
	if b := finding.Bump; b != nil {
		f.producer(b.ProducerID)
		f.producer(b.NewProducerID)
		f.position(b.FirstSeen, remark{name, wordless(bumpWords(b))}, analysis.EventEpochBump)
		if t := b.Trigger; t != nil {
			f.position(t.At, remark{name + " trigger", triggerWords(t)}, "")
			f.place(t.Topic, t.Partition)
		}
	}
}

func (f *facts) place(t kafka.Topic, partition int32) {
	for _, one := range []kafka.Topic{{Name: t.Name}, {ID: t.ID}} {
		if one != (kafka.Topic{}) {
			f.topics[one] = true
			f.places[place{one, partition}] = true
		}
	}
}

func (f *facts) producer(id int64) {
	if id >= 0 {
		f.producers[id] = true
	}
}

// position adds a frame of which only its connection is known, unless the story has a step of that kind there.
func (f *facts) position(at analysis.Position, r remark, kind analysis.EventKind) {
	key := keyOf(at.Ref)
	for _, have := range f.events[key] {
		if have.Kind == kind {
			return
		}
	}
	if !at.IsZero() {
		f.events[key] = append(f.events[key], event{analysis.Event{At: at}, r})
	}
}

func (f *facts) event(name string, e *analysis.Event) {
	if e.At.IsZero() {
		return
	}
	if f.to == 0 {
		f.from = e.At.Time
	}
	f.from, f.to = min(f.from, e.At.Time), max(f.to, e.At.Time)
	key := keyOf(e.At.Ref)
	for _, have := range f.events[key] {
		if have.Event == *e {
			return
		}
	}
	f.events[key] = append(f.events[key], event{*e, eventRemark(name, e)})
}

// isIn reports whether a message that ends in the event's frame is the one that the event speaks of.
func (e *event) isIn(m *kafka.Message) bool {
	if e.At.Client != m.Link.Client || e.At.Server != m.Link.Server {
		return false
	}
	if e.HasCorrelation && e.CorrelationID != m.CorrelationID {
		return false
	}
	switch e.Kind {
	case analysis.EventProduceRequest:
		return m.FromClient && m.APIKey == apiProduce
	case analysis.EventProduceResponse:
		return !m.FromClient && m.APIKey == apiProduce
	case analysis.EventFetchResponse:
		return !m.FromClient && (m.APIKey == apiFetch || m.APIKey == apiShareFetch)
	case analysis.EventInitProducerID:
		return m.APIKey == apiInitProducerID
	}
	return true
}

// needs returns the least selection that an observation belongs to, and what to say of it.
func (f *facts) needs(o kafka.Observation) (Selection, remark) {
	at := o.Where().At.Time
	switch o := o.(type) {
	case *kafka.TopicNamed:
		if f.about(o.Topic) {
			return Messages, remark{"", topicWords(o.Topic)}
		}
	case *kafka.ClientNamed:
		if o.SoftwareName != "" {
			return Messages, remark{"", wordless("the client names its software")}
		}
	case *kafka.ProducerGranted:
		if f.producers[o.ProducerID] || f.producers[o.OldProducerID] {
			return Messages, remark{"", wordless(grantWords(o))}
		}
	case *kafka.TransactionEnding:
		return f.ifProducer(o.ProducerID), remark{}
	case *kafka.TransactionEnded:
		return f.ifProducer(o.ProducerID), remark{}
	case *kafka.LeaderNamed:
		if f.at(o.Topic, o.Partition) && at >= f.from && at <= f.to {
			return Messages, remark{}
		}
		return f.ifAt(o.Topic, o.Partition), remark{}
	case *kafka.BatchSent:
		return min(f.ifAt(o.Topic, o.Partition), f.batch(o.Batch)), remark{}
	case *kafka.BatchAnswered:
		return f.ifAt(o.Topic, o.Partition), remark{}
	case *kafka.PartitionFetched:
		return f.ifAt(o.Topic, o.Partition), remark{}
	case *kafka.BatchFetched:
		return f.ifAt(o.Topic, o.Partition), remark{}
	case *kafka.OffsetListed:
		return f.ifAt(o.Topic, o.Partition), remark{}
	case *kafka.EpochEnd:
		return f.ifAt(o.Topic, o.Partition), remark{}
	case *kafka.OffsetCommitted:
		return f.ifAt(o.Topic, o.Partition), remark{}
	case *kafka.TopicDeleted:
		if f.about(o.Topic) {
			return Partitions, remark{}
		}
	}
	return nothing, remark{}
}

func (f *facts) about(t kafka.Topic) bool {
	return f.topics[kafka.Topic{Name: t.Name}] || f.topics[kafka.Topic{ID: t.ID}]
}

func (f *facts) at(t kafka.Topic, partition int32) bool {
	return f.places[place{kafka.Topic{Name: t.Name}, partition}] || f.places[place{kafka.Topic{ID: t.ID}, partition}]
}

func (f *facts) ifAt(t kafka.Topic, partition int32) Selection {
	if f.at(t, partition) {
		return Partitions
	}
	return nothing
}

func (f *facts) ifProducer(id int64) Selection {
	if f.producers[id] {
		return Messages
	}
	return nothing
}

func (f *facts) batch(b *kafka.Batch) Selection {
	if f.producers[b.ProducerID] {
		return Partitions
	}
	return nothing
}
