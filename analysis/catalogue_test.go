package analysis

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kdupscan/kdupscan/pcap"
)

// codePackages are the packages that declare codes, seen from this one.
var codePackages = []string{"../pcap", "../reassembly", "../reassembly/tls", "../kafka", "../analysis", "../cmd/kdupscan"}

// declaredCodes reads the sources: the constants of type pcap.Code and the causes of this package, with where they stand.
func declaredCodes(t *testing.T) map[pcap.Code]string {
	t.Helper()
	codes := make(map[pcap.Code]string)
	for _, dir := range codePackages {
		files, err := filepath.Glob(filepath.Join(filepath.FromSlash(dir), "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				spec, ok := n.(*ast.ValueSpec)
				if !ok || !isCodeType(spec.Type) {
					return true
				}
				for _, value := range spec.Values {
					if literal, ok := value.(*ast.BasicLit); ok {
						code, err := strconv.Unquote(literal.Value)
						if err != nil {
							t.Fatal(err)
						}
						codes[pcap.Code(code)] = set.Position(literal.Pos()).String()
					}
				}
				return true
			})
		}
	}
	return codes
}

func isCodeType(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name == "Code" || e.Name == "Cause"
	case *ast.SelectorExpr:
		return e.Sel.Name == "Code"
	}
	return false
}

func TestCatalogueCoversEveryCode(t *testing.T) {
	codes := declaredCodes(t)
	if len(codes) < 20 {
		t.Fatalf("only %d codes found in the sources: the search is broken", len(codes))
	}
	for _, code := range slices.Sorted(maps.Keys(codes)) {
		if _, ok := Explain(code); !ok {
			t.Errorf("%s: code %q is not in the catalogue", codes[code], code)
		}
	}
	for _, e := range Catalogue {
		if _, ok := codes[e.Code]; !ok && e.Class != ClassCount {
			t.Errorf("catalogue entry %q: no package declares the code", e.Code)
		}
	}
}

func TestCatalogueEntriesAreWhole(t *testing.T) {
	kebab := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	seen := make(map[pcap.Code]bool)
	for _, e := range Catalogue {
		if seen[e.Code] {
			t.Errorf("%s: two entries", e.Code)
		}
		seen[e.Code] = true
		if !kebab.MatchString(string(e.Code)) {
			t.Errorf("%q is not in kebab case", e.Code)
		}
		if e.Title == "" || e.Meaning == "" || e.Since == "" || len(e.Causes) == 0 || len(e.Next) == 0 || len(e.Similar) == 0 {
			t.Errorf("%s: an empty field: %+v", e.Code, e)
		}
		if (e.Effect != "") != (e.Class == ClassLimit) {
			t.Errorf("%s: limits have an Effect, and only they", e.Code)
		}
		if e.Class == ClassFinding && e.Example == "" {
			t.Errorf("%s: a finding needs an example", e.Code)
		}
		if strings.Contains(e.Title, "\n") || strings.Contains(e.Effect, "\n") || strings.HasSuffix(e.Title, ".") {
			t.Errorf("%s: title and effect are one line, the title without a full stop", e.Code)
		}
	}
}
