package kafkatest

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Leader names the leader of one partition. A Leader of -1 says that there is none (error 5).
type Leader struct {
	Topic       string
	Partition   int32
	Leader      int32
	LeaderEpoch int32
}

// leaderNotAvailable is the error of a partition without a leader.
const leaderNotAvailable int16 = 5

// Described is a Metadata request that has been sent.
type Described struct{ Pending }

// Metadata asks for topics by name (version 0–13); without topics it asks for all.
func (c *Conn) Metadata(version int16, topics ...string) *Described {
	req := kmsg.NewPtrMetadataRequest()
	req.Version = version
	for _, name := range topics {
		topic := kmsg.NewMetadataRequestTopic()
		topic.Topic = &name
		req.Topics = append(req.Topics, topic)
	}
	return &Described{*c.Request(req)}
}

// Answer names the brokers of the scenario, its cluster id, and the leaders. Every broker is a replica of every partition.
func (d *Described) Answer(leaders ...Leader) {
	s := d.conn.scenario
	resp := kmsg.NewPtrMetadataResponse()
	resp.ClusterID, resp.ControllerID = &s.ClusterID, 1
	var replicas []int32
	for id := int32(1); id <= s.Brokers; id++ {
		replicas = append(replicas, id)
		address := s.Broker(id)
		broker := kmsg.NewMetadataResponseBroker()
		broker.NodeID, broker.Host, broker.Port = id, address.Addr().String(), int32(address.Port())
		resp.Brokers = append(resp.Brokers, broker)
	}
	for _, group := range byTopic(leaders, func(l Leader) string { return l.Topic }) {
		topic := kmsg.NewMetadataResponseTopic()
		topic.Topic, topic.TopicID = &group.topic, s.TopicID(group.topic)
		topic.IsInternal = strings.HasPrefix(group.topic, "__")
		for _, l := range group.items {
			partition := kmsg.NewMetadataResponseTopicPartition()
			partition.Partition, partition.Leader, partition.LeaderEpoch = l.Partition, l.Leader, l.LeaderEpoch
			partition.Replicas, partition.ISR = replicas, replicas
			if l.Leader < 0 {
				partition.ErrorCode = leaderNotAvailable
			}
			topic.Partitions = append(topic.Partitions, partition)
		}
		resp.Topics = append(resp.Topics, topic)
	}
	d.Respond(resp)
}
