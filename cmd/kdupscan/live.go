package main

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/net/bpf"

	"github.com/kdupscan/kdupscan/analysis"
	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/pcap/filter"
	"github.com/kdupscan/kdupscan/report"
)

// liveOptions are the flags of kdupscan live, beside those it shares with scan.
type liveOptions struct {
	scanOptions
	interfaces  []string
	read        string
	snaplen     size
	ring        size
	promiscuous bool
	record      recordOptions
	alerts      string
	onFinding   string
	metrics     string
}

func liveCommand() *cobra.Command {
	o := liveOptions{
		scanOptions: scanOptions{
			output: format(report.Formats()[0]), minVerdict: verdict(analysis.Possible), ports: make(ports),
			workers: workers(min(runtime.GOMAXPROCS(0), shards)), memory: defaultMemory,
		},
		snaplen: size{value: 256 << 10, least: 64},
		ring:    size{value: 64 << 20, least: 2 << 20},
		record:  defaultRecordOptions(),
	}
	cmd := &cobra.Command{
		Use:   "live -i INTERFACE[,…] | -r FILE|-",
		Short: "Find records written twice as it happens",
		Long: `Capture from network interfaces (on Linux) and report which Kafka records are written
twice, and why: one line for each finding as it is proven, and at the end the report
of a scan. It needs CAP_NET_RAW and runs until interrupted.

Without --filter it first looks at all traffic, and once it has seen which ports carry
Kafka lets the kernel pass these alone, with a short look at all the others every minute.

SIGINT and SIGTERM end the run with its report, a second one ends it at once. SIGUSR1
writes a report so far, SIGHUP opens the file of --alerts again.

Exit status: 0 nothing found, 1 duplicates or suspected ones, 2 misuse or input that
cannot be read, 3 inconclusive: no batch could be decoded, or none of what was asked for.`,
		Example: `  kdupscan live -i eth0
  kdupscan live -i any --filter 'port 9092' --record /var/lib/kdupscan --metrics 127.0.0.1:9709
  tcpdump -i eth0 -U -w - port 9092 | kdupscan live -r - --alerts findings.ndjson`,
		Args: takesNoFiles,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.live(cmd) },
	}
	flags := cmd.Flags()
	flags.StringSliceVarP(&o.interfaces, "interface", "i", nil, "capture from these `INTERFACES`; any stands for all")
	flags.StringVarP(&o.read, "read", "r", "", "read captures from this `FILE`, or - for standard input, instead of an interface")
	flags.Var(&o.filter, "filter", "only packets that this `EXPRESSION` of pcap-filter(7) matches; the kernel applies it")
	flags.Var(o.ports, "ports", "only connections with one of these ports; Kafka is recognised on any")
	flags.Var(&o.snaplen, "snaplen", "bytes to keep of a packet; less than whole packets hides records")
	flags.Var(&o.ring, "ring-size", "memory of the kernel's ring for each interface, beside --memory")
	flags.BoolVar(&o.promiscuous, "promiscuous", false, "also see packets for other hosts, as a mirror port needs it")
	flags.StringVar(&o.record.dir, "record", "", "keep the last packets in this `DIR`, and those around each finding")
	flags.Var(&o.record.size, "record-size", "size of the last packets, never exceeded")
	flags.DurationVar(&o.record.age, "record-age", o.record.age, "age of the last packets")
	flags.Var(&o.record.keepSize, "keep-size", "size of what is kept of findings, beside --record-size; when it is reached no more is kept")
	flags.DurationVar(&o.record.before, "before", o.record.before, "keep packets from this long before a finding's first packet")
	flags.DurationVar(&o.record.after, "after", o.record.after, "keep packets until this long after a finding's last packet")
	flags.StringVar(&o.alerts, "alerts", "", "write each finding as a line of JSON to this `FILE`, or - for standard output, as it is proven")
	flags.StringVar(&o.onFinding, "on-finding", "", "run this shell `COMMAND` for each finding, with the finding as JSON on its standard input")
	flags.StringVar(&o.metrics, "metrics", "", "serve counters in Prometheus text format on this `ADDRESS`, such as 127.0.0.1:9709")
	flags.Var(&o.output, "output", "format of the report: "+strings.Join(report.Formats(), ", "))
	flags.StringVar(&o.out, "out", "", "write the report to this `FILE` instead of standard output")
	flags.BoolVar(&o.payloads, "payloads", false, "show the first bytes of keys and values, which else leave the program with --record alone")
	flags.Var(&o.minVerdict, "min-verdict", "least verdict to report: possible, probable, confirmed")
	flags.Var(&o.keyLogs, "keylog", "TLS session keys, as SSLKEYLOGFILE has them; may be given more than once, and may grow")
	flags.Var(&o.workers, "workers", fmt.Sprintf("goroutines that decode, at most %d; the report does not depend on it", shards))
	flags.Var(&o.memory, "memory", "memory to keep to")
	flags.SortFlags = false
	return cmd
}

// takesNoFiles refuses what a scan would read.
func takesNoFiles(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s: live takes no files: name a capture with -r, or an interface with -i", args[0])
	}
	return nil
}

// check refuses what cannot work, before anything is opened.
func (o *liveOptions) check() error {
	switch {
	case len(o.interfaces) == 0 && o.read == "":
		return errors.New("live from where? Name an interface with -i, or a capture to read with -r")
	case len(o.interfaces) > 0 && o.read != "":
		return errors.New("-i and -r exclude each other")
	case o.alerts == "-" && o.out == "":
		return errors.New("--alerts - is for standard output, where the report goes: name a file for that with --out")
	}
	return o.record.check()
}

func (o *liveOptions) live(cmd *cobra.Command) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	stderr := cmd.ErrOrStderr()
	out, err := o.open(cmd.OutOrStdout(), nil) // fails now rather than at the end
	if err != nil {
		return err
	}
	out.discard()

	defer budget(o.memory).apply()()
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the program at once

	l := &liveRun{options: o, stdout: cmd.OutOrStdout(), stderr: stderr}
	if err := l.open(ctx, cmd.InOrStdin()); err != nil {
		return err
	}
	defer closeInto(&err, l.source)
	result, broken := l.run(ctx)
	options := o.reportOptions(out)
	if err := l.write(result); err != nil {
		return err
	}
	if broken != nil {
		return broken
	}
	if status := report.ExitStatus(result, options); status != 0 {
		return exitStatus(status)
	}
	return nil
}

// openInterfaces begins to capture.
func (o *liveOptions) openInterfaces() (pcap.Live, error) {
	options := pcap.LiveOptions{
		Interfaces: o.interfaces, RingBytes: int(o.ring.value), Snaplen: int(o.snaplen.value), Promiscuous: o.promiscuous, Timeout: tickEvery,
	}
	if o.filter.text != "" {
		options.Filter = compiled(o.filter.text)
	}
	return pcap.OpenLive(options)
}

// compiled returns the filter of a text for the kernel.
func compiled(text string) pcap.LiveFilter {
	const whole = 1 << 18 // no packet is larger; the capture's own snaplen cuts it
	return func(link pcap.LinkType) ([]bpf.RawInstruction, error) { return filter.Compile(text, link, whole) }
}

// runKey makes payload hashes equal within one run, for who has not the packets to compute them.
func runKey() uint64 {
	var key [8]byte
	_, _ = rand.Read(key[:]) // never fails
	return binary.NativeEndian.Uint64(key[:])
}

// patience is how long a run that ends waits for its outputs: less than the two seconds in which it is to end.
const patience = time.Second
