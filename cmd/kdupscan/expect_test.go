package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kdupscan/kdupscan/kafka/kafkatest"
)

// expectation is what a right report of a capture holds.
type expectation struct {
	Exit       int
	Verdict    string
	Duplicates []struct {
		Topic          string
		Partition      int32
		Cause, Verdict oneOf
		Pairs          [][]*int64
		Bump, Trigger  map[string]any
	}
	Counts map[string]int64
}

// oneOf is one acceptable value or a list of them.
type oneOf []string

func (o *oneOf) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '[' {
		return json.Unmarshal(text, (*[]string)(o))
	}
	*o = make(oneOf, 1)
	return json.Unmarshal(text, &(*o)[0])
}

// reported is the part of a report that expectations speak of.
type reported struct {
	Verdict  string
	Counts   map[string]int64
	Findings []struct {
		ID, Topic, Cause, Verdict string
		Partition                 int32
		Records                   []struct{ Offsets []any }
		Bump                      map[string]any
	}
}

// check compares a report with what is expected of it. Each expected duplicate is one finding, and there are no others.
func (e *expectation) check(t *testing.T, status int, text string) {
	t.Helper()
	var have reported
	if err := json.Unmarshal([]byte(text), &have); err != nil {
		t.Fatal(err)
	}
	if status != e.Exit || have.Verdict != e.Verdict {
		t.Errorf("status %d, verdict %s; want %d, %s", status, have.Verdict, e.Exit, e.Verdict)
	}
	for name, want := range e.Counts {
		if have.Counts[name] != want {
			t.Errorf("%s: have %d, want %d", name, have.Counts[name], want)
		}
	}
	found := make(map[string]int)
	for i, f := range have.Findings {
		var pairs []string
		for _, r := range f.Records {
			pairs = append(pairs, offsetsKey(r.Offsets))
		}
		found[fmt.Sprintf("%s/%d %s", f.Topic, f.Partition, strings.Join(pairs, " "))] = i
	}
	for _, want := range e.Duplicates {
		var pairs []string
		for _, pair := range want.Pairs {
			pairs = append(pairs, offsetsKey(pair))
		}
		key := fmt.Sprintf("%s/%d %s", want.Topic, want.Partition, strings.Join(pairs, " "))
		i, ok := found[key]
		if !ok {
			t.Errorf("no finding %s", key)
			continue
		}
		delete(found, key)
		f := have.Findings[i]
		if !slices.Contains(want.Cause, f.Cause) || !slices.Contains(want.Verdict, f.Verdict) {
			t.Errorf("%s: %s %s, want %v %v", key, f.Verdict, f.Cause, want.Verdict, want.Cause)
		}
		checkFields(t, key+" bump", want.Bump, f.Bump)
		trigger, _ := f.Bump["trigger"].(map[string]any)
		checkFields(t, key+" trigger", want.Trigger, trigger)
	}
	for key := range found {
		t.Errorf("false finding %s", key)
	}
}

// offsetsKey is "71229,71231", with ? for an unknown offset.
func offsetsKey[T any](offsets []T) string {
	text, err := json.Marshal(offsets)
	if err != nil {
		return err.Error()
	}
	return strings.ReplaceAll(strings.Trim(string(text), "[]"), "null", "?")
}

func checkFields(t *testing.T, where string, want, have map[string]any) {
	t.Helper()
	for field, value := range want {
		if have[field] != value {
			t.Errorf("%s: %s is %v, want %v", where, field, have[field], value)
		}
	}
}

// TestScenarios scans every story that kafkatest can tell.
func TestScenarios(t *testing.T) {
	for _, c := range kafkatest.Scenarios() {
		t.Run(c.Name, func(t *testing.T) {
			var want expectation
			if err := json.Unmarshal(c.Expectation(), &want); err != nil {
				t.Fatal(err)
			}
			status, out, _ := runScan(bytes.NewReader(c.Pcap()), "--output", "json", "-")
			want.check(t, status, out)
		})
	}
}

// TestExpectations scans the captures of testdata that have an expectation beside them.
func TestExpectations(t *testing.T) {
	root := filepath.Join("..", "..", "testdata")
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		stem, ok := strings.CutSuffix(path, ".expect.json")
		if err != nil || !ok {
			return err
		}
		t.Run(filepath.Base(stem), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var want expectation
			if err := json.Unmarshal(text, &want); err != nil {
				t.Fatal(err)
			}
			inputs := captureOf(t, stem, text)
			status, out, _ := runScan(nil, append([]string{"--output", "json"}, inputs...)...)
			want.check(t, status, out)
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// captureOf returns the captures that an expectation names, or the one beside it.
func captureOf(t *testing.T, stem string, text []byte) []string {
	t.Helper()
	var named struct{ Captures []string }
	if err := json.Unmarshal(text, &named); err != nil {
		t.Fatal(err)
	}
	var inputs []string
	for _, name := range named.Captures {
		inputs = append(inputs, filepath.Join(filepath.Dir(stem), name))
	}
	if inputs == nil {
		inputs, _ = filepath.Glob(stem + ".pcap*")
	}
	if len(inputs) == 0 {
		t.Fatal("no capture beside the expectation")
	}
	return inputs
}
