package main

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/kdupscan/kdupscan/kafka/kafkatest"
	"github.com/kdupscan/kdupscan/report"
)

// goldens are the captures whose reports are kept, in every format: both incidents of the seed and three recordings of
// real brokers and clients.
var goldens = []string{"seed/seed-a.pcap", "seed/seed-b.pcap", "lab/c01.pcap", "lab/c05.pcap", "lab/c20b.pcapng"}

var extensions = map[string]string{"table": "txt", "json": "json", "markdown": "md", "html": "html"}

// styleSheet is the same in all pages, and no golden report shows whether it is right.
var styleSheet = regexp.MustCompile(`(?s)<style>.*?</style>`)

// TestGolden compares whole reports with files that were read when they were made.
func TestGolden(t *testing.T) {
	for _, capture := range goldens {
		for _, format := range report.Formats() {
			name, _, _ := strings.Cut(filepath.Base(capture), ".")
			t.Run(name+" "+format, func(t *testing.T) {
				_, have, _ := runScan(nil, "--output", format, filepath.Join("..", "..", "testdata", filepath.FromSlash(capture)))
				have = styleSheet.ReplaceAllString(have, "<style></style>")
				file := filepath.Join("testdata", "golden", name+"."+extensions[format])
				if flag.Lookup("update").Value.String() == "true" {
					if err := os.WriteFile(file, []byte(have), 0o666); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(want), have); diff != "" {
					t.Errorf("-want +have:\n%s", diff)
				}
			})
		}
	}
}

// TestReportsFollowTheSchema validates the report of every capture of testdata and of every scenario.
func TestReportsFollowTheSchema(t *testing.T) {
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(report.Schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	check := func(name, text string) {
		t.Helper()
		instance, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err == nil {
			err = schema.Validate(instance)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	captures, err := filepath.Glob(filepath.Join("..", "..", "testdata", "*", "*.pcap*"))
	if err != nil || len(captures) == 0 {
		t.Fatal("no captures", err)
	}
	for _, capture := range captures {
		_, text, _ := runScan(nil, "--output", "json", "--payloads", capture)
		check(capture, text)
	}
	for _, s := range kafkatest.Scenarios() {
		_, text, _ := runScan(strings.NewReader(string(s.Pcap())), "--output", "json", "-")
		check(s.Name, text)
	}
}

// readmeExample finds the commands of README.md that are shown with what they print.
var readmeExample = regexp.MustCompile("(?s)```\n\\$ kdupscan ([^\n]*)\n(.*?)```")

// TestReadme: the README shows what the program prints.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join("..", ".."))
	examples := readmeExample.FindAllStringSubmatch(string(readme), -1)
	if examples == nil {
		t.Error("README.md has no example")
	}
	for _, example := range examples {
		var out, errs strings.Builder
		run(strings.Fields(example[1]), strings.NewReader(""), &out, &errs)
		if diff := cmp.Diff(example[2], out.String()); diff != "" {
			t.Errorf("kdupscan %s: -README +have:\n%s%s", example[1], diff, errs.String())
		}
	}
}
