package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kdupscan/kdupscan/analysis"
	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/report"
)

// outletsQueue is how many lines, alerts and reports may wait for a terminal or a disk that is slow.
const outletsQueue = 256

// outlets writes what a live run has to tell, in a goroutine of its own: nobody else waits for a terminal or a disk.
type outlets struct {
	options *liveOptions
	stderr  io.Writer
	alerts  *alertsFile   // nil: none
	hook    *hook         // nil: none
	keep    func(keepJob) // nil: nothing is recorded

	jobs    chan func()
	lost    atomic.Uint64 // jobs that found the queue full
	given   atomic.Uint64 // alerts written
	failed  atomic.Uint64 // writes that failed
	stopped atomic.Bool
}

// newOutlets opens the file of alerts. start must follow before anything is written.
func newOutlets(o *liveOptions, stdout, stderr io.Writer) (*outlets, error) {
	l := &outlets{options: o, stderr: stderr, jobs: make(chan func(), outletsQueue)}
	if o.alerts != "" {
		alerts, err := openAlerts(o.alerts, stdout)
		if err != nil {
			return nil, err
		}
		l.alerts = alerts
	}
	if o.onFinding != "" {
		l.hook = newHook(o.onFinding, stderr)
	}
	return l, nil
}

func (l *outlets) start() {
	if l.hook != nil {
		l.hook.start(l.say)
	}
	go func() {
		for job := range l.jobs {
			job()
			if l.stopped.Load() {
				return
			}
		}
	}()
}

// flush waits until what was posted has been written, but not beyond the deadline.
func (l *outlets) flush(deadline time.Time) { l.last(func() {}, deadline) }

// stop ends the goroutine with what was posted, but does not wait beyond the deadline. What is posted later is lost. The
// commands end first: one that fails has something to say.
func (l *outlets) stop(deadline time.Time) {
	if l.hook != nil {
		l.flush(deadline) // no finding is on its way to them
		l.hook.stop(deadline)
	}
	l.last(func() { l.stopped.Store(true) }, deadline)
}

func (l *outlets) last(job func(), deadline time.Time) {
	done := make(chan struct{})
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case l.jobs <- func() { job(); close(done) }:
		wait(done, deadline)
	case <-timer.C:
	}
}

