package kafka

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// corpus returns the folder of foreign Kafka bytes, or skips the test.
func corpus(t testing.TB) string {
	dir := filepath.Join("..", "..", "shared", "corpus", "kafka")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("no corpus: ", err)
	}
	return dir
}

// fixture reads a message body as KafkaJS stores it.
func fixture(t testing.TB, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var body struct{ Data []int }
	if err := json.Unmarshal(text, &body); err != nil {
		t.Fatal(err)
	}
	out := make([]byte, len(body.Data))
	for i, b := range body.Data {
		out[i] = byte(b)
	}
	return out
}

// contiguous checks that batches are all compared and that each begins where the one before ended.
func contiguous(t testing.TB, batches []*Batch) {
	t.Helper()
	for i, b := range batches {
		if b.NotCompared != Compared || !b.CRCChecked || int(b.RecordCount) != len(b.Records) || len(b.Records) == 0 {
			t.Errorf("batch %d: %+v", i, b)
		}
		if i > 0 && b.BaseOffset != batches[i-1].LastOffset()+1 {
			t.Errorf("batch %d begins at %d after %d", i, b.BaseOffset, batches[i-1].LastOffset())
		}
	}
}

// fetchedBy runs the partitions of a Fetch response body through r and returns the batches of each.
func fetchedBy(t testing.TB, r *BatchReader, version int16, body []byte) (partitions [][]*Batch) {
	t.Helper()
	resp := kmsg.NewPtrFetchResponse()
	resp.SetVersion(version)
	if err := resp.ReadFrom(body); err != nil {
		t.Fatal(err)
	}
	for _, topic := range resp.Topics {
		for _, p := range topic.Partitions {
			batches, codes := collect(t, r.ReadFetched, p.RecordBatches, len(p.RecordBatches))
			if len(codes) != 0 {
				t.Errorf("notes %v", codes)
			}
			partitions = append(partitions, batches)
		}
	}
	return partitions
}

// The names of the files say what stands in them: v1 or v2 is the magic, c is gzip, b is more than one record.
func TestFetchedByKafkaGo(t *testing.T) {
	for name, want := range map[string]string{
		"v1-v1":       "1 1 1 1",
		"v1c-v1c":     "1c 1c 1c",
		"v2-v2":       "2 2",
		"v2bc-v1":     "2c 1 1",
		"v2bc-v1c":    "2c 1c",
		"v2c-v2-v2c":  "2c 2 2c",
		"v2bc-v1-v1c": "2c 1 1 1c",
		"v1-v1c-v2-v2c-v2b-v2b-v2b-v2bc-v1b-v1bc": "1 1 1c 1c 2 2 2c 2c 2 2c 2 2c 1 1 1c",
	} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(corpus(t), "kafka-go", name+".hex"))
			if err != nil {
				t.Fatal(err)
			}
			data, err := hex.DecodeString(string(bytes.TrimSpace(text)))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, batches := range fetchedBy(t, testReader(), 10, data[8:]) { // 8: length and correlation id
				contiguous(t, batches)
				for _, b := range batches {
					got = append(got, fmt.Sprint(b.Magic)+[]string{"", "c"}[b.Codec()])
				}
			}
			diff(t, want, strings.Join(got, " "))
		})
	}
}

func TestFixturesOfKafkaJS(t *testing.T) {
	dir := filepath.Join(corpus(t), "payloads", "kafkajs")
	files, err := filepath.Glob(filepath.Join(dir, "fetch", "v*_response*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	produced, err := filepath.Glob(filepath.Join(dir, "produce", "v*_request*.json"))
	if err != nil || len(produced) == 0 {
		t.Fatal(produced, err)
	}
	for _, file := range append(files, produced...) {
		name := filepath.Join(filepath.Base(filepath.Dir(file)), filepath.Base(file))
		t.Run(name, func(t *testing.T) {
			var version int16
			if _, err := fmt.Sscanf(filepath.Base(file), "v%d_", &version); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(name, "fetch") {
				for _, batches := range fetchedBy(t, testReader(), version, fixture(t, file)) {
					contiguous(t, batches)
				}
				return
			}
			req := kmsg.NewPtrProduceRequest()
			req.SetVersion(version)
			if err := req.ReadFrom(fixture(t, file)); err != nil {
				t.Fatal(err)
			}
			for _, topic := range req.Topics {
				for _, p := range topic.Partitions {
					contiguous(t, []*Batch{one(t, testReader().ReadProduced, p.Records)})
				}
			}
		})
	}
}

func TestMessageSetOfKafkaJS(t *testing.T) {
	dir := filepath.Join(corpus(t), "payloads", "kafkajs")
	want := []Preview{
		{[]byte("key-0"), []byte("some-value-0")}, {[]byte("key-1"), []byte("some-value-1")}, {[]byte("key-2"), []byte("some-value-2")},
	}
	set := fixture(t, filepath.Join(dir, "messageSet", "messages_v0_uncompressed.json.json"))[4:]
	diff(t, want, one(t, testReader().ReadProduced, set).Previews)
	batch := fixture(t, filepath.Join(dir, "recordBatch", "v0_recordbatch.json"))
	contiguous(t, []*Batch{one(t, testReader().ReadFetched, batch)})
}
