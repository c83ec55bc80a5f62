// Package analysis decides which records stand twice in a partition's log, how sure that is, and what made it happen.
//
// In come observations of package kafka, in the order of the frames that completed them, through Correlator.Observe. Out goes a
// Result: findings with their evidence as data, counts, producers. The rules are those of the protocol: what an answer, a
// sequence, an offset proves (docs/verdicts.md). Observe only keeps facts; a judgement over them is made by Finish, by Alerts and Interim
// while a run goes on, and before history is dropped to keep memory bounded. docs/architecture.md has the steps.
//
// Observations are kept as they are and must not be changed afterwards. A Correlator is for one goroutine. The same observations
// give the same Result: no clock is read, nothing depends on the order of a map.
//
// The package knows no packets and no files, starts no goroutine and prints nothing. Wording is package report's, but for the
// Catalogue: it explains every code that a report can show.
package analysis
