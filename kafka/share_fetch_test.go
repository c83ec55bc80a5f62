package kafka

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// shareFetchExchange: one partition with two batches, one that has moved to another leader, one with nothing.
func shareFetchExchange(t *testing.T, _ int16) exchange {
	records := append(testBatch(7078, 10), testBatch(7078, 12)...)
	group, message := "group-a", "moved"
	q := kmsg.NewPtrShareFetchRequest()
	q.GroupID = &group

	a := kmsg.NewPtrShareFetchResponse()
	topic := kmsg.NewShareFetchResponseTopic()
	topic.TopicID = testTopicID
	full := kmsg.NewShareFetchResponseTopicPartition()
	full.Records = records
	acquired := kmsg.NewShareFetchResponseTopicPartitionAcquiredRecord()
	acquired.FirstOffset, acquired.LastOffset, acquired.DeliveryCount = 10, 13, 2
	full.AcquiredRecords = append(full.AcquiredRecords, acquired)
	moved := kmsg.NewShareFetchResponseTopicPartition()
	moved.Partition, moved.ErrorCode, moved.ErrorMessage, moved.AcknowledgeErrorMessage = 1, 6, &message, &message
	moved.CurrentLeader.LeaderID, moved.CurrentLeader.LeaderEpoch = 3, 18
	empty := kmsg.NewShareFetchResponseTopicPartition()
	empty.Partition, empty.Records = 2, []byte{}
	topic.Partitions = append(topic.Partitions, full, moved, empty)
	a.Topics = append(a.Topics, topic)
	node := kmsg.NewShareFetchResponseNodeEndpoint()
	node.NodeID, node.Host, node.Port = 3, "broker-3", 40003
	a.NodeEndpoints = append(a.NodeEndpoints, node)

	where := Topic{ID: testTopicID}
	fetched := func(partition int32, code int16) *PartitionFetched {
		return &PartitionFetched{
			CorrelationID: 7, Topic: where, Partition: partition, ReplicaID: -1, Shared: true, FetchOffset: -1, ErrorCode: code,
			HighWatermark: -1, LastStableOffset: -1, LogStartOffset: -1,
		}
	}
	first := fetched(0, 0)
	return exchange{q, a, []Observation{
		first,
		&BatchFetched{PartitionFetched: first, Batch: header(t, records[:len(records)/2])},
		&BatchFetched{PartitionFetched: first, Batch: header(t, records[len(records)/2:])},
		fetched(1, 6),
		&LeaderNamed{Topic: where, Partition: 1, LeaderID: 3, LeaderEpoch: 18, Source: FromFetchAnswer},
		fetched(2, 0),
		&ClusterDescribed{Brokers: []Broker{{3, "broker-3", 40003}}},
	}}
}
