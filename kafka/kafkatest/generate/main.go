// Generate writes a capture of Kafka traffic that is made up, and beside it what is true of it.
//
//	go run ./kafka/kafkatest/generate plain-500m -o /tmp/plain.pcap -truth /tmp/plain.expect.json
//
// The first argument is one of the presets of package traffic, flags change it.
package main

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/kdupscan/kdupscan/kafka/kafkatest"
	"github.com/kdupscan/kdupscan/kafka/kafkatest/traffic"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(2)
	}
}

func run(args []string) error {
	names := slices.Sorted(maps.Keys(traffic.Presets))
	if len(args) == 0 {
		return fmt.Errorf("which preset? One of %s", strings.Join(names, ", "))
	}
	c, known := traffic.Presets[args[0]]
	if !known {
		return fmt.Errorf("no preset %q; there are %s", args[0], strings.Join(names, ", "))
	}
	flags := flag.NewFlagSet("generate "+args[0], flag.ExitOnError)
	out := flags.String("o", "", "write the capture to this `FILE` instead of standard output")
	truth := flags.String("truth", "", "write the duplicates that the capture holds to this `FILE`, as an expectation")
	flags.Uint64Var(&c.Seed, "seed", c.Seed, "other records, times and places")
	flags.Int64Var(&c.Size, "size", c.Size, "about how many `bytes` of capture")
	flags.IntVar(&c.Producers, "producers", c.Producers, "clients that write, each with a connection to every broker")
	flags.IntVar(&c.Consumers, "consumers", c.Consumers, "clients that read")
	flags.IntVar(&c.SegmentBytes, "segment", c.SegmentBytes, "`bytes` of TCP payload in a frame, at most")
	flags.Float64Var(&c.Swapped, "swapped", c.Swapped, "part of the frames that changes places with the next")
	flags.Float64Var(&c.Lost, "lost", c.Lost, "part of the frames that is not captured")
	flags.Float64Var(&c.Retransmitted, "retransmitted", c.Retransmitted, "part of the segments that comes twice")
	flags.IntVar(&c.Faults, "faults", c.Faults, "how many faults of each kind")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	return write(*out, *truth, args[0], c)
}

func write(out, truth, name string, c traffic.Config) (err error) {
	var w io.WriteCloser = os.Stdout
	if out != "" {
		if w, err = os.Create(out); err != nil {
			return err
		}
	}
	told, err := traffic.Write(w, c)
	if closed := w.Close(); err == nil {
		err = closed
	}
	if err != nil || truth == "" {
		return err
	}
	about := fmt.Sprintf("made-up traffic %s, seed %d, %d bytes", name, c.Seed, c.Size)
	return os.WriteFile(truth, kafkatest.Case{About: about, Truth: told}.Expectation(), 0o644)
}
