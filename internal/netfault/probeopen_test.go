//go:build linux

package netfault

import (
	"context"
	"testing"
)

// A try that did not end in its time leaves open whether the machine can do it.
func TestProbeThatIsCutShort(t *testing.T) {
	late, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	interrupted, stop := context.WithCancel(t.Context())
	stop()
	for name, ctx := range map[string]context.Context{"late": late, "interrupted": interrupted} {
		checks := ProbeOutside(ctx, "no-such-verb")
		if len(checks) != len(probes) {
			t.Errorf("%s: %d checks", name, len(checks))
		}
		for _, c := range checks {
			if c.OK || !c.Open {
				t.Errorf("%s: %+v", name, c)
			}
		}
	}
}
