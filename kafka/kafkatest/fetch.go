package kafkatest

import "github.com/twmb/franz-go/pkg/kmsg"

// What the fetch requests ask for, the defaults of most clients.
const (
	fetchMaxWaitMillis     = 500
	fetchMaxBytes          = 50 << 20
	fetchPartitionMaxBytes = 1 << 20
)

// From names a partition to fetch and the offset to begin at.
type From struct {
	Topic     string
	Partition int32
	Offset    int64
	// LeaderEpoch is the leader epoch that the reader knows (v9+); 0 says that it knows none.
	LeaderEpoch int32
}

// FetchedFrom is a Fetch request that has been sent.
type FetchedFrom struct {
	Pending
	from []From
}

// Fetch asks for records: version 0–18, from version 13 on with topic ids only. Conn.ReplicaID and Conn.ReadCommitted say who
// asks. The requests use no fetch session.
func (c *Conn) Fetch(version int16, from ...From) *FetchedFrom {
	req := kmsg.NewPtrFetchRequest()
	req.Version = version
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = fetchMaxWaitMillis, 1, fetchMaxBytes
	req.SessionEpoch = -1
	req.ReplicaID = c.ReplicaID
	if version >= 15 && c.ReplicaID >= 0 {
		req.ReplicaID, req.ReplicaState.ID = -1, c.ReplicaID
	}
	if c.ReadCommitted {
		req.IsolationLevel = 1
	}
	for _, group := range byTopic(from, func(f From) string { return f.Topic }) {
		topic := kmsg.NewFetchRequestTopic()
		topic.Topic, topic.TopicID = group.topic, c.scenario.TopicID(group.topic)
		for _, f := range group.items {
			partition := kmsg.NewFetchRequestTopicPartition()
			partition.Partition, partition.FetchOffset = f.Partition, f.Offset
			if f.LeaderEpoch != 0 {
				partition.CurrentLeaderEpoch = f.LeaderEpoch
			}
			partition.PartitionMaxBytes = fetchPartitionMaxBytes
			topic.Partitions = append(topic.Partitions, partition)
		}
		req.Topics = append(req.Topics, topic)
	}
	return &FetchedFrom{Pending: *c.Request(req), from: from}
}

// Data is the answer for one partition.
type Data struct {
	Batches        []Batch // as stored, see Batch.At
	HighWatermark  int64
	LogStartOffset int64
	ErrorCode      int16
	// CutTo, where not 0, is the length to which the records of the partition are cut, as brokers cut them at the byte limit.
	CutTo int
	// Aborted lists aborted transactions for readers with read_committed.
	Aborted []Aborted
	// OpenFrom, where not 0, is the first offset of an open transaction: the last stable offset.
	OpenFrom int64
	// Leader and LeaderEpoch name another leader after an error (v12+), where Leader is not 0.
	Leader, LeaderEpoch int32
	// DivergingEpoch and DivergingEnd, where the latter is not 0, say where that leader epoch ends in the leader's log (v12+, KIP-595).
	DivergingEpoch int32
	DivergingEnd   int64
}

// Aborted names an aborted transaction by its producer and the offset of its first record.
type Aborted struct{ ProducerID, FirstOffset int64 }

// Stored is the usual answer: batches, with everything up to the end of the last one replicated.
func Stored(batches ...Batch) Data {
	d := Data{Batches: batches}
	if n := len(batches); n > 0 {
		d.HighWatermark = batches[n-1].LastOffset() + 1
	}
	return d
}

// Below returns d with another high watermark.
func (d Data) Below(highWatermark int64) Data {
	d.HighWatermark = highWatermark
	return d
}

// Answer sends the data of the partitions asked for, in their order.
func (f *FetchedFrom) Answer(data ...Data) {
	resp := kmsg.NewPtrFetchResponse()
	type answered struct {
		from From
		data Data
	}
	var all []answered
	for i, from := range f.from {
		all = append(all, answered{from, data[i]})
	}
	for _, group := range byTopic(all, func(a answered) string { return a.from.Topic }) {
		topic := kmsg.NewFetchResponseTopic()
		topic.Topic, topic.TopicID = group.topic, f.conn.scenario.TopicID(group.topic)
		for _, a := range group.items {
			topic.Partitions = append(topic.Partitions, f.partition(a.from, a.data))
			if a.data.Leader != 0 {
				resp.Brokers = append(resp.Brokers, kmsg.FetchResponseBroker(f.conn.scenario.endpoint(a.data.Leader)))
			}
		}
		resp.Topics = append(resp.Topics, topic)
	}
	f.Respond(resp)
}

func (f *FetchedFrom) partition(from From, d Data) kmsg.FetchResponseTopicPartition {
	partition := kmsg.NewFetchResponseTopicPartition()
	partition.Partition, partition.ErrorCode = from.Partition, d.ErrorCode
	partition.HighWatermark, partition.LogStartOffset = d.HighWatermark, d.LogStartOffset
	partition.LastStableOffset = d.HighWatermark
	if d.OpenFrom != 0 {
		partition.LastStableOffset = d.OpenFrom
	}
	for _, a := range d.Aborted {
		partition.AbortedTransactions = append(partition.AbortedTransactions,
			kmsg.FetchResponseTopicPartitionAbortedTransaction{ProducerID: a.ProducerID, FirstOffset: a.FirstOffset})
	}
	if d.Leader != 0 {
		partition.CurrentLeader.LeaderID, partition.CurrentLeader.LeaderEpoch = d.Leader, d.LeaderEpoch
	}
	if d.DivergingEnd != 0 {
		partition.DivergingEpoch.Epoch, partition.DivergingEpoch.EndOffset = d.DivergingEpoch, d.DivergingEnd
	}
	partition.RecordBatches = []byte{}
	for _, b := range d.Batches {
		partition.RecordBatches = append(partition.RecordBatches, b.Encode()...)
	}
	if d.CutTo != 0 {
		partition.RecordBatches = partition.RecordBatches[:min(d.CutTo, len(partition.RecordBatches))]
	}
	return partition
}
