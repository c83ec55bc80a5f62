package report

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	source "github.com/yuin/goldmark/text"

	"github.com/kdupscan/kdupscan/pcap"
)

// checkMarkdown parses a report as GitHub does. Its blocks are headings, paragraphs, tables, lists and code; it holds no HTML, no emphasis, no
// image, and no link but those to the known reports.
func checkMarkdown(t *testing.T, markdown string) {
	t.Helper()
	var known []string
	for _, u := range upstreams {
		known = append(known, u.url)
	}
	document := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(source.NewReader([]byte(markdown)))
	err := ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Document, *ast.Paragraph, *ast.TextBlock, *ast.List, *ast.ListItem, *ast.Text, *ast.CodeSpan, *east.Table, *east.TableHeader, *east.TableCell:
		case *ast.Heading:
			if n.Parent() != document {
				t.Error("a heading within a block")
			}
		case *ast.FencedCodeBlock:
			if language := string(n.Language([]byte(markdown))); !slices.Contains([]string{"", "sh", "mermaid"}, language) {
				t.Errorf("code in %q", language)
			}
		case *east.TableRow:
			if header := n.Parent().FirstChild(); n.ChildCount() != header.ChildCount() {
				t.Errorf("a row of %d cells below %d headers, line at byte %d", n.ChildCount(), header.ChildCount(), n.Pos())
			}
		case *ast.Link:
			if !slices.Contains(known, string(n.Destination)) {
				t.Errorf("a link to %s", n.Destination)
			}
		default:
			t.Errorf("a %s at byte %d", n.Kind(), n.Pos())
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestMarkdownIsCommonMark(t *testing.T) {
	for _, source := range []string{write(t, "markdown", seedIncident(), Options{}), write(t, "markdown", manyFaults(), Options{Payloads: true})} {
		checkMarkdown(t, source)
		for _, section := range []string{"\n#### Copies\n", "\n#### What happened", "\n#### Check it by hand\n", "\n```mermaid\nsequenceDiagram\n"} {
			if !strings.Contains(source, section) {
				t.Errorf("no %q", section)
			}
		}
	}
}

func TestMarkdownText(t *testing.T) {
	for _, test := range []struct{ clean, want string }{
		{"orders/3", "orders/3"},
		{"NOT_LEADER_OR_FOLLOWER (6), yet offset 71229: appended there", "NOT_LEADER_OR_FOLLOWER (6), yet offset 71229: appended there"},
		{"Produce 3564 to 3.70.194.188:40001: 2 records", "Produce 3564 to 3.70.194.188:40001: 2 records"},
		{"0xe97ffa59", "0xe97ffa59"},
		{"-1", "`-1`"},
		{"_private/0", "`_private/0`"},
		{"__consumer_offsets/0", "`__consumer_offsets/0`"},
		{"@someone", "`@someone`"},
		{":smile: it is", "`:smile: it is`"},
		{"www.example.com/0", "`www.example.com/0`"},
		{`a\|b\` + "`c", "`a" + `\x7cb\x60c` + "`"},
		{"[2001:db8::7]:9092", "`[2001:db8::7]:9092`"},
		{" x", "` x`"},
		{"", ""},
	} {
		if have := mdText(test.clean); have != test.want {
			t.Errorf("%s: have %s, want %s", test.clean, have, test.want)
		}
	}
}

// FuzzMarkdownText: any name is plain text or code, and all of it, in a heading, a list and a table; and in a diagram it
// is letters, digits, character codes and a few harmless signs.
func FuzzMarkdownText(f *testing.F) {
	for _, trap := range traps {
		f.Add(trap)
	}
	parser := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser()
	harmless := regexp.MustCompile(`^([\p{L}\p{N} .,/()_+=–→…]|#[0-9]+;)*$`)
	f.Fuzz(func(t *testing.T, trap string) {
		s := mdText(name(trap))
		markdown := "# " + s + "\n\n- " + s + "\n\n| a | b |\n| --- | --- |\n| " + s + " | " + s + " |\n\n" + s + "\n"
		cells := 0
		document := parser.Parse(source.NewReader([]byte(markdown)))
		err := ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
			switch n := n.(type) {
			case *ast.Document, *ast.Heading, *ast.Paragraph, *ast.TextBlock, *ast.List, *ast.ListItem, *ast.Text, *ast.CodeSpan, *east.Table, *east.TableHeader, *east.TableRow:
			case *east.TableCell:
				cells++
			default:
				t.Errorf("%q: a %s", s, n.Kind())
			}
			return ast.WalkContinue, nil
		})
		if err != nil || cells != 2*4 {
			t.Errorf("%q: %d cells, %v", s, cells/2, err)
		}
		if m := mermaidText(name(trap)); !harmless.MatchString(m) {
			t.Errorf("in a diagram: %q", m)
		}
	})
}

// TestMermaidIsBounded: at most maxMessages messages, however long the story is.
func TestMermaidIsBounded(t *testing.T) {
	r := seedIncident()
	f := &r.Findings[0]
	one := f.Timeline
	for i := range 100 {
		for _, e := range one {
			e.At.Number += 100 * pcap.FrameNumber(i)
			e.At.Time += 1e9 * pcap.Timestamp(i)
			f.Timeline = append(f.Timeline, e)
		}
	}
	source := newView(r, Options{}).mermaid(f)
	if n := strings.Count(source, "\n") - 1 - strings.Count(source, " as "); n > maxMessages+1 || n < maxMessages-4 {
		t.Errorf("%d messages", n)
	}
	if !strings.Contains(source, " left out\n") {
		t.Error("nothing says that steps are left out")
	}
}
