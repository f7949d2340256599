package own

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/adapter"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/external"
	"github.com/lockchaos/lockchaos/harness"
	"github.com/lockchaos/lockchaos/runs"
	"github.com/lockchaos/lockchaos/runs/exit"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Replace puts the lock in the place of those that the scenarios name. say is told what is left out,
// and why.
func (l *Lock) Replace(c runs.Choice, tool *runs.Tool, say func(string)) (runs.Choice, error) {
	out := runs.Choice{Name: c.Name + " with " + l.Name, About: c.About}
	for _, s := range l.Substitutes(c.Scenarios, tool) {
		if why := l.Unfit(s, tool); why != "" {
			say("left out: " + s.Name + ": " + why)
			continue
		}
		s.Name, s.Lock, s.Adapter = l.Name+"/"+rest(s), l.Name, l.Adapter
		s.Expect = scenarios.Expect{} // what theory says of the other lock says nothing of this one
		if l.TTL > 0 {
			s = s.Stretched(l.TTL)
		}
		out.Scenarios = append(out.Scenarios, s)
	}
	if len(out.Scenarios) == 0 {
		return runs.Choice{}, exit.Misuse(fmt.Errorf("nothing is left to run: none of the scenarios of %q suits %s", c.Name, l.Says.Name))
	}
	return out, nil
}

// rest is what a scenario is called beside its lock: "pause-holder/unfenced".
func rest(s scenarios.Scenario) string { return strings.TrimPrefix(s.Name, s.Lock+"/") }

// Substitutes are the scenarios in which the lock is to take another's place: of those that differ
// only in their lock one, of the lock's own service if there is one.
func (l *Lock) Substitutes(all []scenarios.Scenario, tool *runs.Tool) (out []scenarios.Scenario) {
	same := func(s scenarios.Scenario) bool {
		k, _ := tool.Lock(s.Lock)
		return k.Service == l.Adapter.Service
	}
	for _, s := range all {
		i := slices.IndexFunc(out, func(o scenarios.Scenario) bool { return rest(o) == rest(s) })
		switch {
		case i < 0:
			out = append(out, s)
		case same(s) && !same(out[i]):
			out[i] = s
		}
	}
	return out
}

// Unfit says why the lock can't take the place of the scenario's lock; "" if it can.
func (l *Lock) Unfit(s scenarios.Scenario, tool *runs.Tool) string {
	kind, _ := tool.Lock(s.Lock)
	why := l.unfitStore(s, kind)
	if why == "" {
		why = l.unfitWorkload(s.Workload)
	}
	own := l.Kind()
	for _, fault := range s.Faults {
		for _, single := range fault.Singles() {
			if err := harness.CheckFault(own, single); err != nil && why == "" {
				why = err.Error()
			}
		}
	}
	if why == "" {
		why = l.spared(s.Attack)
	}
	return why
}

// unfitStore says why the lock does not go with the scenario's store, or with what its lock shows.
func (l *Lock) unfitStore(s scenarios.Scenario, kind clients.Kind) string {
	switch {
	case s.External():
		return "its lock is an adapter already"
	case kind.Writes != "" || s.Store.Guarded():
		return "it shows what to do without a lock"
	case s.Store.Broken():
		return "its store is broken on purpose"
	case s.Store.Fenced() && l.Says.Token != "fencing":
		return "the lock declares no fencing token, so a fenced store would refuse its writes"
	}
	return ""
}

// unfitWorkload says why the lock does not go with the workload.
func (l *Lock) unfitWorkload(w scenarios.Workload) string {
	switch {
	case w.Kind == "queue":
		return "it is about a queue"
	case (w.Kind == "semaphore") != (l.Says.Permits > 1):
		return fmt.Sprintf("workload %s is for another number of permits than %d", w.Kind, l.Says.Permits)
	case w.Readers > 0 && !l.Says.ReadWrite:
		return "it has readers, and the lock does not declare read_write"
	case w.Guard == "check" && !l.Says.Does(adapter.OpHeld) && !external.Claims(l.Says).Tells():
		return "the application asks the lock before it writes, and this one can't be asked, nor does it tell of a loss"
	}
	return ""
}

// spared says why the attack makes no sense against the lock; "" if it does, or if there is none.
func (l *Lock) spared(attack string) string {
	if attack == "" {
		return ""
	}
	table, err := scenarios.Attacks()
	if err == nil {
		err = table.Applies(attack, l.Examinee())
	}
	if err != nil {
		return err.Error()
	}
	return ""
}
