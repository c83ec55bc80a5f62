package kafkatest

import (
	"bytes"
	"encoding/json"

	"github.com/kdupscan/kdupscan/pcap/pcaptest"
)

// Case is a ready scenario with its truth.
type Case struct {
	Name  string // of the capture, without ending
	About string // the story in a sentence
	Twin  string // the case that is told almost alike and has the other answer, "" none
	Truth Truth
	// Tell tells the story.
	Tell func(s *Scenario)
	// Spoil, where not nil, is done to the packets afterwards. It does not change the truth.
	Spoil func([]pcaptest.Packet) []pcaptest.Packet
	// IPv6 tells the story between IPv6 addresses.
	IPv6 bool
}

// Truth is the right answer to a whole capture, in the words of the JSON report.
type Truth struct {
	Duplicates []Duplicate
	Counts     map[string]int64 // only those that the story is about
}

// Duplicate is one fault on one partition.
type Duplicate struct {
	Topic     string
	Partition int32
	Cause     string
	Verdict   string    // the strongest that the capture supports; a worse capture may support less
	Pairs     [][]int64 // offsets of the copies of each record, first copy first; UnknownOffset where nothing shows it
	Bump      *Bump     // nil: not stated
	Trigger   *Trigger  // nil: not stated
}

// UnknownOffset in Duplicate.Pairs stands for an offset that no packet shows.
const UnknownOffset int64 = -1

// Bump is the change of identity behind a Duplicate. A NewProducerID of 0 says that the producer id stayed.
type Bump struct {
	ProducerID         int64
	FromEpoch, ToEpoch int16
	NewProducerID      int64
	Local              bool
}

// Trigger is the event that forced a bump. NoTrigger says that the capture shows none. An ErrorCode of 0 says that it was no
// error: an answer that never came.
type Trigger struct {
	ErrorCode int16
	Topic     string
	Partition int32
}

// NoTrigger is the trigger of a bump for which the capture shows none.
var NoTrigger = &Trigger{}

// Verdict returns the verdict of a report on the capture.
func (t Truth) Verdict() string {
	verdict := "clean"
	for _, d := range t.Duplicates {
		if d.Verdict != "possible" {
			return "duplicates"
		}
		verdict = "suspected"
	}
	return verdict
}

// Packets tells the case and returns its packets.
func (c Case) Packets() []pcaptest.Packet {
	s := NewScenario(Start)
	s.IPv6 = c.IPv6
	c.Tell(s)
	packets := s.Packets()
	if c.Spoil != nil {
		packets = c.Spoil(packets)
	}
	return packets
}

// Pcap tells the case and returns its capture file.
func (c Case) Pcap() []byte { return pcaptest.PCAP{}.Encode(c.Packets()...) }

// Scenarios returns all cases: those with duplicates first, then those that must stay silent.
func Scenarios() []Case {
	var all []Case
	for _, group := range [][]Case{bumpCases, retryCases, resendCases, readerCases, reportCases, clientCases, quietCases, networkCases, lookalikeCases,
		triggerCases, transactionCases, processCases, proxyCases, clusterCases, sequenceCases, logCases, truncatedCases, libraryCases,
		recutCases, brokerCases, markerCases} {
		all = append(all, group...)
	}
	return all
}

// Expectation returns the truth as an expectation file, for the case's capture of the same name.
func (c Case) Expectation() []byte {
	type object = map[string]any
	exit := 0
	duplicates := []object{}
	for _, d := range c.Truth.Duplicates {
		exit = 1
		o := object{"topic": d.Topic, "partition": d.Partition, "cause": d.Cause, "verdict": d.Verdict, "pairs": offsets(d.Pairs)}
		if d.Bump != nil {
			bump := object{"producer_id": d.Bump.ProducerID, "from_epoch": d.Bump.FromEpoch, "to_epoch": d.Bump.ToEpoch, "local": d.Bump.Local}
			if d.Bump.NewProducerID != 0 {
				bump["new_producer_id"] = d.Bump.NewProducerID
			}
			o["bump"] = bump
		}
		switch {
		case d.Trigger == NoTrigger:
			o["trigger"] = nil
		case d.Trigger != nil:
			trigger := object{"topic": d.Trigger.Topic, "partition": d.Trigger.Partition, "error_code": nil}
			if d.Trigger.ErrorCode != 0 {
				trigger["error_code"] = d.Trigger.ErrorCode
			}
			o["trigger"] = trigger
		}
		duplicates = append(duplicates, o)
	}
	expectation := object{"about": c.About, "exit": exit, "verdict": c.Truth.Verdict(), "duplicates": duplicates}
	if c.Truth.Counts != nil {
		expectation["counts"] = c.Truth.Counts
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	must(0, encoder.Encode(expectation)) // maps and numbers: cannot fail
	return out.Bytes()
}

// offsets returns pairs with null for unknown offsets.
func offsets(pairs [][]int64) [][]any {
	out := make([][]any, len(pairs))
	for i, pair := range pairs {
		for _, offset := range pair {
			if offset == UnknownOffset {
				out[i] = append(out[i], nil)
				continue
			}
			out[i] = append(out[i], offset)
		}
	}
	return out
}
