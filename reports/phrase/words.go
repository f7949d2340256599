// Package phrase makes numbers, lists and sentences, before anything is known of runs.
package phrase

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lockchaos/lockchaos/internal/harmless"
)

// The longest texts of others that a page repeats, in characters.
const (
	MostName = 120
	MostText = 1200
	MostLog  = 6000
)

// At writes an instant, in seconds since the run's origin.
func At(ns int64) string { return strconv.FormatFloat(float64(ns)/1e9, 'f', 3, 64) + " s" }

// Span writes a duration with three figures at most, in the unit that suits it.
func Span(ns int64) string {
	v, unit := float64(ns), "ns"
	switch abs := max(ns, -ns); {
	case abs >= 48*3_600_000_000_000:
		return fmt.Sprintf("%d days %d h", ns/86_400e9, max(ns, -ns)%86_400e9/3600e9)
	case abs >= 2*3_600_000_000_000:
		return fmt.Sprintf("%d h %d min", ns/3600e9, max(ns, -ns)%3600e9/60e9)
	case abs >= 119_500_000_000:
		return fmt.Sprintf("%d min %d s", ns/60e9, ns%60e9/1e9)
	case abs >= 999_500_000:
		v, unit = v/1e9, "s"
	case abs >= 999_500:
		v, unit = v/1e6, "ms"
	case abs >= 1000:
		v, unit = v/1e3, "µs"
	}
	digits := 0
	switch {
	case unit == "ns":
	case v < 9.995 && v > -9.995:
		digits = 2
	case v < 99.95 && v > -99.95:
		digits = 1
	}
	text := strconv.FormatFloat(v, 'f', digits, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text + " " + unit
}

type integer interface{ ~int | ~int32 | ~int64 }

// Grouped writes a number with commas between its thousands.
func Grouped[T integer](n T) string {
	s := strconv.FormatInt(int64(n), 10)
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// Plural writes a number with its noun.
func Plural[T integer](n T, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Grouped(n) + " " + noun + "s"
}

// Times writes how often something happened.
func Times[T integer](n T) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return Grouped(n) + " times"
}

// List joins words as a sentence does.
func List(words []string) string {
	switch len(words) {
	case 0:
		return ""
	case 1:
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// Clip makes another program's text fit to be shown: characters that would reorder or hide
// what stands around them are escaped, and what is longer than n characters is cut, saying so.
func Clip(s string, n int) string {
	var b strings.Builder
	kept := 0
	for i, r := range s {
		if kept == n {
			fmt.Fprintf(&b, "… (%s more)", Plural(len([]rune(s[i:])), "character"))
			break
		}
		b.WriteString(harmless.Text(string(r)))
		kept++
	}
	return b.String()
}

// Cut shortens a text for a place that has room for n characters only; the
// whole text is elsewhere on the page.
func Cut(s string, n int) string {
	r := []rune(Clip(FirstLine(s), MostText))
	if len(r) <= n {
		return string(r)
	}
	return strings.TrimRight(string(r[:n-1]), " ") + "…"
}

// FirstLine is the first line of a text. One that ends with a colon announces
// what follows, of which the last line says the most: it is the end of a log.
func FirstLine(s string) string {
	first, rest, _ := strings.Cut(strings.TrimSpace(s), "\n")
	first = strings.TrimSpace(first)
	if lines := strings.Split(rest, "\n"); strings.HasSuffix(first, ":") && rest != "" {
		first += " " + strings.TrimSpace(lines[len(lines)-1])
	}
	return first
}

// Sentence makes a text begin with a capital, where it begins with a word, and
// end with a full stop.
func Sentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return ""
	}
	if !plainWord(s) {
		return Stop(s)
	}
	first, size := utf8.DecodeRuneInString(s)
	return Stop(string(unicode.ToUpper(first)) + s[size:])
}

// plainWord reports whether a text begins with a word, and not with a path, an
// address or an identifier, which a capital would falsify.
func plainWord(s string) bool {
	word, _, _ := strings.Cut(s, " ")
	word = strings.TrimRight(word, ",.:;")
	return !strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' && r != '’' })
}

// Stop makes a text end with a full stop, if it does not end already.
func Stop(s string) string {
	s = strings.TrimSpace(s)
	if s == "" || strings.HasSuffix(s, ".") || strings.HasSuffix(s, "!") || strings.HasSuffix(s, "?") ||
		strings.HasSuffix(s, "…") {
		return s
	}
	return s + "."
}

// FaultTitle is the heading that a planned fault has in the matrix.
func FaultTitle(fault string) string {
	switch fault {
	case "", "none":
		return "no fault"
	case "pause-holder":
		return "holder frozen"
	case "kill-holder":
		return "holder killed"
	case "pause-after-check":
		return "frozen after check"
	}
	return strings.ReplaceAll(Clip(fault, MostName), "-", " ")
}

func Micro(ns int64) int64 { return (ns + 500) / 1000 }

// Lowered makes a sentence go on after a comma.
func Lowered(s string) string { return strings.ToLower(s[:1]) + s[1:] }

func Itoa[T integer](n T) string { return strconv.FormatInt(int64(n), 10) }

func Client(n int32) string { return "client " + Itoa(n) }

// OneLine makes sure that a program's text stays on its line.
func OneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' || r == '\t' }), " ")
}

// Columns is how many columns of a terminal a text takes. Combining marks take
// none; East Asian wide characters, which no name of ours has, are counted as one.
func Columns(s string) int {
	n := utf8.RuneCountInString(s)
	for _, r := range s {
		if unicode.Is(unicode.Mn, r) {
			n--
		}
	}
	return n
}

func Pad(s string, width int) string {
	return s + strings.Repeat(" ", max(width-Columns(s), 0))
}

// Wrap breaks a text between words.
func Wrap(s string, width int) string {
	if width <= 0 {
		return s
	}
	var b strings.Builder
	col := 0
	for i, word := range strings.Fields(s) {
		n := Columns(word)
		if i > 0 && col+1+n > width {
			b.WriteByte('\n')
			col = 0
		} else if i > 0 {
			b.WriteByte(' ')
			col++
		}
		b.WriteString(word)
		col += n
	}
	return b.String()
}
