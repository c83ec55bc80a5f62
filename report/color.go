package report

import (
	"bytes"
	"strings"

	"github.com/kdupscan/kdupscan/analysis"
)

// style is a rendition of text on a terminal (ECMA-48, SGR).
type style string

const (
	bold   style = "\x1b[1m"
	red    style = "\x1b[1;31m"
	green  style = "\x1b[1;32m"
	yellow style = "\x1b[1;33m"
	plain  style = "\x1b[0m"
)

// painted writes what write writes, line by line in the given style where the table has colours. Text is laid out first,
// so that the codes count for no width.
func (v *view) painted(b *bytes.Buffer, s style, write func(*bytes.Buffer)) {
	if !v.Color {
		write(b)
		return
	}
	var text bytes.Buffer
	write(&text)
	for line := range strings.Lines(text.String()) {
		b.WriteString(string(s) + strings.TrimSuffix(line, "\n") + string(plain) + "\n")
	}
}

// verdictStyle is the style of the headline.
func (v *view) verdictStyle() style {
	switch v.verdict {
	case analysis.Duplicates:
		return red
	case analysis.Clean:
		return green
	}
	return yellow
}
