package evidence

import (
	"fmt"
	"strings"

	"github.com/kdupscan/kdupscan/analysis"
	"github.com/kdupscan/kdupscan/kafka"
)

// Difference compares the findings of a file of evidence with those it is to prove. wanted are these, all the findings of the
// capture, found those of the evidence; topics gives a topic of the capture as the evidence names it. It says what differs in
// verdict, cause, place, records, identities, bump or trigger, or "" if each wanted finding is found and nothing is that was not
// there before. Frames, addresses, digests and doubts are not compared.
func Difference(wanted []*analysis.Finding, all, found []analysis.Finding, topics func(kafka.Topic) kafka.Topic) string {
	have, known := make(map[string]int), make(map[string]int)
	for i := range found {
		have[summary(&found[i], sameTopic)]++
	}
	for i := range all {
		known[summary(&all[i], topics)]++
	}
	for _, f := range wanted {
		text := summary(f, topics)
		if have[text] == 0 {
			return "lacks " + text
		}
		have[text]--
		known[text]--
	}
	for i := range found {
		text := summary(&found[i], sameTopic)
		if have[text] > known[text] {
			return "has " + text
		}
	}
	return ""
}

func sameTopic(t kafka.Topic) kafka.Topic { return t }

// summary is what of a finding must not change.
func summary(f *analysis.Finding, topics func(kafka.Topic) kafka.Topic) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s %s/%d, %d records", f.Verdict, f.Cause, topicText(topics(f.Topic)), f.Partition, f.RecordCount)
	for _, r := range f.Records {
		fmt.Fprintf(&b, ", %v of %d and %d bytes at %d", r.Offsets, r.Key.Size, r.Value.Size, r.Timestamp)
	}
	for _, c := range f.Copies {
		fmt.Fprintf(&b, "; copy in %s/%d at %d–%d", topicText(topics(c.Topic)), c.Partition, c.BaseOffset, c.LastOffset)
		for _, batch := range c.Batches {
			batch.CRC = 0
			fmt.Fprintf(&b, " %v", batch)
		}
	}
	if bump := f.Bump; bump != nil {
		fmt.Fprintf(&b, "; bump of %d from %d to %d, %d, local %t at %d", bump.ProducerID, bump.FromEpoch, bump.ToEpoch, bump.NewProducerID,
			bump.Local, bump.FirstSeen.Time)
		if t := bump.Trigger; t != nil {
			fmt.Fprintf(&b, " by %s %d on %s/%d at %d", t.Kind, t.ErrorCode, topicText(topics(t.Topic)), t.Partition, t.At.Time)
		}
	}
	return b.String()
}
