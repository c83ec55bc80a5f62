package kafka

import "github.com/twmb/franz-go/pkg/kmsg"

// readDeleteTopicsAnswer emits the topics that were deleted (versions 0 to 6; with their ids in version 6).
func (c *conn) readDeleteTopicsAnswer(m *message, p *pending) reading {
	var a kmsg.DeleteTopicsResponse
	a.SetVersion(p.APIVersion)
	if !m.decode(&a) {
		return unread
	}
	for i := range a.Topics {
		t := &a.Topics[i]
		if t.ErrorCode != 0 {
			continue
		}
		topic := Topic{ID: t.TopicID}
		if t.Topic != nil {
			topic.Name = *t.Topic
		}
		c.d.emit(&TopicDeleted{Seen: m.seen(c), Topic: topic})
	}
	return fully
}
