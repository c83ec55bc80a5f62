package kafkatest

import "github.com/twmb/franz-go/pkg/kmsg"

// EpochAsked is an OffsetForLeaderEpoch request that has been sent.
type EpochAsked struct {
	Pending
	topic     string
	partition int32
}

// OffsetForLeaderEpoch asks where the records of a leader epoch end (version 0–4).
func (c *Conn) OffsetForLeaderEpoch(version int16, topic string, partition, leaderEpoch int32) *EpochAsked {
	req := kmsg.NewPtrOffsetForLeaderEpochRequest()
	req.Version, req.ReplicaID = version, c.ReplicaID
	t := kmsg.NewOffsetForLeaderEpochRequestTopic()
	t.Topic = topic
	p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
	p.Partition, p.CurrentLeaderEpoch, p.LeaderEpoch = partition, -1, leaderEpoch
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return &EpochAsked{*c.Request(req), topic, partition}
}

// Answer says that the records of leaderEpoch end before endOffset.
func (e *EpochAsked) Answer(leaderEpoch int32, endOffset int64) {
	resp := kmsg.NewPtrOffsetForLeaderEpochResponse()
	t := kmsg.NewOffsetForLeaderEpochResponseTopic()
	t.Topic = e.topic
	p := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
	p.Partition, p.LeaderEpoch, p.EndOffset = e.partition, leaderEpoch, endOffset
	t.Partitions = append(t.Partitions, p)
	resp.Topics = append(resp.Topics, t)
	e.Respond(resp)
}
