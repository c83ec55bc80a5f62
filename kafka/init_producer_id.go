package kafka

import "github.com/twmb/franz-go/pkg/kmsg"

// readInitProducerIDRequest keeps who asks for a producer id (versions 0 to 5; its old id from version 3 on, KIP-360).
func (c *conn) readInitProducerIDRequest(m *message, p *pending) reading {
	var q kmsg.InitProducerIDRequest
	q.SetVersion(p.APIVersion)
	if !m.decode(&q) {
		return unread
	}
	p.asked = &q
	return fully
}

// readInitProducerIDAnswer emits the exchange.
func (c *conn) readInitProducerIDAnswer(m *message, p *pending) reading {
	var a kmsg.InitProducerIDResponse
	a.SetVersion(p.APIVersion)
	if !m.decode(&a) {
		return unread
	}
	o := &ProducerGranted{
		Seen: m.seen(c), Request: p.Request, OldProducerID: -1, OldProducerEpoch: -1,
		ErrorCode: a.ErrorCode, ProducerID: a.ProducerID, ProducerEpoch: a.ProducerEpoch,
	}
	if q, ok := p.asked.(*kmsg.InitProducerIDRequest); ok {
		o.TransactionalID = q.TransactionalID
		o.OldProducerID, o.OldProducerEpoch = q.ProducerID, q.ProducerEpoch
	}
	c.d.emit(o)
	return fully
}
