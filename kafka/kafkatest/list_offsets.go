package kafkatest

import "github.com/twmb/franz-go/pkg/kmsg"

// Listing is a ListOffsets request that has been sent.
type Listing struct {
	Pending
	topic     string
	partition int32
}

// ListOffsets asks for one offset of a partition (version 1–11): timestamp -1 the latest, -2 the earliest.
func (c *Conn) ListOffsets(version int16, topic string, partition int32, timestamp int64) *Listing {
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version, req.ReplicaID = version, c.ReplicaID
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = topic
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Partition, p.Timestamp, p.CurrentLeaderEpoch = partition, timestamp, -1
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return &Listing{*c.Request(req), topic, partition}
}

// Answer gives the offset and the leader epoch of its record.
func (l *Listing) Answer(offset int64, leaderEpoch int32) {
	resp := kmsg.NewPtrListOffsetsResponse()
	t := kmsg.NewListOffsetsResponseTopic()
	t.Topic = l.topic
	p := kmsg.NewListOffsetsResponseTopicPartition()
	p.Partition, p.Timestamp, p.Offset, p.LeaderEpoch = l.partition, -1, offset, leaderEpoch
	t.Partitions = append(t.Partitions, p)
	resp.Topics = append(resp.Topics, t)
	l.Respond(resp)
}
