package report

import (
	"regexp"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/net/html"

	"github.com/kdupscan/kdupscan/analysis"
)

// traps are names made to act where they are shown: on a terminal, in a table, in Markdown, in HTML, in Mermaid.
var traps = []string{
	hostile,
	"\x1b[31mred\x1b[0m\x07\x08\x00\x7f\u0085\u009b1A",
	"a|b||c\\|d\\\\|e",
	"`code` ``more`` ```\n# heading\n",
	"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "'-alert(1)-'", "{{.Version}}", "]]>--><style>*{display:none}</style>",
	"\u202egnp.exe\u202c\u2066isolate\u2069\u200f\u200b\ufeff",
	"[link](https://example.com) ![image](https://example.com/i.png) <https://example.com> https://example.com www.example.com",
	"@someone #1 !2 GH-3 :smile: $x^2$ ~~gone~~ **bold** __bold__ _it_ a@example.com",
	"; participant X as evil\nX->>L0: hi %% comment #quot; end",
	" leading and trailing ",
	"---", "- item", "1. item", "> quote", "| a | b |\n|---|---|",
	strings.Repeat("x", 10_000), strings.Repeat("日本", 5_000), strings.Repeat("<|`", 3_000),
	"\xff\xfe\xc3", "",
}

// trapped is a result in which every captured name is the given one.
func trapped(trap string) *analysis.Result {
	r := manyFaults()
	r.Findings = append(r.Findings, seedIncident().Findings...)
	for i := range r.Findings {
		f := &r.Findings[i]
		f.Topic.Name, f.Inferred.ClientID, f.Inferred.Software, f.Cluster = trap, trap, trap, trap
		for j := range f.Copies {
			f.Copies[j].Topic.Name = trap
		}
		for j := range f.Timeline {
			f.Timeline[j].Topic.Name, f.Timeline[j].Partition = trap, int32(j%2) // some of them elsewhere
		}
		for j := range f.Records {
			if p := f.Records[j].Preview; p != nil {
				p.Key, p.Value = []byte(trap)[:min(64, len(trap))], []byte(trap)[:min(64, len(trap))]
			}
		}
	}
	for i := range r.Captures {
		r.Captures[i].Name = trap
	}
	for i := range r.Notes {
		r.Notes[i].First.Detail = trap
	}
	for i := range r.Producers {
		r.Producers[i].ClientID, r.Producers[i].Software, r.Producers[i].TransactionalID = trap, trap, &trap
	}
	for i := range r.Repeats {
		r.Repeats[i].Topic.Name = trap
	}
	return r
}

// trappedDiagrams has a finding for each of the traps that could act in the diagrams of Markdown.
func trappedDiagrams() *analysis.Result {
	r := seedIncident()
	r.Findings = nil
	for _, i := range []int{0, 2, 3, 4, 8, 11, 13, 17, 18, 19} {
		r.Findings = append(r.Findings, trapped(traps[i]).Findings[2])
	}
	return r
}

// TestHostileStrings writes each trap in every format: nothing of it may act.
func TestHostileStrings(t *testing.T) {
	for _, trap := range traps {
		checkTrap(t, trap)
	}
}

func checkTrap(t *testing.T, trap string) {
	for _, format := range Formats() {
		text := write(t, format, trapped(trap), Options{Payloads: true, Version: "test"})
		for _, c := range text {
			if c != '\n' && (!unicode.IsPrint(c) || unicode.Is(unicode.M, c)) {
				t.Errorf("%s of %.20q: %U is in the report", format, trap, c)
			}
		}
		// No format repeats a name of 10 kB, other than JSON, which is for programs.
		if format != "json" && len(text) > 200_000 {
			t.Errorf("%s of %.20q: %d bytes", format, trap, len(text))
		}
		switch format {
		case "table":
			checkTable(t, trap, text)
		case "json":
			validate(t, text)
		case "markdown":
			checkMarkdown(t, text)
		case "html":
			checkHTML(t, text)
		}
	}
}

func checkTable(t *testing.T, trap, text string) {
	t.Helper()
	if strings.Contains(text, "\nF9") || strings.Contains(text, "a|b") {
		t.Errorf("%.20q: markup or a line of the name's own in\n%s", trap, text)
	}
	for line := range strings.Lines(text) {
		if len(line) > 400 {
			t.Errorf("%.20q: a line of %d bytes", trap, len(line))
		}
	}
}

// Elements and attributes that the template writes itself.
var (
	ownElements   = regexp.MustCompile(`^(html|head|meta|link|title|style|body|main|header|footer|h[1-3]|div|span|p|table|thead|tbody|tr|th|td|details|summary|b|i|a|dl|dt|dd|ul|li|code|pre|svg|g|line|rect|path|text)$`)
	ownAttributes = regexp.MustCompile(`^(lang|charset|name|content|http-equiv|rel|href|class|id|open|style|tabindex|role|aria-label|viewbox|width|height|d|x|y|x1|x2|y1|y2|dy|rx)$`)
	ownLinks      = regexp.MustCompile(`^(data:,|#F[0-9]+(-[0-9]+)?|https://github\.com/[A-Za-z0-9-]+/[A-Za-z0-9-]+/(issues|pull)/[0-9]+)$`)
)

// checkHTML makes sure that the page is made of the template's elements alone, loads nothing, runs nothing, and that its
// inner links lead somewhere.
func checkHTML(t *testing.T, text string) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	ids, targets := make(map[string]bool), make(map[string]bool)
	for n := range root.Descendants() {
		if n.Type == html.CommentNode {
			t.Errorf("comment %q", n.Data)
		}
		if n.Type != html.ElementNode {
			continue
		}
		if !ownElements.MatchString(n.Data) {
			t.Errorf("element <%s>", n.Data)
		}
		for _, a := range n.Attr {
			switch key := strings.ToLower(a.Key); {
			case !ownAttributes.MatchString(key):
				t.Errorf("attribute %s=%q", a.Key, a.Val)
			case key == "id":
				if ids[a.Val] {
					t.Errorf("id %s twice", a.Val)
				}
				ids[a.Val] = true
			case key == "href" && !ownLinks.MatchString(a.Val):
				t.Errorf("link to %s", a.Val)
			case key == "href" && strings.HasPrefix(a.Val, "#"):
				targets[a.Val[1:]] = true
			}
		}
	}
	for target := range targets {
		if !ids[target] {
			t.Errorf("link to #%s, which is nowhere", target)
		}
	}
}
