package report

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/kdupscan/kdupscan/analysis"
	"github.com/kdupscan/kdupscan/kafka"
)

// writeStory tells one finding: a head line, its copies, what happened, and how sure that is.
func (v *view) writeStory(b *bytes.Buffer, id string, f *analysis.Finding) error {
	head := fmt.Sprintf("%s  %s · %s · %s · %s", id, verdictName(f.Verdict), f.Cause, place(f.Topic, f.Partition), count(f.RecordCount, "record"))
	v.painted(b, bold, func(b *bytes.Buffer) { writeHead(b, v.Width, head, "kdupscan explain "+string(f.Cause)) })
	if err := v.tables.draw(b, v.copyGrid(f)); err != nil {
		return err
	}
	if who := settingsText(&f.Inferred); who != "" {
		writeIndented(b, v.Width, "Producer: "+who)
	}
	b.WriteByte('\n')
	if v.manyDays() && len(f.Timeline) > 0 {
		fmt.Fprintf(b, "  %s UTC\n", day(f.Timeline[0].At.Time))
	}
	if err := v.writeTimeline(b, f); err != nil {
		return err
	}
	if v.Payloads {
		v.writePayloads(b, f)
	}
	b.WriteByte('\n')
	v.writeConclusion(b, f)
	return nil
}

// copyGrid has a row per batch of each copy.
func (v *view) copyGrid(f *analysis.Finding) grid {
	g := grid{indent: 2, width: v.Width, header: []string{"copy", "offsets", "leader epoch", "producer", "epoch", "sequence", "CRC", "proof"}}
	elsewhere := astray(f)
	if elsewhere {
		g.header = slices.Insert(g.header, 1, "where")
	}
	for i := range f.Copies {
		c := &f.Copies[i]
		for j, batch := range c.Batches {
			row := []string{fmt.Sprint(i + 1), batchOffsets(c, &batch), numberOrDash(int64(c.LeaderEpoch)), "none", "–", "–", crc(batch.CRC), strings.Join(v.proofs(c, unproven), ", ")}
			if batch.ProducerID >= 0 {
				row[3], row[4], row[5] = fmt.Sprint(batch.ProducerID), fmt.Sprint(batch.ProducerEpoch), span(int64(batch.BaseSequence), int64(batch.LastSequence))
			}
			if j > 0 {
				row[0], row[2], row[7] = "", "", ""
			}
			if elsewhere {
				row = slices.Insert(row, 1, place(c.Topic, c.Partition))
			}
			if j == maxSteps {
				g.rows = append(g.rows, []string{"", fmt.Sprintf("and %d more batches", len(c.Batches)-j)})
				break
			}
			g.rows = append(g.rows, row)
		}
	}
	return g
}

func batchOffsets(c *analysis.Copy, b *analysis.CopyBatch) string {
	switch {
	case b.BaseOffset >= 0:
		return span(max(b.BaseOffset, c.BaseOffset), min(b.LastOffset, max(c.LastOffset, b.BaseOffset))) // the batch may hold more
	case c.BaseOffset >= 0 && len(c.Batches) == 1:
		return span(c.BaseOffset, c.LastOffset)
	}
	return "not seen"
}

func numberOrDash(n int64) string {
	if n < 0 {
		return "–"
	}
	return fmt.Sprint(n)
}

// settingsText is what the traffic shows of the producer, "" for nothing.
func settingsText(i *analysis.Inferred) string {
	var parts []string
	if i.ClientID != "" {
		parts = append(parts, name(i.ClientID))
	}
	if i.Software != "" {
		parts = append(parts, name(i.Software))
	}
	if i.AcksKnown {
		parts = append(parts, "acks="+acksText(i.Acks))
	}
	switch {
	case i.TransactionalID:
		parts = append(parts, "transactional")
	case i.Idempotent:
		parts = append(parts, "idempotent")
	case i.AcksKnown:
		parts = append(parts, "not idempotent")
	}
	if i.Codec != kafka.None {
		parts = append(parts, codecName(i.Codec))
	}
	if i.MaxInFlight > 0 {
		parts = append(parts, fmt.Sprintf("at most %d seen in flight", i.MaxInFlight))
	}
	return strings.Join(parts, ", ")
}

func (v *view) writeTimeline(b *bytes.Buffer, f *analysis.Finding) error {
	shown, cut, left := steps(f.Timeline, maxSteps)
	g := grid{indent: 2, width: v.Width}
	told := make(map[string]bool) // batches whose identity a line above gives
	for i := range shown {
		if i == cut && left > 0 {
			g.rows = append(g.rows, []string{"…", "", count(left, "more step") + "; --output json has them all"})
		}
		s := &shown[i]
		what := v.sentence(f, &s.Event)
		if batch := batchText(&s.Event); s.Kind == analysis.EventProduceRequest && s.HasBatch {
			if told[batch] {
				what = strings.Replace(what, batch, "the same batch again", 1)
			}
			told[batch] = true
		}
		g.rows = append(g.rows, []string{clock(s.At.Time), v.frame(s.At.Ref), s.label() + what})
	}
	return v.tables.draw(b, g)
}

// maxPayloads is how many records a report for people shows with their payload.
const maxPayloads = 10

func (v *view) writePayloads(b *bytes.Buffer, f *analysis.Finding) {
	for _, line := range v.payloadLines(f) {
		writeIndented(b, v.Width, line)
	}
}

// writeConclusion says how sure the finding is, what was ruled out and what was not seen, and how to look for oneself.
func (v *view) writeConclusion(b *bytes.Buffer, f *analysis.Finding) {
	if f.Bump != nil {
		writeIndented(b, v.Width, v.bumpSentence(f.Bump))
	}
	writeIndented(b, v.Width, follows(f))
	writeIndented(b, v.Width, ruledOut(f))
	for _, doubt := range doubts(f) {
		v.painted(b, yellow, func(b *bytes.Buffer) {
			writeIndented(b, v.Width, fmt.Sprintf("Doubt (%s): %s.", doubt, explain(doubt).Title))
		})
	}
	for _, line := range v.filterLines(f) {
		writeIndented(b, v.Width, line)
	}
}
