package kafka

import "github.com/twmb/franz-go/pkg/kmsg"

// readOffsetForLeaderEpochRequest keeps the epochs that are asked for (versions 0 to 4, KIP-101 and KIP-320).
func (c *conn) readOffsetForLeaderEpochRequest(m *message, p *pending) reading {
	var q kmsg.OffsetForLeaderEpochRequest
	q.SetVersion(p.APIVersion)
	if !m.decode(&q) {
		return unread
	}
	asked := map[fetchKey]int32{}
	for _, t := range q.Topics {
		for _, part := range t.Partitions {
			asked[fetchKey{Topic{Name: t.Topic}, part.Partition}] = part.LeaderEpoch
		}
	}
	p.asked = asked
	return fully
}

// readOffsetForLeaderEpochAnswer emits where the epochs end.
func (c *conn) readOffsetForLeaderEpochAnswer(m *message, p *pending) reading {
	var a kmsg.OffsetForLeaderEpochResponse
	a.SetVersion(p.APIVersion)
	if !m.decode(&a) {
		return unread
	}
	asked, _ := p.asked.(map[fetchKey]int32)
	for _, t := range a.Topics {
		for _, part := range t.Partitions {
			o := &EpochEnd{
				Seen: m.seen(c), Topic: Topic{Name: t.Topic}, Partition: part.Partition, AskedEpoch: -1,
				LeaderEpoch: part.LeaderEpoch, EndOffset: part.EndOffset, ErrorCode: part.ErrorCode,
			}
			if epoch, ok := asked[fetchKey{o.Topic, o.Partition}]; ok {
				o.AskedEpoch = epoch
			}
			c.d.emit(o)
		}
	}
	return fully
}
