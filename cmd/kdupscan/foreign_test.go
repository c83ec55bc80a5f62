package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// foreign is the folder of captures by other projects, used in place.
var foreign = filepath.Join("..", "..", "..", "shared", "corpus")

// TestForeignCaptures scans every capture of others: no panic, no finding, no connection taken for Kafka where there is none, and
// the same report for any number of workers.
func TestForeignCaptures(t *testing.T) {
	if _, err := os.Stat(foreign); err != nil {
		t.Skip("the captures of other projects are not here")
	}
	var paths []string
	err := filepath.WalkDir(foreign, func(path string, entry fs.DirEntry, err error) error {
		if name := entry.Name(); err == nil && !entry.IsDir() && (strings.Contains(name, ".pcap") || strings.HasSuffix(name, ".cap")) {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		status, out, errs := runScan(nil, "--output", "json", "--workers", "1", path)
		if status == statusMisuse {
			if strings.Count(errs, "\n") != 1 {
				t.Errorf("%s: %q", path, errs)
			}
			continue
		}
		if again, have, _ := runScan(nil, "--output", "json", "--workers", "8", path); again != status || have != out {
			t.Errorf("%s: another report with 8 workers", path)
		}
		var report struct {
			Findings []any
			Coverage struct{ Connections struct{ Kafka int } }
		}
		if err := json.Unmarshal([]byte(out), &report); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if len(report.Findings) > 0 {
			t.Errorf("%s: %d findings", path, len(report.Findings))
		}
		if kafka := strings.Contains(path, string(filepath.Separator)+"kafka"+string(filepath.Separator)); !kafka && report.Coverage.Connections.Kafka > 0 {
			t.Errorf("%s: taken for Kafka", path)
		}
	}
}

// TestMutatedCaptures damages captures with known answers in every way that a disk or a hostile sender does, and scans what is
// left: no panic, and a report or one clear line.
func TestMutatedCaptures(t *testing.T) {
	var paths []string
	for _, folder := range []string{"seed", "cases", "lab"} {
		all, _ := filepath.Glob(filepath.Join("..", "..", "..", "shared", "captures", folder, "*.pcap*"))
		paths = append(paths, all...)
	}
	if len(paths) == 0 {
		t.Skip("the shared captures are not here")
	}
	rounds := 6
	if testing.Short() {
		rounds = 1
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for seed := range rounds {
			for name, mutate := range mutations {
				chance := rand.New(rand.NewPCG(uint64(seed), uint64(len(data))))
				status, out, errs := runScan(bytes.NewReader(mutate(slices.Clone(data), chance)), "--output", "json", "-")
				switch {
				case status == statusMisuse && strings.HasPrefix(errs, "kdupscan: "):
				case status > 3 || !json.Valid([]byte(out)):
					t.Errorf("%s, %s, seed %d: status %d, %q", filepath.Base(path), name, seed, status, errs)
				}
			}
		}
	}
}

// mutations are ways in which a file gets damaged. They may change their argument.
var mutations = map[string]func(data []byte, chance *rand.Rand) []byte{
	"bit flips": func(data []byte, chance *rand.Rand) []byte {
		for range 1 + len(data)/2000 {
			data[chance.IntN(len(data))] ^= 1 << chance.IntN(8)
		}
		return data
	},
	"cut off": func(data []byte, chance *rand.Rand) []byte { return data[:chance.IntN(len(data))] },
	"hole": func(data []byte, chance *rand.Rand) []byte {
		from := chance.IntN(len(data))
		return append(data[:from:from], data[min(len(data), from+chance.IntN(4096)):]...)
	},
	"block repeated": func(data []byte, chance *rand.Rand) []byte {
		from := chance.IntN(len(data))
		to := min(len(data), from+1+chance.IntN(8192))
		return slices.Insert(data, to, slices.Clone(data[from:to])...)
	},
	"blocks swapped": func(data []byte, chance *rand.Rand) []byte {
		n := min(512, len(data)/2)
		a, b := chance.IntN(len(data)-n+1), chance.IntN(len(data)-n+1)
		first := slices.Clone(data[a : a+n])
		copy(data[a:a+n], data[b:b+n])
		copy(data[b:b+n], first)
		return data
	},
	"zeros": func(data []byte, chance *rand.Rand) []byte {
		from := chance.IntN(len(data))
		clear(data[from:min(len(data), from+chance.IntN(2048))])
		return data
	},
}
