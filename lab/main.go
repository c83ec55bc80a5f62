// Command lab makes real duplicates with real brokers and clients, records them from the wire, and checks what kdupscan
// says of them against the brokers' own log. README.md tells how to use it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"

	"github.com/kdupscan/kdupscan/lab/clients"
	"github.com/kdupscan/kdupscan/lab/cluster"
)

func main() {
	if len(os.Args) > 2 && os.Args[1] == "produce" { // one of the producers, started by the lab itself
		if err := clients.Produce(os.Args[2], os.Args[3:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		stop()
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(1)
	}
}

var errFailed = errors.New("not all scenarios passed")

// options are the lab's flags.
type options struct {
	sources, matrix, golden string
	wanted                  *regexp.Regexp
	list                    bool
}

func parseOptions() (o options, err error) {
	flag.StringVar(&o.sources, "sources", ".", "`folder` of the lab's sources")
	only := flag.String("run", "", "only scenarios whose name matches this `expression`")
	flag.BoolVar(&o.list, "list", false, "list the scenarios")
	flag.StringVar(&o.matrix, "matrix", "", "write what each client did to this Markdown `file`")
	flag.StringVar(&o.golden, "golden", "", "write the captures of kdupscan's own tests, and their expectations, to this `folder`")
	flag.Parse()
	o.wanted, err = regexp.Compile(*only)
	return o, err
}

func run(ctx context.Context) error {
	o, err := parseOptions()
	if err != nil {
		return err
	}
	if o.list {
		for _, s := range scenarios(clients.All("", "")) {
			fmt.Println(s.name())
		}
		return nil
	}
	if err := requirements(); err != nil {
		return err
	}
	w, err := openWorkspace()
	if err != nil {
		return err
	}
	defer w.close()
	programs, err := w.build(ctx, o.sources)
	if err != nil {
		return err
	}
	brokers, err := cluster.Start(ctx, filepath.Join(w.dir, "brokers"), w.jars())
	if err != nil {
		return err
	}
	defer brokers.Stop()
	l := &lab{workspace: w, brokers: brokers, golden: o.golden}
	var wanted []scenario
	for _, s := range scenarios(programs) {
		if o.wanted.MatchString(s.name()) {
			wanted = append(wanted, s)
		}
	}
	done, err := l.playAll(ctx, wanted)
	if err == nil && o.matrix != "" {
		err = os.WriteFile(o.matrix, writeMatrix(done), 0o644)
	}
	return err
}

// playAll plays scenarios one after the other and prints a line for each.
func (l *lab) playAll(ctx context.Context, all []scenario) ([]*outcome, error) {
	var done []*outcome
	for _, s := range all {
		o, err := l.play(ctx, s)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			fmt.Printf("FAIL %s: %v\n", s.name(), err)
		default:
			attempts := ""
			if o.attempts > 1 {
				attempts = fmt.Sprintf(", %d attempts", o.attempts)
			}
			fmt.Printf("ok   %s: %s (%.1f s%s)\n", s.name(), o, o.took.Seconds(), attempts)
			done = append(done, o)
		}
	}
	fmt.Printf("%d passed, %d failed\n", len(done), len(all)-len(done))
	if len(done) < len(all) || len(all) == 0 {
		return nil, errFailed
	}
	return done, nil
}
