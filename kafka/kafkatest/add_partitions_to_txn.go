package kafkatest

import "github.com/twmb/franz-go/pkg/kmsg"

// Adding is an AddPartitionsToTxn request that has been sent.
type Adding struct {
	Pending
	topic     string
	partition int32
}

// AddPartitionsToTxn adds a partition to the transaction of Conn.TransactionalID, as clients do (version 0–3).
func (c *Conn) AddPartitionsToTxn(version int16, producerID int64, epoch int16, topic string, partition int32) *Adding {
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.Version, req.TransactionalID = version, c.TransactionalID
	req.ProducerID, req.ProducerEpoch = producerID, epoch
	t := kmsg.NewAddPartitionsToTxnRequestTopic()
	t.Topic, t.Partitions = topic, []int32{partition}
	req.Topics = append(req.Topics, t)
	return &Adding{*c.Request(req), topic, partition}
}

// Answer says that the partition is added.
func (a *Adding) Answer() {
	resp := kmsg.NewPtrAddPartitionsToTxnResponse()
	topic := kmsg.NewAddPartitionsToTxnResponseTopic()
	topic.Topic = a.topic
	partition := kmsg.NewAddPartitionsToTxnResponseTopicPartition()
	partition.Partition = a.partition
	topic.Partitions = append(topic.Partitions, partition)
	resp.Topics = append(resp.Topics, topic)
	a.Respond(resp)
}
