package kafkatest_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kdupscan/kdupscan/kafka/kafkatest"
)

// The newest versions that the tshark of Debian 12 (4.0) decodes.
const (
	tsharkProduce  = 8
	tsharkFetch    = 11
	tsharkMetadata = 9
)

// TestTsharkReadsTheSame tells a story in versions that tshark knows and compares what it shows.
func TestTsharkReadsTheSame(t *testing.T) {
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("tshark is not installed")
	}
	s := kafkatest.NewScenario(start)
	c := s.Dial(kafkatest.Dial{ClientID: "client-a", Broker: 1, MSS: 90, Software: "lib", Version: "1.0"})
	c.Metadata(tsharkMetadata, "orders").Answer(kafkatest.Leader{"orders", 0, 1, 17})
	c.InitProducerID(3, 7, 0).Answer(7, 1)
	b := kafkatest.Batch{Topic: "orders", Partition: 2, ProducerID: 7, ProducerEpoch: 1, BaseSequence: 40, Records: s.Records("a", "b")}
	var want []string
	for codec := kafkatest.None; codec <= kafkatest.Zstd; codec++ {
		b.Codec = codec
		c.Produce(tsharkProduce, -1, b).Answer(kafkatest.AppendedBut(kafkatest.NotLeader, 71229))
		want = append(want,
			fmt.Sprintf("orders|2|7|1|40|%#08x|61,62||", b.CRC()),
			"orders|2||||||6|71229")
	}
	f := c.Fetch(tsharkFetch, kafkatest.From{Topic: "orders", Partition: 2, Offset: 71229})
	s.Advance(time.Millisecond)
	f.Answer(kafkatest.Stored(b.At(71229, 17)))
	file := filepath.Join(t.TempDir(), "story.pcap")
	if err := os.WriteFile(file, s.Pcap(), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) []string {
		args = append([]string{"-r", file, "-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"}, args...)
		out, err := exec.Command(tshark, args...).Output()
		if err != nil {
			t.Skipf("tshark does not run: %v", err)
		}
		return strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' })
	}

	if bad := run("-Y", "_ws.malformed || tcp.checksum.status == 0 || ip.checksum.status == 0 || _ws.expert.group == \"Malformed\""); len(bad) > 0 {
		t.Errorf("tshark complains:\n%s", strings.Join(bad, "\n"))
	}
	fields := []string{"-T", "fields", "-E", "separator=|"}
	for _, field := range []string{"topic_name", "partition_id", "producer_id", "producer_epoch", "batch_base_sequence", "batch_crc", "message_value", "error", "offset"} {
		fields = append(fields, "-e", "kafka."+field)
	}
	got := run(append(fields, "-Y", "kafka.api_key == 0")...)
	for i, line := range got {
		if strings.Contains(line, "0x") { // a request: the offsets are the records' deltas
			got[i] = line[:strings.LastIndex(line, "|")+1]
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
