package harmless

import (
	"fmt"
	"strings"
)

// Ending returns the last lines of a log, so many at the most, without a newline at the end. Of a
// stack it leaves the first frames and the last, since the error stands before them in most
// languages, and would be cut off. Lines of a stack are set in, or are a goroutine's.
func Ending(log string, most int) string {
	lines := strings.Split(strings.TrimRight(log, "\n"), "\n")
	var kept []string
	for i := 0; i < len(lines); {
		frames, first := goroutines(lines[i:]), framesOfGo
		if frames == 0 {
			frames, first = setIn(lines[i:]), 1
		}
		if more := frames - first - 1; more > 1 {
			kept = append(kept, lines[i:i+first]...)
			kept = append(kept, fmt.Sprintf("    … %d more lines", more), lines[i+frames-1])
			i += frames
			continue
		}
		last := i + max(frames, 1)
		kept = append(kept, lines[i:last]...)
		i = last
	}
	return strings.Join(kept[max(0, len(kept)-most):], "\n")
}

// setIn is how many of the first lines belong to the one before them.
func setIn(lines []string) int {
	for i, line := range lines {
		if !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "\t") || strings.TrimSpace(line) == "" {
			return i
		}
	}
	return len(lines)
}

// framesOfGo is the lines that stay of a goroutine's stack: its name, panic itself, and two calls.
const framesOfGo = 7

// goroutines is how many of the first lines are the stacks of a Go program's goroutines, with the
// empty lines between them: a name, and of each call a line that is not set in and one that is.
func goroutines(lines []string) int {
	count := 0
	for i := 0; i < len(lines) && strings.HasPrefix(lines[i], "goroutine ") && strings.HasSuffix(lines[i], "]:"); {
		for count = i + 1; count+1 < len(lines) && strings.HasPrefix(lines[count+1], "\t"); {
			count += 2
		}
		if i = count; i < len(lines) && lines[i] == "" {
			i++
		}
	}
	return count
}
