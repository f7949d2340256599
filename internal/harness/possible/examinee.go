package possible

import (
	"cmp"
	"errors"
	"slices"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/store"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Examinee is a lock of the kind as the table of attacks sees it. base names
// it, with its adapter, its TTL and its store.
func Examinee(k clients.Kind, base scenarios.Scenario) scenarios.Examinee {
	e := scenarios.Examinee{Base: base, Nature: Nature(k),
		Grace: scenarios.Duration(k.ClaimsFor(base.TTL.Std()).LostGrace),
		Fits:  func(one scenarios.Fault) error { return CheckFault(k, one) }}
	if slices.Contains(store.TransactionEngines(), k.Service) {
		e.Engine = k.Service
	}
	for ability, has := range map[scenarios.Ability]bool{
		scenarios.CanRenew:   slices.Contains(k.Claims.Confirms, "renew"),
		scenarios.CanBeAsked: slices.Contains(k.Claims.Confirms, "held"),
		scenarios.KeepsAlive: k.Renews || k.Claims.NoExpiry || k.Claims.Validity == "session",
		scenarios.RenewsItself: k.Renews || k.Claims.Validity == "session" &&
			(!k.Claims.NoExpiry || k.Claims.LostGrace > 0 || k.Claims.Notices != ""),
		scenarios.TellsLoss:      k.Claims.Tells(),
		scenarios.ReadsAndWrites: k.Claims.ReadWrite,
		scenarios.TakesSets:      k.Claims.MultiKey > 1,
		scenarios.NamesItself:    slices.Contains([]string{"unique", "process", "host"}, k.Claims.Identity),
		scenarios.InDatabase:     e.Engine != "",
		scenarios.IsExact:        k.Claims.Job == "exactly-once",
		scenarios.MakesUp:        k.Claims.Misfire == "all",
		scenarios.WakesOne:       k.Claims.WakesOne,
		scenarios.GivesUp:        k.ClaimsFor(base.TTL.Std()).StopHandover > 0,
		scenarios.IsAsked:        base.Adapter.Kind != scenarios.Leader,
	} {
		if has {
			e.Abilities = append(e.Abilities, ability)
		}
	}
	return e
}

// CheckExam returns an error if an exam of a program of the user's would accuse it of what is the
// exam's own: its store takes each write, so the effect of a tick that is begun again comes twice.
func CheckExam(program scenarios.Examinee) error {
	if !program.Nature.Exact {
		return nil
	}
	return errors.New("it claims exactly-once, and its effects are the exam's own writes, to a store that takes each: " +
		"have it claim at-least-once, or write a suite whose store refuses the second effect of a tick (docs/protocol.md)")
}

// JobTimes are the lease and the period with which a scheduler on the service is tried: of two
// that are not given (0) the usual ones, of one that is not given half or twice the other one.
func JobTimes(service string, ttl, every scenarios.Duration) (scenarios.Duration, scenarios.Duration) {
	if ttl == 0 {
		ttl = max(scenarios.JobTTL, scenarios.Duration(backends.UsualTTL(service)), 2*every)
	}
	return ttl, cmp.Or(every, ttl/2)
}

// Nature is what theory must know of a lock.
func Nature(k clients.Kind) scenarios.Nature {
	service, _ := backends.Lookup(k.Service)
	return scenarios.Nature{Permits: k.Claims.Permits, Job: k.Claims.Job != "",
		Exact: k.Claims.Job == "exactly-once", NoExpiry: k.Claims.NoExpiry,
		Library: k.Claims.Validity == "library", Session: k.Claims.Validity == "session",
		WallClock: service.WallClock && !k.Claims.NoExpiry,
		Forgets:   service.Promotes() || k.FailsOver, Fair: k.Claims.Fair}
}
