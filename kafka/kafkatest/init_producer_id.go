package kafkatest

import "github.com/twmb/franz-go/pkg/kmsg"

// Granting is an InitProducerId request that has been sent.
type Granting struct{ Pending }

// InitProducerID asks for a producer id (version 0–5). Before version 3 and on a fresh start the client names no id: -1, -1.
func (c *Conn) InitProducerID(version int16, producerID int64, epoch int16) *Granting {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.Version = version
	req.TransactionTimeoutMillis = -1
	req.ProducerID, req.ProducerEpoch = producerID, epoch
	if c.TransactionalID != "" {
		req.TransactionalID, req.TransactionTimeoutMillis = &c.TransactionalID, 60000
	}
	return &Granting{*c.Request(req)}
}

// Answer grants an id and an epoch.
func (g *Granting) Answer(producerID int64, epoch int16) {
	resp := kmsg.NewPtrInitProducerIDResponse()
	resp.ProducerID, resp.ProducerEpoch = producerID, epoch
	g.Respond(resp)
}
