package record

import (
	"fmt"
	"reflect"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/harness/possible"
	"github.com/lockchaos/lockchaos/internal/harness/wire"
	"github.com/lockchaos/lockchaos/internal/harness/workload"
	"github.com/lockchaos/lockchaos/scenarios"
)

// declared takes note of what a client's lock says of itself. All must say the
// same: they are one lock.
func (r *Record) declared(w *wire.Client, d *clients.Declaration) error {
	if d == nil {
		return nil
	}
	r.saysMu.Lock()
	defer r.saysMu.Unlock()
	if r.Says == nil {
		r.Says = d
		return r.suits(d)
	}
	if !reflect.DeepEqual(r.Says, d) {
		return fmt.Errorf("client %d on host %s: its adapter declares %+v, and an earlier one declared %+v: all clients' adapters must declare the same", w.Number, w.Host, *d, *r.Says)
	}
	return nil
}

// suits reports whether the scenario can be run with a lock that makes these claims.
func (r *Record) suits(d *clients.Declaration) error {
	if s := r.plan.Scenario; s.Store.Fenced() && d.Claims.Token != "fencing" {
		return fmt.Errorf("%s declares tokens of kind %q, so a fenced store would refuse all that its holders write: run it on a store that is unfenced", d.Name, d.Claims.Token)
	}
	if s := r.plan.Scenario; s.Workload.Readers > 0 && !d.Claims.ReadWrite {
		return fmt.Errorf("%s does not declare read_write, and the workload has readers: run it with a reader-writer lock, or without workload.readers", d.Name)
	}
	if ttl, lease := r.plan.Scenario.TTL.Std(), d.Lease; lease != 0 && lease != ttl {
		return fmt.Errorf("%s has a lease of %v that can't be set (lease_ms in its hello), and the scenario has a ttl of %v: write ttl: %v", d.Name, lease, ttl, lease)
	}
	own := r.lock
	own.TellsNoSession = !d.Sessions
	for i, f := range possible.Singles(r.plan) {
		if err := possible.CheckFault(own, f); err != nil {
			return fmt.Errorf("fault %d, with %s: %w", i, d.Name, err)
		}
	}
	return nil
}

// Claims is what may be concluded from the lock's answers.
func (r *Record) Claims() clients.Claims {
	r.saysMu.Lock()
	defer r.saysMu.Unlock()
	if r.Says != nil {
		return r.Says.Claims
	}
	return r.lock.ClaimsFor(r.plan.Scenario.TTL.Std())
}

// Opened takes the answer of a client that was told who it is.
func (r *Record) Opened(w *wire.Client, a wire.Reply) error {
	s := r.plan.Scenario
	if a.Result != wire.ResultOK {
		return fmt.Errorf("client %d on host %s: %s", w.Number, w.Host, a.Error)
	}
	w.CanAsk, w.CanRenew = a.CanAsk, a.CanRenew
	if err := r.declared(w, a.Declares); err != nil {
		return err
	}
	if c := r.Claims(); s.Workload.Guard == workload.GuardCheck && !w.CanAsk && !c.Tells() &&
		!(s.Workload.Renew && w.CanRenew) {
		return fmt.Errorf("client %d on host %s: guard \"check\" needs a lock that can be asked whether it is held (held), that tells of its loss, or that the application renews", w.Number, w.Host)
	}
	return nil
}

// HelloLimit is how long a client may take to start and to connect: a virtual machine, with many
// others, on a busy computer.
const HelloLimit = scenarios.Duration(90 * time.Second)
