package harmless

import (
	"fmt"
	"strings"
)

// Ending returns the last lines of a log, so many at the most, without a newline at the end. Of a
// stack it leaves the first and the last frame, since the error stands before them in most
// languages, and would be cut off. Lines of a stack are set in.
func Ending(log string, most int) string {
	lines := strings.Split(strings.TrimRight(log, "\n"), "\n")
	var kept []string
	for i := 0; i < len(lines); i++ {
		end := i
		for end < len(lines) && setIn(lines[end]) {
			end++
		}
		kept = append(kept, lines[i])
		if more := end - i - 2; more > 1 {
			kept = append(kept, fmt.Sprintf("    … %d more lines", more))
			i = end - 2
		}
	}
	return strings.Join(kept[max(0, len(kept)-most):], "\n")
}

// setIn reports whether a line of a log belongs to the one before it.
func setIn(line string) bool {
	return (strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")) && strings.TrimSpace(line) != ""
}
