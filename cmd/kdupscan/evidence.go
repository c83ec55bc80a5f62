package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/kdupscan/kdupscan/analysis"
	"github.com/kdupscan/kdupscan/kafka"
	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/reassembly"
	"github.com/kdupscan/kdupscan/reassembly/tls"
	"github.com/kdupscan/kdupscan/report"
	"github.com/kdupscan/kdupscan/report/evidence"
)

// redaction says what of the evidence is replaced; "" nothing.
type redaction string

const (
	redactPayload redaction = "payload"
	redactAll     redaction = "all"
)

func (r *redaction) String() string { return string(*r) }
func (r *redaction) Type() string   { return "payload|all" }

// Set implements pflag.Value.
func (r *redaction) Set(s string) error {
	if s != string(redactPayload) && s != string(redactAll) {
		return errors.New("want payload or all")
	}
	*r = redaction(s)
	return nil
}

var _ pflag.Value = (*redaction)(nil)

// checkEvidence refuses what can only fail, before hours of reading.
func (o *scanOptions) checkEvidence(inputs []string) error {
	if err := o.checkFlags(inputs); err != nil {
		return err
	}
	if o.evidence == "" {
		if o.redact != "" {
			return errors.New("--redact is for --evidence: name a file")
		}
		return nil
	}
	target, err := filepath.Abs(o.evidence)
	if err != nil {
		return err
	}
	if out, err := filepath.Abs(o.out); err == nil && o.out != "" && out == target {
		return errors.New("--evidence and --out are the same file")
	}
	if info, err := os.Stat(target); err == nil && !info.Mode().IsRegular() { // it would be replaced, be it /dev/null
		return fmt.Errorf("--evidence %s is no regular file", o.evidence)
	}
	for _, input := range inputs {
		if input == "-" {
			return errors.New("--evidence reads its input more than once: name files, not standard input")
		}
		info, err := os.Stat(input)
		if err != nil {
			continue // opening it says so better
		}
		switch {
		case info.IsDir():
			if sameFile(filepath.Dir(target), info) {
				return fmt.Errorf("--evidence %s would be one of the captures in %s", o.evidence, input)
			}
		case !info.Mode().IsRegular():
			return fmt.Errorf("--evidence reads its input more than once: %s is no regular file", input)
		case sameFile(target, info) || sameFile(partOf(target), info):
			return fmt.Errorf("--evidence %s is one of the captures to read", o.evidence)
		}
	}
	return nil
}

func sameFile(name string, info os.FileInfo) bool {
	other, err := os.Stat(name)
	return err == nil && os.SameFile(other, info)
}

// partOf names a file while it is being written.
func partOf(name string) string { return name + ".part" }

// evidenceRun writes the evidence of one scan.
type evidenceRun struct {
	*scanOptions
	inputs []string
	wanted []*analysis.Finding
	all    []analysis.Finding
	plan   *evidence.Plan
}

// writeEvidence writes the smallest selection that gives the same findings, and says on stderr which it is.
func (o *scanOptions) writeEvidence(ctx context.Context, inputs []string, result *analysis.Result, ro report.Options, stderr io.Writer) error {
	r := evidenceRun{scanOptions: o, inputs: inputs, wanted: report.Findings(result, ro), all: result.Findings}
	if len(r.wanted) == 0 {
		_, _ = fmt.Fprintf(stderr, "kdupscan: no findings, so there is no evidence: %s is not written\n", o.evidence)
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("evidence: interrupted: %s is not written", o.evidence)
	}
	b := budget(o.memory)
	decrypt, err := o.decrypter(result.Captures)
	if err != nil {
		return fmt.Errorf("evidence: %w", err)
	}
	r.plan = evidence.NewPlan(r.wanted, evidence.Options{
		Reassembly: b.reassembly(1), Kafka: b.kafka(1), Allows: o.ports.allows, Memory: b.history(), Decrypt: decrypt,
	})
	if err := r.read(ctx, r.plan.Read); err != nil {
		return fmt.Errorf("evidence: %w", err)
	}
	var differs string
	for _, s := range evidence.Selections() {
		var err error
		if differs, err = r.try(ctx, s); err != nil {
			return fmt.Errorf("evidence: %w", err)
		}
		if differs == "" {
			_, _ = fmt.Fprintf(stderr, "kdupscan: %s holds %s; it gives the same findings\n", o.evidence, s)
			if o.redact == "" {
				_, _ = fmt.Fprintf(stderr, "kdupscan: %s is not redacted: it may hold payloads, names and credentials (see --redact)\n", o.evidence)
			}
			return nil
		}
	}
	return fmt.Errorf("evidence: no selection gives the same findings; the last one %s", differs)
}

