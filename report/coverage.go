package report

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/kdupscan/kdupscan/analysis"
	"github.com/kdupscan/kdupscan/pcap"
)

// maxCaptures is how many captures the table names one by one.
const maxCaptures = 8

func (v *view) writeCoverage(b *bytes.Buffer) {
	for i := range v.Captures[:min(len(v.Captures), maxCaptures)] {
		writeParagraph(b, v.Width, v.captureText(i))
	}
	if n := len(v.Captures) - maxCaptures; n > 0 {
		fmt.Fprintf(b, "and %s\n", count(n, "more capture"))
	}
	writeParagraph(b, v.Width, v.coverageText())
}

// day is the date of a time, in UTC.
func day(t pcap.Timestamp) string { return t.Time().Format(time.DateOnly) }

// manyDays reports whether the captures are of more than one day, so that a time needs its date.
func (v *view) manyDays() bool {
	days := make(map[string]bool)
	for i := range v.Captures {
		if c := &v.Captures[i]; c.Packets > 0 {
			days[day(c.First)], days[day(c.Last)] = true, true
		}
	}
	return len(days) > 1
}

// captureText is "a.pcap: 62 packets, 2024-11-20 15:37:10.101 to 15:37:20.200 UTC".
func (v *view) captureText(i int) string {
	c := &v.Captures[i]
	s := fmt.Sprintf("%s: %s", name(v.captures[i]), count(c.Packets, "packet"))
	if c.Packets > 0 {
		last := clock(c.Last)
		if day(c.Last) != day(c.First) {
			last = day(c.Last) + " " + last
		}
		s += fmt.Sprintf(", %s %s to %s UTC", day(c.First), clock(c.First), last)
	}
	if c.CutShort > 0 {
		s += fmt.Sprintf(", %s cut short", grouped(int64(c.CutShort)))
	}
	if c.Dropped != nil && *c.Dropped > 0 {
		s += fmt.Sprintf(", %s dropped while capturing", grouped(int64(*c.Dropped)))
	}
	return s
}

func (v *view) coverageText() string {
	c := &v.Coverage
	var b strings.Builder
	if c.Connections == 0 {
		fmt.Fprintf(&b, "No Kafka connection among %s", count(c.TCPConnections, "TCP connection"))
		if c.TLS > 0 {
			fmt.Fprintf(&b, ", of which %s in TLS", grouped(c.TLS))
		}
	} else {
		fmt.Fprintf(&b, "%s%s, %s", count(c.Connections, "Kafka connection"), tlsText(c.TLS), trafficText(c))
	}
	b.WriteString(".")
	limits, _ := v.notes()
	var codes []string
	for _, n := range limits {
		codes = append(codes, string(n.Code))
	}
	switch {
	case len(codes) > 0:
		fmt.Fprintf(&b, " Not all was seen (below): %s.", strings.Join(codes, ", "))
	case v.verdict != analysis.Inconclusive:
		b.WriteString(" Nothing was hidden from view.")
	}
	return b.String()
}

func tlsText(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" and %s in TLS", grouped(n))
}

// trafficText is "16 requests, all answered; 7 batches, 9 records compared".
func trafficText(c *analysis.Coverage) string {
	answers := "all answered"
	switch {
	case c.Unanswered > 0:
		answers = grouped(c.Unanswered) + " unanswered"
	case c.Requests == 0:
		answers = count(c.Responses, "answer")
	}
	compared := count(c.Records, "record") + " compared"
	if c.RecordsNotCompared > 0 {
		compared += fmt.Sprintf(", %s not", grouped(c.RecordsNotCompared))
	}
	return fmt.Sprintf("%s, %s; %s, %s", count(c.Requests, "request"), answers, count(c.ProducedBatches+c.FetchedBatches, "batch"), compared)
}
