package kafka

import "github.com/twmb/franz-go/pkg/kmsg"

// readCreateTopicsAnswer emits the topics that were created (versions 0 to 7; with their ids in version 7).
func (c *conn) readCreateTopicsAnswer(m *message, p *pending) reading {
	var a kmsg.CreateTopicsResponse
	a.SetVersion(p.APIVersion)
	if !m.decode(&a) {
		return unread
	}
	for i := range a.Topics {
		if t := &a.Topics[i]; t.ErrorCode == 0 {
			c.topicNamed(m, Topic{Name: t.Topic, ID: t.TopicID})
		}
	}
	return fully
}
