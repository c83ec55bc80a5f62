package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// manCommand writes the manual pages, for who packages kdupscan. Their date is SOURCE_DATE_EPOCH where that is set.
func manCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages into a folder",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("man where? Name one folder for the pages")
			}
			return nil
		},
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true
			return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "kdupscan " + version(), Manual: "kdupscan"}, args[0])
		},
	}
}
