package reports

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Shell joins words so that a shell takes them apart again.
func Shell(words ...string) string {
	var out []string
	for _, w := range words {
		if w == "" || strings.ContainsFunc(w, func(r rune) bool { return !plainInShell(r) }) {
			w = Quoted(w)
		}
		out = append(out, w)
	}
	return strings.Join(out, " ")
}

// Quoted writes a word in single quotes whatever it holds, as a shell takes it:
// one that holds what is not to be shown, as $'…'.
func Quoted(word string) string {
	if !strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }) {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for i := 0; i < len(word); {
		r, size := utf8.DecodeRuneInString(word[i:])
		switch {
		case r == '\'' || r == '\\':
			b.WriteString(`\` + string(r))
		case unicode.IsPrint(r) && r != utf8.RuneError:
			b.WriteRune(r)
		default:
			for _, c := range []byte(word[i : i+size]) {
				fmt.Fprintf(&b, `\x%02x`, c)
			}
		}
		i += size
	}
	return b.String() + "'"
}

// plainInShell reports whether a shell takes the letter as it is.
func plainInShell(r rune) bool {
	return r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-./:=,@%+", r))
}
