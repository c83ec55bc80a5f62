package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kdupscan/kdupscan/analysis"
	"github.com/kdupscan/kdupscan/pcap"
	"github.com/kdupscan/kdupscan/report"
)

func explainCommand() *cobra.Command {
	var schema bool
	cmd := &cobra.Command{
		Use:   "explain [CODE]",
		Short: "Say what a finding, doubt, limit, oddity or count means, and what to do about it",
		Long:  "Say what a code of a report means, and what to do about it. Without a code, list all codes.",
		Example: `  kdupscan explain epoch-bump
  kdupscan explain --schema > report.schema.json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("explain one code at a time, not %d", len(args))
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var codes []string
			for _, e := range analysis.Catalogue {
				codes = append(codes, string(e.Code)+"\t"+e.Title)
			}
			return codes, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if schema && len(args) > 0 {
				return fmt.Errorf("--schema goes without a code")
			}
			if schema {
				_, err := io.WriteString(cmd.OutOrStdout(), report.Schema)
				return err
			}
			width := terminalWidth(cmd.OutOrStdout())
			if len(args) == 0 {
				return report.WriteCatalogue(cmd.OutOrStdout(), analysis.Catalogue, width)
			}
			code := strings.ReplaceAll(strings.ToLower(args[0]), "_", "-")
			entry, ok := analysis.Explain(pcap.Code(code))
			if !ok {
				return fmt.Errorf("no code %q%s; kdupscan explain lists all codes", args[0], codesLike(code))
			}
			return report.WriteEntry(cmd.OutOrStdout(), entry, width)
		},
	}
	cmd.Flags().BoolVar(&schema, "schema", false, "print the JSON Schema (draft 2020-12) of the JSON report")
	return cmd
}

// codesLike is " (like it: epoch-bump)" for a part of a code, "" for what is in none.
func codesLike(part string) string {
	var codes []string
	for _, e := range analysis.Catalogue {
		if strings.Contains(string(e.Code), part) {
			codes = append(codes, string(e.Code))
		}
	}
	if len(codes) == 0 {
		return ""
	}
	return fmt.Sprintf(" (like it: %s)", strings.Join(codes, ", "))
}
