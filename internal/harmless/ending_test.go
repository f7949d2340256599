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

// TestEndingKeepsMessages: what is not set in is said, also between stacks.
func TestEndingKeepsMessages(t *testing.T) {
	log := strings.Repeat("goroutine 7 acquires\nand says why\n", 6) +
		strings.Repeat("goroutine 7 [running]:\nmain.lock(0x1)\n\t/lock.go:10 +0x1\nERROR: other\n", 5)
	if got := Ending(log, 100); got+"\n" != log {
		t.Errorf("it left something out:\n%s", got)
	}
}

// TestEndingOfGo: the panic of a Go program has its words, where it happened, and what the program
// that started it says of its end.
func TestEndingOfGo(t *testing.T) {
	call := func(name string) string { return name + "(0x1)\n\t/lock.go:10 +0x1\n" }
	stack := "goroutine 7 [running]:\n" + call("main.lock") + strings.Repeat(call("main.more"), 30)
	for name, log := range map[string]string{
		"one goroutine":        "panic: out of luck\n\n" + stack + "exit status 2\n",
		"each that it has":     "fatal error: out of luck\n\n" + strings.Repeat(stack+"\n", 12) + "exit status 2\n",
		"it ends in the stack": "panic: out of luck\n\ngoroutine 7 [running]:\n" + call("main.lock") + "main.more(",
	} {
		got := Ending(log, 20)
		for _, want := range []string{"out of luck", "goroutine 7", "main.lock"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: it has no %q:\n%s", name, want, got)
			}
		}
		log = strings.TrimRight(log, "\n")
		if last := log[strings.LastIndex(log, "\n")+1:]; !strings.HasSuffix(got, last) {
			t.Errorf("%s: it does not end with %q:\n%s", name, last, got)
		}
	}
}
