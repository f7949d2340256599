//go:build linux

package netfault

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/hosts"
)

var checkNames = []string{"packet filter", "rules go with lockchaos", "connection reset", "packet queue"}

// A probe tries everything, leaves nothing behind, and may be repeated.
func TestProbe(t *testing.T) {
	for range 2 {
		checkProbe(t, Probe(t.Context()))
	}
	checkProbe(t, ProbeOutside(t.Context(), "probe"))
}

func checkProbe(t *testing.T, checks []hosts.Check) {
	t.Helper()
	for i, c := range checks {
		if i >= len(checkNames) || c.Name != checkNames[i] || c.Detail == "" || c.OK == (c.Fix != "") {
			t.Errorf("check %d: %+v", i, c)
		}
		if needed := c.Name != checkOwner; needed && !c.OK {
			t.Errorf("the other tests of this package work, but %+v", c)
		}
	}
	if len(checks) != len(checkNames) {
		t.Errorf("%d checks", len(checks))
	}
}

// Without a sandbox nothing is tried, and that is said.
func TestProbeFails(t *testing.T) {
	for _, c := range ProbeOutside(t.Context(), "fail") {
		if c.OK || !strings.Contains(c.Detail, "not tried") || !strings.Contains(c.Detail, "something is wrong") {
			t.Errorf("%+v", c)
		}
	}
}
