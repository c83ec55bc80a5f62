package main

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/kdupscan/kdupscan/lab/truth"
)

// goldens are the scenarios whose captures serve kdupscan's own tests, by the name they have there.
var goldens = map[string]string{
	"librdkafka 2.6.1, idempotent: batch lost on another partition":                    "bump-librdkafka",
	"librdkafka 2.6.1, without idempotence: answer late":                               "late-answer-librdkafka",
	"librdkafka 2.11.1, without idempotence: leader moved while a follower is stopped": "leader-moved-librdkafka",
	"Java 4.3.1, without idempotence: error 7 with the offset":                         "timed-out-java",
	"Java 4.3.1, idempotent: leader moved while a follower is stopped":                 "leader-moved-java-idempotent",
	"Java 4.3.1, transactional: no fault":                                              "transactions-java",
	"franz-go 1.22.3, without idempotence: answer swallowed":                           "swallowed-franz-go",
	"franz-go 1.22.3, idempotent: 45 on another partition":                             "local-bump-franz-go",
	"sarama 1.61.1, without idempotence: error 20 with the offset":                     "after-append-sarama",
	"librdkafka 2.6.1, idempotent: message timeout":                                    "expired-librdkafka",
}

// expected is an expectation file of kdupscan's tests.
type expected struct {
	About      string              `json:"about"`
	Exit       int                 `json:"exit"`
	Verdict    string              `json:"verdict"`
	Duplicates []expectedDuplicate `json:"duplicates"`
	Counts     truth.Counts        `json:"counts"`
}

type expectedDuplicate struct {
	Topic     string           `json:"topic"`
	Partition int32            `json:"partition"`
	Cause     string           `json:"cause"`
	Verdict   string           `json:"verdict"`
	Pairs     [][]int64        `json:"pairs"`
	Trigger   *expectedTrigger `json:"trigger,omitempty"`
}

type expectedTrigger struct {
	Error     int16  `json:"error_code"`
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
}

// keepGolden copies the capture of a golden scenario, with what the log says of it, to the folder for golden ones. Records
// that one fault wrote again are one finding: see truth.Group.
func (l *lab) keepGolden(s scenario, o *outcome, capture string) error {
	name := goldens[s.name()]
	if l.golden == "" || name == "" || s.want == free && len(o.truth.Duplicates) == 0 { // chance brought nothing of interest
		return nil
	}
	e := expected{About: s.name() + ". " + s.fault.about, Verdict: "clean", Duplicates: []expectedDuplicate{}, Counts: o.truth.Counts}
	groups := make(map[truth.Group]int)
	for _, d := range o.truth.Duplicates {
		e.Exit, e.Verdict = 1, "duplicates"
		i, ok := groups[d.Group]
		if !ok {
			i = len(e.Duplicates)
			groups[d.Group] = i
			n := expectedDuplicate{Topic: d.Topic, Partition: d.Partition, Cause: d.Cause, Verdict: "confirmed"}
			if d.Trigger != nil {
				t := expectedTrigger(*d.Trigger)
				n.Trigger = &t
			}
			e.Duplicates = append(e.Duplicates, n)
		}
		e.Duplicates[i].Pairs = append(e.Duplicates[i].Pairs, d.Offsets)
	}
	text, err := json.MarshalIndent(e, "", " ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(l.golden, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(l.golden, name+".expect.json"), append(text, '\n'), 0o644); err != nil {
		return err
	}
	data, err := os.ReadFile(capture)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(l.golden, name+".pcap"), data, 0o644)
}
