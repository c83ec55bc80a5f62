package truth

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/kdupscan/kdupscan/lab/cluster"
)

// Compare returns how a report differs from the truth, a line for each difference. The capture is expected to show
// everything, a reader of the whole log included, so every finding has to be confirmed and nothing may be hidden. What is left
// out are suspicions of batches that a broker may append after the end of the capture.
func (t *Truth) Compare(r *Report) (differences []string) {
	differ := func(format string, args ...any) { differences = append(differences, fmt.Sprintf(format, args...)) }
	verdict := "clean"
	suspicions := t.suspicions(r)
	switch {
	case len(t.Duplicates) > 0:
		verdict = "duplicates"
	case len(suspicions) > 0:
		verdict = "suspected"
	}
	if r.Verdict != verdict {
		differ("verdict %s, the log says %s", r.Verdict, verdict)
	}
	for _, l := range r.Coverage.Limits {
		differ("the report says that something is hidden: %s", l.Code)
	}
	if r.Coverage.Gaps.Count > 0 {
		differ("%d gaps", r.Coverage.Gaps.Count)
	}
	for name, want := range map[string]int64{
		"appended": t.Counts.Appended, "deduplicated": t.Counts.Deduplicated, "rejected": t.Counts.Rejected, "epoch_bumps": t.Counts.EpochBumps,
	} {
		if have := r.Counts[name]; have != want {
			differ("%s: %d, the wire had %d", name, have, want)
		}
	}
	t.compareFindings(r, suspicions, differ)
	slices.Sort(differences)
	return differences
}

// compareFindings calls differ for each finding that is not true, and for each duplicate that no finding tells of.
func (t *Truth) compareFindings(r *Report, suspicions map[string]bool, differ func(format string, args ...any)) {
	missing := make(map[string]bool)
	for _, d := range t.Duplicates {
		missing[d.String()] = true
	}
	for _, f := range r.Findings {
		if suspicions[f.ID] {
			continue
		}
		if f.Verdict != "confirmed" {
			differ("%s is %s", f.ID, f.Verdict)
		}
		for _, d := range f.duplicates() {
			if !missing[d] {
				differ("%s is not true: %s", f.ID, d)
			}
			delete(missing, d)
		}
		for i, c := range f.Copies {
			for _, d := range t.compareCopy(c, f.Partition) {
				differ("%s copy %d: %s", f.ID, i+1, d)
			}
		}
	}
	for d := range missing {
		differ("not reported: %s", d)
	}
}

// suspicions are the findings, by id, that only say that a batch without an answer may have been appended, of those that
// nobody can know about.
func (t *Truth) suspicions(r *Report) map[string]bool {
	all := make(map[string]bool)
	for _, f := range r.Findings {
		open := f.Verdict == "possible" && len(f.Copies) > 1
		if open {
			for _, b := range f.Copies[0].Batches {
				crc, err := strconv.ParseUint(b.CRC, 0, 32)
				open = open && err == nil && b.BaseOffset == nil && t.Open[uint32(crc)]
			}
		}
		if open {
			all[f.ID] = true
		}
	}
	return all
}

// String has everything of a duplicate that a report has to say.
func (d Duplicate) String() string {
	text := fmt.Sprintf("%s/%d %v %s", d.Topic, d.Partition, d.Offsets, d.Cause)
	if d.Trigger != nil {
		text += fmt.Sprintf(" after %d on %s/%d", d.Trigger.Error, d.Trigger.Topic, d.Trigger.Partition)
	}
	return text
}

// duplicates words a finding's records as Duplicate.String does.
func (f *Finding) duplicates() (all []string) {
	topic, trigger := "?", ""
	if f.Topic != nil {
		topic = *f.Topic
	}
	if f.Bump != nil && f.Bump.Trigger != nil {
		if g := f.Bump.Trigger; g.ErrorCode != nil && g.Topic != nil && g.Partition != nil {
			trigger = fmt.Sprintf(" after %d on %s/%d", *g.ErrorCode, *g.Topic, *g.Partition)
		}
	}
	for _, r := range f.Records {
		// Copies are in order of their first sends; a request that waited in a socket may be appended after its own retry.
		offsets := slices.Clone(r.Offsets)
		slices.SortFunc(offsets, func(a, b any) int {
			x, _ := a.(float64)
			y, _ := b.(float64)
			return cmp.Compare(x, y)
		})
		all = append(all, fmt.Sprintf("%s/%d %v %s%s", topic, f.Partition, offsets, f.Cause, trigger))
	}
	return all
}

// compareCopy compares the batches of a copy with those that stand at their offsets.
func (t *Truth) compareCopy(c Copy, partition int32) (differences []string) {
	for _, b := range c.Batches {
		if b.BaseOffset == nil || b.LastOffset == nil {
			differences = append(differences, "a batch without offsets")
			continue
		}
		at := slices.IndexFunc(t.Log, func(l cluster.Batch) bool { return l.Partition == partition && l.BaseOffset == *b.BaseOffset })
		if at < 0 {
			differences = append(differences, fmt.Sprintf("no batch begins at offset %d", *b.BaseOffset))
			continue
		}
		l := t.Log[at]
		if l.ProducerID < 0 { // sequences mean nothing then
			l.BaseSequence, l.LastSequence = b.BaseSequence, b.LastSequence
		}
		have := fmt.Sprintln(b.ProducerID, b.ProducerEpoch, b.BaseSequence, b.LastSequence, b.CRC, *b.LastOffset)
		want := fmt.Sprintln(l.ProducerID, l.ProducerEpoch, l.BaseSequence, l.LastSequence, fmt.Sprintf("0x%08x", l.CRC), l.LastOffset)
		if have != want {
			differences = append(differences, fmt.Sprintf("batch at %d is %q, the log has %q", *b.BaseOffset, have, want))
		}
		if c.LeaderEpoch != nil && *c.LeaderEpoch != l.LeaderEpoch {
			differences = append(differences, fmt.Sprintf("leader epoch %d, the log has %d", *c.LeaderEpoch, l.LeaderEpoch))
		}
	}
	return differences
}
