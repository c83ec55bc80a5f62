package report

import (
	"regexp"
	"strings"
	"testing"

	"github.com/kdupscan/kdupscan/analysis"
)

func TestUpstreamsNameWhatTheyLinkTo(t *testing.T) {
	link := regexp.MustCompile(`^https://github\.com/([^/]+/[^/]+)/(?:issues|pull)/(\d+)$`)
	for _, u := range upstreams {
		parts := link.FindStringSubmatch(u.url)
		if parts == nil || parts[1]+"#"+parts[2] != u.where {
			t.Errorf("%s links to %s", u.where, u.url)
		}
		if _, ok := analysis.Explain(codeOf(&analysis.Finding{Cause: u.cause})); !ok || u.about == "" || mdText(u.about) != u.about && !strings.Contains(u.about, "#") {
			t.Errorf("%s: %s, %s", u.where, u.cause, u.about)
		}
	}
}

func TestKnownReportsConcernTheClient(t *testing.T) {
	for _, test := range []struct {
		software string
		want     bool
	}{{"", true}, {"librdkafka 2.6.1", true}, {"confluent-kafka-go 2.6.1", true}, {"apache-kafka-java 4.3.1", false}, {"sarama 1.61.1", false}} {
		have := false
		for _, u := range knownReports(analysis.EpochBump, test.software) {
			have = have || u.where == "confluentinc/librdkafka#4953"
		}
		if have != test.want {
			t.Errorf("%q: %v", test.software, have)
		}
	}
}

// TestColorsCountForNoWidth: without its codes a coloured report is the plain one.
func TestColorsCountForNoWidth(t *testing.T) {
	codes := regexp.MustCompile("\x1b\\[[0-9;]*m")
	for _, r := range []*analysis.Result{seedIncident(), manyFaults(), {}} {
		plain, colored := write(t, "table", r, Options{}), write(t, "table", r, Options{Color: true})
		if !codes.MatchString(colored) || codes.ReplaceAllString(colored, "") != plain {
			t.Errorf("with colours:\n%q", colored)
		}
		if have := write(t, "markdown", r, Options{Color: true}); codes.MatchString(have) {
			t.Error("colours in Markdown")
		}
	}
}
