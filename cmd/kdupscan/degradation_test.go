package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kdupscan/kdupscan/kafka/kafkatest"
	"github.com/kdupscan/kdupscan/pcap/pcaptest"
)

var updateDegradation = flag.Bool("update", false, "write docs/degradation.md anew")

// A capture of a rare fault is never clean. These tests spoil captures whose truth is known, in every way that captures get
// spoilt, and hold three things: no finding is false, what is found does not depend on luck, and the loss of a packet costs
// only what that packet proved. docs/degradation.md has the figures.

// degradation spoils a capture. Random ones take several seeds.
type degradation struct {
	name  string
	seeds int
	spoil func(packets []pcaptest.Packet, seed uint64) []pcaptest.Packet
	// suspicions are allowed: the capture may lack the beginning of what it shows, so that a first copy in the part that is
	// missing cannot be ruled out. Such a finding is possible at most, and names no first offset.
	suspicions bool
}

func degradations() []degradation {
	fixed := func(name string, spoil func([]pcaptest.Packet) []pcaptest.Packet) degradation {
		return degradation{name: name, seeds: 1, spoil: func(p []pcaptest.Packet, _ uint64) []pcaptest.Packet { return spoil(p) }}
	}
	all := []degradation{fixed("as captured", func(p []pcaptest.Packet) []pcaptest.Packet { return p })}
	for _, fraction := range []float64{0.001, 0.01, 0.05} {
		all = append(all, degradation{
			name: fmt.Sprintf("%g %% of packets lost", fraction*100), seeds: 5, suspicions: fraction > 0.001,
			spoil: func(p []pcaptest.Packet, seed uint64) []pcaptest.Packet {
				return kafkatest.DropFraction(p, fraction, seed)
			},
		})
	}
	for _, fraction := range []float64{0.01, 0.2} {
		all = append(all, degradation{
			name: fmt.Sprintf("%g %% swapped with their neighbour", fraction*100), seeds: 3,
			spoil: func(p []pcaptest.Packet, seed uint64) []pcaptest.Packet {
				return kafkatest.SwapNeighbours(p, fraction, seed)
			},
		}, degradation{
			name: fmt.Sprintf("%g %% captured twice", fraction*100), seeds: 3,
			spoil: func(p []pcaptest.Packet, seed uint64) []pcaptest.Packet { return kafkatest.Repeat(p, fraction, seed) },
		})
	}
	for _, snaplen := range []int{1500, 512, 256, 200, 128, 96} {
		d := fixed(fmt.Sprintf("snaplen %d", snaplen), func(p []pcaptest.Packet) []pcaptest.Packet { return kafkatest.Cut(p, snaplen) })
		d.suspicions = snaplen <= 512
		all = append(all, d)
	}
	for tenth := 1; tenth <= 9; tenth++ {
		d := fixed(fmt.Sprintf("started late, at %d %%", tenth*10), func(p []pcaptest.Packet) []pcaptest.Packet {
			return kafkatest.LateStart(p, float64(tenth)/10)
		})
		d.suspicions = true
		all = append(all, d)
	}
	return append(all,
		fixed("only what clients sent", func(p []pcaptest.Packet) []pcaptest.Packet { return kafkatest.OneWay(p, pcaptest.FromClient) }),
		fixed("only what brokers sent", func(p []pcaptest.Packet) []pcaptest.Packet { return kafkatest.OneWay(p, pcaptest.FromServer) }),
		fixed("a mirror port, the second copy tagged", func(p []pcaptest.Packet) []pcaptest.Packet { return kafkatest.Mirror(p, 7) }),
		fixed("a second vantage point, 5 s ahead", func(p []pcaptest.Packet) []pcaptest.Packet { return kafkatest.VantagePoint(p, 5*time.Second) }),
		fixed("a second vantage point, 50 ms behind", func(p []pcaptest.Packet) []pcaptest.Packet {
			return kafkatest.VantagePoint(p, -50*time.Millisecond)
		}),
	)
}

