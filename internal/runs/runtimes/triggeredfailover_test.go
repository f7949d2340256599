package runtimes

import (
	"testing"

	"github.com/lockchaos/lockchaos/internal/probe"
)

// A failover is proven by masters that were known, and that are others now.
func TestChangedMasters(t *testing.T) {
	for _, c := range []struct {
		before, now string
		want        bool
	}{{"a", "b", true}, {"a", "a", false}, {"a", "", false}, {"", "b", false}} {
		if changed(probe.Masters{Who: c.before}, probe.Masters{Who: c.now}) != c.want {
			t.Errorf("%+v", c)
		}
	}
}
