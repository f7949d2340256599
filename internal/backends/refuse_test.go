package backends_test

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/backends/backendstest"
	"github.com/lockchaos/lockchaos/internal/hosts/hoststest"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
)

// TestNodesRefuseWrites: each service that can be made to refuse writes refuses
// one, and takes one when it is told to.
func TestNodesRefuseWrites(t *testing.T) {
	for _, k := range backends.Kinds() {
		if !k.Refuses() {
			continue
		}
		t.Run(k.Name, func(t *testing.T) {
			needed.Be(t, k.Refusable())
			network, _ := hoststest.Network(t)
			s, err := backends.Start(backendstest.Limit(t), network, backends.Spec{Service: k.Name, Logs: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			n := s.Nodes[0]
			for _, on := range []bool{true, false, true, false} {
				if err := n.RefuseWrites(backendstest.Limit(t), on); err != nil {
					t.Fatal(err)
				}
				for {
					said, err := n.TryWrite(backendstest.Limit(t))
					if err != nil {
						t.Fatal(err)
					}
					if (said != "") == on {
						break
					}
				}
			}
		})
	}
}

// TestOtherNodesRefuseNothing: a node whose service has no such means says so.
func TestOtherNodesRefuseNothing(t *testing.T) {
	n := &backends.Node{Name: "n1"}
	if err := n.RefuseWrites(t.Context(), true); err == nil || !strings.Contains(err.Error(), "can't be made to refuse writes") {
		t.Error(err)
	}
}
