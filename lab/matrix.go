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
scenario kdupscan's report agreed with the brokers' log. Counts differ a little from run to run. Where a leader is stopped or killed, a request may be
appended after the capture: kdupscan may then call such a batch a possible first copy, and that is no disagreement.

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
	b.WriteString(why + "\n## On the wire\nAnswers other than a plain acknowledgement, as the client's side of the wire shows them.\n")
	worded := make(map[*fault]bool)
	for _, row := range table {
		if worded[row.fault] {
			continue
		}
		worded[row.fault] = true
		fmt.Fprintf(&b, "\n### %s\n%s\n\n", row.fault.name, row.fault.about)
		for _, o := range done {
			if o.scenario.seal == nil && o.scenario.fault == row.fault {
				fmt.Fprintf(&b, "- %s, %s: %s\n", o.scenario.client.Name, o.scenario.mode, o)
			}
		}
	}
	writeSealed(&b, done)
	return []byte(b.String())
}

// writeSealed words the scenarios inside TLS.
func writeSealed(b *strings.Builder, done []*outcome) {
	b.WriteString(`
## Inside TLS
The same with connections encrypted from the client to the broker. A relay that cannot read them passes them on; where the proxy has the keys, it
ends the client's TLS and begins it anew. The suite is the one in the server's hello. kdupscan was given the key log that the table names,
` + "`scan --keylog`" + ` and ` + "`live --keylog`" + `. The password of the client stood in no report.

| suite | client | SASL | keys by | fault | in the log |
|---|---|---|---|---|---|
`)
	for _, o := range done {
		if s := o.scenario; s.seal != nil {
			mechanism := s.seal.mechanism
			if mechanism == "" {
				mechanism = "–"
			}
			fmt.Fprintf(b, "| %s | %s, %s | %s | %s | %s | %s |\n", s.seal.suite.Name, s.client.Name, s.mode, mechanism, s.seal.keys, strings.TrimPrefix(s.fault.name, "TLS, "), o.log())
		}
	}
	fmt.Fprintf(b, "\n\"%s\" inside TLS: %s\n", strings.TrimPrefix(cut.name, "TLS, "), cut.about)
}

// why is what the table shows, in words.
const why = `
## Who duplicates, and why
- Without idempotence every client that tries again duplicates what was appended: nothing in the batch lets the broker recognise it. All
  requests in flight behind a missing answer are repeated: up to five of Java, any number of librdkafka, which puts them into one new batch.
- sarama, after an error answer, tries again with new timestamps, which nobody can tell from an application that sends the record again.
- With idempotence the broker recognises the retry, also at another leader, and answers OK with the first offset and a time of append.
- librdkafka gives up the epoch of all partitions when the broker answers 45 to a batch behind a lost one. A batch of another partition that was
  appended, but not acknowledged by then, is written again under the new epoch. Java, franz-go and sarama sent it again
  under the old epoch, and the broker recognised it.
- A 45 for the first batch in flight is a fatal error to librdkafka, and duplicates nothing.
- When records of librdkafka expire that were possibly sent, it gives up the epoch as well. Younger records of the partition that were appended,
  but not acknowledged, are written again under the new one, without any 45. Java's records expired, and were not sent again.
- A request that lay in a dead connection's socket is appended after its own retry: the first send may stand at the higher offset.
- A leader that goes on after a stop may answer 45 by itself, and librdkafka then gives up its epoch: a record of 2.11.1 was written twice in
  some runs and not in others. It is a matter of chance, and no rate can be read from so few.
`

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
		if o.scenario.seal == nil && o.scenario.fault == f && o.scenario.mode == m && o.scenario.client.Name == client {
			return o
		}
	}
	return nil
}
