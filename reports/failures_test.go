package reports

import (
	"strings"
	"testing"
)

// The reason begins with the call that was refused, wherever the refusal came
// up; other errors are told as they are.
func TestCause(t *testing.T) {
	for failed, want := range map[string]string{
		"a: b: open F: permission denied":                       "open F: permission denied",
		"open F: permission denied":                             "open F: permission denied",
		"permission denied":                                     "permission denied",
		"a: open F: operation not permitted: run this with CAP": "open F: operation not permitted: run this with CAP",
		"a: write F: no space left on device\nb":                "write F: no space left on device",
		"a: b: exit status 1":                                   "a: b: exit status 1",
	} {
		if got, do := cause(failed); got != want || (do == "") != strings.Contains(failed, "exit status") {
			t.Errorf("%q: %q (%q)", failed, got, do)
		}
	}
}
