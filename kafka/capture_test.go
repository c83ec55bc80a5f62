package kafka

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
)

// readCapture runs a capture through all layers up to this one. It returns false if the file is no capture.
func readCapture(t testing.TB, path string) (outcome, bool) {
	t.Helper()
	return readSpoilt(t, path, func(*reassembly.Segment) bool { return true })
}

// readSpoilt is readCapture with segments changed, or left out where spoil returns false.
func readSpoilt(t testing.TB, path string, spoil func(*reassembly.Segment) bool) (outcome, bool) {
	t.Helper()
	var o outcome
	source, err := pcap.Open([]string{path}, nil)
	if err != nil {
		return o, false
	}
	defer func() {
		if c, ok := source.(io.Closer); ok {
			c.Close()
		}
	}()
	silent := func(pcap.Note) {}
	d := NewDecoder(Options{Limits: DefaultLimits()},
		func(obs Observation) { o.observations = append(o.observations, obs) },
		func(n pcap.Note) { o.notes = append(o.notes, n) })
	segments := reassembly.NewDecoder(reassembly.DefaultLimits(), silent)
	assembler := reassembly.NewAssembler(reassembly.DefaultLimits(), d.Handle, silent)
	var f pcap.Frame
	for source.Next(&f) == nil {
		segments.Decode(&f, func(s *reassembly.Segment) {
			if spoil(s) {
				assembler.Push(s)
			}
		})
	}
	assembler.Finish()
	o.stats = d.Stats()
	return o, true
}

// No capture of foreign traffic is taken for Kafka.
func TestForeignTraffic(t *testing.T) {
	dir := filepath.Join("..", "..", "shared", "corpus", "net")
	files, connections, encrypted := 0, int64(0), int64(0)
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		o, ok := readCapture(t, path)
		if !ok {
			return nil
		}
		files++
		connections += o.stats.Other
		encrypted += o.stats.TLS
		if o.stats.Connections != 0 {
			t.Errorf("%s: %d connections taken for Kafka; first: %+v", path, o.stats.Connections, *o.observations[0].Where().Link)
		}
		return nil
	})
	if err != nil {
		t.Skip("no corpus: ", err)
	}
	t.Logf("%d captures, %d foreign connections, %d of TLS", files, connections, encrypted)
}

// The requests of foreign captures are those that the index of the corpus lists, as others have counted them.
func TestForeignCaptures(t *testing.T) {
	root := filepath.Join("..", "..", "shared", "corpus")
	index, err := os.ReadFile(filepath.Join(root, "INDEX.md"))
	if err != nil {
		t.Skip("no corpus: ", err)
	}
	row := regexp.MustCompile(`(?m)^\| (kafka/\S+\.pcap(?:ng)?) \|.*?\| ((?:\d+v\d+x\d+ ?)+) \|`)
	entry := regexp.MustCompile(`(\d+)v(\d+)x(\d+)`)
	rows := row.FindAllStringSubmatch(string(index), -1)
	if len(rows) < 20 {
		t.Fatalf("%d rows in the index", len(rows))
	}
	for _, r := range rows {
		o, ok := readCapture(t, filepath.Join(root, r[1]))
		if !ok {
			t.Errorf("%s: not read", r[1])
			continue
		}
		want := map[API]int64{}
		for _, e := range entry.FindAllStringSubmatch(r[2], -1) {
			var n [3]int64
			for i := range n {
				n[i], _ = strconv.ParseInt(e[1+i], 10, 64)
			}
			want[API{int16(n[0]), int16(n[1])}] = n[2]
		}
		got := map[API]int64{}
		for api, n := range o.stats.APIs {
			got[api] = n.Requests
			if n.Undecoded != 0 {
				t.Errorf("%s: %s %d: %d undecoded", r[1], APIName(api.Key), api.Version, n.Undecoded)
			}
		}
		if !maps.Equal(want, got) {
			t.Errorf("%s: requests %v, want %v", r[1], got, want)
		}
		t.Logf("%s: %d batches sent, %d fetched, %d records, %d unanswered, notes %v", r[1], o.stats.ProducedBatches,
			o.stats.FetchedBatches, o.stats.Records, o.stats.Unanswered, o.codes())
	}
}

// Message bodies that KafkaJS has recorded are read to their ends.
func TestBodiesOfKafkaJS(t *testing.T) {
	paths, _ := filepath.Glob(filepath.Join(corpus(t), "payloads", "kafkajs", "*", "v*.json"))
	name := regexp.MustCompile(`^v(\d+)_(request|response)\.json$`)
	n := 0
	for _, path := range paths {
		m := name.FindStringSubmatch(filepath.Base(path))
		key := slices.IndexFunc(apis[:], func(a apiInfo) bool { return strings.EqualFold(a.name, filepath.Base(filepath.Dir(path))) })
		if m == nil || key < 0 {
			continue
		}
		version, err := strconv.ParseInt(m[1], 10, 16)
		if err != nil {
			t.Fatal(err)
		}
		body := fixture(t, path)
		if flexible(int16(key), int16(version)) {
			body = body[1:] // KafkaJS counts the tagged fields of the header as part of the body
		}
		exact := exactRequest(int16(key), int16(version), body)
		if m[2] == "response" {
			exact = exactAnswer(int16(key), int16(version), body)
		}
		if n++; !exact {
			t.Errorf("%s is not read to its end", path)
		}
	}
	if n < 100 {
		t.Errorf("%d bodies", n)
	}
}

