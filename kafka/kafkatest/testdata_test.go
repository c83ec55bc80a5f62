package kafkatest_test

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/gopacket/pcapgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kdupscan/kdupscan/kafka/kafkatest"
	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/pcap/pcaptest"
)

var update = flag.Bool("update", false, "write the captures of testdata")

// testdata is the project's folder of captures.
var testdata = filepath.Join("..", "..", "testdata")

// written are the scenarios that testdata holds as captures, by area.
var written = map[string][]string{
	"bump":   {"bump-after-45-elsewhere", "bump-first-copy-truncated"},
	"retry":  {"blind-retry-offset-gap", "broker-dedup-failure", "exact-retry-deduplicated"},
	"reader": {"fetch-only-bump"},
}

// TestTestdata compares the captures with the scenarios, byte for byte. With -update it writes them.
func TestTestdata(t *testing.T) {
	cases := make(map[string]kafkatest.Case)
	for _, c := range kafkatest.Scenarios() {
		cases[c.Name] = c
	}
	for area, names := range written {
		for _, name := range names {
			c, ok := cases[name]
			if !ok {
				t.Fatalf("no scenario %s", name)
			}
			compare(t, filepath.Join(testdata, area, name+".pcap"), c.Pcap())
			compare(t, filepath.Join(testdata, area, name+".expect.json"), c.Expectation())
		}
	}
}

func compare(t *testing.T, file string, want []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, want) {
		t.Errorf("%s is not what the scenario tells; go test -run TestTestdata -update writes it", file)
	}
}

// TestSeedBatchesEncodeAlike rebuilds each batch of the seed incidents, whose CRCs the public report gives, from its fields.
func TestSeedBatchesEncodeAlike(t *testing.T) {
	crcs := make(map[uint32]bool)
	for _, name := range []string{"seed-a.pcap", "seed-b.pcap"} {
		for _, m := range read(t, load(t, filepath.Join(testdata, "seed", name))).requests {
			req, ok := m.request.(*kmsg.ProduceRequest)
			if !ok {
				continue
			}
			for _, topic := range req.Topics {
				for _, p := range topic.Partitions {
					b := rebuild(t, p.Records)
					crcs[b.CRC()] = true
					if !bytes.Equal(b.Encode(), p.Records) {
						t.Errorf("%s: %s/%d: another encoding of batch %#x", name, topic.Topic, p.Partition, b.CRC())
					}
				}
			}
		}
	}
	for _, crc := range []uint32{0xe97ffa59, 0x1cbeb4b1} { // incident A, epochs 0 and 1
		if !crcs[crc] {
			t.Errorf("no batch %#x", crc)
		}
	}
}

func load(t *testing.T, file string) []pcaptest.Packet {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := pcapgo.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var packets []pcaptest.Packet
	for {
		data, info, err := r.ReadPacketData()
		if err == io.EOF {
			return packets
		}
		if err != nil {
			t.Fatal(err)
		}
		packets = append(packets, pcaptest.Packet{Time: info.Timestamp, LinkType: pcap.LinkType(r.LinkType()), Data: data})
	}
}

func rebuild(t *testing.T, data []byte) kafkatest.Batch {
	t.Helper()
	var wire kmsg.RecordBatch
	if err := wire.ReadFrom(data); err != nil {
		t.Fatal(err)
	}
	b := kafkatest.Batch{ProducerID: wire.ProducerID, ProducerEpoch: wire.ProducerEpoch, BaseSequence: wire.FirstSequence}
	for _, r := range decode(t, data) {
		record := kafkatest.Record{Key: r.Key, Value: r.Value, Timestamp: r.Timestamp.UnixMilli()}
		for _, h := range r.Headers {
			record.Headers = append(record.Headers, kafkatest.Header{Key: h.Key, Value: h.Value})
		}
		b.Records = append(b.Records, record)
	}
	return b.At(wire.FirstOffset, wire.PartitionLeaderEpoch) // librdkafka sends leader epoch 0, not -1
}
