package report

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/kdupscan/kdupscan/analysis"
)

// maxMessages is how many messages a Mermaid diagram has: more can no longer be read, and viewers refuse the largest.
const maxMessages = 60

// mermaid returns the story of f as the source of a Mermaid sequence diagram (https://mermaid.js.org), "" for a finding
// without a story.
func (v *view) mermaid(f *analysis.Finding) string {
	for limit := maxMessages; limit > 0; limit -= 2 {
		s := v.scene(f, limit)
		if len(s.acts) == 0 {
			return ""
		}
		if s.messages() <= maxMessages {
			return s.mermaid(f)
		}
	}
	return ""
}

// messages is how many messages and remarks the diagram has.
func (s *scene) messages() int {
	n := 0
	for i := range s.acts {
		n += 1 + len(s.acts[i].newMarks())
	}
	return n
}

func (s *scene) mermaid(f *analysis.Finding) string {
	var b bytes.Buffer
	b.WriteString("sequenceDiagram\n")
	for i, l := range s.lanes {
		kind := map[laneKind]string{laneClient: "actor", laneReader: "actor"}[l.kind]
		if kind == "" {
			kind = "participant"
		}
		fmt.Fprintf(&b, "    %s L%d as %s\n", kind, i, strings.TrimSpace(l.title()+" "+mermaidText(trim(l.label()))))
	}
	for i := range s.acts {
		if i == s.cut && s.left > 0 {
			fmt.Fprintf(&b, "    Note over L0,L%d: %s left out\n", len(s.lanes)-1, count(s.left, "step"))
		}
		s.mermaidAct(&b, f, &s.acts[i])
	}
	return b.String()
}

// label is the name of a lane, or what stands for the names that have none.
func (l lane) label() string {
	if l.name == "" && l.kind != laneReader {
		return "(others)"
	}
	return l.name
}

// newMarks are the marks that no earlier act has.
func (a *act) newMarks() []mark {
	return slices.DeleteFunc(slices.Clone(a.marks), func(m mark) bool { return m.again })
}

func (s *scene) mermaidAct(b *bytes.Buffer, f *analysis.Finding, a *act) {
	text := clock(a.At.Time) + " " + mermaidText(a.head)
	if a.tail != "" {
		text += "<br/>" + mermaidText(a.tail)
	}
	stored := func() {
		for _, m := range a.newMarks() {
			fmt.Fprintf(b, "    Note over L%d: copy %d stands at %s\n", m.lane, m.copy, m.offsets)
		}
	}
	switch {
	case across(a.Kind):
		text = clock(a.At.Time) + " " + mermaidText(clean(eventText(f, &a.Event), 3*briefWidth))
		fmt.Fprintf(b, "    Note over L0,L%d: %s\n", len(s.lanes)-1, text)
	case a.tone == toneLost:
		fmt.Fprintf(b, "    L%d--xL%d: %s\n", a.from, a.to, text)
	case a.tone == toneSend:
		fmt.Fprintf(b, "    L%d->>L%d: %s\n", a.from, a.to, text)
		stored()
	case a.tone == toneRead:
		stored()
		fmt.Fprintf(b, "    L%d-->>L%d: %s\n", a.from, a.to, text)
	default:
		stored()
		fmt.Fprintf(b, "    L%d-->>L%d: %s\n", a.from, a.to, text)
	}
}

// mermaidText writes what is not a letter, a digit, a space or one of a few harmless signs as a character code of Mermaid:
// semicolons end statements there, hashes begin codes, and what looks like HTML is HTML.
func mermaidText(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" .,/()_+=–→…", r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "#%d;", r)
		}
	}
	return b.String()
}
