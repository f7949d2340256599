//go:build linux

package locktest

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/nemesis"
)

// TestShown: what a lock or a service has said is neither a line of ours nor a
// command to a CI runner.
func TestShown(t *testing.T) {
	for given, want := range map[string]string{
		"a\x1b[2J\n::error::b": `x a\u001b[2J\n::error::b`,
		"##[group]c":           `x ##\u005bgroup]c`,
	} {
		if got := shown("x %s", given); got != want {
			t.Errorf("%q is shown as %q, want %q", given, got, want)
		}
	}
	if got := shown("x\n%s", harmless.Block("::error::b\r", "")); got != "x\n| ::error::b" {
		t.Errorf("a block is shown as %q", got)
	}
}

// TestProbe: a copy of the test binary tries what faults need, in a sandbox.
func TestProbe(t *testing.T) {
	for _, need := range []nemesis.Need{nemesis.NeedsFilter, nemesis.NeedsQueue, nemesis.NeedsReset} {
		why := able()(need)
		if strings.Contains(why, "refuses to make new namespaces") {
			t.Skip(why)
		}
		if strings.Contains(why, "not tried") || strings.Contains(why, "nobody tries") {
			t.Errorf("%s: %s", need, why)
		}
	}
}
