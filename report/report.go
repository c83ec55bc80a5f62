package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/kdupscan/kdupscan/analysis"
	"github.com/kdupscan/kdupscan/kafka"
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
	findings []*analysis.Finding
	captures []string // names, distinct
	hashKey  []byte   // of payload hashes
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
	return v
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
