package evidence_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kdupscan/kdupscan/analysis"
	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/kafka/kafkatest"
	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/pcap/pcaptest"
	"github.com/kdupscan/kdupscan/reassembly"
	"github.com/kdupscan/kdupscan/report/evidence"
)

// capture is a capture file in memory.
type capture []byte

func (c capture) open(t testing.TB) pcap.Source {
	t.Helper()
	r, err := pcap.NewReader(bytes.NewReader(c), "a.pcap")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// frames passes all frames to see and the events of all connections to handle.
func (c capture) frames(t testing.TB, see func(*pcap.Frame), handle func(*reassembly.Event)) {
	t.Helper()
	ignore := func(pcap.Note) {}
	assembler := reassembly.NewAssembler(reassembly.DefaultLimits(), handle, ignore)
	decoder := reassembly.NewDecoder(reassembly.DefaultLimits(), ignore)
	source := c.open(t)
	for {
		var f pcap.Frame
		err := source.Next(&f)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		see(&f)
		decoder.Decode(&f, assembler.Push)
	}
	assembler.Finish()
}

// scan returns what a scan finds.
func (c capture) scan(t testing.TB) *analysis.Result {
	t.Helper()
	correlator := analysis.New(analysis.Options{Memory: 64 << 20, Note: func(pcap.Note) {}})
	decoder := kafka.NewDecoder(kafka.Options{Limits: kafka.DefaultLimits()}, correlator.Observe, func(pcap.Note) {})
	c.frames(t, func(*pcap.Frame) {}, decoder.Handle)
	return correlator.Finish()
}

func options() evidence.Options {
	return evidence.Options{
		Reassembly: reassembly.DefaultLimits(), Kafka: kafka.DefaultLimits(), Memory: 64 << 20,
		Allows: func(uint16, uint16) bool { return true },
	}
}

// plan plans the evidence of all findings of a capture.
func plan(t testing.TB, c capture, result *analysis.Result) (*evidence.Plan, []*analysis.Finding) {
	t.Helper()
	var wanted []*analysis.Finding
	for i := range result.Findings {
		wanted = append(wanted, &result.Findings[i])
	}
	p := evidence.NewPlan(wanted, options())
	if err := p.Read(c.open(t)); err != nil {
		t.Fatal(err)
	}
	return p, wanted
}

// redact writes a selection redacted.
func redact(t testing.TB, p *evidence.Plan, c capture, s evidence.Selection, r evidence.Redaction) (capture, *evidence.Pseudonyms) {
	t.Helper()
	var out bytes.Buffer
	names, err := p.WriteRedacted(&out, func(use func(pcap.Source) error) error { return use(c.open(t)) }, s, r)
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), names
}

// secrets are the contents and names of a capture, as franz-go reads them.
type secrets struct {
	contents, names map[string]bool
	internal        map[string]bool // contents of internal topics, which are names
	addresses       map[netip.Addr]bool
	plain           []byte // all records, decompressed
	batches, bad    int
}

// read collects what the messages of a capture hold.
func (c capture) read(t testing.TB) *secrets {
	t.Helper()
	s := &secrets{contents: map[string]bool{}, names: map[string]bool{}, internal: map[string]bool{}, addresses: map[netip.Addr]bool{}}
	decoder := kafka.NewDecoder(kafka.Options{Limits: kafka.DefaultLimits(), Messages: s.message}, func(o kafka.Observation) {
		l := o.Where().Link
		s.addresses[l.Client.Addr()], s.addresses[l.Server.Addr()] = true, true
		s.names[l.Client.Addr().String()] = true
	}, func(pcap.Note) {})
	c.frames(t, func(*pcap.Frame) {}, decoder.Handle)
	return s
}

func (s *secrets) message(m *kafka.Message) {
	if m.Header < 0 || len(m.Data) != m.Size {
		return
	}
	if m.Request != nil {
		s.names[m.Request.ClientID] = true
	}
	switch {
	case m.APIKey == 0 && m.FromClient:
		q := kmsg.NewPtrProduceRequest()
		q.SetVersion(m.APIVersion)
		if q.ReadFrom(m.Data[m.Header:]) != nil {
			return
		}
		if q.TransactionID != nil {
			s.names[*q.TransactionID] = true
		}
		for _, topic := range q.Topics {
			s.names[topic.Topic], s.names[string(topic.TopicID[:])] = true, true
			for _, p := range topic.Partitions {
				s.records(p.Records)
			}
		}
	case m.APIKey == 1 && !m.FromClient:
		a := kmsg.NewPtrFetchResponse()
		a.SetVersion(m.APIVersion)
		if a.ReadFrom(m.Data[m.Header:]) != nil {
			return
		}
		for _, topic := range a.Topics {
			s.names[topic.Topic], s.names[string(topic.TopicID[:])] = true, true
			for _, p := range topic.Partitions {
				s.records(p.RecordBatches)
			}
		}
	case m.APIKey == 3 && !m.FromClient:
		a := kmsg.NewPtrMetadataResponse()
		a.SetVersion(m.APIVersion)
		if a.ReadFrom(m.Data[m.Header:]) != nil {
			return
		}
		if a.ClusterID != nil {
			s.names[*a.ClusterID] = true
		}
		for _, b := range a.Brokers {
			s.names[b.Host] = true
		}
	}
}

