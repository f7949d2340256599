package pick

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/harness/possible"
	"github.com/lockchaos/lockchaos/internal/policy"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/own"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
	"github.com/lockchaos/lockchaos/internal/spelling"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Exam makes the plans of the attacks on a lock: the one that Names names, or that of the user's
// own. The exam says which attacks can't be made, and why. There are no plans if the machine lacks
// something for each of them.
func (r Request) Exam(ctx context.Context) (plans []scenarios.Plan, exam *reports.Exam, err error) {
	table, err := r.attacks()
	if err != nil {
		return nil, nil, exit.Misuse(fmt.Errorf("--attack: %w", err))
	}
	if r.Real { // attacks are stretched to the lease, so that it alone has to be set
		r.Own.Least = time.Duration(scenarios.RealTTL)
	}
	var lock scenarios.Examinee
	if r.Own.Given() {
		met, err := r.meet(ctx)
		if _, classed := errors.AsType[*exit.Status](err); err != nil && !classed {
			err = exit.Misuse(err)
		}
		if err != nil {
			return nil, nil, err
		}
		lock = met.Examinee()
	} else {
		if lock, err = Examinee(r.Tool, r.Names[0], scenarios.Duration(max(r.Own.TTL, r.Own.Least))); err != nil {
			return nil, nil, exit.Misuse(err)
		}
		if err := r.scheduled(&lock); err != nil {
			return nil, nil, exit.Misuse(err)
		}
	}
	all, exam, err := r.attack(lock, table, r.Means(ctx, r.Own.Given(), r.Say))
	if err != nil {
		return nil, nil, err
	}
	if r.Budget > 0 && len(all) > 0 {
		if all, err = r.within(table, all, exam, r.AtOnce(lock.Base.TTL)); err != nil {
			return nil, nil, err
		}
	}
	for _, s := range all {
		plans = append(plans, scenarios.Plan{Seed: r.Seed, Scenario: s})
	}
	return plans, exam, nil
}

// scheduled gives a scheduler the period that is asked for.
func (r Request) scheduled(l *scenarios.Examinee) error {
	every := scenarios.Duration(r.Own.Every)
	switch {
	case every > 0 && !l.Nature.Job:
		return fmt.Errorf("--every is for schedulers, and %s is a lock", l.Base.Lock)
	case every > 0 && r.Own.TTL == 0:
		l.Base.TTL = max(l.Base.TTL, 2*every)
	}
	l.Every = every
	return nil
}

// within leaves of the attacks those that fit into the budget, and notes the others in the exam.
func (r Request) within(table scenarios.Exam, all []scenarios.Scenario, exam *reports.Exam,
	parallel int) ([]scenarios.Scenario, error) {
	made, left := table.Within(r.Budget, parallel, all)
	if len(made) == 0 {
		shortest := slices.MinFunc(left, func(a, b scenarios.Scenario) int {
			return cmp.Compare(a.Duration,
				b.Duration)
		})
		return nil, exit.Misuse(fmt.Errorf("--budget %v: no attack fits; the shortest, %s, takes %s", r.Budget,
			shortest.Attack, scenarios.EstimateOf(shortest)))
	}
	exam.Budget = r.Budget
	for _, s := range left {
		exam.Leave(s.Attack, scenarios.EstimateOf(s))
	}
	return made, nil
}

// attacks is the table of attacks, as far as it is wanted.
func (r Request) attacks() (scenarios.Exam, error) {
	table, err := scenarios.Attacks()
	if err != nil {
		return table, err
	}
	return table.Only(r.Short, r.Attacks)
}

// attack returns the attacks of the table that can be made on the lock here.
func (r Request) attack(lock scenarios.Examinee, table scenarios.Exam, can runtimes.Capabilities) ([]scenarios.Scenario,
	*reports.Exam, error) {
	kind, err := r.Tool.KindOf(&lock.Base)
	if err == nil {
		err = can.Startable(lock.Base, kind.Service)
	}
	if err != nil {
		return nil, nil, exit.With(exit.Failed, fmt.Errorf("%s can't be examined here: %w", lock.Base.Lock, err))
	}
	if lock.Base.External() {
		if err := possible.CheckExam(lock); err != nil {
			return nil, nil, exit.Misuse(fmt.Errorf("%s can't be examined: %w", lock.Base.Lock, err))
		}
	}
	lock.Nature.Forgets = lock.Nature.Forgets || r.Where.FailoverCmd != ""
	lock.Fits, lock.Runs = can.Fitting(kind.Service, lock.Fits), can.Running(kind.Service)
	if table = table.For(lock); len(table.Attacks) == 0 {
		return nil, nil, exit.Misuse(fmt.Errorf("none of these attacks makes sense against %s: some are on schedulers, the others on locks (docs/exam.md)",
			lock.Base.Lock))
	}
	all, not := table.Of(lock)
	lacks := slices.ContainsFunc(not, func(n scenarios.Inapplicable) bool { return n.Fix != "" })
	if len(all) == 0 && !lacks {
		return nil, nil, exit.Misuse(fmt.Errorf("none of these attacks makes sense against %s: %s", lock.Base.Lock,
			not[0].Why))
	}
	exam := reports.ExamOf(lock.Base.Lock, not)
	exam.Short = r.Short
	return all, exam, nil
}

