package report

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

func TestClean(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"plain", "orders.v2_EU-1", "orders.v2_EU-1"},
		{"letters of the world", "größe-日本-Ωμ", "größe-日本-Ωμ"},
		{"space", "a b", "a b"},
		{"line ends and tabs", "a\r\n\tb", `a\r\n\tb`},
		{"C0 and DEL", "\x00\x1b[31m\x7f", `\x00\x1b[31m\x7f`},
		{"C1 as UTF-8", "\u009b31m\u0085", `\u009b31m\u0085`},
		{"C1 as raw bytes", "\x9b31m", `\x9b31m`},
		{"no UTF-8", "a\xff\xc3", `a\xff\xc3`},
		{"bidirectional marks", "a\u202eb\u2066c\u200f", `a\u202eb\u2066c\u200f`},
		{"zero width", "a\u200bb\ufeff\u00ad", `a\u200bb\ufeff\u00ad`},
		{"line separators", "a\u2028b", `a\u2028b`},
		{"combining marks", "e\u0301\u0301", `e\u0301\u0301`},
		{"fillers", "\u3164\u115f", `\u3164\u115f`},
		{"other spaces", "a\u00a0b\u3000", `a\u00a0b\u3000`},
		{"tags", "\U000e0041", `\U000e0041`},
		{"markup", "a|b`c\\d", "a\\|b\\`c\\\\d"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if have := clean(test.in, 1000); have != test.want {
				t.Errorf("have %s, want %s", have, test.want)
			}
		})
	}
}

func TestCleanIsWidthSafe(t *testing.T) {
	for _, in := range []string{"", "a", strings.Repeat("a", 10), strings.Repeat("a", 11), strings.Repeat("日", 5), strings.Repeat("日", 6), strings.Repeat("\x1b", 3), strings.Repeat("x", 1<<15)} {
		have := clean(in, 10)
		if width := displaywidth.String(have); width > 10 {
			t.Errorf("%q is %d columns wide", have, width)
		}
		if displaywidth.String(in) <= 10 && !strings.Contains(in, "\x1b") && have != in {
			t.Errorf("%q fits and became %q", in, have)
		}
	}
}

// FuzzClean: the result is visible throughout, as wide as allowed at most, and JSON keeps its value when escaped.
func FuzzClean(f *testing.F) {
	for _, seed := range []string{"orders", hostile, "\U000e0041\u2028", "日本語"} {
		f.Add(seed, 20)
	}
	f.Fuzz(func(t *testing.T, s string, max int) {
		max = 2 + max&0xff
		have := clean(s, max)
		if !utf8.ValidString(have) || displaywidth.String(have) > max {
			t.Errorf("%q: width %d of %d", have, displaywidth.String(have), max)
		}
		for _, r := range have {
			if !visible(r) {
				t.Errorf("%q: %U", have, r)
			}
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		escaped := escapeJSON(text)
		var before, after string
		if json.Unmarshal(text, &before) != nil || json.Unmarshal(escaped, &after) != nil || before != after {
			t.Errorf("%s became %s", text, escaped)
		}
	})
}

func TestPrintable(t *testing.T) {
	for _, test := range []struct {
		preview string
		size    int
		want    string
		ok      bool
	}{
		{"order-17", 8, "order-17", true},
		{"größe", 7, "größe", true},
		{"gr\xc3", 7, "gr", true}, // cut inside ö
		{"gr\xc3", 3, "", false},  // that is all of it: no UTF-8
		{"日\xe6\x97", 100, "日", true},
		{"a\nb", 3, "", false},
		{"\x00", 1, "", false},
		{"", 0, "", true},
	} {
		if have, ok := printable([]byte(test.preview), test.size); have != test.want || ok != test.ok {
			t.Errorf("%q: have %q, %v", test.preview, have, ok)
		}
	}
}
