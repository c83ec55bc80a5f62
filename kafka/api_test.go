package kafka

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kdupscan/kdupscan/reassembly"
)

func TestAPIsAreThoseOfKmsg(t *testing.T) {
	renamed := map[int16]string{45: "AlterPartitionReassignments"} // kmsg has an older name
	for key := range int16(200) {
		q := kmsg.RequestForKey(key)
		if q == nil {
			if name := APIName(key); name != "" {
				t.Errorf("key %d is named %q and does not exist", key, name)
			}
			continue
		}
		name := kmsg.NameForKey(key)
		if renamed[key] != "" {
			name = renamed[key]
		}
		if !strings.EqualFold(APIName(key), name) {
			t.Errorf("key %d is named %q, want %q", key, APIName(key), name)
		}
		if apis[key].newest != q.MaxVersion() {
			t.Errorf("%s: newest version %d, want %d", name, apis[key].newest, q.MaxVersion())
		}
		for version := range q.MaxVersion() + 1 {
			if q.SetVersion(version); flexible(key, version) != q.IsFlexible() {
				t.Errorf("%s %d: flexible %v, want %v", name, version, flexible(key, version), q.IsFlexible())
			}
		}
	}
	if APIName(-1) != "" {
		t.Error("key -1 has a name")
	}
}

// Every version of every API, with empty bodies: headers are read, answers are paired, and what is decoded is decoded.
func TestEveryVersionIsPaired(t *testing.T) {
	for key := range int16(len(apis)) {
		for version := range apis[key].newest + 1 {
			if key == keyControlledShutdown && version == 0 || key == keySaslHandshake && version == 0 {
				continue // the one has another header, after the other come tokens: tests of their own
			}
			q := kmsg.RequestForKey(key)
			if produce, ok := q.(*kmsg.ProduceRequest); ok {
				produce.Acks = -1
			}
			s := newScript(true)
			for correlation := range int32(3) {
				s.data(asks, request(q, version, correlation, "client"))
				s.data(answers, answer(kmsg.ResponseForKey(key), version, correlation))
			}
			o := run(s.close(reassembly.ClosedFIN))
			n := o.stats.APIs[API{key, version}]
			if n == nil || *n != (APIStats{Requests: 3, Responses: 3}) || len(o.notes) != 0 || o.stats.Unanswered != 0 {
				t.Errorf("%s %d: %+v, notes %v, unanswered %d", APIName(key), version, n, o.notes, o.stats.Unanswered)
			}
		}
	}
}

// exchange is a request, its answer, and what they say, for one version.
type exchange struct {
	request kmsg.Request
	answer  kmsg.Response
	want    []Observation
}

var testTopicID = [16]byte{1, 2, 3, 15: 16}

// topicAt is the topic "orders" as a version names it.
func topicAt(version, byID int16) Topic {
	if version >= byID {
		return Topic{ID: testTopicID}
	}
	return Topic{Name: "orders"}
}

// since returns v if the version has the field, else the value for unknown.
func since[T any](version, first int16, v, unknown T) T {
	if version >= first {
		return v
	}
	return unknown
}

var exchanges = map[int16]func(t *testing.T, version int16) exchange{
	keyProduce:              produceExchange,
	keyFetch:                fetchExchange,
	keyListOffsets:          listOffsetsExchange,
	keyMetadata:             metadataExchange,
	keyOffsetCommit:         offsetCommitExchange,
	keyFindCoordinator:      findCoordinatorExchange,
	keyCreateTopics:         createTopicsExchange,
	keyDeleteTopics:         deleteTopicsExchange,
	keyInitProducerID:       initProducerIDExchange,
	keyOffsetForLeaderEpoch: offsetForLeaderEpochExchange,
	keyAddPartitionsToTxn:   addPartitionsToTxnExchange,
	keyEndTxn:               endTxnExchange,
	keyWriteTxnMarkers:      writeTxnMarkersExchange,
	keyShareFetch:           shareFetchExchange,
}