// The exchanges of a raw client with a Kafka 3.9.1 broker, as one connection.
func TestExchangesOfYaklang(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(corpus(t), "payloads", "yaklang-kafka-3.9.1-flex.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	s := newScript(true)
	for line := range strings.Lines(string(text)) {
		var e struct {
			Request  string `json:"request_hex"`
			Response string `json:"response_hex"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		for dir, digits := range []string{e.Request, e.Response} {
			b, err := hex.DecodeString(digits)
			if err != nil {
				t.Fatal(err)
			}
			if len(b) > 0 {
				s.data(reassembly.Direction(dir), b)
			}
		}
	}
	o := run(s.close(reassembly.ClosedFIN))
	want := map[API]*APIStats{
		{keyAPIVersions, 3}: {1, 1, 0}, {keyMetadata, 9}: {3, 3, 0}, {keyProduce, 9}: {3, 2, 0}, {keyFetch, 12}: {1, 1, 0},
	}
	diff(t, want, o.stats.APIs)
	if len(o.notes) != 0 || o.stats.Unanswered != 0 {
		t.Errorf("notes %v, %d unanswered", o.notes, o.stats.Unanswered)
	}
	crcs := map[int32][]uint32{}
	for _, b := range of[*BatchSent](o) {
		crcs[b.Request.CorrelationID] = append(crcs[b.Request.CorrelationID], b.Batch.CRC)
	}
	diff(t, crcs[105], crcs[108]) // the same batches again, without acks
	if n := o.stats.ProducedBatches + o.stats.FetchedBatches; n != 10 {
		t.Errorf("%d batches, want 10", n)
	}
}

// The observations of each connection come in the order of the frames that completed them. Acknowledgements are as prompt
// as the events of package reassembly, which may wait for the other direction; answers whose request never comes wait for it
// until the client's stream has been read past them.
func TestOrderOfObservations(t *testing.T) {
	paths, _ := filepath.Glob(filepath.Join("..", "..", "shared", "captures", "lab", "*.pcap*"))
	for _, path := range paths {
		o, ok := readCapture(t, path)
		if !ok {
			t.Errorf("%s: not read", path)
			continue
		}
		last := map[*Link]pcap.Ref{}
		for _, obs := range o.observations {
			w := obs.Where()
			switch obs := obs.(type) {
			case *AnswerAcked:
				continue
			case *BatchAnswered:
				if obs.Request == nil {
					continue
				}
			case *PartitionFetched:
				if obs.Request == nil {
					continue
				}
			case *BatchFetched:
				if obs.Request == nil {
					continue
				}
			case *LeaderNamed, *ClusterDescribed:
				continue // of such an answer, perhaps
			}
			if before(w.At, last[w.Link]) || before(w.At, w.First) {
				t.Errorf("%s: %T at frame %d–%d after frame %d", path, obs, w.First.Number, w.At.Number, last[w.Link].Number)
			}
			last[w.Link] = w.At
		}
	}
}

// pairs returns what was answered to which request, by connection, correlation id and position.
func pairs(o outcome) map[string]bool {
	set := map[string]bool{}
	for _, a := range of[*BatchAnswered](o) {
		if a.Request != nil {
			set[fmt.Sprint(a.Link.Client, a.Link.Server, a.Request.Seq, a.CorrelationID, a.Topic, a.Partition, a.ErrorCode, a.BaseOffset)] = true
		}
	}
	for _, f := range of[*BatchFetched](o) {
		if f.Request != nil && f.Batch.NotCompared == Compared {
			set[fmt.Sprint(f.Link.Client, f.Link.Server, f.Request.Seq, f.CorrelationID, f.Topic, f.Partition, f.Batch.BaseOffset, f.Batch.CRC)] = true
		}
	}
	return set
}

// Packets that are lost, or cut by a snaplen, from captures of real clients hide things but make nothing up.
func TestLossInRealCaptures(t *testing.T) {
	for _, name := range []string{"c01.pcap", "c12.pcapng", "c14b.pcap", "c18.pcap", "c19b.pcap"} {
		path := filepath.Join("..", "..", "shared", "captures", "lab", name)
		whole, ok := readCapture(t, path)
		if !ok {
			t.Skip("no captures")
		}
		want := pairs(whole)
		for damage, spoil := range map[string]func(*reassembly.Segment, *rand.Rand) bool{
			"loss of 1%":  func(s *reassembly.Segment, r *rand.Rand) bool { return r.Intn(100) > 0 },
			"loss of 10%": func(s *reassembly.Segment, r *rand.Rand) bool { return r.Intn(10) > 0 },
			"snaplen 200": func(s *reassembly.Segment, r *rand.Rand) bool {
				s.Payload = s.Payload[:min(len(s.Payload), 146)]
				return true
			},
		} {
			random := rand.New(rand.NewSource(4))
			o, _ := readSpoilt(t, path, func(s *reassembly.Segment) bool { return spoil(s, random) })
			got := pairs(o)
			for p := range got {
				if !want[p] {
					t.Errorf("%s, %s: made up %s", name, damage, p)
				}
			}
			t.Logf("%s, %s: %d pairs of %d, %d batches sent of %d", name, damage, len(got), len(want), o.stats.ProducedBatches, whole.stats.ProducedBatches)
		}
	}
}
