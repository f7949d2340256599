// Package harmlesstest has a hostile text, and finds what it did to an output.
package harmlesstest

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/lockchaos/lockchaos/internal/harmless"
)

// forged begins a line that none of ours begins with.
const forged = "FORGED"

// Hostile plays with a terminal, forges lines of ours and commands a CI runner.
const Hostile = "::warning::w\x1b[2J\x1b]0;t\x07\u009b31m\u202ea\u2066\u2028\u00ad\U000e0041\x00\xff\r\n::error::e\n \u00a0::error::e\n##[error]e\n" +
	"x##vso[task.complete]\r" + forged + "\n" + forged + "\tb|`*"

// Wrong says what in an output is not harmless; "": nothing. Commands are the
// beginnings of lines that are ours to the runner.
func Wrong(output string, commands ...string) string {
	for i, line := range strings.Split(output, "\n") {
		ours := false
		for _, c := range commands {
			ours = ours || strings.HasPrefix(line, c)
		}
		text := strings.TrimLeftFunc(line, unicode.IsSpace)
		switch at := strings.IndexFunc(line, func(r rune) bool { return r != '\t' && harmless.Hidden(r) }); {
		case at >= 0:
			return fmt.Sprintf("line %d has a hidden character at byte %d: %.300q", i+1, at, line)
		case !ours && (strings.HasPrefix(text, "::") || strings.Contains(line, "##[") ||
			strings.Contains(line, "##vso[")):
			return fmt.Sprintf("line %d is a command: %.300q", i+1, line)
		case strings.HasPrefix(line, forged):
			return fmt.Sprintf("line %d looks like one of ours: %.300q", i+1, line)
		}
	}
	return ""
}
