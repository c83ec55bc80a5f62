package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/kdupscan/kdupscan/analysis"
)

// Bounds of an HTML report, so that a browser stays quick.
const (
	maxOpen     = 3   // findings that are unfolded when the page is opened
	maxDiagrams = 100 // findings with a diagram; the others have the table alone
	maxActs     = 40  // steps of a diagram and its table
)

//go:embed html.tmpl
var htmlSource string

// htmlTemplate parses the page: when one is written, and not whenever the program starts.
func htmlTemplate() *template.Template {
	return template.Must(template.New("report").Parse(htmlSource))
}

// page is the HTML report as data. Its strings are clean; html/template escapes what is markup.
type page struct {
	Version, Headline, Verdict, Seen, Counted string
	Captures                                  []string
	Findings                                  []pageFinding
	Limits, Oddities                          []pageNote
	Repeats                                   []string
}

type pageNote struct{ Code, Count, Text, Hides string }

type pageFinding struct {
	ID, Verdict, Cause, Place, Records, Why string
	Open                                    bool
	Gist, Certainty                         string
	CopyHeader                              []string
	Copies                                  [][]string
	Day                                     string
	Diagram                                 *diagram
	Steps                                   []pageStep
	Settings                                []pageSetting
	Filters                                 []pageFilter
	Dump                                    *pageDump
	Next                                    []string
	Known                                   []pageLink
	Doubts                                  []pageNote
	Payloads                                []string
}

type pageStep struct {
	ID, Time, Frame, Copy, Text string
	Tone                        tone
}

type (
	pageSetting struct{ Name, Value string }
	pageFilter  struct{ Capture, Text string }
	pageDump    struct{ Command, Lines string }
	pageLink    struct{ Where, URL, About string }
)

// writeHTML writes the report as one page that needs nothing else: no script, no font, no image from elsewhere.
func writeHTML(w io.Writer, v *view) error {
	var b bytes.Buffer
	if err := htmlTemplate().Execute(&b, v.page()); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

func (v *view) page() *page {
	p := &page{Version: clean(v.Version, nameWidth), Headline: v.headline(), Verdict: string(v.verdict), Seen: v.coverageText(), Counted: v.countsText(), Repeats: v.repeatLines()}
	for i := range v.Captures[:min(len(v.Captures), maxCaptures)] {
		p.Captures = append(p.Captures, v.captureText(i))
	}
	if n := len(v.Captures) - maxCaptures; n > 0 {
		p.Captures = append(p.Captures, "and "+count(n, "more capture"))
	}
	for i, f := range v.findings {
		p.Findings = append(p.Findings, v.pageFinding(i, f))
	}
	limits, oddities := v.notes()
	pageNotes := func(n note) pageNote {
		return pageNote{string(n.Code), grouped(n.Count), n.entry.Title + v.firstText(n), n.entry.Effect}
	}
	p.Limits, p.Oddities = list(limits, pageNotes), list(oddities, pageNotes)
	return p
}

func (v *view) pageFinding(i int, f *analysis.Finding) pageFinding {
	id := findingID(i)
	p := pageFinding{ID: id, Verdict: verdictName(f.Verdict), Cause: string(f.Cause), Place: place(f.Topic, f.Partition), Records: count(f.RecordCount, "record"), Why: causeText(f),
		Open: i < maxOpen, Gist: strings.Join(v.gist(f), " "), Certainty: strings.Join(v.certainty(f), " ")}
	g := v.copyGrid(f)
	p.CopyHeader, p.Copies = g.header, g.rows
	s := v.scene(f, maxActs)
	if len(s.acts) > 0 {
		p.Day = day(s.acts[0].At.Time)
		p.Steps = v.pageSteps(id, f, s)
		if i < maxDiagrams {
			p.Diagram = s.draw(id, v, f)
		}
	}
	p.Settings = list(v.settings(f), func(s setting) pageSetting { return pageSetting{s.name, s.value} })
	p.Filters = list(v.displayFilters(f), func(c captureFilter) pageFilter {
		if len(v.captures) < 2 {
			c.capture = ""
		}
		return pageFilter{c.capture, c.text}
	})
	if d := dumpLog(f); d.command != "" {
		p.Dump = &pageDump{d.command, strings.Join(d.lines, "\n")}
	}
	p.Next = explain(codeOf(f)).Next
	p.Known = list(knownReports(f.Cause, f.Inferred.Software), func(u upstream) pageLink { return pageLink{u.where, u.url, u.about} })
	for _, d := range doubts(f) {
		p.Doubts = append(p.Doubts, pageNote{Code: string(d), Text: explain(d).Title})
	}
	if v.Payloads {
		p.Payloads = v.payloadLines(f)
	}
	return p
}

func (v *view) pageSteps(id string, f *analysis.Finding, s *scene) []pageStep {
	var out []pageStep
	for i := range s.acts {
		if i == s.cut && s.left > 0 {
			out = append(out, pageStep{Text: count(s.left, "step") + " left out; the JSON report has them all"})
		}
		a := &s.acts[i]
		out = append(out, pageStep{fmt.Sprintf("%s-%d", id, i+1), clock(a.At.Time), v.frame(a.At.Ref), a.numbers(), v.sentence(f, &a.Event), a.tone})
	}
	return out
}
