package analysis

import (
	"net/netip"

	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
)

// ReportVerdict is the verdict of a whole report.
type ReportVerdict string

// Verdicts of a report (see catalogue).
const (
	Duplicates   ReportVerdict = "duplicates"
	Suspected    ReportVerdict = "suspected"
	Clean        ReportVerdict = "clean"
	Inconclusive ReportVerdict = "inconclusive"
)

// Result is all that one run has found.
type Result struct {
	Captures  []pcap.Capture
	Coverage  Coverage
	Counts    Counts
	Findings  []Finding // sorted by LaterAt, then topic, then partition
	Producers []Producer
	Repeats   []ApplicationRepeat // where application_repeats were counted, the most first
	Notes     []NoteCount         // oddities and limits, sorted by code
	Places    []Place             // of which batches were seen
}

// Verdict returns the report's verdict over the findings of at least the given verdict.
func (r *Result) Verdict(least Verdict) ReportVerdict {
	verdict := Clean
	for i := range r.Findings {
		switch v := r.Findings[i].Verdict; {
		case v < least:
		case v >= Probable:
			return Duplicates
		default:
			verdict = Suspected
		}
	}
	if verdict == Clean && r.Coverage.ProducedBatches+r.Coverage.FetchedBatches == 0 {
		return Inconclusive
	}
	return verdict
}

// Coverage says how much of the traffic was seen and understood.
type Coverage struct {
	kafka.Stats
	TCPConnections int64
	Gaps, GapBytes int64
}

// Counts are the events that are no findings.
type Counts struct {
	Appended           int64 // OK answers that are new batches
	Deduplicated       int64 // answers to exact retries with the original offset, or error 46
	Rejected           int64 // answers with an error and no offset
	Unacknowledged     int64 // batches whose fate is unknown at the end, with no later copy
	ApplicationRepeats int64 // records
	EpochBumps         int64
	LeaderChanges      int64 // partitions whose leader or leader epoch was seen to rise
}

// Producer is one producer id and who used it.
type Producer struct {
	ProducerID      int64
	Epochs          []int16
	ClientID        string
	HasClientID     bool
	Software        string // "librdkafka 2.6.1", "" unknown
	TransactionalID *string
	Addresses       []netip.AddrPort
}

// ApplicationRepeat names a partition where an application wrote equal records on purpose (or so it seems).
type ApplicationRepeat struct {
	Topic     kafka.Topic
	Partition int32
	Records   int64
}

// NoteCount is the number of notes of one code, with the first of them.
type NoteCount struct {
	Code  pcap.Code
	Count int64
	First pcap.Note
}