// Every version of every API that is decoded says what was put in.
func TestEveryVersionSaysWhatItHolds(t *testing.T) {
	for key, make := range exchanges {
		for version := range apis[key].newest + 1 {
			e := make(t, version)
			s := newScript(true).
				data(asks, request(e.request, version, 7, "client")).
				data(answers, answer(e.answer, version, 7)).
				close(reassembly.ClosedFIN)
			o := run(s)
			t.Logf("%s %d", APIName(key), version)
			sameObservations(t, e.want, o.without())
			if len(o.notes) != 0 || o.stats.APIs[API{key, version}].Undecoded != 0 {
				t.Fatalf("notes %v, %+v", o.notes, o.stats.APIs[API{key, version}])
			}
		}
	}
}

func produceExchange(t *testing.T, version int16) exchange {
	first, second := testBatch(7078, 10), testBatch(7078, 12)
	id := "tx-1"
	q := kmsg.NewPtrProduceRequest()
	q.Acks, q.TransactionID = -1, &id
	topic := kmsg.NewProduceRequestTopic()
	topic.Topic, topic.TopicID = "orders", testTopicID
	for i, records := range [][]byte{first, nil, second} {
		p := kmsg.NewProduceRequestTopicPartition()
		p.Partition, p.Records = int32(i), records
		topic.Partitions = append(topic.Partitions, p)
	}
	q.Topics = append(q.Topics, topic)

	a := kmsg.NewPtrProduceResponse()
	at := kmsg.NewProduceResponseTopic()
	at.Topic, at.TopicID = "orders", testTopicID
	ok := kmsg.NewProduceResponseTopicPartition()
	ok.BaseOffset, ok.LogAppendTime = 71229, 1234
	refused := kmsg.NewProduceResponseTopicPartition()
	refused.Partition, refused.ErrorCode, refused.BaseOffset = 2, 6, -1
	message := "moved"
	refused.ErrorMessage = &message
	refused.ErrorRecords = []kmsg.ProduceResponseTopicPartitionErrorRecord{{RelativeOffset: 1, ErrorMessage: &message}}
	refused.CurrentLeader.LeaderID, refused.CurrentLeader.LeaderEpoch = 3, 18
	if version < 10 {
		refused.CurrentLeader = kmsg.NewProduceResponseTopicPartitionCurrentLeader()
	} else {
		b := kmsg.NewProduceResponseBroker()
		b.NodeID, b.Host, b.Port = 3, "broker-3", 40003
		a.Brokers = append(a.Brokers, b)
	}
	at.Partitions = append(at.Partitions, ok, refused)
	a.Topics = append(a.Topics, at)

	where := topicAt(version, 13)
	transaction := since(version, 3, &id, nil)
	want := []Observation{
		&BatchSent{Topic: where, Partition: 0, Acks: -1, TransactionalID: transaction, Batch: header(t, first)},
		&BatchSent{Topic: where, Partition: 2, Acks: -1, TransactionalID: transaction, Batch: header(t, second)},
		&BatchAnswered{CorrelationID: 7, Topic: where, BaseOffset: 71229, LogAppendTime: since(version, 2, 1234, int64(-1))},
		&BatchAnswered{CorrelationID: 7, Topic: where, Partition: 2, ErrorCode: 6, BaseOffset: -1, LogAppendTime: -1},
	}
	if version >= 10 {
		want = append(want,
			&LeaderNamed{Topic: where, Partition: 2, LeaderID: 3, LeaderEpoch: 18, Source: FromProduceAnswer},
			&ClusterDescribed{Brokers: []Broker{{3, "broker-3", 40003}}})
	}
	return exchange{q, a, want}
}

