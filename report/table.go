package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/kdupscan/kdupscan/analysis"
	"github.com/kdupscan/kdupscan/pcap"
)

// maxStories is how many findings the table tells in full; the rest have a line each.
const maxStories = 20

// maxRepeats is how many partitions with application repeats the table names.
const maxRepeats = 10

// writeTable writes the report for people: the verdict and the coverage first, then each finding as a short story, then
// what was hidden, what was odd, and the counts.
func writeTable(w io.Writer, v *view) error {
	var b bytes.Buffer
	v.painted(&b, v.verdictStyle(), func(b *bytes.Buffer) { writeParagraph(b, v.Width, v.headline()) })
	v.writeCoverage(&b)
	for i, f := range v.findings[:min(len(v.findings), maxStories)] {
		b.WriteByte('\n')
		if err := v.writeStory(&b, findingID(i), f); err != nil {
			return err
		}
	}
	if err := v.writeOtherFindings(&b); err != nil {
		return err
	}
	if err := v.writeNotes(&b); err != nil {
		return err
	}
	v.writeRepeats(&b)
	v.writeCounts(&b)
	_, err := w.Write(b.Bytes())
	return err
}

// writeTitle begins a section.
func (v *view) writeTitle(b *bytes.Buffer, title string) {
	b.WriteByte('\n')
	v.painted(b, bold, func(b *bytes.Buffer) { writeParagraph(b, v.Width, title) })
}

// headline is the verdict of the report in one sentence.
func (v *view) headline() string {
	switch {
	case v.unseen:
		return fmt.Sprintf("Inconclusive: no batch of what was asked for was seen (%s), so nothing can be said about it.", v.askedFor())
	case v.verdict == analysis.Inconclusive:
		return "Inconclusive: not one Produce or Fetch batch could be decoded, so nothing can be said about duplicates."
	case v.verdict == analysis.Clean && len(v.Findings) > 0:
		return fmt.Sprintf("No record stands twice in what was asked for. Not asked for: %s.", count(len(v.Findings), "finding"))
	case v.verdict == analysis.Clean && v.hidden():
		return "No record stands twice in what could be seen; what could not be seen is listed below."
	case v.verdict == analysis.Clean:
		return "No record stands twice in what was captured."
	case len(v.findings) == 1:
		f := v.findings[0]
		return fmt.Sprintf("%s in %s (%s): %s", standTwice(f.RecordCount, f.Verdict), places(f), verdictName(f.Verdict), causeText(f))
	}
	return v.summary()
}

// standTwice is "2 records stand twice", as sure as the verdict.
func standTwice(records int, v analysis.Verdict) string {
	verb := map[analysis.Verdict][2]string{
		analysis.Confirmed: {"stands twice", "stand twice"},
		analysis.Probable:  {"probably stands twice", "probably stand twice"},
		analysis.Possible:  {"may stand twice", "may stand twice"},
	}[v]
	if records == 1 {
		return "1 record " + verb[0]
	}
	return count(records, "record") + " " + verb[1]
}

// summary is the headline of several findings: how many records, where, how sure, and why.
func (v *view) summary() string {
	records := 0
	best := analysis.Possible
	places := make(map[string]bool)
	verdicts := make(map[analysis.Verdict]int)
	var causes []string
	for _, f := range v.findings {
		records += f.RecordCount
		best = max(best, f.Verdict)
		places[f.Cluster+"\x00"+place(f.Topic, f.Partition)] = true
		verdicts[f.Verdict]++
		if !slices.Contains(causes, string(f.Cause)) {
			causes = append(causes, string(f.Cause))
		}
	}
	var grades []string
	for _, grade := range []analysis.Verdict{analysis.Confirmed, analysis.Probable, analysis.Possible} {
		if n := verdicts[grade]; n > 0 {
			grades = append(grades, fmt.Sprintf("%d %s", n, verdictName(grade)))
		}
	}
	least := best
	if len(verdicts) > 1 {
		least = analysis.Possible
	}
	slices.Sort(causes)
	return fmt.Sprintf("%s in %s; findings: %s; cause: %s", standTwice(records, least), count(len(places), "partition"),
		strings.Join(grades, ", "), strings.Join(causes, ", "))
}

// hidden reports whether any limit was noted.
func (v *view) hidden() bool {
	limits, _ := v.notes()
	return len(limits) > 0
}

