package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kdupscan/kdupscan/analysis"
	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/report"
)

func explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain [CODE]",
		Short: "Say what a finding, doubt, limit, oddity or count means, and what to do about it",
		Long:  "Say what a code of a report means, and what to do about it. Without a code, list all codes.",
		Args:  cobra.MaximumNArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var codes []string
			for _, e := range analysis.Catalogue {
				codes = append(codes, string(e.Code)+"\t"+e.Title)
			}
			return codes, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			width := terminalWidth(cmd.OutOrStdout())
			if len(args) == 0 {
				return report.WriteCatalogue(cmd.OutOrStdout(), analysis.Catalogue, width)
			}
			entry, ok := analysis.Explain(pcap.Code(strings.ReplaceAll(args[0], "_", "-")))
			if !ok {
				return fmt.Errorf("no code %q; kdupscan explain lists all codes", args[0])
			}
			return report.WriteEntry(cmd.OutOrStdout(), entry, width)
		},
	}
}
