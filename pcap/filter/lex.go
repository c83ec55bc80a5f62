package filter

import (
	"fmt"
	"strings"
)

// maxText bounds an expression; a list of a thousand ports has ten thousand bytes. It also bounds the depth of recursion.
const maxText = 64 << 10

// token is a word or a sign of the text. The empty token ends the text.
type token string

// signs are tokens that need no space around them, longest first.
var signs = []string{"&&", "||", "!", "(", ")"}

// lex splits a text. The signs have become words, where there is one.
func lex(text string) ([]token, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("the filter has %d bytes, more than %d", len(text), maxText)
	}
	var tokens []token
	for {
		text = strings.TrimLeft(text, " \t\r\n")
		if text == "" {
			return tokens, nil
		}
		n := signLength(text)
		if n == 0 {
			for n = 1; n < len(text) && !strings.ContainsRune(" \t\r\n", rune(text[n])) && signLength(text[n:]) == 0; n++ {
			}
		}
		word := text[:n]
		switch word {
		case "&&":
			word = "and"
		case "||":
			word = "or"
		case "!":
			word = "not"
		}
		tokens = append(tokens, token(word))
		text = text[n:]
	}
}

// signLength returns the length of the sign that the text begins with, or 0.
func signLength(text string) int {
	for _, s := range signs {
		if strings.HasPrefix(text, s) {
			return len(s)
		}
	}
	return 0
}
