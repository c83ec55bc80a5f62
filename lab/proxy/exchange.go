package proxy

import (
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// exchange is a request on its way, with the faults that befall it.
type exchange struct {
	*request
	forward message // what the broker gets; nil: nothing, all batches are refused
	delay   time.Duration
	swallow bool
	batches []*Batch
	refused *kmsg.ProduceResponse // the answer's part for refused batches, nil without any
}

// topics remembers the names of topic ids, from Metadata answers.
type topics struct {
	mu    sync.Mutex
	names map[[16]byte]string
}

func (t *topics) learn(m *kmsg.MetadataResponse) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, topic := range m.Topics {
		if topic.Topic != nil {
			t.names[topic.TopicID] = *topic.Topic
		}
	}
}

// name is the topic's name where the message has its id only.
func (t *topics) name(name string, id [16]byte) string {
	if name != "" {
		return name
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.names[id]
}

// produced enters the batches of a Produce request into the journal and takes refused ones out of what is forwarded.
func (p *Proxy) produced(x *exchange, r *kmsg.ProduceRequest, connection string, node int32) {
	whole := true
	var left []kmsg.ProduceRequestTopic
	for _, t := range r.Topics {
		var stay []kmsg.ProduceRequestTopicPartition
		for _, partition := range t.Partitions {
			b := &Batch{
				Connection: connection, Node: node, Version: x.version, Acks: r.Acks,
				Topic: p.topics.name(t.Topic, t.TopicID), Partition: partition.Partition, ProducerID: -1, Sequence: -1,
			}
			var raw kmsg.RecordBatch
			if raw.ReadFrom(partition.Records) == nil {
				b.ProducerID, b.ProducerEpoch, b.Sequence, b.Records, b.CRC = raw.ProducerID, raw.ProducerEpoch, raw.FirstSequence, raw.NumRecords, uint32(raw.CRC)
			}
			p.sent(b)
			x.batches = append(x.batches, b)
			if b.Rule != nil {
				x.delay = max(x.delay, b.Rule.Delay)
				x.swallow = x.swallow || b.Rule.Do == Swallow
			}
			if b.Rule != nil && b.Rule.Do == Refuse {
				whole = false
				x.refuse(r, t, b)
				continue
			}
			stay = append(stay, partition)
		}
		if len(stay) > 0 {
			t.Partitions = stay
			left = append(left, t)
		}
	}
	switch {
	case whole:
	case len(left) == 0:
		x.forward = nil
	default:
		r.Topics = left
		x.forward = x.reencode()
	}
}

// refuse adds the batch to the part of the answer that the proxy gives itself.
func (x *exchange) refuse(r *kmsg.ProduceRequest, t kmsg.ProduceRequestTopic, b *Batch) {
	if x.refused == nil {
		x.refused = r.ResponseKind().(*kmsg.ProduceResponse)
	}
	partition := kmsg.NewProduceResponseTopicPartition()
	partition.Partition, partition.ErrorCode = b.Partition, b.Rule.Error
	partition.BaseOffset, partition.LogAppendTime, partition.LogStartOffset = -1, -1, -1
	topic := kmsg.NewProduceResponseTopic()
	topic.Topic, topic.TopicID = t.Topic, t.TopicID
	topic.Partitions = append(topic.Partitions, partition)
	x.refused.Topics = append(x.refused.Topics, topic)
}

// answered gets the broker's answer and returns what the client is to be told.
func (x *exchange) answered(p *Proxy, broker net.Conn) (message, error) {
	if x.forward == nil {
		x.note(p, x.refused)
		return x.encode(x.refused), nil
	}
	m, err := readMessage(broker)
	if err != nil || x.body == nil {
		return m, err
	}
	switch x.body.(type) {
	case *kmsg.MetadataRequest:
		if response, err := x.answer(m); err == nil {
			p.topics.learn(response.(*kmsg.MetadataResponse))
		}
	case *kmsg.ProduceRequest:
		response, err := x.answer(m)
		if err != nil {
			return nil, err
		}
		produce := response.(*kmsg.ProduceResponse)
		if x.tamper(p, produce) {
			m = x.encode(produce)
		}
		x.note(p, produce)
	}
	return m, nil
}

// tamper works the rules on a broker's answer and reports whether that changed it.
func (x *exchange) tamper(p *Proxy, r *kmsg.ProduceResponse) (changed bool) {
	x.each(p, r, func(b *Batch, partition *kmsg.ProduceResponseTopicPartition) {
		if b.Rule != nil && b.Rule.Do == AnswerError && partition.ErrorCode == 0 {
			partition.ErrorCode = b.Rule.Error
			changed = true
		}
	})
	if x.refused != nil {
		r.Topics = append(r.Topics, x.refused.Topics...)
		changed = true
	}
	return changed
}

// note enters an answer into the journal; it counts once it has been sent.
func (x *exchange) note(p *Proxy, r *kmsg.ProduceResponse) {
	p.update(func() {
		x.each(p, r, func(b *Batch, partition *kmsg.ProduceResponseTopicPartition) {
			b.Error, b.Offset, b.AppendTime = partition.ErrorCode, partition.BaseOffset, partition.LogAppendTime
		})
	})
}

// each calls f for each partition of an answer with the batch that it answers.
func (x *exchange) each(p *Proxy, r *kmsg.ProduceResponse, f func(*Batch, *kmsg.ProduceResponseTopicPartition)) {
	for i := range r.Topics {
		t := &r.Topics[i]
		name := p.topics.name(t.Topic, t.TopicID)
		for j := range t.Partitions {
			for _, b := range x.batches {
				if b.Topic == name && b.Partition == t.Partitions[j].Partition {
					f(b, &t.Partitions[j])
				}
			}
		}
	}
}
