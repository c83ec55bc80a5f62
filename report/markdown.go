package report

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode"

	"github.com/kdupscan/kdupscan/analysis"
	"github.com/kdupscan/kdupscan/pcap"
)

// maxMarkdown is how many findings the Markdown report tells in full: an issue holds 65,536 characters on GitHub.
const maxMarkdown = 10

// writeMarkdown writes the report for an issue: GitHub flavoured Markdown, which GitLab reads as well.
func writeMarkdown(w io.Writer, v *view) error {
	m := &markdown{view: v}
	m.line("## %s", mdText(v.headline()))
	m.coverage()
	for i, f := range v.findings[:min(len(v.findings), maxMarkdown)] {
		m.finding(findingID(i), f)
	}
	m.otherFindings()
	m.notes()
	if counted := v.countsText(); counted != "" {
		m.line("%s", counted)
	}
	m.line("Made by kdupscan %s from packet captures alone. `kdupscan explain CODE` says more of each code.", mdText(v.Version))
	_, err := w.Write(m.Bytes())
	return err
}

// markdown is a report in the making. Its blocks are separated by empty lines.
type markdown struct {
	bytes.Buffer
	*view
}

// line writes a block of one line.
func (m *markdown) line(format string, args ...any) {
	m.gap()
	fmt.Fprintf(&m.Buffer, format+"\n", args...)
}

func (m *markdown) gap() {
	if m.Len() > 0 {
		m.WriteByte('\n')
	}
}

// table writes a table; its cells are Markdown already.
func (m *markdown) table(header []string, rows [][]string) {
	m.gap()
	write := func(cells []string) { fmt.Fprintf(&m.Buffer, "| %s |\n", strings.Join(cells, " | ")) }
	write(header)
	write(list(header, func(string) string { return "---" }))
	for _, row := range rows {
		write(append(row, make([]string, len(header)-len(row))...))
	}
}

// bullets writes a list.
func (m *markdown) bullets(lines []string) {
	m.gap()
	for _, line := range lines {
		fmt.Fprintf(&m.Buffer, "- %s\n", line)
	}
}

// fence writes a block of code. Its text must not hold a line of backticks: clean text has no bare backtick.
func (m *markdown) fence(language, text string) {
	m.gap()
	fmt.Fprintf(&m.Buffer, "```%s\n%s\n```\n", language, strings.TrimSuffix(text, "\n"))
}

func (m *markdown) coverage() {
	var rows [][]string
	for i := range m.Captures[:min(len(m.Captures), maxCaptures)] {
		rows = append(rows, []string{"capture", mdText(m.captureText(i))})
	}
	if n := len(m.Captures) - maxCaptures; n > 0 {
		rows = append(rows, []string{"", "and " + count(n, "more capture")})
	}
	rows = append(rows, []string{"seen", mdText(m.coverageText())}, []string{"verdict", string(m.verdict)})
	m.table([]string{"coverage", ""}, rows)
}

func (m *markdown) finding(id string, f *analysis.Finding) {
	m.line("### %s: %s, %s, %s, %s", id, verdictName(f.Verdict), mdCode(string(f.Cause)), mdText(place(f.Topic, f.Partition)), count(f.RecordCount, "record"))
	m.line("%s", mdText(strings.Join(m.gist(f), " ")))
	m.line("%s", mdText(strings.Join(m.certainty(f), " ")))
	m.copies(f)
	m.timeline(f)
	if source := m.mermaid(f); source != "" {
		m.fence("mermaid", source)
	}
	if m.Payloads {
		m.payloads(f)
	}
	m.line("#### Producer and brokers")
	var rows [][]string
	for _, s := range m.settings(f) {
		rows = append(rows, []string{s.name, mdText(s.value)})
	}
	m.table([]string{"what the traffic shows", ""}, rows)
	m.check(f)
	m.next(f)
	m.known(f)
	if doubts := doubts(f); len(doubts) > 0 {
		m.line("#### What weakens this finding")
		m.bullets(list(doubts, func(d pcap.Code) string { return explain(d).Title + " (" + mdCode(string(d)) + ")" }))
	}
}

func (m *markdown) copies(f *analysis.Finding) {
	m.line("#### Copies")
	g := m.copyGrid(f)
	var rows [][]string
	for _, row := range g.rows {
		rows = append(rows, list(row, mdText))
	}
	m.table(g.header, rows)
}

func (m *markdown) timeline(f *analysis.Finding) {
	shown, cut, left := steps(f.Timeline, maxMessages)
	if len(shown) == 0 {
		return
	}
	m.line("#### What happened (%s, UTC)", day(f.Timeline[0].At.Time))
	var rows [][]string
	for i := range shown {
		if i == cut && left > 0 {
			rows = append(rows, []string{"…", "", "", count(left, "step") + " left out; the JSON report has them all"})
		}
		s := &shown[i]
		rows = append(rows, []string{clock(s.At.Time), mdText(strings.TrimPrefix(m.frame(s.At.Ref), "frame ")), s.numbers(), mdText(m.sentence(f, &s.Event))})
	}
	m.table([]string{"time", "frame", "copy", "event"}, rows)
}

