package possible

import (
	"slices"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Examinee is a lock of the kind as the table of attacks sees it. base names
// it, with its adapter, its TTL and its store.
func Examinee(k clients.Kind, base scenarios.Scenario) scenarios.Examinee {
	e := scenarios.Examinee{Base: base, Nature: Nature(k),
		Grace: scenarios.Duration(k.ClaimsFor(base.TTL.Std()).LostGrace),
		Fits:  func(one scenarios.Fault) error { return CheckFault(k, one) }}
	for ability, has := range map[scenarios.Ability]bool{
		scenarios.CanRenew:   slices.Contains(k.Claims.Confirms, "renew"),
		scenarios.CanBeAsked: slices.Contains(k.Claims.Confirms, "held"),
		scenarios.KeepsAlive: k.Renews || k.Claims.NoExpiry || k.Claims.Validity == "session",
		scenarios.RenewsItself: k.Renews || k.Claims.Validity == "session" &&
			(!k.Claims.NoExpiry || k.Claims.LostGrace > 0 || k.Claims.Notices != ""),
		scenarios.TellsLoss:      k.Claims.Tells(),
		scenarios.ReadsAndWrites: k.Claims.ReadWrite,
		scenarios.TakesSets:      k.Claims.MultiKey > 1,
		scenarios.WakesOne:       k.Claims.WakesOne,
		scenarios.IsAsked:        base.Adapter.Kind != scenarios.Leader,
	} {
		if has {
			e.Abilities = append(e.Abilities, ability)
		}
	}
	return e
}

// Nature is what theory must know of a lock.
func Nature(k clients.Kind) scenarios.Nature {
	service, _ := backends.Lookup(k.Service)
	return scenarios.Nature{Permits: k.Claims.Permits, Job: k.Claims.Job != "", NoExpiry: k.Claims.NoExpiry,
		Library: k.Claims.Validity == "library", Session: k.Claims.Validity == "session",
		WallClock: service.WallClock && !k.Claims.NoExpiry,
		Forgets:   service.Promotes(), Fair: k.Claims.Fair}
}
