// Package harmless makes foreign text harmless, before it reaches a terminal, a CI runner, Markdown
// or an error. Foreign text is what logs, adapters, containers and files say.
//
// Three things can go wrong with such a text. A control character plays with the terminal. A line
// break lets a value look like a line of ours. A line that begins with "::", or holds "##[", is a
// command to a CI runner. Line and Text remove the first two, and Writer removes the first and the
// third. A command's output passes one Writer, so a value that was overlooked elsewhere does not
// get through.
//
// Removed characters are written as JSON would escape them: \u001b. So JSON that passes a Writer
// means the same as before.
package harmless

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Hidden reports whether a character has no glyph of its own, or changes the place or the order
// of others: controls (U+0080 to U+009F too), format characters such as the bidirectional ones,
// separators of lines and paragraphs. Line breaks and tabs are hidden, too.
func Hidden(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029'
}

// Line returns a value that stays on its line: every hidden character is
// escaped, line breaks and tabs included.
func Line(s string) string { return escaped(s, "") }

// Text returns a text that may have several lines: as Line, but line breaks and tabs stay.
func Text(s string) string { return escaped(s, "\n\t") }

// Safe is text that Fprintf and its like leave as it is: what Block returned,
// or several lines of ours.
type Safe string

// Block returns Text whose lines, but for the first, begin with the indent. So
// none of them looks like a line of ours.
func Block(s, indent string) Safe {
	s = strings.ReplaceAll(strings.TrimRight(s, "\r\n"), "\r\n", "\n")
	return Safe(strings.ReplaceAll(Text(s), "\n", "\n"+indent))
}

// Fprintf is fmt.Fprintf for values that may not be ours: each string, error
// and Stringer among them is as Line returns it.
func Fprintf(w io.Writer, format string, args ...any) (int, error) {
	return fmt.Fprintf(w, format, lines(args)...)
}

// Fprintln is fmt.Fprintln for values that may not be ours, as Fprintf is.
func Fprintln(w io.Writer, args ...any) (int, error) { return fmt.Fprintln(w, lines(args)...) }

// Sprintf is fmt.Sprintf for values that may not be ours, as Fprintf is.
func Sprintf(format string, args ...any) string { return fmt.Sprintf(format, lines(args)...) }

// lines are the arguments of a format, each on its line.
func lines(args []any) []any {
	out := make([]any, len(args))
	for i, a := range args {
		switch v := a.(type) {
		case string:
			out[i] = Line(v)
		case error:
			out[i] = Line(v.Error())
		case fmt.Stringer:
			out[i] = Line(v.String())
		default:
			out[i] = a
		}
	}
	return out
}

// escaped escapes hidden characters, but for those in keep, and but for our own sequences.
func escaped(s, keep string) string {
	if strings.IndexFunc(s, func(r rune) bool { return Hidden(r) || r == utf8.RuneError }) < 0 {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		if n := ownLength(s); n > 0 {
			b.WriteString(s[:n])
			s = s[n:]
			continue
		}
		r, size := utf8.DecodeRuneInString(s)
		s = s[size:]
		if Hidden(r) && !strings.ContainsRune(keep, r) {
			b.WriteString(escape(r))
		} else {
			b.WriteRune(r) // what is no character becomes U+FFFD
		}
	}
	return b.String()
}

// escape writes a character as JSON escapes it.
func escape(r rune) string {
	switch r {
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	}
	if high, low := utf16.EncodeRune(r); high != unicode.ReplacementChar {
		return fmt.Sprintf(`\u%04x\u%04x`, high, low)
	}
	return fmt.Sprintf(`\u%04x`, r)
}