// tally is what became of the true duplicates under one degradation.
type tally struct {
	truths     int
	found      map[string]int // by verdict
	suspicions int            // possible findings, without a first offset, of records that are no duplicates
}

// judge compares the report on a spoilt capture with the truth. Pairs are known by topic, partition and later offset.
func (n *tally) judge(t *testing.T, where string, truth kafkatest.Truth, text string, suspicions bool) {
	t.Helper()
	var have reported
	if err := json.Unmarshal([]byte(text), &have); err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	later := map[string][]int64{}
	for _, d := range truth.Duplicates {
		for _, pair := range d.Pairs {
			later[fmt.Sprint(d.Topic, "/", d.Partition, "@", pair[len(pair)-1])] = pair
			n.truths++
		}
	}
	for _, f := range have.Findings {
		for _, r := range f.Records {
			last, _ := r.Offsets[len(r.Offsets)-1].(float64)
			pair, known := later[fmt.Sprint(f.Topic, "/", f.Partition, "@", int64(last))]
			for key, of := range later { // the topic's name may have been lost
				if f.Topic == "" && strings.HasSuffix(key, fmt.Sprint("/", f.Partition, "@", int64(last))) {
					pair, known = of, true
				}
			}
			first, placed := r.Offsets[0].(float64)
			switch {
			case known && (!placed || pair[0] == kafkatest.UnknownOffset || slices.Contains(pair[:len(pair)-1], int64(first))):
				n.found[f.Verdict]++
			case !known && suspicions && f.Verdict == "possible" && !placed:
				n.suspicions++
			default:
				t.Errorf("%s: false finding: %s %s %s/%d %s", where, f.Verdict, f.Cause, f.Topic, f.Partition, offsetsKey(r.Offsets))
			}
		}
	}
}

// undecidable are stories whose truth rests on what a late start cuts away, so that the rest shows a true duplicate of other
// records: a third copy that makes content not distinctive.
var undecidable = map[string]bool{"fetch-only-third-time": true}

func TestDegradation(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of scans")
	}
	var rows []string
	for _, d := range degradations() {
		n := tally{found: map[string]int{}}
		for _, c := range kafkatest.Scenarios() {
			if d.suspicions && undecidable[c.Name] {
				continue
			}
			packets := c.Packets()
			for seed := range d.seeds {
				spoilt := pcaptest.EncodePCAPNG(d.spoil(packets, uint64(seed))...)
				_, out, _ := runScan(bytes.NewReader(spoilt), "--output", "json", "-")
				n.judge(t, d.name+": "+c.Name, c.Truth, out, d.suspicions)
			}
		}
		rows = append(rows, n.row(d.name))
	}
	page := degradationHead + strings.Join(rows, "\n") + "\n"
	path := filepath.Join("..", "..", "docs", "degradation.md")
	if *updateDegradation {
		if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != page {
		t.Errorf("docs/degradation.md is not what this run shows (%v); write it anew with -update and read it", err)
	}
}

func (n *tally) row(name string) string {
	all := n.found["confirmed"] + n.found["probable"] + n.found["possible"]
	return fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %d |", name, n.truths, all, n.found["confirmed"], n.found["probable"], n.found["possible"], n.suspicions)
}

const degradationHead = `# What a damaged capture still shows

Every story of kafka/kafkatest is spoilt in every way below and scanned. Random damage is done with several seeds, so that the number of true
duplicate records differs. No finding was false at any level. Suspicions are possible findings that name no first offset, about
records that are no duplicates: the capture lacks what would rule them out.

Command: ` + "`go test ./cmd/kdupscan -run TestDegradation -update`" + `

| capture | true duplicates | found | confirmed | probable | possible | suspicions |
|---|---|---|---|---|---|---|
`

