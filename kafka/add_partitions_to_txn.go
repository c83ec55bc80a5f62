package kafka

import "github.com/twmb/franz-go/pkg/kmsg"

// readAddPartitionsToTxnRequest emits the topics that transactions are about to write to (versions 0 to 5; of several
// transactions from version 4 on, KIP-890).
func (c *conn) readAddPartitionsToTxnRequest(m *message, p *pending) reading {
	var q kmsg.AddPartitionsToTxnRequest
	q.SetVersion(p.APIVersion)
	if !m.decode(&q) {
		return unread
	}
	for i := range q.Topics {
		c.topicNamed(m, Topic{Name: q.Topics[i].Topic})
	}
	for i := range q.Transactions {
		for j := range q.Transactions[i].Topics {
			c.topicNamed(m, Topic{Name: q.Transactions[i].Topics[j].Topic})
		}
	}
	return fully
}

// topicNamed emits a topic that is not said to be internal.
func (c *conn) topicNamed(m *message, topic Topic) {
	c.d.emit(&TopicNamed{Seen: m.seen(c), Topic: topic})
}
