package evidence_test

import (
	"bytes"
	"net/netip"
	"testing"
	"time"

	"github.com/kdupscan/kdupscan/kafka/kafkatest"
	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/pcap/pcaptest"
	"github.com/kdupscan/kdupscan/report/evidence"
)

// FuzzRedact: whatever a client and a server send, redaction does not panic, the file can be scanned, and a marked payload and a
// marked name are in it nowhere.
func FuzzRedact(f *testing.F) {
	const mark = "marked-0123456789-marked"
	for version := int16(0); version <= 13; version++ {
		s := kafkatest.NewScenario(kafkatest.Start)
		c := s.Connect(mark, 1)
		records := s.Records(mark, mark+mark)
		records[0].Key = []byte(mark)
		b := kafkatest.Batch{Topic: mark, Codec: kafkatest.Codec(version % 6), Records: records}
		if version < 3 {
			b.Format, b.Codec = kafkatest.MessageSet1, kafkatest.None
		}
		request := c.Encode(c.NewProduce(version, -1, b))
		f.Add(request, []byte{})
		f.Add(request[:len(request)-7], []byte{0, 0, 0, 0})
		f.Add(append(request, request...), append([]byte{0, 0, 0, 12}, make([]byte, 12)...))
	}
	client, server := netip.MustParseAddrPort("192.0.2.1:40000"), netip.MustParseAddrPort("192.0.2.9:9092")
	f.Fuzz(func(t *testing.T, asked, answered []byte) {
		if len(asked) == 0 || len(asked)+len(answered) > 1<<16 {
			return
		}
		conversation := pcaptest.NewConversation(client, server, time.Unix(1_700_000_000, 0))
		conversation.Handshake()
		conversation.Client(asked)
		if len(answered) > 0 {
			conversation.Server(answered)
		}
		c := capture(pcaptest.EncodePCAPNG(pcaptest.Interleave(conversation)...))
		p := evidence.NewPlan(nil, options())
		if err := p.Read(c.open(t)); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		open := func(use func(pcap.Source) error) error { return use(c.open(t)) }
		if _, err := p.WriteRedacted(&out, open, evidence.Everything, evidence.RedactAll); err != nil {
			t.Fatal(err)
		}
		after := capture(out.Bytes())
		if bytes.Contains(after.read(t).plain, []byte(mark)) || bytes.Contains(after, []byte(mark)) {
			t.Fatal("the mark stays")
		}
		after.scan(t)
	})
}
