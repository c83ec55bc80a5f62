package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/kdupscan/kdupscan/analysis"
	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
)

// Options say what of a result is written, and how.
type Options struct {
	Version string // of kdupscan, for the report's head
	// MinVerdict is the least verdict of a finding that is listed and that counts for the exit status; zero means Possible.
	MinVerdict analysis.Verdict
	Payloads   bool // show the first bytes of keys and values, where the result has them
	Width      int  // columns of the table; zero means DefaultWidth

	Topic      string // only findings on this topic, by name or id; "" all
	Partition  *int32 // only findings on this partition; nil all
	ProducerID *int64 // only findings of this producer; nil all
	// Since and Until keep the findings whose later copy was first sent or seen between them.
	Since, Until Moment

	Color bool // the table has colours of a terminal
}

// DefaultWidth is how wide a table is when nothing is known of the terminal: what a ticket shows without scrolling.
const DefaultWidth = 120

// Format is one way to write a report.
type Format struct {
	Name  string
	Write func(io.Writer, *view) error
}

// formats lists all formats, the default first.
var formats = []Format{
	{"table", writeTable},
	{"json", writeJSON},
	{"markdown", writeMarkdown},
	{"html", writeHTML},
}

// Formats returns the names of the formats, the default first.
func Formats() []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.Name)
	}
	return names
}

// CheckFormat returns an error that names the formats when there is none of the given name.
func CheckFormat(name string) error {
	if !slices.Contains(Formats(), name) {
		return fmt.Errorf("no output format %q: there are %s", name, strings.Join(Formats(), ", "))
	}
	return nil
}

// Write writes r in the named format. The error is CheckFormat's, or that of w.
func Write(w io.Writer, format string, r *analysis.Result, o Options) error {
	if err := CheckFormat(format); err != nil {
		return err
	}
	i := slices.IndexFunc(formats, func(f Format) bool { return f.Name == format })
	return formats[i].Write(w, newView(r, o))
}

// Exit statuses of a scan. Status 2, misuse or input that cannot be read, is the command's own.
const (
	statusClean        = 0
	statusDuplicates   = 1
	statusInconclusive = 3
)

// ExitStatus returns the exit status that the verdict of the report asks for.
func ExitStatus(r *analysis.Result, o Options) int {
	switch newView(r, o).verdict {
	case analysis.Clean:
		return statusClean
	case analysis.Inconclusive:
		return statusInconclusive
	}
	return statusDuplicates
}

// view is what all formats share: the result narrowed to what the options ask for, and the names of its captures.
type view struct {
	Options
	*analysis.Result
	verdict  analysis.ReportVerdict
	unseen   bool // not one batch of what was asked for
	findings []*analysis.Finding
	captures []string // names, distinct
	hashKey  []byte   // of payload hashes
	tables   drawer
}

func newView(r *analysis.Result, o Options) *view {
	v := &view{Options: o, Result: r, captures: captureNames(r.Captures), hashKey: hashKey(r.Captures)}
	if v.MinVerdict == 0 {
		v.MinVerdict = analysis.Possible
	}
	if v.Width <= 0 {
		v.Width = DefaultWidth
	}
	kept := *r
	kept.Findings = nil
	span := o.window(r.Captures)
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Verdict >= v.MinVerdict && o.wants(f) && span.holds(f) {
			v.findings = append(v.findings, f)
			kept.Findings = append(kept.Findings, *f)
		}
	}
	v.verdict = kept.Verdict(v.MinVerdict)
	if v.verdict == analysis.Clean && (!o.seenIn(r) || span.misses(r.Captures)) {
		v.verdict, v.unseen = analysis.Inconclusive, true
		narrowed := *r
		narrowed.Notes = withNote(r.Notes, analysis.LimitNotSeen)
		v.Result = &narrowed
	}
	return v
}

// seenIn reports whether a batch was seen of what the options narrow a report to.
func (o *Options) seenIn(r *analysis.Result) bool {
	place := o.Topic == "" && o.Partition == nil || slices.ContainsFunc(r.Places, func(p analysis.Place) bool { return o.wantsPlace(p.Topic, p.Partition) })
	producer := o.ProducerID == nil || slices.ContainsFunc(r.Producers, func(p analysis.Producer) bool { return p.ProducerID == *o.ProducerID })
	return place && producer
}

// withNote returns the notes with one more, which has no place.
func withNote(all []analysis.NoteCount, code pcap.Code) []analysis.NoteCount {
	i, _ := slices.BinarySearchFunc(all, code, func(n analysis.NoteCount, c pcap.Code) int { return cmp.Compare(n.Code, c) })
	return slices.Insert(slices.Clone(all), i, analysis.NoteCount{Code: code, Count: 1})
}

// askedFor words what the options narrow a report to.
func (o *Options) askedFor() string {
	var parts []string
	if o.Topic != "" {
		parts = append(parts, "topic "+name(o.Topic))
	}
	if o.Partition != nil {
		parts = append(parts, fmt.Sprintf("partition %d", *o.Partition))
	}
	if o.ProducerID != nil {
		parts = append(parts, fmt.Sprintf("producer id %d", *o.ProducerID))
	}
	for _, end := range []struct {
		word string
		at   Moment
	}{{"since", o.Since}, {"until", o.Until}} {
		if end.at != (Moment{}) {
			parts = append(parts, end.word+" "+end.at.String())
		}
	}
	return strings.Join(parts, ", ")
}

// wants reports whether f passes the options that narrow a report. A misrouted batch has a topic and partition per copy:
// each of them counts.
func (o *Options) wants(f *analysis.Finding) bool {
	if o.ProducerID != nil && !usesProducer(f, *o.ProducerID) {
		return false
	}
	if o.wantsPlace(f.Topic, f.Partition) {
		return true
	}
	return slices.ContainsFunc(f.Copies, func(c analysis.Copy) bool { return o.wantsPlace(c.Topic, c.Partition) })
}

func (o *Options) wantsPlace(topic kafka.Topic, partition int32) bool {
	if o.Partition != nil && *o.Partition != partition {
		return false
	}
	return o.Topic == "" || o.Topic == topic.Name || strings.EqualFold(o.Topic, topicID(topic))
}

func usesProducer(f *analysis.Finding, id int64) bool {
	for _, c := range f.Copies {
		if slices.ContainsFunc(c.Batches, func(b analysis.CopyBatch) bool { return b.ProducerID == id }) {
			return true
		}
	}
	return false
}
