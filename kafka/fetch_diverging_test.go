package kafka

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kdupscan/kdupscan/reassembly"
)

// A follower whose log goes on behind the leader's epoch 16, though its last batch is of epoch 17, is told so (KIP-595).
func TestDivergingEpochOfFetch(t *testing.T) {
	for version := int16(12); version <= apis[keyFetch].newest; version++ {
		for _, last := range []int32{17, -1} {
			q := kmsg.NewPtrFetchRequest()
			q.ReplicaID, q.ReplicaState.ID, q.SessionEpoch = 4, -1, -1
			if version >= 15 {
				q.ReplicaID, q.ReplicaState.ID = -1, 4
			}
			topic := kmsg.NewFetchRequestTopic()
			topic.Topic, topic.TopicID = "orders", testTopicID
			p := kmsg.NewFetchRequestTopicPartition()
			p.Partition, p.FetchOffset, p.LastFetchedEpoch = 2, 103, last
			topic.Partitions = append(topic.Partitions, p)
			q.Topics = append(q.Topics, topic)

			a := kmsg.NewPtrFetchResponse()
			at := kmsg.NewFetchResponseTopic()
			at.Topic, at.TopicID = "orders", testTopicID
			ap := kmsg.NewFetchResponseTopicPartition()
			ap.Partition, ap.HighWatermark, ap.RecordBatches = 2, 102, []byte{}
			ap.DivergingEpoch.Epoch, ap.DivergingEpoch.EndOffset = 16, 102
			at.Partitions = append(at.Partitions, ap)
			a.Topics = append(a.Topics, at)

			o := run(newScript(true).data(asks, request(q, version, 7, "broker-4")).data(answers, answer(a, version, 7)).close(reassembly.ClosedFIN))
			ends := of[*EpochEnd](o)
			if len(ends) != 1 {
				t.Fatalf("version %d: %d ends of epochs", version, len(ends))
			}
			if e := ends[0]; e.Topic != topicAt(version, 13) || e.Partition != 2 || e.AskedEpoch != last || e.LeaderEpoch != 16 || e.EndOffset != 102 {
				t.Errorf("version %d: %+v", version, e)
			}
			if len(o.notes) != 0 {
				t.Errorf("version %d: notes %v", version, o.notes)
			}
		}
	}
}
