package report

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/kdupscan/kdupscan/analysis"
	"github.com/kdupscan/kdupscan/pcap"
)

// Headline says in one line what a finding is.
func Headline(f *analysis.Finding) string {
	return Line(fmt.Sprintf("%s in %s (%s): %s", standTwice(f.RecordCount, f.Verdict), places(f), verdictName(f.Verdict), causeText(f)))
}

// FindingJSON returns a finding as the JSON object of a report, in one line without its end. The id is that of the n-th
// finding, from 1. Of o, Payloads counts alone.
func FindingJSON(n int, f *analysis.Finding, captures []pcap.Capture, o Options) ([]byte, error) {
	v := newView(&analysis.Result{Captures: captures, Findings: []analysis.Finding{*f}}, Options{Payloads: o.Payloads})
	object := v.wireFindings()[0]
	object.ID = findingID(n - 1)
	var text bytes.Buffer
	if err := json.NewEncoder(&text).Encode(object); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(escapeJSON(text.Bytes()), []byte("\n")), nil
}
