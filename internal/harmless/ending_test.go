package harmless

import (
	"strings"
	"testing"
)

// TestEnding: the end of a log has the error, whatever stack comes after it.
func TestEnding(t *testing.T) {
	frames := strings.Repeat("    at Object.<anonymous> (lock.js:10:9)\n", 30)
	for name, c := range map[string]struct{ log, want string }{
		"few lines":   {"a\nb\n", "a\nb"},
		"many lines":  {"a\nb\nc\nd\ne\nf\n", "c\nd\ne\nf"},
		"nothing":     {"", ""},
		"a few in":    {"a\n  b\n  c\n  d\n", "a\n  b\n  c\n  d"},
		"an error":    {"Error: no lock\n" + frames, "Error: no lock\n    at Object.<anonymous> (lock.js:10:9)\n    … 28 more lines\n    at Object.<anonymous> (lock.js:10:9)"},
		"and a cause": {"X: no\n" + frames + "Caused by: Y\n", "    at Object.<anonymous> (lock.js:10:9)\n    … 28 more lines\n    at Object.<anonymous> (lock.js:10:9)\nCaused by: Y"},
	} {
		if got := Ending(c.log, 4); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
