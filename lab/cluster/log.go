package cluster

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Batch is one batch as it stands in a partition's log.
type Batch struct {
	Topic                      string
	Partition                  int32
	BaseOffset, LastOffset     int64
	ProducerID                 int64
	ProducerEpoch              int16
	BaseSequence, LastSequence int32 // -1 without idempotence in some clients
	CRC                        uint32
	LeaderEpoch                int32
	Control                    bool // a transaction marker
	Aborted                    bool // of a transaction that was aborted: readers do not see it
	Records                    []Record
}

// Record is one record; of a transaction marker, the value is "abort" or "commit".
type Record struct {
	Value     string
	Timestamp int64 // ms, as the client made it
}

// ReadLog returns every batch of a topic that is committed, from the partitions' leaders, in order of partition and offset.
func (a *Admin) ReadLog(ctx context.Context, name string) ([]Batch, error) {
	t, err := a.topic(ctx, Nodes[0], name)
	if err != nil {
		return nil, err
	}
	leaders := make(map[int32]int32)
	for _, p := range t.Partitions {
		leaders[p.Partition] = p.Leader
	}
	var log []Batch
	for partition := range int32(len(leaders)) {
		batches, err := a.readPartition(ctx, t, partition, leaders[partition])
		if err != nil {
			return nil, fmt.Errorf("log of %s/%d: %w", name, partition, err)
		}
		log = append(log, batches...)
	}
	return log, nil
}

func (a *Admin) readPartition(ctx context.Context, t kmsg.MetadataResponseTopic, partition, leader int32) ([]Batch, error) {
	const bytes = 16 << 20
	var log []Batch
	for next := int64(0); ; {
		request := kmsg.NewPtrFetchRequest()
		request.MaxBytes, request.MaxWaitMillis = bytes, 100
		ft := kmsg.NewFetchRequestTopic()
		ft.Topic, ft.TopicID = *t.Topic, t.TopicID
		fp := kmsg.NewFetchRequestTopicPartition()
		fp.Partition, fp.FetchOffset, fp.PartitionMaxBytes = partition, next, bytes
		ft.Partitions = append(ft.Partitions, fp)
		request.Topics = append(request.Topics, ft)
		response, err := ask[*kmsg.FetchResponse](ctx, a, leader, request)
		if err != nil {
			return nil, err
		}
		if err := kerr.ErrorForCode(response.ErrorCode); err != nil {
			return nil, err
		}
		if len(response.Topics) != 1 || len(response.Topics[0].Partitions) != 1 {
			return nil, errors.New("no answer for the partition")
		}
		p := response.Topics[0].Partitions[0]
		if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
			return nil, err
		}
		batches, err := readBatches(p.RecordBatches)
		if err != nil {
			return nil, err
		}
		for _, b := range batches {
			if b.BaseOffset >= next {
				b.Topic, b.Partition = *t.Topic, partition
				log = append(log, b)
				next = b.LastOffset + 1
			}
		}
		if next >= p.HighWatermark {
			markAborted(log)
			return log, nil
		}
	}
}

// readBatches reads the whole batches of a Fetch answer.
func readBatches(data []byte) ([]Batch, error) {
	const front = 12 // base offset and length
	var batches []Batch
	for len(data) > front {
		size := int(binary.BigEndian.Uint32(data[8:])) + front
		if size > len(data) {
			break
		}
		var raw kmsg.RecordBatch
		if err := raw.ReadFrom(data[:size]); err != nil {
			return nil, err
		}
		data = data[size:]
		b := Batch{
			BaseOffset: raw.FirstOffset, LastOffset: raw.FirstOffset + int64(raw.LastOffsetDelta),
			ProducerID: raw.ProducerID, ProducerEpoch: raw.ProducerEpoch, BaseSequence: raw.FirstSequence, LastSequence: raw.FirstSequence,
			CRC: uint32(raw.CRC), LeaderEpoch: raw.PartitionLeaderEpoch, Control: raw.Attributes&0x20 != 0,
		}
		if b.BaseSequence >= 0 {
			b.LastSequence += raw.LastOffsetDelta
		}
		var err error
		if b.Records, err = readRecords(&raw); err != nil {
			return nil, err
		}
		batches = append(batches, b)
	}
	return batches, nil
}

func readRecords(raw *kmsg.RecordBatch) ([]Record, error) {
	data := raw.Records
	if codec := raw.Attributes & 7; codec != 0 {
		var err error
		if data, err = kgo.DefaultDecompressor().Decompress(data, kgo.CompressionCodecType(codec)); err != nil {
			return nil, err
		}
	}
	var records []Record
	for range raw.NumRecords {
		size, n := binary.Varint(data)
		end := n + int(size)
		if n <= 0 || end > len(data) || end < n {
			return nil, errors.New("a record is cut short")
		}
		var r kmsg.Record
		if err := r.ReadFrom(data[:end]); err != nil {
			return nil, err
		}
		data = data[end:]
		value := string(r.Value)
		if raw.Attributes&0x20 != 0 && len(r.Key) >= 4 {
			value = map[uint16]string{0: "abort", 1: "commit"}[binary.BigEndian.Uint16(r.Key[2:])]
		}
		records = append(records, Record{value, raw.FirstTimestamp + r.TimestampDelta64})
	}
	return records, nil
}

// markAborted marks the batches of one partition that an abort marker takes back: the producer's since its marker before.
func markAborted(log []Batch) {
	open := make(map[int64][]int)
	for i, b := range log {
		switch {
		case !b.Control:
			open[b.ProducerID] = append(open[b.ProducerID], i)
			continue
		case len(b.Records) == 1 && b.Records[0].Value == "abort":
			for _, j := range open[b.ProducerID] {
				log[j].Aborted = true
			}
		}
		delete(open, b.ProducerID)
	}
}
