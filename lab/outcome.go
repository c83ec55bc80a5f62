package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/kdupscan/kdupscan/lab/proxy"
	"github.com/kdupscan/kdupscan/lab/truth"
)

// outcome is what came of a scenario.
type outcome struct {
	scenario scenario
	truth    *truth.Truth
	journal  []proxy.Batch
	failed   int // records, by what the client told its application
	took     time.Duration
	attempts int
}

// String is one line: what stands in the log.
func (o *outcome) String() string {
	text := o.log() + "; " + o.wire()
	if o.failed > 0 {
		text += fmt.Sprintf("; %d failed at the client", o.failed)
	}
	return text
}

// log says which records stand twice, and why.
func (o *outcome) log() string {
	if len(o.truth.Duplicates) == 0 {
		return "nothing twice"
	}
	var causes []string
	records := make(map[string]int)
	for _, d := range o.truth.Duplicates {
		cause := d.Cause
		if d.Trigger != nil {
			cause += fmt.Sprintf(" after error %d on partition %d", d.Trigger.Error, d.Trigger.Partition)
		}
		if records[cause] == 0 {
			causes = append(causes, cause)
		}
		records[cause]++
	}
	for i, cause := range causes {
		causes[i] = fmt.Sprintf("%d twice (%s)", records[cause], cause)
	}
	return strings.Join(causes, ", ")
}

// wire says what the answers were that did not simply acknowledge.
func (o *outcome) wire() string {
	var kinds []string
	times := make(map[string]int)
	for _, b := range o.journal {
		kind := ""
		switch {
		case !b.Answered:
			kind = "no answer"
		case b.Error != 0 && b.Offset >= 0:
			kind = fmt.Sprintf("error %d with offset", b.Error)
		case b.Error != 0:
			kind = fmt.Sprintf("error %d", b.Error)
		case b.AppendTime >= 0:
			kind = "recognised retry"
		default:
			continue
		}
		if times[kind] == 0 {
			kinds = append(kinds, kind)
		}
		times[kind]++
	}
	if n := o.truth.Counts.EpochBumps; n > 0 {
		kinds = append(kinds, "epoch bump")
		times["epoch bump"] = int(n)
	}
	for i, kind := range kinds {
		kinds[i] = fmt.Sprintf("%s × %d", kind, times[kind])
	}
	if len(kinds) == 0 {
		return "every batch acknowledged"
	}
	return strings.Join(kinds, ", ")
}
