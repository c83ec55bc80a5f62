package kafka

import "github.com/twmb/franz-go/pkg/kmsg"

// readListOffsetsRequest keeps the timestamps that are asked for (versions 0 to 11).
func (c *conn) readListOffsetsRequest(m *message, p *pending) reading {
	var q kmsg.ListOffsetsRequest
	q.SetVersion(p.APIVersion)
	if !m.decode(&q) {
		return unread
	}
	asked := map[fetchKey]int64{}
	for _, t := range q.Topics {
		for _, part := range t.Partitions {
			asked[fetchKey{Topic{Name: t.Topic}, part.Partition}] = part.Timestamp
		}
	}
	p.asked = asked
	return fully
}

// readListOffsetsAnswer emits the offsets found. Version 0 lists several, the newest first. Where the request could not be
// read the timestamp asked for is unknown, and nothing is emitted.
func (c *conn) readListOffsetsAnswer(m *message, p *pending) reading {
	var a kmsg.ListOffsetsResponse
	a.SetVersion(p.APIVersion)
	asked, ok := p.asked.(map[fetchKey]int64)
	if !m.decode(&a) || !ok {
		return unread
	}
	for _, t := range a.Topics {
		for _, part := range t.Partitions {
			timestamp, ok := asked[fetchKey{Topic{Name: t.Topic}, part.Partition}]
			if !ok {
				continue
			}
			o := &OffsetListed{
				Seen: m.seen(c), Topic: Topic{Name: t.Topic}, Partition: part.Partition, Asked: timestamp,
				Offset: part.Offset, LeaderEpoch: part.LeaderEpoch, ErrorCode: part.ErrorCode,
			}
			if p.APIVersion == 0 {
				o.Offset = -1
				if len(part.OldStyleOffsets) > 0 {
					o.Offset = part.OldStyleOffsets[0]
				}
			}
			c.d.emit(o)
		}
	}
	return fully
}
