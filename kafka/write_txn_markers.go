package kafka

import "github.com/twmb/franz-go/pkg/kmsg"

// readWriteTxnMarkersRequest emits each marker that a coordinator sends to a leader (versions 0 to 2).
func (c *conn) readWriteTxnMarkersRequest(m *message, p *pending) reading {
	var q kmsg.WriteTxnMarkersRequest
	q.SetVersion(p.APIVersion)
	if !m.decode(&q) {
		return unread
	}
	for i := range q.Markers {
		marker := &q.Markers[i]
		c.d.emit(&TransactionEnding{
			Seen: m.seen(c), Request: p.Request, ProducerID: marker.ProducerID, ProducerEpoch: marker.ProducerEpoch,
			Commit: marker.Committed, Marker: true,
		})
	}
	return fully
}
