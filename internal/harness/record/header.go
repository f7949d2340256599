package record

import (
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Planned is what a history's header says of the plan and the lock.
func (r *Record) Planned() history.Header {
	s := r.plan.Scenario
	return history.Header{
		Format: history.FormatVersion, Scenario: s.Name, Seed: r.plan.Seed,
		Lock: s.Lock, Service: r.lock.Service, Workload: s.Workload.Kind, Guard: s.Workload.Guard,
		Fault: s.FaultLabel(), Clients: s.Clients, Twins: s.Twins, TTL: int64(s.TTL), Slack: int64(r.slack()), Stall: r.StallBound(),
		Every:  int64(s.Workload.Every),
		Claims: history.Claims(r.Claims()),
		Store: history.Store{Engine: s.Store.EngineName(), Fenced: s.Store.Fenced(), FenceReads: s.Store.ReadsRaise(),
			AcceptsEqual: s.Store.AcceptsEqual(), Guarded: s.Store.Guarded()},
		Needs:    history.Needs(s.Needs),
		Faults:   PlannedFaults(s.Faults),
		Duration: int64(s.Duration),
	}
}

// PlannedFaults are the single faults of the plan, for the history's header.
func PlannedFaults(faults []scenarios.Fault) (all []history.PlannedFault) {
	for _, f := range faults {
		for _, p := range f.Planned() {
			all = append(all, history.PlannedFault{Kind: p.Kind, Target: p.Target, When: p.When, Text: p.Text,
				Doc: nemesis.Spec{Kind: p.Kind}.Touch().Words.Doc})
		}
	}
	return all
}