// wait waits until done is closed, or the deadline, and reports which.
func wait(done <-chan struct{}, deadline time.Time) bool {
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

func (l *outlets) post(job func()) {
	select {
	case l.jobs <- job:
	default:
		l.lost.Add(1)
	}
}

// say writes a line to standard error.
func (l *outlets) say(format string, args ...any) {
	text := line(format, args...)
	l.post(func() { l.tell(text) })
}

// tell is say for the goroutine of the outlets. Where it fails there is nobody left to tell.
func (l *outlets) tell(text string) { _, _ = fmt.Fprintf(l.stderr, "kdupscan: %s\n", text) }

// alert writes a finding to all that want it.
func (l *outlets) alert(a *alert) { l.post(func() { l.writeAlert(a) }) }

func (l *outlets) writeAlert(a *alert) {
	l.given.Add(1)
	verb := "F%d: %s"
	if a.Rose {
		verb = "F%d is surer now: %s"
	}
	l.tell(line(verb, a.number, report.Headline(&a.Finding)))
	object, err := report.FindingJSON(a.number, &a.Finding, a.captures, report.Options{Payloads: l.options.payloads})
	if err != nil {
		l.complain("finding F%d: %v", a.number, err)
		return
	}
	if l.alerts != nil {
		if err := l.alerts.write(object); err != nil {
			l.complain("--alerts: %v", err)
		}
	}
	if l.hook != nil {
		l.hook.run(object)
	}
	if l.keep != nil {
		if err := l.keepEvidence(a); err != nil {
			l.complain("finding F%d: %v", a.number, err)
		}
	}
}

// complain tells of a write that failed, from the goroutine of the outlets.
func (l *outlets) complain(format string, args ...any) {
	l.failed.Add(1)
	l.tell(line(format, args...))
}

// keepEvidence has the packets of a finding kept, with a report of it alone.
func (l *outlets) keepEvidence(a *alert) error {
	result := &analysis.Result{Captures: a.captures, Coverage: a.coverage, Findings: []analysis.Finding{a.Finding}}
	job := keepJob{name: a.name, documents: make(map[string][]byte)}
	for name, format := range map[string]string{"report.txt": "table", "report.json": "json"} {
		var text bytes.Buffer
		if err := report.Write(&text, format, result, report.Options{Version: version(), Payloads: l.options.payloads}); err != nil {
			return err
		}
		job.documents[name] = text.Bytes()
	}
	job.documents["report.txt"] = append(job.documents["report.txt"], framesByTime(&a.Finding)...)
	first, last := span(&a.Finding)
	job.from = first - pcap.Timestamp(l.options.record.before)
	job.to = last + pcap.Timestamp(l.options.record.after)
	l.keep(job)
	return nil
}

// framesByTime says how to find the packets of a finding in the files that are kept of it. These hold a part of what the run has
// captured, so its frame numbers are not theirs; the times of packets are.
func framesByTime(f *analysis.Finding) string {
	var times []pcap.Timestamp
	for at := range f.Positions() {
		times = append(times, at.Time)
	}
	slices.Sort(times)
	var text []string
	for _, t := range slices.Compact(times) {
		text = append(text, fmt.Sprintf("%d.%09d", t/1e9, t%1e9))
	}
	return "\nThe frame numbers above count the packets of the run. In the capture files beside this report the same packets are,\n" +
		"with the numbers that kdupscan scan gives them there:\n" +
		"  Wireshark: frame.time_epoch in {" + strings.Join(text, ",") + "}\n"
}

// span returns the times of the first and the last packet of a finding's story.
func span(f *analysis.Finding) (first, last pcap.Timestamp) {
	first, last = f.LaterAt, f.LaterAt
	for at := range f.Positions() {
		first, last = min(first, at.Time), max(last, at.Time)
	}
	return first, last
}

// interim writes a report so far to --out or standard error.
func (l *outlets) interim(result *analysis.Result) {
	l.post(func() {
		if err := l.writeReport(l.stderr, result); err != nil {
			l.complain("report: %v", err)
		}
	})
}

// writeReport writes a report to --out, or to w where there is none.
func (l *outlets) writeReport(w io.Writer, result *analysis.Result) error {
	out, err := l.options.open(w, nil)
	if err != nil {
		return err
	}
	defer out.discard()
	if err := report.Write(out, string(l.options.output), result, l.options.reportOptions(out)); err != nil {
		return err
	}
	return out.keep()
}

// reopen opens the file of alerts again, for who has moved it away.
func (l *outlets) reopen() {
	l.post(func() {
		if l.alerts == nil {
			return
		}
		if err := l.alerts.reopen(); err != nil {
			l.complain("--alerts stays as it was: %v", err)
		}
	})
}

// alertsFile is where alerts go, one a line. Each is written at once.
type alertsFile struct {
	io.Writer
	name string
	file *os.File // nil for standard output
}

func openAlerts(name string, stdout io.Writer) (*alertsFile, error) {
	a := &alertsFile{Writer: stdout, name: name}
	if name == "-" {
		return a, nil
	}
	return a, a.reopen()
}

func (a *alertsFile) write(object []byte) error {
	_, err := a.Write(append(object[:len(object):len(object)], '\n'))
	return err
}

func (a *alertsFile) reopen() error {
	if a.name == "-" {
		return nil
	}
	file, err := os.OpenFile(a.name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if a.file != nil {
		_ = a.file.Close() // what was written is written
	}
	a.Writer, a.file = file, file
	return nil
}
