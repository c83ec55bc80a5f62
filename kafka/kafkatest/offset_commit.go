package kafkatest

import "github.com/twmb/franz-go/pkg/kmsg"

// Committing is an OffsetCommit request that has been sent.
type Committing struct {
	Pending
	topic     string
	partition int32
}

// OffsetCommit commits one offset of a group (version 0–10; by topic id from version 10 on).
func (c *Conn) OffsetCommit(version int16, group, topic string, partition int32, offset int64) *Committing {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group, req.Generation, req.MemberID = version, group, 1, c.ClientID+"-1"
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic, t.TopicID = topic, c.scenario.TopicID(topic)
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Partition, p.Offset = partition, offset
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return &Committing{*c.Request(req), topic, partition}
}

// Answer acknowledges the commit.
func (o *Committing) Answer() {
	resp := kmsg.NewPtrOffsetCommitResponse()
	t := kmsg.NewOffsetCommitResponseTopic()
	t.Topic, t.TopicID = o.topic, o.conn.scenario.TopicID(o.topic)
	p := kmsg.NewOffsetCommitResponseTopicPartition()
	p.Partition = o.partition
	t.Partitions = append(t.Partitions, p)
	resp.Topics = append(resp.Topics, t)
	o.Respond(resp)
}
