package locktest

import (
	"slices"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/harness"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Examination says which lock is examined, and how thoroughly. The zero value of each field but Service and Claims is of use.
type Examination struct {
	// Service, TTL and Seed are as those of a Scenario.
	Service string
	TTL     time.Duration
	Seed    uint64
	// Claims is what the lock promises. The attacks follow from it, so it must be given here, also of a lock that is a
	// clients.Declarer.
	Claims clients.Claims
	// KeepsAlive: the lock renews a grant by itself for as long as its holder lives.
	KeepsAlive bool
	// Short: only the most telling attacks are made, as with -short. Attacks, where there are any, names those that are made.
	Short   bool
	Attacks []string
}

// scenario is that of one attack.
func (e Examination) scenario(attack *scenarios.Scenario) Scenario {
	return Scenario{Service: e.Service, Seed: e.Seed, Claims: e.Claims, TTL: e.TTL, Custom: attack}
}

// attacks are those that can be made on the lock of that name, and the others with the reason.
func (e Examination) attacks(lock string, short bool) ([]scenarios.Scenario, []scenarios.Inapplicable, error) {
	table, err := scenarios.Attacks()
	if err == nil {
		table, err = table.Only(e.Short || short, e.Attacks)
	}
	if err != nil {
		return nil, nil, err
	}
	s := e.scenario(nil)
	base := scenarios.Scenario{Lock: lock, TTL: scenarios.Duration(s.ttl()), Store: scenarios.Store{Kind: "unfenced"}}
	lockToExamine := harness.Examinee(s.lock(lock).Kind(), base)
	if e.KeepsAlive && !slices.Contains(lockToExamine.Abilities, scenarios.KeepsAlive) {
		lockToExamine.Abilities = append(lockToExamine.Abilities, scenarios.KeepsAlive)
	}
	all, not := table.Of(lockToExamine)
	return all, not, nil
}