func (m *markdown) payloads(f *analysis.Finding) {
	var lines []string
	for _, line := range m.payloadLines(f) {
		lines = append(lines, mdText(line))
	}
	if lines != nil {
		m.line("#### Records")
		m.bullets(lines)
	}
}

func (m *markdown) check(f *analysis.Finding) {
	m.line("#### Check it by hand")
	m.line("Frames that this rests on, as a display filter of Wireshark:")
	for _, filter := range m.displayFilters(f) {
		if len(m.captures) > 1 {
			m.line("In %s:", mdText(filter.capture))
		}
		m.fence("", filter.text)
	}
	d := dumpLog(f)
	if d.command == "" {
		return
	}
	m.line("On the leader, while the segments still exist (no payload is printed):")
	m.fence("sh", d.command)
	m.line("The batches to look for there:")
	m.fence("", strings.Join(d.lines, "\n"))
}

func (m *markdown) next(f *analysis.Finding) {
	m.line("#### What to look at next")
	m.bullets(list(explain(codeOf(f)).Next, mdText))
}

func (m *markdown) known(f *analysis.Finding) {
	known := knownReports(f.Cause, f.Inferred.Software)
	if len(known) == 0 {
		return
	}
	m.line("#### Public reports of this cause")
	m.line("To compare with; whether this is the same fault is not for a capture to say.")
	m.bullets(list(known, func(u upstream) string { return fmt.Sprintf("[%s](%s): %s", u.where, u.url, u.about) }))
}

func (m *markdown) otherFindings() {
	if len(m.findings) <= maxMarkdown {
		return
	}
	m.line("### More findings")
	var rows [][]string
	for i, f := range m.findings[maxMarkdown:] {
		if i == maxRows {
			rows = append(rows, []string{"…", "", "", "", fmt.Sprint(len(m.findings) - maxMarkdown - i), "more; the JSON report has them all"})
			break
		}
		rows = append(rows, []string{findingID(maxMarkdown + i), verdictName(f.Verdict), string(f.Cause), mdText(place(f.Topic, f.Partition)), fmt.Sprint(f.RecordCount), mdText(causeText(f))})
	}
	m.table([]string{"finding", "verdict", "cause", "partition", "records", ""}, rows)
}

// maxRows is how many findings a list in a Markdown report has besides those told in full.
const maxRows = 100

func (m *markdown) notes() {
	limits, oddities := m.view.notes()
	section := func(title string, header []string, notes []note, cells func(note) []string) {
		if len(notes) == 0 {
			return
		}
		m.line("### %s", title)
		m.table(header, list(notes, cells))
	}
	section("What could not be seen", []string{"code", "count", "what", "it hides"}, limits, func(n note) []string {
		return []string{mdCode(string(n.Code)), grouped(n.Count), mdText(n.entry.Title + m.firstText(n)), n.entry.Effect}
	})
	section("Odd, but nothing hidden by it", []string{"code", "count", "what"}, oddities, func(n note) []string {
		return []string{mdCode(string(n.Code)), grouped(n.Count), mdText(n.entry.Title + m.firstText(n))}
	})
	if lines := m.repeatLines(); lines != nil {
		m.line("### Written twice by the application itself, after an OK; no fault")
		m.bullets(list(lines, mdText))
	}
}

// loud reports whether a Markdown reader could take text for more than text: markup, HTML, a link, a mention of a person, an
// issue or a label, an emoji.
func loud(s string) bool {
	sign := func(r rune) bool { return !wordRune(r) && !strings.ContainsRune(` .,:;()/_=+'"–→…-`, r) }
	return strings.ContainsFunc(s, sign) || emphasises(s) || loudASCII.MatchString(s)
}

// loudASCII has no classes of Unicode: compiling those takes a millisecond of every start of the program.
var loudASCII = regexp.MustCompile(`(?i:www\.)|://|:[+]?[a-z_][a-z0-9_+-]*:|:100:|:1234:|^[-+=]|^[0-9]+[.)]( |$)|--|==|GH-`)

// emphasises reports whether an underscore stands at the edge of a word.
func emphasises(s string) bool {
	all := []rune(s)
	for i, r := range all {
		if r == '_' && (i == 0 || i == len(all)-1 || !wordRune(all[i-1]) || !wordRune(all[i+1])) {
			return true
		}
	}
	return false
}

func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// mdText makes clean text inert in Markdown, in a table as well: text that is loud becomes code, inside which nothing is
// markup. The escapes of appendClean that end in a sign of Markdown are written as numbers there.
func mdText(s string) string {
	if s != strings.TrimSpace(s) || loud(s) {
		return mdCode(s)
	}
	return s
}

// mdCode is s as code. What is empty stays empty.
func mdCode(s string) string {
	if s == "" {
		return ""
	}
	return "`" + strings.NewReplacer("|", `x7c`, "`", `x60`).Replace(s) + "`"
}