func fetchExchange(t *testing.T, version int16) exchange {
	records := append(testBatch(7078, 10), testBatch(7078, 12)...)
	q := kmsg.NewPtrFetchRequest()
	q.IsolationLevel, q.SessionEpoch, q.Rack = 1, 0, "rack"
	replica := int32(-1)
	if version%2 == 0 { // a follower
		replica = 4
	}
	q.ReplicaID, q.ReplicaState.ID = replica, replica
	if version < 15 {
		q.ReplicaState.ID = -1
	}
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic, topic.TopicID = "orders", testTopicID
	for i := range 2 {
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.FetchOffset, p.CurrentLeaderEpoch = int32(i), int64(100+i), 5
		topic.Partitions = append(topic.Partitions, p)
	}
	q.Topics = append(q.Topics, topic)
	forgotten := kmsg.NewFetchRequestForgottenTopic()
	forgotten.Topic, forgotten.TopicID, forgotten.Partitions = "old", [16]byte{9}, []int32{1, 2}
	q.ForgottenTopics = append(q.ForgottenTopics, forgotten)

	a := kmsg.NewPtrFetchResponse()
	a.SessionID = 77
	at := kmsg.NewFetchResponseTopic()
	at.Topic, at.TopicID = "orders", testTopicID
	full := kmsg.NewFetchResponseTopicPartition()
	full.HighWatermark, full.LastStableOffset, full.LogStartOffset = 200, 190, 3
	full.RecordBatches = records
	full.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{{ProducerID: 5, FirstOffset: 101}, {ProducerID: 6, FirstOffset: 102}}
	failed := kmsg.NewFetchResponseTopicPartition()
	failed.Partition, failed.ErrorCode, failed.HighWatermark, failed.LastStableOffset, failed.LogStartOffset = 1, 6, -1, -1, -1
	if version >= 12 {
		failed.CurrentLeader.LeaderID, failed.CurrentLeader.LeaderEpoch = 3, 18
		failed.DivergingEpoch.Epoch = 2
	}
	at.Partitions = append(at.Partitions, full, failed)
	a.Topics = append(a.Topics, at)
	if version >= 16 {
		b := kmsg.NewFetchResponseBroker()
		b.NodeID, b.Host, b.Port = 3, "broker-3", 40003
		a.Brokers = append(a.Brokers, b)
	}

	where := topicAt(version, 13)
	var want []Observation
	for i := range int32(2) {
		if version >= 9 {
			want = append(want, &LeaderNamed{Topic: where, Partition: i, LeaderID: -1, LeaderEpoch: 5, Source: FromFetchRequest})
		}
	}
	fetched := &PartitionFetched{
		CorrelationID: 7, Topic: where, ReplicaID: replica, ReadCommitted: version >= 4, FetchOffset: 100, HighWatermark: 200,
		LastStableOffset: since(version, 4, 190, int64(-1)), LogStartOffset: since(version, 5, 3, int64(-1)),
		Aborted: since(version, 4, []AbortedTransaction{{5, 101}, {6, 102}}, nil),
	}
	want = append(want, fetched,
		&BatchFetched{fetched, header(t, records[:len(records)/2])}, &BatchFetched{fetched, header(t, records[len(records)/2:])},
		&PartitionFetched{
			CorrelationID: 7, Topic: where, Partition: 1, ReplicaID: replica, ReadCommitted: version >= 4, FetchOffset: 101, ErrorCode: 6,
			HighWatermark: -1, LastStableOffset: -1, LogStartOffset: -1,
		})
	if version >= 12 {
		want = append(want, &LeaderNamed{Topic: where, Partition: 1, LeaderID: 3, LeaderEpoch: 18, Source: FromFetchAnswer})
	}
	if version >= 16 {
		want = append(want, &ClusterDescribed{Brokers: []Broker{{3, "broker-3", 40003}}})
	}
	return exchange{q, a, want}
}

func listOffsetsExchange(_ *testing.T, version int16) exchange {
	q := kmsg.NewPtrListOffsetsRequest()
	topic := kmsg.NewListOffsetsRequestTopic()
	topic.Topic = "orders"
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Partition, p.Timestamp = 3, -2
	topic.Partitions = append(topic.Partitions, p)
	q.Topics = append(q.Topics, topic)
	a := kmsg.NewPtrListOffsetsResponse()
	at := kmsg.NewListOffsetsResponseTopic()
	at.Topic = "orders"
	ap := kmsg.NewListOffsetsResponseTopicPartition()
	ap.Partition, ap.Offset, ap.LeaderEpoch, ap.OldStyleOffsets = 3, 55, 9, []int64{55, 40}
	at.Partitions = append(at.Partitions, ap)
	a.Topics = append(a.Topics, at)
	return exchange{q, a, []Observation{&OffsetListed{
		Topic: Topic{Name: "orders"}, Partition: 3, Asked: -2, Offset: 55, LeaderEpoch: since(version, 4, int32(9), -1),
	}}}
}

