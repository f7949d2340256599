package possible

import (
	"slices"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/harness/workload"
	"github.com/lockchaos/lockchaos/internal/store"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Catalogue is what scenarios of the locks may refer to, but for the
// properties, which a checker knows. kindOf finds a scenario's lock, and check says whether a fault
// can strike its target there: CheckOurs or CheckSomewhere.
func Catalogue(locks []clients.Kind, kindOf func(*scenarios.Scenario) (clients.Kind, error),
	check func(clients.Kind, scenarios.Fault) error) scenarios.Catalogue {
	c := scenarios.Catalogue{Tokens: map[string]bool{}, Guards: map[string]bool{}, LockService: map[string]string{},
		Engines: store.Engines(), Transactions: store.TransactionEngines(), Isolations: store.Isolations(),
		Renews: map[string]bool{}, ReadWrite: map[string]bool{}, Jobs: map[string]bool{},
		CheckTogether: CheckTogether}
	c.CheckFault = func(s *scenarios.Scenario, f scenarios.Fault) error {
		if s.Own() {
			return CheckAppFault(s, f)
		}
		kind, err := kindOf(s)
		if err != nil {
			return err
		}
		return check(kind, f)
	}
	c.Examinee = func(base scenarios.Scenario) (scenarios.Examinee, error) {
		kind, err := kindOf(&base)
		return Examinee(kind, base), err
	}
	for _, k := range locks {
		c.Locks = append(c.Locks, k.Name)
		c.Tokens[k.Name] = k.Claims.Token == "fencing"
		c.Guards[k.Name] = k.Writes == "guarded"
		c.LockService[k.Name] = k.Service
		c.ReadWrite[k.Name] = k.Claims.ReadWrite
		c.Jobs[k.Name] = k.Claims.Job != ""
		c.Renews[k.Name] = slices.Contains(k.Claims.Confirms, "renew")
	}
	for _, k := range backends.Kinds() {
		c.Services = append(c.Services, k.Name)
	}
	for _, k := range nemesis.Kinds() {
		c.Faults = append(c.Faults, k.Name)
	}
	for _, m := range nemesis.Moments() {
		c.Moments = append(c.Moments, string(m))
	}
	for _, w := range workload.Kinds() {
		c.Workloads = append(c.Workloads, w.Name)
	}
	return c
}

// CheckTogether reports whether faults can strike the same victims at the same moment.
func CheckTogether(parts []scenarios.Fault) error {
	var specs []nemesis.Spec
	for _, p := range parts {
		specs = append(specs, p.Spec())
	}
	return nemesis.CheckTogether(specs)
}
