package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kdupscan/kdupscan/analysis"
	"github.com/kdupscan/kdupscan/pcap"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func write(t *testing.T, format string, r *analysis.Result, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, format, r, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// styleSheet is the same in all pages, and no golden report shows whether it is right.
var styleSheet = regexp.MustCompile(`(?s)<style>.*?</style>`)

// TestGolden compares whole reports with files that were read by a human when they were made.
func TestGolden(t *testing.T) {
	samples := []struct {
		name   string
		result *analysis.Result
		format string
		o      Options
	}{
		{"seed.txt", seedIncident(), "table", Options{Version: "test"}},
		{"seed-narrow.txt", seedIncident(), "table", Options{Version: "test", Width: 80}},
		{"seed-payloads.txt", seedIncident(), "table", Options{Version: "test", Payloads: true}},
		{"seed.json", seedIncident(), "json", Options{Version: "test"}},
		{"many.txt", manyFaults(), "table", Options{Version: "test"}},
		{"many.json", manyFaults(), "json", Options{Version: "test"}},
		{"seed.md", seedIncident(), "markdown", Options{Version: "test"}},
		{"many.md", manyFaults(), "markdown", Options{Version: "test", Payloads: true}},
		{"clean.txt", untroubled(), "table", Options{Version: "test"}},
		{"clean.md", untroubled(), "markdown", Options{Version: "test"}},
		{"clean.html", untroubled(), "html", Options{Version: "test"}},
		{"inconclusive.md", &analysis.Result{}, "markdown", Options{Version: "test"}},
		{"hostile.md", trappedDiagrams(), "markdown", Options{Version: "test"}},
		{"seed.html", seedIncident(), "html", Options{Version: "test"}},
		{"many.html", manyFaults(), "html", Options{Version: "test", Payloads: true}},
	}
	for _, s := range samples {
		t.Run(s.name, func(t *testing.T) {
			have := styleSheet.ReplaceAllString(write(t, s.format, s.result, s.o), "<style></style>")
			file := filepath.Join("testdata", s.name)
			if *update {
				if err := os.WriteFile(file, []byte(have), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), have); diff != "" {
				t.Errorf("-want +have:\n%s", diff)
			}
		})
	}
}

func TestVerdictAndExitStatus(t *testing.T) {
	decoded := analysis.Coverage{}
	decoded.ProducedBatches = 1
	finding := func(v analysis.Verdict) analysis.Finding {
		return analysis.Finding{Verdict: v, Cause: analysis.EpochBump, RecordCount: 1}
	}
	for _, test := range []struct {
		name     string
		coverage analysis.Coverage
		findings []analysis.Finding
		least    analysis.Verdict
		verdict  string
		status   int
		headline string
	}{
		{"nothing decoded", analysis.Coverage{}, nil, 0, "inconclusive", 3, "Inconclusive"},
		{"nothing found", decoded, nil, 0, "clean", 0, "No record stands twice"},
		{"possible", decoded, []analysis.Finding{finding(analysis.Possible)}, 0, "suspected", 1, "1 record may stand twice"},
		{"possible, probable wanted", decoded, []analysis.Finding{finding(analysis.Possible)}, analysis.Probable, "clean", 0, "No record stands twice"},
		{"probable", decoded, []analysis.Finding{finding(analysis.Probable)}, 0, "duplicates", 1, "1 record probably stands twice"},
		{"confirmed", decoded, []analysis.Finding{finding(analysis.Confirmed)}, analysis.Confirmed, "duplicates", 1, "1 record stands twice"},
		{"two", decoded, []analysis.Finding{finding(analysis.Confirmed), finding(analysis.Possible)}, 0, "duplicates", 1, "2 records may stand twice in 1 partition"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := &analysis.Result{Coverage: test.coverage, Findings: test.findings}
			o := Options{MinVerdict: test.least}
			if have := ExitStatus(r, o); have != test.status {
				t.Errorf("exit status %d, want %d", have, test.status)
			}
			var have struct{ Verdict string }
			if err := json.Unmarshal([]byte(write(t, "json", r, o)), &have); err != nil || have.Verdict != test.verdict {
				t.Errorf("verdict %q, want %q (%v)", have.Verdict, test.verdict, err)
			}
			if table := write(t, "table", r, o); !strings.HasPrefix(table, test.headline) {
				t.Errorf("headline of\n%s\nwant %q", table, test.headline)
			}
		})
	}
}

