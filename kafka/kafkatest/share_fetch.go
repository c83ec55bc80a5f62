package kafkatest

import "github.com/twmb/franz-go/pkg/kmsg"

// SharedFrom is a ShareFetch request that has been sent.
type SharedFrom struct {
	Pending
	topic     string
	partition int32
}

// ShareFetch asks, as a member of a share group (KIP-932), for whatever records of one partition it may have: version 0–2.
func (c *Conn) ShareFetch(version int16, group, topic string, partition int32) *SharedFrom {
	req := kmsg.NewPtrShareFetchRequest()
	req.Version, req.GroupID, req.MemberID = version, &group, &c.ClientID
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = fetchMaxWaitMillis, 1, fetchMaxBytes
	t, p := kmsg.NewShareFetchRequestTopic(), kmsg.NewShareFetchRequestTopicPartition()
	t.TopicID, p.Partition = c.scenario.TopicID(topic), partition
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	return &SharedFrom{*c.Request(req), topic, partition}
}

// Answer gives the member all records of the batches, as stored, for the given time.
func (f *SharedFrom) Answer(deliveries int16, batches ...Batch) {
	resp := kmsg.NewPtrShareFetchResponse()
	t, p := kmsg.NewShareFetchResponseTopic(), kmsg.NewShareFetchResponseTopicPartition()
	t.TopicID, p.Partition, p.Records = f.conn.scenario.TopicID(f.topic), f.partition, []byte{}
	for _, b := range batches {
		p.Records = append(p.Records, b.Encode()...)
		acquired := kmsg.NewShareFetchResponseTopicPartitionAcquiredRecord()
		acquired.FirstOffset, acquired.LastOffset, acquired.DeliveryCount = b.BaseOffset, b.LastOffset(), deliveries
		p.AcquiredRecords = append(p.AcquiredRecords, acquired)
	}
	t.Partitions = append(t.Partitions, p)
	resp.Topics = append(resp.Topics, t)
	f.Respond(resp)
}
