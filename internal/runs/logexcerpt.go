package runs

import (
	"bytes"
	"os"
	"strings"
)

// excerptLines is how much of a log Logged returns.
const excerptLines = 30

// LogExcerpt finds the first line of a log that begins so, and returns it with what
// follows it, 30 lines at most; "" if there is none.
func LogExcerpt(file, beginning string) string {
	log, err := os.ReadFile(file)
	i := bytes.Index(append([]byte("\n"), log...), []byte("\n"+beginning))
	if err != nil || i < 0 {
		return ""
	}
	lines := strings.SplitN(string(log[i:]), "\n", excerptLines+1)
	return strings.Join(lines[:min(excerptLines, len(lines))], "\n")
}

// Crash returns how a program in Go has crashed, by its log; "" if it has not.
func Crash(log string) string {
	if text := LogExcerpt(log, "panic: "); text != "" {
		return text
	}
	return LogExcerpt(log, "fatal error: ")
}
