package kafka

import "github.com/twmb/franz-go/pkg/kmsg"

// readOffsetCommitRequest emits the offsets that a group commits (versions 0 to 10; by topic id in version 10).
func (c *conn) readOffsetCommitRequest(m *message, p *pending) reading {
	var q kmsg.OffsetCommitRequest
	q.SetVersion(p.APIVersion)
	if !m.decode(&q) {
		return unread
	}
	for i := range q.Topics {
		t := &q.Topics[i]
		for j := range t.Partitions {
			c.d.emit(&OffsetCommitted{
				Seen: m.seen(c), Group: q.Group, Topic: Topic{Name: t.Topic, ID: t.TopicID},
				Partition: t.Partitions[j].Partition, Offset: t.Partitions[j].Offset,
			})
		}
	}
	return fully
}
