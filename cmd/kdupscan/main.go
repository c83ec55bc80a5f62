// Kdupscan finds Kafka records that were written twice, from packet captures alone, and says why.
//
// This package parses arguments, wires the packages of the pipeline together, runs their goroutines and maps a result to
// an exit status: 0 clean, 1 duplicates or suspected ones, 2 misuse or input that cannot be read, 3 inconclusive.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kdupscan/kdupscan/report"
)

// statusMisuse is the exit status of misuse and of input or output that fails.
const statusMisuse = 2

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// exitStatus is the error of a command that has done its work and asks for an exit status other than 0.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// run executes the command line and returns the exit status.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := &cobra.Command{
		Use:     "kdupscan",
		Version: version(),
		Short:   "Find Kafka records that were written twice, from packet captures",
		Long: `kdupscan reads packet captures and answers one question: which Kafka records
stand twice in a partition's log, and what made that happen?`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unknown command %q; kdupscan --help lists the commands", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.AddCommand(scanCommand(), liveCommand(), explainCommand(), versionCommand(), manCommand())
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)

	err := root.Execute()
	var status exitStatus
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		return int(status)
	}
	message, _, _ := strings.Cut(err.Error(), "\n") // cobra adds suggestions in further lines
	fmt.Fprintf(stderr, "kdupscan: %s\n", report.Line(message))
	return statusMisuse
}
