package evidence_test

import (
	"bytes"
	"maps"
	"slices"
	"testing"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/kafka/kafkatest"
	"github.com/kdupscan/kdupscan/pcap/pcaptest"
	"github.com/kdupscan/kdupscan/report/evidence"
)

// TestRedactedCaptures: all of a capture, redacted, gives the same findings and counts, and no secret is left.
func TestRedactedCaptures(t *testing.T) {
	all := files(t)
	for _, c := range kafkatest.Scenarios() {
		all["scenario/"+c.Name] = spoiled(c, func(p []pcaptest.Packet) []pcaptest.Packet { return p })
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			roundTrip(t, all[name], true)
		})
	}
}

// roundTrip redacts a whole capture. counts says that the view of it is so good that all counts must stay, too.
func roundTrip(t *testing.T, c capture, counts bool) {
	t.Helper()
	result := c.scan(t)
	p, wanted := plan(t, c, result)
	before := c.read(t)
	for _, r := range []evidence.Redaction{evidence.RedactPayload, evidence.RedactAll} {
		out, names := redact(t, p, c, evidence.Everything, r)
		if leak := before.leaks(t, out, r == evidence.RedactAll); leak != "" {
			t.Errorf("redaction %d leaves %q", r, leak)
		}
		after := out.scan(t)
		if differs := evidence.Difference(wanted, result.Findings, after.Findings, names.Topic); differs != "" {
			t.Errorf("redaction %d %s", r, differs)
		}
		if counts && after.Counts != result.Counts {
			t.Errorf("redaction %d: counts %+v, want %+v", r, after.Counts, result.Counts)
		}
		if counts {
			if again, _ := redact(t, p, c, evidence.Everything, r); !bytes.Equal(again, out) {
				t.Errorf("redaction %d: other bytes the second time", r)
			}
		}
		if now := out.read(t); now.bad > before.bad {
			t.Errorf("redaction %d: franz-go cannot read %d of %d batches, %d before", r, now.bad, now.batches, before.bad)
		}
	}
}

// TestRedactedDegradations: what the capture lacks is lacking afterwards too, and hides as much.
func TestRedactedDegradations(t *testing.T) {
	degradations := map[string]func([]pcaptest.Packet) []pcaptest.Packet{
		"cut":    func(p []pcaptest.Packet) []pcaptest.Packet { return kafkatest.Cut(p, 200) },
		"late":   func(p []pcaptest.Packet) []pcaptest.Packet { return kafkatest.LateStart(p, 0.3) },
		"loss":   func(p []pcaptest.Packet) []pcaptest.Packet { return kafkatest.DropFraction(p, 0.05, 1) },
		"swap":   func(p []pcaptest.Packet) []pcaptest.Packet { return kafkatest.SwapNeighbours(p, 0.2, 1) },
		"mirror": func(p []pcaptest.Packet) []pcaptest.Packet { return kafkatest.Mirror(p, 7) },
		"client": func(p []pcaptest.Packet) []pcaptest.Packet { return kafkatest.OneWay(p, pcaptest.FromClient) },
	}
	for name, spoil := range degradations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, c := range kafkatest.Scenarios() {
				t.Run(c.Name, func(t *testing.T) { roundTrip(t, spoiled(c, spoil), false) })
			}
		})
	}
}

// TestRedactedVersionsAndCodecs: every version of Produce and Fetch, every codec and format.
func TestRedactedVersionsAndCodecs(t *testing.T) {
	for version := int16(0); version <= 13; version++ {
		format := kafkatest.RecordBatch
		switch {
		case version < 2:
			format = kafkatest.MessageSet0
		case version < 3:
			format = kafkatest.MessageSet1
		}
		for codec := kafkatest.None; codec <= kafkatest.SnappyXerial; codec++ {
			if codec == kafkatest.Zstd && version < 7 {
				continue
			}
			s := kafkatest.NewScenario(kafkatest.Start)
			conn := s.Connect("client-secret", 1)
			b := kafkatest.Batch{Topic: "topic-secret", Format: format, Codec: codec, Records: s.Records("value-secret-1", "value-secret-2", "value-secret-1")}
			b.Records[0].Key = []byte("key-secret")
			if format == kafkatest.RecordBatch {
				b.Records[1].Headers = []kafkatest.Header{{Key: "header-secret", Value: []byte("header-value")}}
			}
			conn.Produce(version, -1, b).Answer(kafkatest.OK(7))
			conn.Produce(version, -1, b).Answer(kafkatest.OK(10))
			roundTrip(t, s.Pcap(), true)
		}
	}
}

// TestSASLNeverStays: neither tokens of SaslHandshake v0 nor those of SaslAuthenticate.
func TestSASLNeverStays(t *testing.T) {
	s := kafkatest.NewScenario(kafkatest.Start)
	conn := s.Connect("client-a", 1)
	const password = "\x00alice\x00correct horse battery"
	saslTokens(conn, password)
	conn.Produce(9, -1, kafkatest.Batch{Topic: "orders", Records: s.Records("a value")}).Answer(kafkatest.OK(1))
	c := capture(s.Pcap())
	p, _ := plan(t, c, c.scan(t))
	for _, r := range []evidence.Redaction{evidence.RedactPayload, evidence.RedactAll} {
		out, _ := redact(t, p, c, evidence.Everything, r)
		for _, part := range []string{"alice", "correct", "battery"} {
			if bytes.Contains(out, []byte(part)) {
				t.Errorf("redaction %d leaves %q", r, part)
			}
		}
		if now := out.read(t); now.batches != 1 {
			t.Errorf("redaction %d: %d batches, want 1", r, now.batches)
		}
	}
}

// TestPseudonymsDependOnTheCapture: who has another capture learns nothing of this one.
func TestPseudonymsDependOnTheCapture(t *testing.T) {
	names := make(map[kafka.Topic]bool)
	for _, value := range []string{"one", "two"} {
		s := kafkatest.NewScenario(kafkatest.Start)
		s.Connect("client-a", 1).Produce(9, -1, kafkatest.Batch{Topic: "orders", Records: s.Records(value)}).Answer(kafkatest.OK(1))
		c := capture(s.Pcap())
		p, _ := plan(t, c, c.scan(t))
		_, pseudonyms := redact(t, p, c, evidence.Everything, evidence.RedactAll)
		names[pseudonyms.Topic(kafka.Topic{Name: "orders"})] = true
	}
	if len(names) != 2 {
		t.Error("two captures, one pseudonym")
	}
}
