package reports

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Shell joins words so that a shell takes them apart again.
func Shell(words ...string) string {
	var out []string
	for _, w := range words {
		if w == "" || strings.ContainsFunc(w, func(r rune) bool { return !plainInShell(r) }) {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		out = append(out, w)
	}
	return strings.Join(out, " ")
}

// plainInShell tells whether a shell takes the letter as it is.
func plainInShell(r rune) bool {
	return r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-./:=,@%+", r))
}
