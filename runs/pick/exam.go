package pick

import (
	"context"
	"fmt"

	"github.com/lockchaos/lockchaos/harness"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/runs"
	"github.com/lockchaos/lockchaos/runs/exit"
	"github.com/lockchaos/lockchaos/runs/own"
	"github.com/lockchaos/lockchaos/scenarios"
	"github.com/lockchaos/lockchaos/spelling"
)

// Exam makes the plans of the attacks on a lock: the one that Names names, or that of the user's
// own. The exam says which attacks make no sense, and why.
func (r Request) Exam(ctx context.Context) (plans []scenarios.Plan, exam *reports.Exam, err error) {
	table, err := r.attacks()
	if err != nil {
		return nil, nil, exit.Misuse(fmt.Errorf("--attack: %w", err))
	}
	var lock scenarios.Examinee
	if r.Own.Command != "" {
		met, err := r.meet(ctx)
		if err != nil {
			return nil, nil, exit.Misuse(err)
		}
		lock = met.Examinee()
	} else if lock, err = Examinee(r.Tool, r.Names[0], scenarios.Duration(r.Own.TTL)); err != nil {
		return nil, nil, exit.Misuse(err)
	}
	all, exam, err := r.attack(lock, table, r.Faults(ctx, r.Own.Command != "", r.Say))
	for _, s := range all {
		plans = append(plans, scenarios.Plan{Seed: r.Seed, Scenario: s})
	}
	return plans, exam, err
}

// attacks is the table of attacks, as far as it is wanted.
func (r Request) attacks() (scenarios.Exam, error) {
	table, err := scenarios.Attacks()
	if err != nil {
		return table, err
	}
	return table.Only(r.Short, r.Attacks)
}

// attack returns the attacks of the table that can be made on the lock with the kinds of faults that
// can be done here.
func (r Request) attack(lock scenarios.Examinee, table scenarios.Exam, can map[string]bool) ([]scenarios.Scenario, *reports.Exam, error) {
	lock.Fits = r.Fitting(can, lock.Fits)
	all, not := table.Of(lock)
	if len(all) == 0 {
		return nil, nil, exit.Misuse(fmt.Errorf("none of these attacks makes sense against %s: %s", lock.Base.Lock, not[0].Why))
	}
	exam := reports.ExamOf(lock.Base.Lock, not)
	exam.Short = r.Short
	return all, exam, nil
}

// Examinee is a built-in lock as the table of attacks sees it. ttl 0: that of its scenarios.
func Examinee(tool *runs.Tool, name string, ttl scenarios.Duration) (scenarios.Examinee, error) {
	k, err := tool.Lock(name)
	if err != nil {
		return scenarios.Examinee{}, fmt.Errorf("%w%s (lockchaos list locks)", err, spelling.Suggest(name, tool.Catalogue().Locks))
	}
	if k.Claims.Permits == 0 {
		return scenarios.Examinee{}, fmt.Errorf("%s is no lock, so there is nothing to attack: %s", k.Name, k.About)
	}
	suites, err := scenarios.Builtin(tool.Catalogue())
	if err != nil {
		return scenarios.Examinee{}, err
	}
	base, ok := scenarios.Undisturbed(suites, k.Name)
	switch {
	case ttl > 0:
		base.TTL = ttl
	case !ok:
		base.TTL = max(own.UsualTTL(k.Service), own.ExamTTL)
	}
	base.Lock = k.Name
	base.Store = scenarios.Store{Kind: "unfenced"}
	if k.Writes == "guarded" {
		base.Store.Kind = k.Writes
	}
	return harness.Examinee(k, base), nil
}
