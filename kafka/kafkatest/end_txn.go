package kafkatest

import "github.com/twmb/franz-go/pkg/kmsg"

// Ending is an EndTxn request that has been sent.
type Ending struct{ Pending }

// EndTxn ends the transaction of Conn.TransactionalID (version 0–5).
func (c *Conn) EndTxn(version int16, producerID int64, epoch int16, commit bool) *Ending {
	req := kmsg.NewPtrEndTxnRequest()
	req.Version, req.TransactionalID = version, c.TransactionalID
	req.ProducerID, req.ProducerEpoch, req.Commit = producerID, epoch, commit
	return &Ending{*c.Request(req)}
}

// Answer ends it. From version 5 on the answer carries the identity to go on with (KIP-890); before, both are -1.
func (e *Ending) Answer(producerID int64, epoch int16) {
	resp := kmsg.NewPtrEndTxnResponse()
	resp.ProducerID, resp.ProducerEpoch = producerID, epoch
	e.Respond(resp)
}

// Refuse ends it with an error: the transaction goes on as it was.
func (e *Ending) Refuse(code int16) {
	resp := kmsg.NewPtrEndTxnResponse()
	resp.ErrorCode = code
	e.Respond(resp)
}

// WritingMarkers is a WriteTxnMarkers request that has been sent.
type WritingMarkers struct {
	Pending
	marker Batch
}

// WriteTxnMarkers is what the coordinator sends to the leader of a partition (version 0–2) so that it writes the marker.
func (c *Conn) WriteTxnMarkers(version int16, marker Batch, commit bool) *WritingMarkers {
	req := kmsg.NewPtrWriteTxnMarkersRequest()
	req.Version = version
	m := kmsg.NewWriteTxnMarkersRequestMarker()
	m.ProducerID, m.ProducerEpoch, m.Committed = marker.ProducerID, marker.ProducerEpoch, commit
	topic := kmsg.NewWriteTxnMarkersRequestMarkerTopic()
	topic.Topic, topic.Partitions = marker.Topic, []int32{marker.Partition}
	m.Topics = append(m.Topics, topic)
	req.Markers = append(req.Markers, m)
	return &WritingMarkers{*c.Request(req), marker}
}

// Answer says that the marker is written.
func (w *WritingMarkers) Answer() {
	resp := kmsg.NewPtrWriteTxnMarkersResponse()
	m := kmsg.NewWriteTxnMarkersResponseMarker()
	m.ProducerID = w.marker.ProducerID
	topic := kmsg.NewWriteTxnMarkersResponseMarkerTopic()
	topic.Topic = w.marker.Topic
	partition := kmsg.NewWriteTxnMarkersResponseMarkerTopicPartition()
	partition.Partition = w.marker.Partition
	topic.Partitions = append(topic.Partitions, partition)
	m.Topics = append(m.Topics, topic)
	resp.Markers = append(resp.Markers, m)
	w.Respond(resp)
}