func TestNarrow(t *testing.T) {
	partition := func(n int32) *int32 { return &n }
	producer := func(n int64) *int64 { return &n }
	for _, test := range []struct {
		name string
		o    Options
		want string // causes
	}{
		{"all", Options{}, "blind-retry misrouted-batch"},
		{"topic", Options{Topic: "sensor-raw"}, "blind-retry"},
		{"topic by id", Options{Topic: "0B1C0000-0000-4000-8000-000000000001"}, "misrouted-batch"},
		{"topic of the first copy", Options{Topic: "abcd0000-0000-4000-8000-000000000002"}, "misrouted-batch"},
		{"partition", Options{Partition: partition(1)}, "blind-retry"},
		{"partition of the first copy", Options{Partition: partition(0)}, "misrouted-batch"},
		{"topic and partition of two copies", Options{Topic: "page-views", Partition: partition(0)}, ""},
		{"producer", Options{ProducerID: producer(31)}, "misrouted-batch"},
		{"no such producer", Options{ProducerID: producer(32)}, ""},
		{"verdict", Options{MinVerdict: analysis.Probable}, "misrouted-batch"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var causes []string
			for _, f := range newView(manyFaults(), test.o).findings {
				causes = append(causes, string(f.Cause))
			}
			if have := strings.Join(causes, " "); have != test.want {
				t.Errorf("have %q, want %q", have, test.want)
			}
		})
	}
}

// TestPayloadsStayInside checks that only Payloads lets payload bytes out, and never more than was asked for.
func TestPayloadsStayInside(t *testing.T) {
	for _, format := range Formats() {
		r := seedIncident()
		r.Findings[0].Records[0].Preview.Value = []byte("secret-ö-" + strings.Repeat("z", 55))
		r.Findings[0].Records[0].Value.Size = 500
		if text := write(t, format, r, Options{}); strings.Contains(text, "secret") || strings.Contains(text, "736563726574") {
			t.Errorf("%s without payloads:\n%s", format, text)
		}
		if text := write(t, format, r, Options{Payloads: true}); !strings.Contains(text, "secret-ö-zzz") || !strings.Contains(text, "1b5b324a") {
			t.Errorf("%s with payloads:\n%s", format, text)
		}
	}
}

func TestTableBoundsItself(t *testing.T) {
	r := seedIncident()
	one := r.Findings[0]
	for len(one.Timeline) < 500 {
		one.Timeline = append(one.Timeline, one.Timeline...)
	}
	r.Findings = nil
	for range 40 {
		r.Findings = append(r.Findings, one)
	}
	text := write(t, "table", r, Options{})
	if lines := strings.Count(text, "\n"); lines > 2000 {
		t.Errorf("%d lines", lines)
	}
	for _, want := range []string{"80 records stand twice in 1 partition", "F20  confirmed", "F40  confirmed", "more steps; --output json has them all"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing", want)
		}
	}
	var all struct {
		Findings []struct{ Timeline []any }
	}
	if err := json.Unmarshal([]byte(write(t, "json", r, Options{})), &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Findings) != 40 || len(all.Findings[39].Timeline) != len(one.Timeline) {
		t.Error("JSON has not everything")
	}
}

func TestFormats(t *testing.T) {
	if err := Write(&bytes.Buffer{}, "xml", seedIncident(), Options{}); err == nil || err.Error() != `no output format "xml": there are table, json, markdown, html` {
		t.Errorf("error %v", err)
	}
	for _, format := range Formats() {
		if err := Write(brokenWriter{}, format, seedIncident(), Options{}); !errors.Is(err, errBroken) {
			t.Errorf("%s: a failing writer gives %v", format, err)
		}
	}
}

var errBroken = errors.New("broken")

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestDamageLines(t *testing.T) {
	c := pcap.Capture{Name: "a\x1b.pcap"}
	for i := range 8 {
		c.Damage = append(c.Damage, pcap.Damage{Offset: pcap.FileOffset(100 * i), Frame: pcap.FrameNumber(i), What: "a block of length 3", Lost: 40})
	}
	have := DamageLines(&c)
	if len(have) != maxDamage+1 || have[1] != `a\x1b.pcap: a block of length 3 at byte 100, after frame 1: 40 bytes skipped` || have[maxDamage] != `a\x1b.pcap: damaged in 3 more places` {
		t.Errorf("have %q", have)
	}
}

func TestDisplayFilter(t *testing.T) {
	for _, test := range []struct {
		frames []pcap.FrameNumber
		want   string
	}{
		{[]pcap.FrameNumber{7}, "frame.number in {7}"},
		{[]pcap.FrameNumber{7, 8}, "frame.number in {7,8}"},
		{[]pcap.FrameNumber{1, 3, 4, 5, 6, 9, 10, 20, 21, 22}, "frame.number in {1,3..6,9,10,20..22}"},
	} {
		if have := displayFilter(test.frames); have != test.want {
			t.Errorf("have %s, want %s", have, test.want)
		}
	}
}

func ExampleWriteEntry() {
	var b bytes.Buffer
	entry, _ := analysis.Explain("interrupted")
	if err := WriteEntry(&b, entry, 100); err != nil {
		fmt.Println(err)
	}
	head, _, _ := strings.Cut(b.String(), "\nMEANING")
	fmt.Print(head)
	// Output: interrupted (limit)                                                                 kdupscan explain
	//
	// NAME
	//     interrupted: The run was interrupted before the end of its input
}