// writeOtherFindings lists what comes after the stories.
func (v *view) writeOtherFindings(b *bytes.Buffer) error {
	if len(v.findings) <= maxStories {
		return nil
	}
	var rows [][]string
	for i, f := range v.findings[maxStories:] {
		rows = append(rows, []string{findingID(maxStories + i), verdictName(f.Verdict), string(f.Cause), place(f.Topic, f.Partition), count(f.RecordCount, "record"), causeText(f)})
	}
	v.writeTitle(b, "More findings; --output json has them in full")
	return v.tables.draw(b, grid{indent: 2, width: v.Width, rows: rows})
}

func (v *view) writeNotes(b *bytes.Buffer) error {
	limits, oddities := v.notes()
	section := func(title string, notes []note, text func(note) string) error {
		if len(notes) == 0 {
			return nil
		}
		var rows [][]string
		for _, n := range notes {
			rows = append(rows, []string{string(n.Code), grouped(n.Count), text(n)})
		}
		b.WriteByte('\n')
		v.painted(b, bold, func(b *bytes.Buffer) { writeHead(b, v.Width, title, "kdupscan explain CODE") })
		return v.tables.draw(b, grid{indent: 2, width: v.Width, rows: rows, right: []int{1}})
	}
	err := section("What could not be seen", limits, func(n note) string { return n.entry.Title + v.firstText(n) + ". Hides: " + n.entry.Effect })
	if err != nil {
		return err
	}
	return section("Odd, but nothing hidden by it", oddities, func(n note) string { return n.entry.Title + v.firstText(n) })
}

// firstText says where a note was first made.
func (v *view) firstText(n note) string {
	var parts []string
	if n.First.Detail != "" {
		parts = append(parts, clean(n.First.Detail, 2*nameWidth))
	}
	if !n.First.At.IsZero() {
		parts = append(parts, v.frame(n.First.At))
	}
	if len(parts) == 0 {
		return ""
	}
	s := strings.Join(parts, ", ")
	if n.Count > 1 {
		s = "first: " + s
	}
	return " (" + s + ")"
}

func (v *view) writeRepeats(b *bytes.Buffer) {
	lines := v.repeatLines()
	if lines == nil {
		return
	}
	v.writeTitle(b, "Written twice by the application itself, after an OK; no fault (kdupscan explain application-repeats)")
	for _, line := range lines {
		fmt.Fprintf(b, "  %s\n", line)
	}
}

// repeatLines names the partitions where an application wrote records twice; nil for none.
func (v *view) repeatLines() []string {
	var lines []string
	for i, r := range v.repeats() {
		if i == maxRepeats {
			return append(lines, "and "+count(len(v.repeats())-i, "more partition"))
		}
		lines = append(lines, fmt.Sprintf("%s: %s", place(r.Topic, r.Partition), count(r.Records, "record")))
	}
	return lines
}

func (v *view) writeCounts(b *bytes.Buffer) {
	if text := v.countsText(); text != "" {
		b.WriteByte('\n')
		writeParagraph(b, v.Width, text)
	}
}

// countsText is "Counted: 2 batches appended, 1 epoch bump.", "" for nothing.
func (v *view) countsText() string {
	c := &v.Counts
	var parts []string
	add := func(n int64, one, many string) {
		switch {
		case n == 1:
			parts = append(parts, "1 "+one)
		case n > 1:
			parts = append(parts, grouped(n)+" "+many)
		}
	}
	add(c.Appended, "batch appended", "batches appended")
	add(c.Deduplicated, "retry recognised by the broker", "retries recognised by the broker")
	add(c.Rejected, "batch refused", "batches refused")
	add(c.Unacknowledged, "batch of unknown fate", "batches of unknown fate")
	add(c.ApplicationRepeats, "record repeated by the application", "records repeated by the application")
	add(c.EpochBumps, "epoch bump", "epoch bumps")
	add(c.LeaderChanges, "partition with a leader change", "partitions with a leader change")
	if parts == nil {
		return ""
	}
	return "Counted: " + strings.Join(parts, ", ") + "."
}

// captureFilter is the display filter of one capture.
type captureFilter struct{ capture, text string }

// displayFilters are the Wireshark filters of f, one for each capture, in their order.
func (v *view) displayFilters(f *analysis.Finding) []captureFilter {
	all := frames(f)
	var out []captureFilter
	for i := range v.captures {
		if numbers, ok := all[i]; ok {
			out = append(out, captureFilter{name(v.captureName(pcap.Ref{Capture: i})), displayFilter(numbers)})
		}
	}
	return out
}

// filterLines are the Wireshark filters of f, one line for each capture.
func (v *view) filterLines(f *analysis.Finding) []string {
	return list(v.displayFilters(f), func(c captureFilter) string {
		if len(v.captures) > 1 {
			return fmt.Sprintf("Wireshark (%s): %s", c.capture, c.text)
		}
		return "Wireshark: " + c.text
	})
}
