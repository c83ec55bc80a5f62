package kafka

import "github.com/twmb/franz-go/pkg/kmsg"

// readEndTxnRequest emits that a transaction is to end (versions 0 to 5).
func (c *conn) readEndTxnRequest(m *message, p *pending) reading {
	var q kmsg.EndTxnRequest
	q.SetVersion(p.APIVersion)
	if !m.decode(&q) {
		return unread
	}
	o := &TransactionEnding{
		Seen: m.seen(c), Request: p.Request, TransactionalID: q.TransactionalID, ProducerID: q.ProducerID,
		ProducerEpoch: q.ProducerEpoch, Commit: q.Commit,
	}
	p.asked = o
	c.d.emit(o)
	return fully
}

// readEndTxnAnswer emits the answer, with the new epoch that version 5 gives (KIP-890).
func (c *conn) readEndTxnAnswer(m *message, p *pending) reading {
	var a kmsg.EndTxnResponse
	a.SetVersion(p.APIVersion)
	ending, ok := p.asked.(*TransactionEnding)
	if !m.decode(&a) || !ok {
		return unread
	}
	o := &TransactionEnded{
		TransactionEnding: ending, Answer: m.seen(c), ErrorCode: a.ErrorCode, NewProducerID: -1, NewProducerEpoch: -1,
	}
	if p.APIVersion >= 5 {
		o.NewProducerID, o.NewProducerEpoch = a.ProducerID, a.ProducerEpoch
	}
	c.d.emit(o)
	return fully
}
