package main

import (
	"fmt"
	"strings"
)

// writeMatrix words what came of the scenarios: a table of the log, a column for each client, and below it, for each fault, what the
// wire showed.
func writeMatrix(done []*outcome) []byte {
	var b strings.Builder
	b.WriteString(`# What real clients do

Written by the lab (` + "`make lab-docs`" + `, see [lab/README.md](../lab/README.md)) from one run against three Apache Kafka 4.3.1 brokers; in every
scenario kdupscan's report agreed with the brokers' log. Counts differ a little from run to run.

## In the log
How many records stand twice, and why. Each client sends 80 records or more to two partitions; a dash: not played.

`)
	columns := clientNames(done)
	b.WriteString("| fault | producer | " + strings.Join(columns, " | ") + " |\n|---|---|" + strings.Repeat("---|", len(columns)) + "\n")
	for _, row := range table {
		cells := make([]string, len(columns))
		played := false
		for i, client := range columns {
			cells[i] = "–"
			if o := find(done, row.fault, row.mode, client); o != nil {
				cells[i], played = o.log(), true
			}
		}
		if played {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", row.fault.name, row.mode, strings.Join(cells, " | "))
		}
	}
	b.WriteString("\n## On the wire\nAnswers other than a plain acknowledgement, as the client's side of the wire shows them.\n")
	var last *fault
	for _, o := range done {
		f := o.scenario.fault
		if f != last {
			fmt.Fprintf(&b, "\n### %s\n%s\n\n", f.name, f.about)
			last = f
		}
		fmt.Fprintf(&b, "- %s, %s: %s\n", o.scenario.client.Name, o.scenario.mode, o)
	}
	return []byte(b.String())
}

// clientNames are the clients in the order of the table.
func clientNames(done []*outcome) (names []string) {
	seen := make(map[string]bool)
	for _, o := range done {
		if name := o.scenario.client.Name; !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}

func find(done []*outcome, f *fault, m mode, client string) *outcome {
	for _, o := range done {
		if o.scenario.fault == f && o.scenario.mode == m && o.scenario.client.Name == client {
			return o
		}
	}
	return nil
}
