package harness

import (
	"fmt"
	"reflect"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/harness/possible"
	"github.com/lockchaos/lockchaos/harness/wire"
	"github.com/lockchaos/lockchaos/hosts"
	"github.com/lockchaos/lockchaos/scenarios"
)

// helloLimit is how long a lock that is a program of its own may take to start:
// a virtual machine, with many others, on a busy computer.
const helloLimit = scenarios.Duration(40 * time.Second)

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

// declared takes note of what a client's lock says of itself. All must say the
// same: they are one lock.
func (r *run) declared(w *wire.Client, d *clients.Declaration) error {
	if d == nil {
		return nil
	}
	r.saysMu.Lock()
	defer r.saysMu.Unlock()
	if r.says == nil {
		r.says = d
		return r.suits(d)
	}
	if !reflect.DeepEqual(r.says, d) {
		return fmt.Errorf("client %d on host %s: its adapter declares %+v, and an earlier one declared %+v: all clients' adapters must declare the same", w.Number, w.Host, *d, *r.says)
	}
	return nil
}

// suits reports whether the scenario can be run with a lock that makes these claims.
func (r *run) suits(d *clients.Declaration) error {
	if s := r.cfg.Plan.Scenario; s.Store.Fenced() && d.Claims.Token != "fencing" {
		return fmt.Errorf("%s declares tokens of kind %q, so a fenced store would refuse all that its holders write: run it on a store that is unfenced", d.Name, d.Claims.Token)
	}
	if s := r.cfg.Plan.Scenario; s.Workload.Readers > 0 && !d.Claims.ReadWrite {
		return fmt.Errorf("%s does not declare read_write, and the workload has readers: run it with a reader-writer lock, or without workload.readers", d.Name)
	}
	if ttl, lease := r.cfg.Plan.Scenario.TTL.Std(), time.Duration(d.Lease); lease != 0 && lease != ttl {
		return fmt.Errorf("%s has a lease of %v that can't be set (lease_ms in its hello), and the scenario has a ttl of %v: write ttl: %v", d.Name, lease, ttl, lease)
	}
	own := r.cfg.Lock
	own.TellsNoSession = !d.Sessions
	for i, f := range possible.Singles(r.cfg.Plan) {
		if err := possible.CheckFault(own, f); err != nil {
			return fmt.Errorf("fault %d, with %s: %w", i, d.Name, err)
		}
	}
	return nil
}

// claims is what may be concluded from the lock's answers.
func (r *run) claims() clients.Claims {
	r.saysMu.Lock()
	defer r.saysMu.Unlock()
	if r.says != nil {
		return r.says.Claims
	}
	return r.cfg.Lock.ClaimsFor(r.cfg.Plan.Scenario.TTL.Std())
}
