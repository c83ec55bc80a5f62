package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/kdupscan/kdupscan/analysis"
)

// entryWidth is how wide explanations are at most: prose in longer lines is hard to read.
const entryWidth = 100

// WriteEntry writes all that the catalogue says of a code, as a manual page. A width of zero means an unknown terminal.
func WriteEntry(w io.Writer, e analysis.Entry, width int) error {
	width = proseWidth(width)
	var b bytes.Buffer
	head := fmt.Sprintf("%s (%s)", e.Code, e.Class)
	writeHead(&b, width, head, "kdupscan explain")
	writeSection(&b, width, "NAME", []string{fmt.Sprintf("%s: %s", e.Code, e.Title)})
	writeSection(&b, width, "MEANING", strings.Split(e.Meaning, "\n\n"))
	if e.Effect != "" {
		writeSection(&b, width, "WHAT IT HIDES", []string{e.Effect})
	}
	writeBullets(&b, width, "TYPICAL CAUSES", e.Causes)
	writeBullets(&b, width, "WHAT TO LOOK AT NEXT", e.Next)
	writeBullets(&b, width, "LOOK-ALIKES", e.Similar)
	if e.Example != "" {
		writeSection(&b, width, "EXAMPLE", []string{e.Example})
	}
	writeBullets(&b, width, "PUBLIC REPORTS OF THIS CAUSE", list(knownReports(analysis.Cause(e.Code), ""), func(u upstream) string {
		return u.where + ": " + u.about
	}))
	writeSection(&b, width, "SINCE", []string{"kdupscan " + e.Since})
	_, err := w.Write(b.Bytes())
	return err
}

// entryIndent is how far the text of a section stands in.
const entryIndent = 4

// writeSection writes a title and paragraphs, with an empty line between two.
func writeSection(b *bytes.Buffer, width int, title string, paragraphs []string) {
	fmt.Fprintf(b, "\n%s\n", title)
	for i, paragraph := range paragraphs {
		if i > 0 {
			b.WriteByte('\n')
		}
		writeHanging(b, width, entryIndent, 0, paragraph)
	}
}

// writeBullets writes a title and a list; nothing for an empty one.
func writeBullets(b *bytes.Buffer, width int, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", title)
	for _, line := range lines {
		writeHanging(b, width, entryIndent, 2, "- "+line)
	}
}

// WriteCatalogue lists the entries with their titles, class by class in the order given.
func WriteCatalogue(w io.Writer, entries []analysis.Entry, width int) error {
	var b bytes.Buffer
	var tables drawer
	var classes []analysis.Class
	rows := make(map[analysis.Class][][]string)
	widest := 0
	for _, e := range entries {
		if rows[e.Class] == nil {
			classes = append(classes, e.Class)
		}
		rows[e.Class] = append(rows[e.Class], []string{string(e.Code), e.Title})
		widest = max(widest, len(e.Code))
	}
	for i, class := range classes {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s\n", classTitles[class])
		for _, row := range rows[class] {
			row[0] += strings.Repeat(" ", widest-len(row[0])) // the classes share one column
		}
		if err := tables.draw(&b, grid{indent: 2, width: cmp.Or(width, DefaultWidth), rows: rows[class]}); err != nil {
			return err
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

func proseWidth(width int) int {
	if width <= 0 {
		return entryWidth
	}
	return min(width, entryWidth)
}

var classTitles = map[analysis.Class]string{
	analysis.ClassFinding: "Findings: why records were written twice",
	analysis.ClassDoubt:   "Doubts: what weakens or limits one finding",
	analysis.ClassLimit:   "Limits: what a capture could not show",
	analysis.ClassOddity:  "Oddities: unusual traffic that hides nothing",
	analysis.ClassCount:   "Counts: events that are no findings",
}
