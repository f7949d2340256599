package page

import (
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/reports/reporttest"
)

// A story tells of a fault that lay on a server, and of one between a client and the store, though
// neither touches the client in the judge's eyes; and both have their place in the drawings.
func TestFaultsBesideTheClientsAreTold(t *testing.T) {
	s := reporttest.CorruptedCase()
	for i := range s.History.Events {
		if f := s.History.Events[i].Fault; f != nil {
			s.History.Events[i].Client = f.Clients[0]
			f.Kind, f.Clients, f.Store = "partition", nil, true
		}
	}
	page := reportOf(t, s)
	if !strings.Contains(page, "and the store<b> are dropped</b>") || !strings.Contains(page, "faults on links to the store") {
		t.Error("a fault between a client and the store is not told")
	}
	quiet := reportOf(t, reporttest.ClockCase())
	for _, want := range []string{"<b>redis-1 reads a clock that jumps</b>", "faults on the lock service",
		"redis-1 off by a clock jump 400 ms</text>"} {
		if !strings.Contains(quiet, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}
