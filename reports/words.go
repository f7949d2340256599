package reports

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lockchaos/lockchaos/harmless"
)

// The longest texts of others that a page repeats, in characters.
const (
	clipName = 120
	clipText = 1200
	clipLog  = 6000
)

// at writes an instant, in seconds since the run's origin.
func at(ns int64) string { return strconv.FormatFloat(float64(ns)/1e9, 'f', 3, 64) + " s" }

// span writes a duration with three figures at most, in the unit that suits it.
func span(ns int64) string {
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

// grouped writes a number with commas between its thousands.
func grouped[T integer](n T) string {
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

// plural writes a number with its noun.
func plural[T integer](n T, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return grouped(n) + " " + noun + "s"
}

// times writes how often something happened.
func times[T integer](n T) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return grouped(n) + " times"
}

// list joins words as a sentence does.
func list(words []string) string {
	switch len(words) {
	case 0:
		return ""
	case 1:
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// clip makes another program's text fit to be shown: characters that would reorder or hide what stands around them are
// escaped, and what is longer than n characters is cut, saying so.
func clip(s string, n int) string {
	var b strings.Builder
	kept := 0
	for i, r := range s {
		if kept == n {
			fmt.Fprintf(&b, "… (%s more)", plural(len([]rune(s[i:])), "character"))
			break
		}
		b.WriteString(harmless.Text(string(r)))
		kept++
	}
	return b.String()
}

// cut shortens a text for a place that has room for n characters only; the whole text is elsewhere on the page.
func cut(s string, n int) string {
	r := []rune(clip(firstLine(s), clipText))
	if len(r) <= n {
		return string(r)
	}
	return strings.TrimRight(string(r[:n-1]), " ") + "…"
}

// firstLine is the first line of a text. One that ends with a colon announces what follows, of which the last line says the most:
// it is the end of a log.
func firstLine(s string) string {
	first, rest, _ := strings.Cut(strings.TrimSpace(s), "\n")
	first = strings.TrimSpace(first)
	if lines := strings.Split(rest, "\n"); strings.HasSuffix(first, ":") && rest != "" {
		first += " " + strings.TrimSpace(lines[len(lines)-1])
	}
	return first
}

// sentence makes a text begin with a capital, where it begins with a word, and end with a full stop.
func sentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return ""
	}
	if !plainWord(s) {
		return stop(s)
	}
	first, size := utf8.DecodeRuneInString(s)
	return stop(string(unicode.ToUpper(first)) + s[size:])
}

// plainWord tells whether a text begins with a word, and not with a path, an address or an identifier, which a capital would falsify.
func plainWord(s string) bool {
	word, _, _ := strings.Cut(s, " ")
	word = strings.TrimRight(word, ",.:;")
	return !strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' && r != '’' })
}

// stop makes a text end with a full stop, if it does not end already.
func stop(s string) string {
	s = strings.TrimSpace(s)
	if s == "" || strings.HasSuffix(s, ".") || strings.HasSuffix(s, "!") || strings.HasSuffix(s, "?") || strings.HasSuffix(s, "…") {
		return s
	}
	return s + "."
}

// faultTitle is the heading that a planned fault has in the matrix.
func faultTitle(fault string) string {
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
	return strings.ReplaceAll(clip(fault, clipName), "-", " ")
}
