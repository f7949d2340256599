//go:build !wasip1

package locktest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/scenarios"
)

func (s Scenario) ttl() time.Duration { return cmp.Or(s.TTL, backends.UsualTTL(s.Service)) }

// lock is the lock of that name, with the scenario's claims, completed.
func (s Scenario) lock(name string) runs.GoTest {
	return runs.GoTest{Lock: name, Service: scenarios.ServiceNamed(s.Service), Claims: s.claims()}
}

// attack reports whether the scenario is one of an exam.
func (s Scenario) attack() bool { return s.Custom != nil && s.Custom.Attack != "" }

func (s Scenario) faultName() string {
	switch {
	case s.attack():
		return s.Custom.Attack
	case s.Custom != nil:
		return "a scenario of its own"
	}
	return cmp.Or(s.Fault, noFault)
}

// full is the whole scenario of a test of that name.
func (s Scenario) full(test string) (scenarios.Scenario, error) {
	lock := lockName(test)
	if s.Custom != nil {
		out := *s.Custom
		out.Lock = lock
		if out.Name == "" {
			out.Name = lock + "/custom"
		}
		return out, nil
	}
	f, err := faultNamed(s.Fault)
	if err != nil {
		return scenarios.Scenario{}, err
	}
	ttl := scenarios.Duration(s.ttl())
	out := scenarios.Scenario{Name: lock + "/" + f.name + "/" + s.store(), Lock: lock, About: f.about, TTL: ttl,
		Clients: 4, Keys: 1,
		Store: scenarios.Store{Kind: s.store()}, Duration: scenarios.Duration(s.Duration),
		Needs: scenarios.Needs{Grants: 20, Handovers: 5},
		Workload: scenarios.Workload{Kind: "counter", Guard: "none", Think: ms(5, 20), Rest: ms(5, 30),
			AcquireTimeout: max(8*second, 4*ttl), OpTimeout: 8 * second},
		Expect: s.Expect}
	if s.Clients > 0 {
		out.Clients = s.Clients
	}
	if f.check {
		out.Workload.Guard = "check"
	}
	length := 4 * second
	if f.make != nil {
		fault := f.make(ttl)
		out.Faults, out.Needs.Bites = []scenarios.Fault{fault}, f.bites
		out.Workload.OpTimeout = max(out.Workload.OpTimeout, 2*fault.For)
		// A fault more than must strike can.
		length = max(length, second+fault.After+scenarios.Duration(f.bites+1)*(max(fault.For, ttl)+fault.Every.Max)+ttl)
	}
	if out.Duration == 0 {
		out.Duration = length
	}
	return out, nil
}

func (s Scenario) store() string {
	if s.Store == "" && s.Claims.Token == "fencing" {
		return "fenced"
	}
	return cmp.Or(s.Store, "unfenced")
}

// smoke reports whether the scenario is run with -short, too.
func (s Scenario) smoke() bool {
	f, err := faultNamed(s.Fault)
	return s.Custom == nil && (err != nil || f.smoke)
}

func faultNamed(name string) (fault, error) {
	i := slices.IndexFunc(faults, func(f fault) bool { return f.name == cmp.Or(name, noFault) })
	if i < 0 {
		return fault{}, fmt.Errorf("there is no fault %q: one of %s; or say what you want with Scenario.Custom", name,
			strings.Join(Faults(), ", "))
	}
	return faults[i], nil
}