func metadataExchange(_ *testing.T, version int16) exchange {
	q := kmsg.NewPtrMetadataRequest()
	name, cluster := "orders", "abc"
	q.Topics = []kmsg.MetadataRequestTopic{{Topic: &name}}
	a := kmsg.NewPtrMetadataResponse()
	b := kmsg.NewMetadataResponseBroker()
	b.NodeID, b.Host, b.Port = 3, "broker-3", 9092
	a.Brokers = append(a.Brokers, b)
	a.ClusterID = &cluster
	topic := kmsg.NewMetadataResponseTopic()
	topic.Topic, topic.TopicID, topic.IsInternal = &name, testTopicID, true
	p := kmsg.NewMetadataResponseTopicPartition()
	p.Partition, p.Leader, p.LeaderEpoch = 4, 3, 18
	topic.Partitions = append(topic.Partitions, p)
	a.Topics = append(a.Topics, topic)
	where := Topic{Name: name, ID: since(version, 10, testTopicID, [16]byte{})}
	return exchange{q, a, []Observation{
		&ClusterDescribed{ClusterID: since(version, 2, cluster, ""), Brokers: []Broker{{3, "broker-3", 9092}}},
		&TopicNamed{Topic: where, Internal: version >= 1},
		&LeaderNamed{Topic: where, Partition: 4, LeaderID: 3, LeaderEpoch: since(version, 7, int32(18), -1), Source: FromMetadata},
	}}
}

func offsetCommitExchange(_ *testing.T, version int16) exchange {
	q := kmsg.NewPtrOffsetCommitRequest()
	q.Group = "readers"
	topic := kmsg.NewOffsetCommitRequestTopic()
	topic.Topic, topic.TopicID = "orders", testTopicID
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Partition, p.Offset = 2, 44
	topic.Partitions = append(topic.Partitions, p)
	q.Topics = append(q.Topics, topic)
	return exchange{q, kmsg.NewPtrOffsetCommitResponse(), []Observation{
		&OffsetCommitted{Group: "readers", Topic: topicAt(version, 10), Partition: 2, Offset: 44},
	}}
}

func findCoordinatorExchange(_ *testing.T, version int16) exchange {
	q := kmsg.NewPtrFindCoordinatorRequest()
	q.CoordinatorKey, q.CoordinatorKeys = "readers", []string{"readers"}
	a := kmsg.NewPtrFindCoordinatorResponse()
	a.NodeID, a.Host, a.Port = 3, "broker-3", 9092
	found := kmsg.NewFindCoordinatorResponseCoordinator()
	found.NodeID, found.Host, found.Port = 3, "broker-3", 9092
	a.Coordinators = append(a.Coordinators, found)
	return exchange{q, a, []Observation{&ClusterDescribed{Brokers: []Broker{{3, "broker-3", 9092}}}}}
}

func createTopicsExchange(_ *testing.T, version int16) exchange {
	q := kmsg.NewPtrCreateTopicsRequest()
	a := kmsg.NewPtrCreateTopicsResponse()
	made, failed := kmsg.NewCreateTopicsResponseTopic(), kmsg.NewCreateTopicsResponseTopic()
	made.Topic, made.TopicID = "orders", testTopicID
	failed.Topic, failed.ErrorCode = "bad", 36
	a.Topics = append(a.Topics, failed, made)
	return exchange{q, a, []Observation{&TopicNamed{Topic: Topic{Name: "orders", ID: since(version, 7, testTopicID, [16]byte{})}}}}
}

func deleteTopicsExchange(_ *testing.T, version int16) exchange {
	q := kmsg.NewPtrDeleteTopicsRequest()
	name, other := "orders", "other"
	a := kmsg.NewPtrDeleteTopicsResponse()
	gone, failed := kmsg.NewDeleteTopicsResponseTopic(), kmsg.NewDeleteTopicsResponseTopic()
	gone.Topic, gone.TopicID = &name, testTopicID
	failed.Topic, failed.ErrorCode = &other, 3
	a.Topics = append(a.Topics, failed, gone)
	return exchange{q, a, []Observation{&TopicDeleted{Topic: Topic{Name: name, ID: since(version, 6, testTopicID, [16]byte{})}}}}
}

