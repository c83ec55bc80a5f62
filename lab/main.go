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

func run(ctx context.Context) error {
	sources := flag.String("sources", ".", "folder of the lab's sources")
	only := flag.String("run", "", "only scenarios whose name matches this expression")
	list := flag.Bool("list", false, "list the scenarios")
	matrix := flag.String("matrix", "", "write what each client did as a Markdown file")
	golden := flag.String("golden", "", "write the captures that serve as golden ones, and their expectations, to this folder")
	flag.Parse()
	wanted, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	if *list {
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
	programs, err := w.build(ctx, *sources)
	if err != nil {
		return err
	}
	brokers, err := cluster.Start(ctx, filepath.Join(w.dir, "brokers"), w.jars())
	if err != nil {
		return err
	}
	defer brokers.Stop()
	l := &lab{workspace: w, brokers: brokers, golden: *golden}
	var done []*outcome
	passed, failed := 0, 0
	for _, s := range scenarios(programs) {
		if !wanted.MatchString(s.name()) {
			continue
		}
		o, err := l.play(ctx, s)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			failed++
			fmt.Printf("FAIL %s: %v\n", s.name(), err)
			continue
		}
		passed++
		done = append(done, o)
		fmt.Printf("ok   %s: %s (%.1f s)\n", s.name(), o, o.took.Seconds())
	}
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	if failed > 0 || passed == 0 {
		return errFailed
	}
	if *matrix != "" {
		return os.WriteFile(*matrix, writeMatrix(done), 0o644)
	}
	return nil
}