// decrypter returns what decrypts with all the keys of the scan: its key logs, and the secrets of the captures.
func (o *scanOptions) decrypter(captures []pcap.Capture) (func(func(*reassembly.Event)) func(*reassembly.Event), error) {
	keys := tls.NewKeys(nil)
	for _, path := range o.keyLogs {
		log, err := os.ReadFile(path)
		if err != nil {
			return nil, keyLogError(path, err)
		}
		keys.AddLog(log)
	}
	for _, c := range captures {
		for _, secret := range c.Secrets {
			if secret.Type == tls.KeyLogSecret {
				keys.AddLog(secret.Data)
			}
		}
	}
	return func(next func(*reassembly.Event)) func(*reassembly.Event) {
		return tls.NewDecrypter(keys, budget(o.memory).tls(1), next, func(pcap.Note) {}).Handle
	}, nil
}

// try writes a selection and scans what was written. It says how the findings differ; where they do not, the file stays.
func (r *evidenceRun) try(ctx context.Context, s evidence.Selection) (differs string, err error) {
	part := partOf(r.evidence)
	f, err := os.OpenFile(part, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil || differs != "" {
			_ = os.Remove(part) // the other error is the one to tell
		}
	}()
	topics, err := r.write(ctx, f, s)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return "", err
	}
	found, err := r.rescan(ctx, part)
	if err != nil {
		return "", err
	}
	if differs = evidence.Difference(r.wanted, r.all, found, topics); differs != "" {
		return differs, nil
	}
	return "", os.Rename(part, r.evidence)
}

// write writes a selection and returns how the file names topics.
func (r *evidenceRun) write(ctx context.Context, w io.Writer, s evidence.Selection) (topics func(kafka.Topic) kafka.Topic, err error) {
	switch r.redact {
	case redactPayload, redactAll:
		what := evidence.RedactPayload
		if r.redact == redactAll {
			what = evidence.RedactAll
		}
		names, err := r.plan.WriteRedacted(w, func(use func(pcap.Source) error) error { return r.read(ctx, use) }, s, what)
		if err != nil {
			return nil, err
		}
		return names.Topic, nil
	}
	same := func(t kafka.Topic) kafka.Topic { return t }
	return same, r.read(ctx, func(source pcap.Source) error { return r.plan.Write(w, source, s) })
}

// read hands the captures to use, from the start.
func (r *evidenceRun) read(ctx context.Context, use func(pcap.Source) error) (err error) {
	source, err := pcap.Open(r.inputs, nil)
	if err != nil {
		return err
	}
	defer closeInto(&err, source)
	return use(&filteredSource{Source: source, ctx: ctx, filter: &r.filter})
}

// rescan returns the findings of the evidence.
func (r *evidenceRun) rescan(ctx context.Context, name string) (found []analysis.Finding, err error) {
	source, err := pcap.Open([]string{name}, nil)
	if errors.Is(err, pcap.ErrEmpty) {
		return nil, nil // no packet was selected: a wider selection will do
	}
	if err != nil {
		return nil, err
	}
	defer closeInto(&err, source)
	secrets, err := r.keyLogs.open()
	if err != nil {
		return nil, err
	}
	defer secrets.close()
	p := pipeline{source: source, budget: budget(r.memory), workers: int(r.workers), secrets: secrets, progress: func(uint64) {}}
	result, err := p.run(ctx)
	if err != nil {
		return nil, err
	}
	return result.Findings, ctx.Err()
}

// filteredSource leaves out the frames that the scan left out, and ends when the run is interrupted.
type filteredSource struct {
	pcap.Source
	ctx    context.Context
	filter *frameFilter
}

// Next implements pcap.Source.
func (s *filteredSource) Next(f *pcap.Frame) error {
	for {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		if err := s.Source.Next(f); err != nil {
			return err
		}
		if wanted, err := s.filter.allows(f); wanted || err != nil {
			return err
		}
	}
}
