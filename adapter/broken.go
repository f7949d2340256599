package adapter

import (
	"errors"
	"fmt"
	"strings"
)

// ErrBroken is in every error that says that an adapter broke the protocol:
// nothing that it says any more is an answer.
var ErrBroken = errors.New("the adapter broke the protocol")

// BrokenError says what an adapter did that no adapter may do.
type BrokenError struct {
	// Command is the adapter's command line.
	Command string
	// What it did, as the rest of a sentence: "answered request 3 twice".
	What string
	// Log is the end of what it printed on standard error; possibly nothing.
	Log string
}

// Error is of the form `the adapter "python3 lock.py" answered request 3
// twice`, with the end of its log.
func (e *BrokenError) Error() string {
	text := fmt.Sprintf("the adapter %q %s", e.Command, e.What)
	if e.Log != "" {
		text += "; the end of its standard error:\n\t" +
			strings.ReplaceAll(strings.TrimRight(e.Log, "\n"), "\n", "\n\t")
	}
	return text
}

// Is makes it an ErrBroken.
func (e *BrokenError) Is(target error) bool { return target == ErrBroken }
