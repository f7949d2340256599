package possible

import (
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/external"
	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/nemesis"
)

// traits are what a lock and its service have that some faults need.
func traits(lock clients.Kind) (has []nemesis.Trait) {
	k, _ := backends.Lookup(lock.Service)
	leads := nemesis.Target(k.Leads())
	for _, t := range []struct {
		nemesis.Trait
		has bool
	}{
		{nemesis.Sessions, k.HasSessions()},
		{nemesis.Untold, k.MustBeTold() && lock.TellsNoSession},
		{nemesis.HasLeader, leads == nemesis.Leader},
		{nemesis.HasPrimary, leads == nemesis.Primary},
		{nemesis.Promotes, k.Promotes() || lock.FailsOver},
		{nemesis.Forgets, k.Forgets},
		{nemesis.Volatile, k.Volatile},
		// else the store's ledger lies there too
		{nemesis.Refuses, k.Refuses() && lock.Writes != "guarded"},
		{nemesis.Renews, lock.Renews},
		{nemesis.OwnProgram, lock.Name == external.Name},
	} {
		if t.has {
			has = append(has, t.Trait)
		}
	}
	return has
}
