package report

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// nameWidth is how many columns of a captured name a sentence or a cell shows. Kafka allows topic names of 249 characters
// and client ids of 32767 bytes; real ones seldom pass 60.
const nameWidth = 72

// lineWidth is how much of a message a terminal gets: some lines, in case a long path is among them.
const lineWidth = 400

// Line makes a message that may hold captured strings or file names safe to print on a terminal, in one line.
func Line(message string) string { return clean(message, lineWidth) }

// clean makes a captured string safe to print in one line: see appendClean. What is wider than max columns ends in "…".
func clean(s string, max int) string {
	var b []byte
	width := 0
	for len(s) > 0 {
		_, size := utf8.DecodeRuneInString(s)
		piece := string(appendClean(nil, s[:size]))
		n := displaywidth.String(piece)
		if width+n > max-1 && (width+n > max || len(s) > size) {
			return string(b) + "…"
		}
		b, width, s = append(b, piece...), width+n, s[size:]
	}
	return string(b)
}

// name is clean with the width that names get.
func name(s string) string { return clean(s, nameWidth) }

// appendClean appends s with everything escaped that could move a cursor, hide, reorder or mark up text: control bytes
// (C0, DEL, C1), bidirectional and other format characters, combining marks, odd spaces, bytes that are no UTF-8, and the
// characters | ` and \, which carry meaning in tables, in Markdown and in the escapes themselves.
func appendClean(b []byte, s string) []byte {
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			b = fmt.Appendf(b, `\x%02x`, s[0])
		case r == '|' || r == '`' || r == '\\':
			b = append(b, '\\', byte(r))
		case visible(r):
			b = append(b, s[:size]...)
		default:
			b = appendEscape(b, r)
		}
		s = s[size:]
	}
	return b
}

// appendEscape writes r as \n, \x1b, \u202e or \U000e0001.
func appendEscape(b []byte, r rune) []byte {
	switch {
	case r == '\n':
		return append(b, `\n`...)
	case r == '\r':
		return append(b, `\r`...)
	case r == '\t':
		return append(b, `\t`...)
	case r < utf8.RuneSelf:
		return fmt.Appendf(b, `\x%02x`, r)
	case r < 0x10000:
		return fmt.Appendf(b, `\u%04x`, r)
	}
	return fmt.Appendf(b, `\U%08x`, r)
}

// invisible are letters and symbols that Unicode counts as printable and that draw nothing.
const invisible = "\u115f\u1160\u3164\uffa0\u2800"

// visible reports whether r draws one glyph of its own.
func visible(r rune) bool {
	return unicode.IsPrint(r) && !unicode.Is(unicode.M, r) && !strings.ContainsRune(invisible, r)
}

// valid returns s with the bytes that are no UTF-8 written as \xNN, so that two names never become equal in a report.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b []byte
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && size == 1 {
			b = fmt.Appendf(b, `\x%02x`, s[0])
		} else {
			b = append(b, s[:size]...)
		}
		s = s[size:]
	}
	return string(b)
}

// escapeJSON rewrites an encoded JSON text so that it can be shown on a terminal: runes that are not visible, which
// encoding/json passes on above 0x7e, become \u escapes. The value stays the same, since such runes occur in strings only.
func escapeJSON(text []byte) []byte {
	var b []byte
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r < 0x7f || visible(r):
			b = append(b, text[:size]...)
		case r < 0x10000:
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			r -= 0x10000
			b = fmt.Appendf(b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		}
		text = text[size:]
	}
	return b
}
