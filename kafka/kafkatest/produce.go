package kafkatest

import "github.com/twmb/franz-go/pkg/kmsg"

// produceTimeoutMillis is what the requests ask for, the default of most clients.
const produceTimeoutMillis = 30000

// Produced is a Produce request that has been sent.
type Produced struct {
	Pending
	batches []Batch
}

// Produce sends one batch per partition in one request: version 0–13, acks -1, 0 or 1. From version 13 on topics are named by
// their id only. The batches are in the order of the answers that Answer takes.
func (c *Conn) Produce(version, acks int16, batches ...Batch) *Produced {
	return &Produced{Pending: *c.Request(c.NewProduce(version, acks, batches...)), batches: batches}
}

// NewProduce builds the request and does not send it.
func (c *Conn) NewProduce(version, acks int16, batches ...Batch) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = version, acks, produceTimeoutMillis
	if c.TransactionalID != "" {
		req.TransactionID = &c.TransactionalID
	}
	for _, group := range byTopic(batches, func(b Batch) string { return b.Topic }) {
		topic := kmsg.NewProduceRequestTopic()
		topic.Topic, topic.TopicID = group.topic, c.scenario.TopicID(group.topic)
		for _, b := range group.items {
			partition := kmsg.NewProduceRequestTopicPartition()
			partition.Partition, partition.Records = b.Partition, b.Encode()
			topic.Partitions = append(topic.Partitions, partition)
		}
		req.Topics = append(req.Topics, topic)
	}
	return req
}

// Answer is what a broker answers for one batch. OK, Deduplicated, Refused and AppendedBut make the answers that brokers give.
type Answer struct {
	ErrorCode     int16
	BaseOffset    int64 // -1 none
	LogAppendTime int64 // ms, -1 none
	Leader        int32 // the current leader as v10+ names it after error 6; -1 none
	LeaderEpoch   int32
}

// OK answers a batch that was appended at base on a topic with CreateTime.
func OK(base int64) Answer {
	return Answer{BaseOffset: base, LogAppendTime: -1, Leader: -1, LeaderEpoch: -1}
}

// Deduplicated answers a batch that the leader recognised as one it has: the original offset, and as log append time the
// largest timestamp of the stored batch, on a topic with CreateTime too.
func Deduplicated(stored Batch) Answer {
	a := OK(stored.BaseOffset)
	a.LogAppendTime = stored.MaxTimestamp()
	return a
}

// Refused answers a batch that failed before the append: there is no offset.
func Refused(code int16) Answer {
	return Answer{ErrorCode: code, BaseOffset: -1, LogAppendTime: -1, Leader: -1, LeaderEpoch: -1}
}

// AppendedBut answers a batch that was appended at base and could not be acknowledged: errors 6, 7 and 20 of acks=all.
func AppendedBut(code int16, base int64) Answer {
	a := Refused(code)
	a.BaseOffset = base
	return a
}

// Timed returns a as it stands on a topic with LogAppendTime.
func (a Answer) Timed(logAppendTime int64) Answer {
	a.LogAppendTime = logAppendTime
	return a
}

// NamingLeader returns a with the hint that brokers give from version 10 on (KIP-951).
func (a Answer) NamingLeader(leader, epoch int32) Answer {
	a.Leader, a.LeaderEpoch = leader, epoch
	return a
}

// Answer sends the answers to the batches of the request, in their order.
func (p *Produced) Answer(answers ...Answer) {
	resp := kmsg.NewPtrProduceResponse()
	type answered struct {
		batch  Batch
		answer Answer
	}
	var all []answered
	for i, b := range p.batches {
		all = append(all, answered{b, answers[i]})
	}
	hinted := make(map[int32]bool)
	for _, group := range byTopic(all, func(a answered) string { return a.batch.Topic }) {
		topic := kmsg.NewProduceResponseTopic()
		topic.Topic, topic.TopicID = group.topic, p.conn.scenario.TopicID(group.topic)
		for _, a := range group.items {
			partition := kmsg.NewProduceResponseTopicPartition()
			partition.Partition = a.batch.Partition
			partition.ErrorCode, partition.BaseOffset = a.answer.ErrorCode, a.answer.BaseOffset
			partition.LogAppendTime = a.answer.LogAppendTime
			if a.answer.ErrorCode == 0 {
				partition.LogStartOffset = 0
			}
			partition.CurrentLeader.LeaderID, partition.CurrentLeader.LeaderEpoch = a.answer.Leader, a.answer.LeaderEpoch
			if leader := a.answer.Leader; leader >= 0 && !hinted[leader] {
				hinted[leader] = true
				resp.Brokers = append(resp.Brokers, p.conn.scenario.endpoint(leader))
			}
			topic.Partitions = append(topic.Partitions, partition)
		}
		resp.Topics = append(resp.Topics, topic)
	}
	p.Respond(resp)
}

// topicGroup is the items of one topic, as requests and answers nest them.
type topicGroup[T any] struct {
	topic string
	items []T
}

// byTopic groups items by topic, topics in the order of their first item.
func byTopic[T any](items []T, topic func(T) string) []topicGroup[T] {
	var groups []topicGroup[T]
	at := make(map[string]int)
	for _, item := range items {
		name := topic(item)
		i, ok := at[name]
		if !ok {
			i = len(groups)
			at[name] = i
			groups = append(groups, topicGroup[T]{topic: name})
		}
		groups[i].items = append(groups[i].items, item)
	}
	return groups
}
