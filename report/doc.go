// Package report words the result of an analysis and writes it in one of several formats.
//
// In comes an analysis.Result, which is only read; out go bytes on an io.Writer. The JSON report is the stable interface
// (schema kdupscan/report/v1, schema.json), the table is for a terminal, Markdown for a ticket, HTML for a browser. A further
// format is one file with a function of the type of Format.Write, and one line in the list of formats.
//
// Strings that come from a capture are hostile: everything that is not plainly printable is escaped in every format, and
// then what the format itself would take for more than text, and no payload byte is written unless Options.Payloads asks for it. The same result and options give the same
// bytes. Nothing here judges, reads files or starts goroutines; a Result may be written by several goroutines at once.
package report
