package harness

import (
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/harness/possible"
	"github.com/lockchaos/lockchaos/hosts"
)

// adapter is what a worker needs to start the program that is the lock; nil: it is none.
func (r *run) adapter() *clients.Adapter {
	s := r.cfg.Plan.Scenario
	if !s.External() {
		return nil
	}
	return &clients.Adapter{Command: s.Adapter.Command, Dir: s.Adapter.Dir, Service: s.Adapter.Service,
		Shared: r.shared, ClockFaults: possible.ClocksOfClients(s.Faults)}
}

// share makes the folder that the adapters of all clients share.
func (r *run) share() (err error) {
	if r.cfg.Plan.Scenario.External() {
		r.shared, err = hosts.DataDir("shared")
	}
	return err
}