// Examinee is a built-in lock as the table of attacks sees it. ttl 0: that of its scenarios.
func Examinee(tool *runs.Tool, name string, ttl scenarios.Duration) (scenarios.Examinee, error) {
	k, err := tool.Lock(name)
	if err != nil {
		return scenarios.Examinee{}, fmt.Errorf("%w%s (lockchaos list locks)", err,
			spelling.Suggest(name, tool.Catalogue().Locks))
	}
	if k.Claims.Permits == 0 && k.Claims.Job == "" {
		return scenarios.Examinee{}, fmt.Errorf("%s is no lock, so there is nothing to attack: %s", k.Name, k.About)
	}
	suites, err := tool.Suites()
	if err != nil {
		return scenarios.Examinee{}, err
	}
	base, ok := scenarios.Undisturbed(suites, k.Name)
	switch {
	case ttl > 0:
		base.TTL = ttl
	case k.Claims.Job != "":
		base.TTL, _ = possible.JobTimes(k.Service, 0, 0)
	case !ok:
		base.TTL = scenarios.Duration(backends.UsualTTL(k.Service))
	}
	base.Lock = k.Name
	base.Store = scenarios.Store{Kind: "unfenced"}
	if k.Writes == "guarded" {
		base.Store = scenarios.Store{Kind: k.Writes, Engine: k.Service}
	}
	return possible.Examinee(k, base), nil
}

// ReadPolicy reads a policy, with the place of each of its scenarios: the line
// in the file of a user's own, else the policy's line that names it. A lock of
// the user's own is met once, where the run is to be.
func (r Request) ReadPolicy(ctx context.Context, file string) (*policy.Policy, map[string]scenarios.Place, error) {
	d := demands{Request: r, ctx: ctx, folder: filepath.Dir(file), places: map[string]scenarios.Place{}}
	services := append([]string{scenarios.NoService}, r.Tool.Catalogue().Services...)
	p, err := policy.Load(file, policy.Catalogue{Services: services, Meet: d.meet, Find: d.find, Examine: d.examine})
	if err != nil {
		return nil, nil, err
	}
	for _, run := range p.Runs {
		if _, own := d.places[run.Name]; !own {
			d.places[run.Name] = scenarios.Place{File: file, Line: run.Line}
		}
	}
	return p, d.places, nil
}

// demands answer what the words of a policy mean.
type demands struct {
	Request
	ctx    context.Context
	folder string // of the policy
	places map[string]scenarios.Place
	own    *own.Lock              // that of the policy; nil: it has none
	can    *runtimes.Capabilities // what can be done here, tried for the first exam
}

func (d *demands) meet(lock policy.Lock) (err error) {
	d.Own = own.Program{Command: lock.Command, Service: lock.Service, TTL: lock.TTL.Std()}
	d.own, err = d.Request.meet(d.ctx)
	return err
}

// find returns the scenarios that a word names.
func (d *demands) find(word string) ([]scenarios.Scenario, error) {
	if word == Random {
		return nil, fmt.Errorf("suite %s is drawn anew for each seed, so a policy can't name what it shows: run it beside the gate", Random)
	}
	if runs.IsFile(word) && !filepath.IsAbs(word) {
		word = filepath.Join(d.folder, word) // as everything that a file names
	}
	chosen, err := d.Tool.Choose([]string{word}, d.Runtime == runtimes.External)
	if err != nil {
		return nil, err
	}
	if runs.IsFile(word) {
		for name, p := range d.Tool.PlacesOf([]string{word}, "") {
			if !p.Builtin {
				d.places[name] = p
			}
		}
	}
	if d.own != nil {
		chosen, err = d.own.Replace(chosen, d.Tool, d.Say)
	}
	return chosen.Scenarios, err
}

// examine returns the attacks of an exam, and tells which make no sense, and why.
func (d *demands) examine(e policy.Exam) ([]scenarios.Scenario, error) {
	if d.can == nil {
		can := d.Means(d.ctx, d.own != nil, d.Say)
		d.can = &can
	}
	d.Short, d.Attacks = e.Short, e.Attacks
	table, err := d.attacks()
	if err != nil {
		return nil, err
	}
	var lock scenarios.Examinee
	if e.Lock == policy.ExamOwn {
		lock = d.own.Examinee()
	} else if lock, err = Examinee(d.Tool, e.Lock, 0); err != nil {
		return nil, err
	}
	all, exam, err := d.attack(lock, table, *d.can)
	if err != nil {
		return nil, err
	}
	for _, line := range exam.Inapplicable() {
		d.Say(lock.Base.Lock + ": " + line)
	}
	if len(all) == 0 {
		return nil, exit.With(exit.Failed, fmt.Errorf("none of these attacks on %s can be made here: %s: %s",
			lock.Base.Lock, exam.Not[0].Why, exam.Not[0].Fix))
	}
	return all, nil
}
