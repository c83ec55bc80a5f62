package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/kdupscan/kdupscan/analysis"
	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/report"
)

// manyBytes is how much capture fills the heap, so that it is worth to prepare it.
const manyBytes = 64 << 20

// scanOptions are the flags of kdupscan scan.
type scanOptions struct {
	output     format
	out        string
	payloads   bool
	minVerdict verdict
	ports      ports
	filter     frameFilter
	workers    workers
	memory     byteSize
	topic      string
	partition  optional[int32]
	producerID optional[int64]
	keyLogs    keyLogs
	since      moment
	until      moment
	color      color
	evidence   string
	redact     redaction
}

func scanCommand() *cobra.Command {
	o := scanOptions{
		output: format(report.Formats()[0]), minVerdict: verdict(analysis.Possible), ports: make(ports),
		workers: workers(min(runtime.GOMAXPROCS(0), shards)), memory: defaultMemory,
	}
	cmd := &cobra.Command{
		Use:   "scan FILE|DIR|- …",
		Short: "Find records written twice in captures",
		Long: `Read captures (pcap or pcapng, plain or compressed with gzip, zstd or lz4, known by
their content) and report which Kafka records were written twice, and why.

Several files are several vantage points or a rotated set and are merged by time.
A folder stands for the captures in it, - for standard input.

Exit status: 0 nothing found, 1 duplicates or suspected ones, 2 misuse or input that
cannot be read, 3 inconclusive: no batch could be decoded, or none of what was asked for.`,
		Example: `  kdupscan scan broker1.pcap broker2.pcapng.gz
  tcpdump -i any -w - port 9092 | kdupscan scan -
  kdupscan scan --output json --out report.json captures/
  kdupscan scan --output html --out report.html --since 15:30 --until 15:45 captures/`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("scan what? Name a capture, a folder of captures, or - for standard input")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.scan(cmd, args) },
	}
	flags := cmd.Flags()
	flags.Var(&o.output, "output", "format of the report: "+strings.Join(report.Formats(), ", "))
	flags.StringVar(&o.out, "out", "", "write the report to this `FILE` instead of standard output")
	flags.BoolVar(&o.payloads, "payloads", false, "show the first bytes of keys and values, which else never leave the program")
	flags.Var(&o.minVerdict, "min-verdict", "least verdict to report: possible, probable, confirmed")
	flags.Var(o.ports, "ports", "only connections with one of these ports; Kafka is recognised on any")
	flags.Var(&o.filter, "filter", "only frames that this `EXPRESSION` of pcap-filter(7) matches, such as 'host 10.0.0.1 and port 9092'")
	flags.Var(&o.workers, "workers", fmt.Sprintf("goroutines that decode, at most %d; the report does not depend on it", shards))
	flags.Var(&o.memory, "memory", "memory to keep to")
	flags.StringVar(&o.topic, "topic", "", "only findings on this topic, by `NAME` or id")
	flags.Var(&o.partition, "partition", "only findings on this partition")
	flags.Var(&o.producerID, "producer-id", "only findings of this producer id")
	flags.Var(&o.keyLogs, "keylog", "TLS session keys, as SSLKEYLOGFILE has them; may be given more than once")
	flags.Var(&o.since, "since", "only findings whose later copy was written at or after this TIME: RFC 3339, or a time of day in UTC on the day of the first packet")
	flags.Var(&o.until, "until", "only findings whose later copy was written at or before this TIME")
	flags.Var(&o.color, "color", "colours of the table: auto (on a terminal, unless NO_COLOR is set), always, never")
	flags.StringVar(&o.evidence, "evidence", "", "write the packets that prove the findings to this pcapng `FILE`")
	flags.Var(&o.redact, "redact", "in the evidence, replace keys, values and headers, or all names and addresses as well")
	flags.Lookup("redact").NoOptDefVal = string(redactPayload)
	flags.SortFlags = false
	completeValues(cmd, "output", report.Formats()...)
	completeValues(cmd, "min-verdict", "possible", "probable", "confirmed")
	completeValues(cmd, "color", "auto", "always", "never")
	return cmd
}

func (o *scanOptions) scan(cmd *cobra.Command, paths []string) (err error) {
	stderr := cmd.ErrOrStderr()
	if err := o.checkEvidence(paths); err != nil {
		return err
	}
	out, err := o.open(cmd.OutOrStdout(), paths)
	if err != nil {
		return err
	}
	defer out.discard()
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interrupt ends the program at once
	source, err := pcap.Open(paths, stdin(ctx, cmd.InOrStdin(), paths))
	if err != nil {
		return err
	}
	defer closeInto(&err, source)

	b := budget(o.memory)
	if _, total := source.Progress(); total < 0 || total >= manyBytes {
		b.askForHugePages()
	}
	defer b.apply()()
	result, err := o.readAll(ctx, source, stderr)
	if err != nil {
		return err
	}
	options := o.reportOptions(out)
	if err := report.Write(out, string(o.output), result, options); err != nil {
		return err
	}
	if err := out.keep(); err != nil {
		return err
	}
	if o.evidence != "" {
		if err := o.writeEvidence(ctx, paths, result, options, stderr); err != nil {
			return err
		}
	}
	if status := report.ExitStatus(result, options); status != 0 {
		return exitStatus(status)
	}
	return nil
}

// readAll reads all of source, and says on stderr how far it is and where the captures are damaged.
func (o *scanOptions) readAll(ctx context.Context, source pcap.FileSource, stderr io.Writer) (*analysis.Result, error) {
	secrets, err := o.keyLogs.open()
	if err != nil {
		return nil, err
	}
	defer secrets.close()
	line := newProgress(stderr)
	p := pipeline{
		source: source, filter: o.filter, ports: o.ports, budget: budget(o.memory), previews: o.payloads, secrets: secrets, workers: int(o.workers),
		progress: func(frames uint64) { line.update(frames, source) },
	}
	result, err := p.run(ctx)
	line.done()
	if err != nil {
		return nil, err
	}
	for i := range result.Captures {
		for _, damage := range report.DamageLines(&result.Captures[i]) {
			fmt.Fprintf(stderr, "kdupscan: %s\n", damage)
		}
	}
	return result, nil
}

func (o *scanOptions) reportOptions(out *output) report.Options {
	return report.Options{
		Version: version(), MinVerdict: analysis.Verdict(o.minVerdict), Payloads: o.payloads, Width: terminalWidth(out.Writer),
		Topic: o.topic, Partition: o.partition.value, ProducerID: o.producerID.value,
		Since: o.since.Moment, Until: o.until.Moment, Color: o.color.wanted(out.Writer),
	}
}

// closeInto closes c and keeps its error where there is none yet.
func closeInto(err *error, c io.Closer) {
	if closed := c.Close(); *err == nil {
		*err = closed
	}
}
