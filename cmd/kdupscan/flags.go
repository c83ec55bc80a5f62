package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kdupscan/kdupscan/analysis"
	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/pcap/filter"
	"github.com/kdupscan/kdupscan/report"
)

// The flag types below check their values when the command line is parsed, so that a wrong one is reported with its flag.

// ports is a set of TCP ports; empty means all.
type ports map[uint16]bool

func (p ports) String() string { return "" }
func (p ports) Type() string   { return "PORTS" }

// Set implements pflag.Value: "9092,9093".
func (p ports) Set(s string) error {
	for _, field := range strings.Split(s, ",") {
		n, err := strconv.ParseUint(strings.TrimSpace(field), 10, 16)
		if err != nil || n == 0 {
			return fmt.Errorf("%q is no TCP port", field)
		}
		p[uint16(n)] = true
	}
	return nil
}

// allows reports whether a connection between the two ports is wanted.
func (p ports) allows(a, b uint16) bool { return len(p) == 0 || p[a] || p[b] }

// frameFilter decides which frames are decoded; without a matcher all are.
type frameFilter struct {
	text    string
	matcher *filter.Matcher
}

func (f *frameFilter) String() string { return f.text }
func (f *frameFilter) Type() string   { return "EXPRESSION" }

// Set implements pflag.Value: an expression, or the output of tcpdump -ddd.
func (f *frameFilter) Set(s string) (err error) {
	f.text = s
	f.matcher, err = filter.NewMatcher(s)
	return err
}

// allows reports whether the frame is wanted. The error says that its link type cannot be filtered.
func (f *frameFilter) allows(frame *pcap.Frame) (bool, error) {
	if f.matcher == nil {
		return true, nil
	}
	return f.matcher.Match(frame)
}

// byteSize is a number of bytes, written "512MiB".
type byteSize int64

const (
	defaultMemory byteSize = 512 << 20
	// leastMemory is what the buffers of the pipeline and a few connections need at least.
	leastMemory byteSize = 32 << 20
)

var sizeUnits = []struct {
	suffix string
	bytes  float64
}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {"T", 1 << 40}, {"B", 1}, {"", 1}}

func (b byteSize) String() string { return strconv.FormatInt(int64(b>>20), 10) + "MiB" }
func (b byteSize) Type() string   { return "SIZE" }

// Set implements pflag.Value.
func (b *byteSize) Set(s string) error {
	n, ok := parseSize(s)
	if !ok || n < int64(leastMemory) {
		return fmt.Errorf("want a size such as 512MiB or 2GiB, of at least %v", leastMemory)
	}
	*b = byteSize(n)
	return nil
}

// parseSize reads a number of bytes, and reports whether it is one.
func parseSize(s string) (bytes int64, ok bool) {
	for _, unit := range sizeUnits {
		number, found := strings.CutSuffix(s, unit.suffix)
		if !found {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		const most = 1 << 50 // no machine has that much, and int64 holds it
		if err != nil || !(n*unit.bytes >= 0 && n*unit.bytes <= most) {
			return 0, false
		}
		return int64(n * unit.bytes), true
	}
	return 0, false
}

// verdict is the least verdict of the findings to report.
type verdict analysis.Verdict

var verdicts = []struct {
	name  string
	value analysis.Verdict
}{{"possible", analysis.Possible}, {"probable", analysis.Probable}, {"confirmed", analysis.Confirmed}}

func (v *verdict) String() string {
	for _, known := range verdicts {
		if known.value == analysis.Verdict(*v) {
			return known.name
		}
	}
	return ""
}

func (v *verdict) Type() string { return "VERDICT" }

// Set implements pflag.Value.
func (v *verdict) Set(s string) error {
	for _, known := range verdicts {
		if known.name == s {
			*v = verdict(known.value)
			return nil
		}
	}
	return fmt.Errorf("want possible, probable or confirmed")
}

// format is the name of an output format.
type format string

func (f *format) String() string { return string(*f) }
func (f *format) Type() string   { return "FORMAT" }

// Set implements pflag.Value.
func (f *format) Set(s string) error {
	if err := report.CheckFormat(s); err != nil {
		return err
	}
	*f = format(s)
	return nil
}

// optional is a number that may be left out.
type optional[T int32 | int64] struct{ value *T }

func (o *optional[T]) String() string { return "" }
func (o *optional[T]) Type() string   { return "N" }

// Set implements pflag.Value: a number from 0.
func (o *optional[T]) Set(s string) error {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || int64(T(n)) != n {
		return fmt.Errorf("want a number from 0")
	}
	value := T(n)
	o.value = &value
	return nil
}

// workers is a number of goroutines.
type workers int

func (w *workers) String() string { return strconv.Itoa(int(*w)) }
func (w *workers) Type() string   { return "N" }

// Set implements pflag.Value: a number from 1.
func (w *workers) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return fmt.Errorf("want a number from 1")
	}
	*w = workers(n)
	return nil
}

// moment is an end of a span of capture time.
type moment struct{ report.Moment }

func (m *moment) String() string { return "" }
func (m *moment) Type() string   { return "TIME" }

// Set implements pflag.Value.
func (m *moment) Set(s string) (err error) {
	m.Moment, err = report.ParseMoment(s)
	return err
}

// checkFlags refuses flags that do not go together.
func (o *scanOptions) checkFlags(inputs []string) error {
	if o.until.Moment != (report.Moment{}) && o.since.After(o.until.Moment) {
		return errors.New("--since is later than --until: no time is between them")
	}
	if o.redact == "" {
		return nil
	}
	for _, value := range []redaction{redactPayload, redactAll} { // a value that may be left out needs its =
		if _, err := os.Stat(string(value)); err != nil && slices.Contains(inputs, string(value)) {
			return fmt.Errorf("there is no capture %s: if it is what to redact, write --redact=%s", value, value)
		}
	}
	return nil
}

// color says when the table has colours; the zero value is auto.
type color string

const (
	colorAuto   color = "auto"
	colorAlways color = "always"
	colorNever  color = "never"
)

func (c *color) String() string { return string(cmp.Or(*c, colorAuto)) }
func (c *color) Type() string   { return "WHEN" }

// Set implements pflag.Value.
func (c *color) Set(s string) error {
	switch *c = color(s); *c {
	case colorAuto, colorAlways, colorNever:
		return nil
	}
	return fmt.Errorf("want auto, always or never")
}

// wanted reports whether what is written to w has colours. NO_COLOR, set to anything, turns them off
// (https://no-color.org), as does a terminal that calls itself dumb.
func (c *color) wanted(w io.Writer) bool {
	if *c == colorAlways || *c == colorNever {
		return *c == colorAlways
	}
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// completeValues makes a shell offer the values of a flag.
func completeValues(cmd *cobra.Command, flag string, values ...string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // there is no such flag
	}
}

var (
	_ pflag.Value = ports(nil)
	_ pflag.Value = (*frameFilter)(nil)
	_ pflag.Value = (*byteSize)(nil)
	_ pflag.Value = (*verdict)(nil)
	_ pflag.Value = (*format)(nil)
	_ pflag.Value = (*optional[int32])(nil)
	_ pflag.Value = (*workers)(nil)
	_ pflag.Value = (*moment)(nil)
	_ pflag.Value = (*color)(nil)
)
