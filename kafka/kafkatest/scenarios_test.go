package kafkatest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kdupscan/kdupscan/kafka/kafkatest"
)

func TestScenarios(t *testing.T) {
	byName := make(map[string]kafkatest.Case)
	for _, c := range kafkatest.Scenarios() {
		if _, twice := byName[c.Name]; twice {
			t.Errorf("two cases have the name %s", c.Name)
		}
		byName[c.Name] = c
	}
	for _, c := range kafkatest.Scenarios() {
		t.Run(c.Name, func(t *testing.T) {
			if !bytes.Equal(c.Pcap(), c.Pcap()) {
				t.Error("told twice, the capture differs")
			}
			if c.Twin != "" {
				twin, ok := byName[c.Twin]
				if !ok {
					t.Fatalf("twin %s does not exist", c.Twin)
				}
				if clean := c.Truth.Verdict() == "clean"; clean == (twin.Truth.Verdict() == "clean") {
					t.Errorf("%s and its twin %s have the same answer", c.Name, c.Twin)
				}
			}
			if !json.Valid(c.Expectation()) {
				t.Error("the expectation is no JSON")
			}
			checkTruth(t, c)
		})
	}
}

// place is where a record stands.
type place struct {
	topic     string
	partition int32
	offset    int64
}

// checkTruth finds, with an independent reader, what the capture shows at each offset, and compares that with the pairs.
func checkTruth(t *testing.T, c kafkatest.Case) {
	t.Helper()
	if c.Spoil != nil {
		c.Spoil = nil // the reader of this test takes each packet once
	}
	w := read(t, c.Packets())
	shown := stored(t, w)
	for _, d := range c.Truth.Duplicates {
		if d.Cause == "misrouted-batch" {
			continue // its first copy stands in another partition
		}
		for _, pair := range d.Pairs {
			var contents []string
			for _, offset := range pair {
				if at := shown[place{d.Topic, d.Partition, offset}]; offset != kafkatest.UnknownOffset && len(at) > 0 {
					contents = append(contents, at...)
				}
			}
			if len(contents) == 0 || len(slices.Compact(contents)) != 1 {
				t.Errorf("%s/%d %v: the capture shows %q there", d.Topic, d.Partition, pair, contents)
			}
		}
	}
}

// stored returns the contents that answers and fetches put at each place.
func stored(t *testing.T, w wire) map[place][]string {
	t.Helper()
	names := make(map[[16]byte]string)
	for _, m := range w.responses {
		if metadata, ok := m.response.(*kmsg.MetadataResponse); ok {
			for _, topic := range metadata.Topics {
				names[topic.TopicID] = *topic.Topic
			}
		}
	}
	name := func(name string, id [16]byte) string {
		if name != "" {
			return name
		}
		return names[id]
	}
	shown := make(map[place][]string)
	put := func(topic string, partition int32, base int64, records []*kgo.Record) {
		for i, r := range records {
			offset := base + int64(i)
			if base < 0 {
				offset = r.Offset
			}
			at := place{topic, partition, offset}
			shown[at] = append(shown[at], fmt.Sprintf("%s=%s %v", r.Key, r.Value, r.Headers))
		}
	}
	for _, m := range w.responses {
		switch resp := m.response.(type) {
		case *kmsg.ProduceResponse:
			req := m.request.(*kmsg.ProduceRequest)
			for i, topic := range resp.Topics {
				for j, p := range topic.Partitions {
					if p.ErrorCode == 0 && p.LogAppendTime >= 0 {
						continue // the place may be that of an earlier batch, with other records
					}
					if p.BaseOffset >= 0 {
						put(name(topic.Topic, topic.TopicID), p.Partition, p.BaseOffset, decode(t, req.Topics[i].Partitions[j].Records))
					}
				}
			}
		case *kmsg.ShareFetchResponse:
			for _, topic := range resp.Topics {
				for _, p := range topic.Partitions {
					put(name("", topic.TopicID), p.Partition, -1, decode(t, p.Records))
				}
			}
		case *kmsg.FetchResponse:
			for _, topic := range resp.Topics {
				for _, p := range topic.Partitions {
					put(name(topic.Topic, topic.TopicID), p.Partition, -1, decode(t, p.RecordBatches))
				}
			}
		}
	}
	return shown
}