// TestLossShowsNothingFalse loses the packets without which stories were once told wrongly.
func TestLossShowsNothingFalse(t *testing.T) {
	for name, frames := range map[string][]int{
		"same-payload-on-purpose":     {10, 14}, // an answer read late counted as acknowledged late
		"counted-anew-after-59":       {12},     // a batch sent later passed for the one before in sequence
		"renaming-proxy":              {15, 25}, // a gap behind the batch hid its neighbour
		"written-again-by-its-reader": {19},     // who wrote what it had read was not seen to write
		"log-cut-back":                {43, 54}, // what took the first copy's place was not seen there
		"acks-one-truncated":          {29, 43}, // likewise
		"replicas-of-one-name":        {17, 31}, // two processes were not seen to work beside each other
		"lost-under-a-used-sequence":  {12, 32}, // what a retry was taken for was not seen
		"cut-back-below-first-copy":   {12, 23}, // what stood there before a later leader's record was not seen
		"bump-after-45-elsewhere":     {44, 50}, // what the new epoch began with was not seen

		"epoch-ended-before-first-copy":   {8, 56},  // of what took the first copy's place only the answer was seen
		"two-of-three-in-flight-appended": {24, 28}, // the answer that takes a place in the hole was not seen, and no gap either
		"two-clients-of-one-proxy":        {13, 23}, // of two clients only one side of their proxy was seen
		"fetch-only-third-time":           {10, 14}, // a third copy was read before the first one that was seen
	} {
		i := slices.IndexFunc(kafkatest.Scenarios(), func(c kafkatest.Case) bool { return c.Name == name })
		c := kafkatest.Scenarios()[i]
		_, out, _ := runScan(bytes.NewReader(pcaptest.EncodePCAPNG(kafkatest.Drop(c.Packets(), frames...)...)), "--output", "json", "-")
		n := tally{found: map[string]int{}}
		n.judge(t, fmt.Sprintf("%s without frames %v", name, frames), c.Truth, out, true)
	}
}

// TestLossCostsOnlyItsOwn loses each packet of each story in turn. A finding may be missing only when the packet belongs to its
// own evidence, or to what it rests on beside that: the acknowledged batches around an offset gap.
func TestLossCostsOnlyItsOwn(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of scans")
	}
	for _, c := range kafkatest.Scenarios() {
		if len(c.Truth.Duplicates) == 0 {
			continue
		}
		packets := c.Packets()
		_, whole, _ := runScan(bytes.NewReader(pcaptest.EncodePCAPNG(packets...)), "--output", "json", "-")
		var report struct {
			Findings []struct {
				Copies []struct {
					OffsetSource *string `json:"offset_source"`
				}
				Timeline []struct{ At struct{ Frame int } }
			}
		}
		if err := json.Unmarshal([]byte(whole), &report); err != nil {
			t.Fatal(err)
		}
		var own []int
		for _, f := range report.Findings {
			for _, e := range f.Timeline {
				own = append(own, e.At.Frame)
			}
			if slices.ContainsFunc(f.Copies, func(c struct {
				OffsetSource *string `json:"offset_source"`
			}) bool {
				return c.OffsetSource != nil && *c.OffsetSource == "gap"
			}) {
				own = nil
				break
			}
		}
		if own == nil {
			continue
		}
		for frame := 1; frame <= len(packets); frame++ {
			if slices.Contains(own, frame) {
				continue
			}
			_, out, _ := runScan(bytes.NewReader(pcaptest.EncodePCAPNG(kafkatest.Drop(packets, frame)...)), "--output", "json", "-")
			n := tally{found: map[string]int{}}
			n.judge(t, fmt.Sprintf("%s without frame %d", c.Name, frame), c.Truth, out, true)
			if found := n.found["confirmed"] + n.found["probable"] + n.found["possible"]; found < n.truths {
				t.Errorf("%s without frame %d: %d of %d found", c.Name, frame, found, n.truths)
			}
		}
	}
}