func initProducerIDExchange(_ *testing.T, version int16) exchange {
	q := kmsg.NewPtrInitProducerIDRequest()
	id := "tx-1"
	q.TransactionalID, q.ProducerID, q.ProducerEpoch = &id, 7078, 4
	a := kmsg.NewPtrInitProducerIDResponse()
	a.ProducerID, a.ProducerEpoch = 7078, 5
	return exchange{q, a, []Observation{&ProducerGranted{
		TransactionalID: &id, OldProducerID: since(version, 3, int64(7078), -1), OldProducerEpoch: since(version, 3, int16(4), -1),
		ProducerID: 7078, ProducerEpoch: 5,
	}}}
}

func offsetForLeaderEpochExchange(_ *testing.T, version int16) exchange {
	q := kmsg.NewPtrOffsetForLeaderEpochRequest()
	topic := kmsg.NewOffsetForLeaderEpochRequestTopic()
	topic.Topic = "orders"
	p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
	p.Partition, p.LeaderEpoch = 2, 17
	topic.Partitions = append(topic.Partitions, p)
	q.Topics = append(q.Topics, topic)
	a := kmsg.NewPtrOffsetForLeaderEpochResponse()
	at := kmsg.NewOffsetForLeaderEpochResponseTopic()
	at.Topic = "orders"
	ap := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
	ap.Partition, ap.LeaderEpoch, ap.EndOffset = 2, 16, 99
	at.Partitions = append(at.Partitions, ap)
	a.Topics = append(a.Topics, at)
	return exchange{q, a, []Observation{&EpochEnd{
		Topic: Topic{Name: "orders"}, Partition: 2, AskedEpoch: 17, LeaderEpoch: since(version, 1, int32(16), -1), EndOffset: 99,
	}}}
}

func addPartitionsToTxnExchange(_ *testing.T, _ int16) exchange {
	q := kmsg.NewPtrAddPartitionsToTxnRequest()
	topic := kmsg.NewAddPartitionsToTxnRequestTopic()
	topic.Topic, topic.Partitions = "orders", []int32{1}
	q.Topics = append(q.Topics, topic)
	transaction := kmsg.NewAddPartitionsToTxnRequestTransaction()
	transaction.TransactionalID = "tx-1"
	of := kmsg.NewAddPartitionsToTxnRequestTransactionTopic()
	of.Topic, of.Partitions = "orders", []int32{1}
	transaction.Topics = append(transaction.Topics, of)
	q.Transactions = append(q.Transactions, transaction)
	return exchange{q, kmsg.NewPtrAddPartitionsToTxnResponse(), []Observation{&TopicNamed{Topic: Topic{Name: "orders"}}}}
}

func endTxnExchange(_ *testing.T, version int16) exchange {
	q := kmsg.NewPtrEndTxnRequest()
	q.TransactionalID, q.ProducerID, q.ProducerEpoch, q.Commit = "tx-1", 7078, 4, true
	a := kmsg.NewPtrEndTxnResponse()
	a.ProducerID, a.ProducerEpoch = 7078, 5
	ending := &TransactionEnding{TransactionalID: "tx-1", ProducerID: 7078, ProducerEpoch: 4, Commit: true}
	return exchange{q, a, []Observation{ending, &TransactionEnded{
		TransactionEnding: ending, NewProducerID: since(version, 5, int64(7078), -1), NewProducerEpoch: since(version, 5, int16(5), -1),
	}}}
}

func writeTxnMarkersExchange(_ *testing.T, _ int16) exchange {
	q := kmsg.NewPtrWriteTxnMarkersRequest()
	for i, commit := range []bool{true, false} {
		m := kmsg.NewWriteTxnMarkersRequestMarker()
		m.ProducerID, m.ProducerEpoch, m.Committed = int64(100+i), 4, commit
		q.Markers = append(q.Markers, m)
	}
	return exchange{q, kmsg.NewPtrWriteTxnMarkersResponse(), []Observation{
		&TransactionEnding{ProducerID: 100, ProducerEpoch: 4, Commit: true, Marker: true},
		&TransactionEnding{ProducerID: 101, ProducerEpoch: 4, Marker: true},
	}}
}
