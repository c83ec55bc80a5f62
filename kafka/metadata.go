package kafka

import "github.com/twmb/franz-go/pkg/kmsg"

// readMetadataAnswer emits the cluster, its topics and their leaders (versions 0 to 13).
func (c *conn) readMetadataAnswer(m *message, p *pending) reading {
	var a kmsg.MetadataResponse
	a.SetVersion(p.APIVersion)
	if !m.decode(&a) {
		return unread
	}
	cluster := &ClusterDescribed{Seen: m.seen(c), Brokers: make([]Broker, len(a.Brokers))}
	for i, b := range a.Brokers {
		cluster.Brokers[i] = Broker{b.NodeID, b.Host, b.Port}
	}
	if a.ClusterID != nil {
		cluster.ClusterID = *a.ClusterID
	}
	c.d.emit(cluster)
	for i := range a.Topics {
		c.readMetadataTopic(m, &a.Topics[i])
	}
	return fully
}

func (c *conn) readMetadataTopic(m *message, t *kmsg.MetadataResponseTopic) {
	topic := Topic{ID: t.TopicID}
	if t.Topic != nil {
		topic.Name = *t.Topic
	}
	if t.ErrorCode == 0 || topic.ID != [16]byte{} {
		c.d.emit(&TopicNamed{Seen: m.seen(c), Topic: topic, Internal: t.IsInternal})
	}
	for _, p := range t.Partitions {
		c.leaderNamed(m, topic, p.Partition, leaderHint{p.Leader, p.LeaderEpoch}, FromMetadata)
	}
}
