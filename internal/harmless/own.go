package harmless

import (
	"crypto/rand"
	"strings"
)

// ownBegin and ownEnd stand around a sequence of ours. Other text can't imitate
// them: it can't know the random part.
var (
	ownBegin = "\x1b_" + rand.Text() + ";"
	ownEnd   = "\x1b\\"
)

// Own marks a control sequence of ours, such as "\x1b[1m", so that a Writer
// passes it on. It has no meaning elsewhere.
func Own(sequence string) string { return ownBegin + sequence + ownEnd }

// ownLength is how many bytes the sequence of ours takes with its marks that s
// begins with; 0: it begins with none.
func ownLength(s string) int {
	if !strings.HasPrefix(s, ownBegin) {
		return 0
	}
	end := strings.Index(s[len(ownBegin):], ownEnd)
	if end < 0 {
		return 0
	}
	return len(ownBegin) + end + len(ownEnd)
}

// beginsOwn reports whether s may become a sequence of ours when more is written.
func beginsOwn(s string) bool {
	if len(s) < len(ownBegin) {
		return strings.HasPrefix(ownBegin, s)
	}
	return strings.HasPrefix(s, ownBegin) && ownLength(s) == 0
}