// records reads a records field batch by batch: franz-go skips what lies before the offset it asks for.
func (s *secrets) records(data []byte) {
	for len(data) > 17 {
		n := 12 + int(binary.BigEndian.Uint32(data[8:]))
		if n > len(data) {
			return
		}
		partition := kmsg.NewFetchResponseTopicPartition()
		partition.RecordBatches = data[:n]
		offset := int64(binary.BigEndian.Uint64(data))
		if data[16] < 2 {
			offset = 0
		}
		o := kgo.ProcessFetchPartitionOpts{KeepControlRecords: true, Offset: offset}
		fetched, _ := kgo.ProcessFetchPartition(o, &partition, kgo.DefaultDecompressor(), nil)
		s.batches++
		if fetched.Err != nil {
			s.bad++
		}
		for _, r := range fetched.Records {
			into := s.contents
			if k := r.Key; len(k) > 4 && k[0] == 0 && k[1] <= 24 && k[2] == 0 {
				into = s.internal // the format of an internal topic
			}
			s.add(r.Key, into)
			s.add(r.Value, into)
			for _, h := range r.Headers {
				s.names[h.Key] = true
				s.plain = append(s.plain, h.Key...)
				s.add(h.Value, into)
			}
		}
		data = data[n:]
	}
}

func (s *secrets) add(content []byte, into map[string]bool) {
	into[string(content)] = true
	s.plain = append(s.plain, content...)
}

// least is the length from which on a piece is no accident.
const least = 6

// leaks returns a secret that is left in c, "" if none is. with says whether names are secret too.
func (s *secrets) leaks(t testing.TB, c capture, names bool) string {
	t.Helper()
	after := c.read(t)
	if names {
		for a := range after.addresses {
			if s.addresses[a] {
				return a.String()
			}
		}
	}
	haystack := append(append([]byte(nil), c...), after.plain...)
	pieces := []map[string]bool{s.contents}
	if names {
		pieces = append(pieces, s.names, s.internal)
	}
	for _, all := range pieces {
		for piece := range all {
			if public(piece) || !names && s.names[piece] {
				continue
			}
			if bytes.Contains(haystack, []byte(piece)) {
				return piece
			}
			// A run of a long one is as telling.
			const run = 12
			for i := 0; i+run <= len(piece); i += run {
				if part := piece[i : i+run]; !public(part) && bytes.Contains(haystack, []byte(part)) {
					return part
				}
			}
		}
	}
	return ""
}

// public reports whether a piece is too short or too plain to tell anything, or known to all.
func public(piece string) bool {
	switch piece {
	case "__consumer_offsets", "__transaction_state", "__cluster_metadata":
		return true
	}
	return len(piece) < least || bytes.Count([]byte(piece), []byte{piece[0]}) == len(piece) ||
		bytes.Count([]byte(piece), []byte{0}) > len(piece)/2
}

// files returns captures of the project and those beside it.
func files(t testing.TB) map[string]capture {
	t.Helper()
	all := make(map[string]capture)
	for _, pattern := range []string{
		filepath.Join("..", "..", "testdata", "*", "*.pcap*"),
		filepath.Join("..", "..", "..", "shared", "captures", "*", "*.pcap*"),
		filepath.Join("..", "..", "..", "shared", "corpus", "kafka", "*", "*.pcap*"),
	} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all[filepath.Base(filepath.Dir(name))+"/"+filepath.Base(name)] = data
		}
	}
	return all
}

// saslTokens authenticates with SaslHandshake v0 and a bare token, then again with v1 and SaslAuthenticate.
func saslTokens(c *kafkatest.Conn, token string) {
	handshake := kmsg.NewPtrSASLHandshakeRequest()
	handshake.Mechanism = "PLAIN"
	c.Request(handshake).Respond(kmsg.NewPtrSASLHandshakeResponse())
	c.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(token))), token...))
	c.ServerWrite(make([]byte, 4))
	handshake.Version = 1
	c.Request(handshake).Respond(kmsg.NewPtrSASLHandshakeResponse())
	authenticate := kmsg.NewPtrSASLAuthenticateRequest()
	authenticate.Version, authenticate.SASLAuthBytes = 2, []byte(token)
	c.Request(authenticate).Respond(kmsg.NewPtrSASLAuthenticateResponse())
}

// spoiled returns a scenario's packets spoiled.
func spoiled(c kafkatest.Case, spoil func([]pcaptest.Packet) []pcaptest.Packet) capture {
	s := kafkatest.NewScenario(kafkatest.Start)
	s.IPv6 = c.IPv6
	c.Tell(s)
	packets := s.Packets()
	if c.Spoil != nil {
		packets = c.Spoil(packets)
	}
	return pcaptest.EncodePCAPNG(spoil(packets)...)
}
