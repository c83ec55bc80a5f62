package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const modulePath = "github.com/kdupscan/kdupscan/"

// layers are the packages in the order of the data. A package may import those before it, with the exceptions of mayImport.
var layers = []string{"pcap", "pcap/filter", "pcap/flight", "reassembly", "reassembly/tls", "kafka", "analysis", "report", "report/evidence", "cmd/kdupscan"}

func mayImport(from, to string) bool {
	output := strings.HasPrefix(to, "report")
	return slices.Index(layers, to) < slices.Index(layers, from) && (!output || from == "cmd/kdupscan")
}

// concurrent reports whether a file may start goroutines and synchronise them: those of the command, the live source
// and the recorder, which must not make it wait.
func concurrent(pkg, file string) bool {
	return pkg == "cmd/kdupscan" || pkg == "pcap/flight" || pkg == "pcap" && strings.HasPrefix(file, "live")
}

// sources calls f for each file of the program, tests and packages that only serve tests left out.
func sources(t *testing.T, f func(pkg, name string, file *ast.File)) {
	t.Helper()
	root := filepath.Join("..", "..")
	for _, pkg := range layers {
		names, err := fs.Glob(os.DirFS(root), pkg+"/*.go")
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: no sources (%v)", pkg, err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, filepath.FromSlash(name)), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			f(pkg, name[len(pkg)+1:], file)
		}
	}
}

func TestImportsPointLeftwards(t *testing.T) {
	edges := 0
	sources(t, func(pkg, name string, file *ast.File) {
		for _, spec := range file.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			to, own := strings.CutPrefix(path, modulePath)
			if !own {
				continue
			}
			edges++
			if !mayImport(pkg, to) {
				t.Errorf("%s/%s imports %s: imports point leftwards only, and only the command imports report and evidence", pkg, name, to)
			}
		}
	})
	if edges == 0 {
		t.Error("no import found at all: the search is broken")
	}
}

func TestConcurrencyStaysInTheCommand(t *testing.T) {
	sources(t, func(pkg, name string, file *ast.File) {
		if concurrent(pkg, name) {
			return
		}
		for _, spec := range file.Imports {
			if spec.Path.Value == `"sync"` {
				t.Errorf("%s/%s imports sync", pkg, name)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if _, ok := n.(*ast.GoStmt); ok {
				t.Errorf("%s/%s starts a goroutine", pkg, name)
			}
			return true
		})
	})
}
