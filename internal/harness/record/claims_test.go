package record

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/scenarios"
)

// TestReadersNeedALockThatKnowsThem: what an adapter declares is known only when it has started.
func TestReadersNeedALockThatKnowsThem(t *testing.T) {
	p := scenarios.Plan{Scenario: scenarios.Scenario{Store: scenarios.Store{Kind: "unfenced"}, Workload: scenarios.Workload{Kind: "counter", Readers: 0.6}}}
	r := New(p, clients.Kind{}, "", nil)
	d := &clients.Declaration{Name: "mine 1", Claims: clients.Claims{Permits: 1}}
	if err := r.suits(d); err == nil || !strings.Contains(err.Error(), "mine 1 does not declare read_write") {
		t.Error(err)
	}
	d.Claims.ReadWrite = true
	if err := r.suits(d); err != nil {
		t.Error(err)
	}
}
