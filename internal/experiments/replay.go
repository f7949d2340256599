package experiments

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/internal/harness/possible"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/own"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
	"github.com/lockchaos/lockchaos/internal/runs/screen"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
)

// ReplayOptions says that what a simulation finds is replayed.
type ReplayOptions struct {
	// Where is the runtime, "local"; "": nothing is replayed. Tries is how many real runs are made,
	// each with a seed of its own.
	Where string
	Tries int
}

// Check refuses what makes no sense beside a runtime; repeated: its runs are repeated.
func (t ReplayOptions) Check(runtime string, repeated bool) error {
	switch {
	case t.Where == "":
		return nil
	case t.Where != runtimes.Local:
		return exit.Misuse(fmt.Errorf("--then %s: what is found is replayed with --then %s", t.Where, runtimes.Local))
	case t.Tries < 1 || t.Tries > mostReplays:
		return exit.Misuse(fmt.Errorf("--tries %d: a finding is replayed 1 to %d times", t.Tries, mostReplays))
	case runtime != runtimes.Virtual:
		return exit.Misuse(fmt.Errorf("--then replays what a simulation shows, and the runtime is %s: give --runtime %s", runtime, runtimes.Virtual))
	case repeated:
		return exit.Misuse(errors.New("--then replays what one simulated run shows, and a simulation repeats itself: give no --repeat and no --until beside it"))
	}
	return nil
}

// Replay tries what the simulation found on the real service.
type Replay struct {
	ReplayOptions
	Settings runs.Settings
	Out      *screen.Screen
	// Again is what the user would type to have it replayed again.
	Again string

	lock  *own.Lock
	can   runtimes.Capabilities
	where runtimes.Where
}

// NewReplay builds the Go program for this machine, and starts it once on its real service. Its
// errors are the user's. It is nil where nothing is to be replayed.
func NewReplay(ctx context.Context, settings runs.Settings, then ReplayOptions, p own.Program, out *screen.Screen) (*Replay,
	error) {
	if err := then.Check(runtimes.Virtual, false); err != nil || then.Where == "" {
		return nil, err
	}
	r := &Replay{Settings: settings, ReplayOptions: then, Out: out, where: runtimes.Where{Runtime: runtimes.Local}}
	r.Settings.NoExpect, r.Settings.Words = true, []string{"--runtime", runtimes.Local}
	r.can = r.where.Means(ctx, true, out.Say)
	var err error
	if r.lock, err = p.Meet(ctx, r.where, func(string) bool { return false }); err != nil {
		return nil, fmt.Errorf("--then %s: %w", then.Where, err)
	}
	return r, nil
}

// mostReplays bounds how often a finding is replayed.
const mostReplays = 1000

// Shown is what the real service showed of a finding.
type Shown struct {
	Service string
	// Hits are the tries that showed it, of Tries. Failed are those in which the harness or the
	// service failed.
	Hits, Failed, Tries int
	// Missing are the faults of the plan that do not exist there, each with the reason.
	Missing []string
	// Needs says in words what is left to the real schedule.
	Needs string
	// StandIns are in the place of the real service.
	StandIns []string
}

// String says in a sentence whether the finding showed.
func (s Shown) String() string {
	tries := "tries"
	if s.Tries == 1 {
		tries = "try"
	}
	text := fmt.Sprintf("shown on a real %s in %d of %d %s", s.Service, s.Hits, s.Tries, tries)
	switch {
	case s.Tries == 0:
		text = fmt.Sprintf("not tried on a real %s", s.Service)
	case s.Hits == 0:
		text = fmt.Sprintf("not shown on a real %s in %d %s: its schedule needs %s", s.Service, s.Tries, tries, s.Needs)
	}
	if s.Failed > 0 {
		text += fmt.Sprintf("; %d of the tries failed, and say nothing", s.Failed)
	}
	if len(s.Missing) > 0 {
		text += "; left out, since it does not exist there: " + strings.Join(s.Missing, "; ")
	}
	return strings.Join(append([]string{text}, s.StandIns...), ". ")
}

// plan is the plan for the real service.
func (r *Replay) plan(p scenarios.Plan) (_ scenarios.Plan, missing []string) {
	p.Simulation = nil
	p.Scenario.Adapter, p.Scenario.Expect = r.lock.Adapter, scenarios.Expect{}
	p.Scenario.Name = strings.TrimPrefix(p.Scenario.Name, "explore/") + "/real"
	kind := r.lock.Kind()
	fits := r.can.Fitting(kind.Service, func(f scenarios.Fault) error { return possible.CheckFault(kind, f) })
	var left []scenarios.Fault
	for _, f := range p.Scenario.Faults {
		if err := errors.Join(errorsOf(f.Singles(), fits)...); err != nil {
			missing = append(missing, fmt.Sprintf("%s (%v)", f.Label(), err))
		} else {
			left = append(left, f)
		}
	}
	p.Scenario.Faults = left
	return p, missing
}

func errorsOf(faults []scenarios.Fault, fits func(scenarios.Fault) error) (errs []error) {
	for _, f := range faults {
		errs = append(errs, fits(f))
	}
	return errs
}

// Do replays the plan in real runs, whose folder and report are their own, and says whether the
// property was violated there, as a defect of the lock.
func (r *Replay) Do(ctx context.Context, found scenarios.Plan, property string) (Shown, error) {
	plan, missing := r.plan(found)
	shown := Shown{Service: r.lock.Adapter.Service, Tries: r.Tries, Missing: missing,
		Needs: needsOf(found.Scenario.Faults)}
	if len(missing) > 0 && len(plan.Scenario.Faults) == 0 {
		shown.Tries = 0
		return shown, nil
	}
	r.Out.Say(fmt.Sprintf("\nreplaying it on a real %s, %d times", shown.Service, r.Tries))
	s := &Series{Settings: r.Settings, Repeat: r.Tries, Screen: r.Out, Whole: r.Again,
		Command: func(_ uint64, dir string) string {
			return reports.Shell(r.Settings.Tool.Program, "rerun", dir)
		}}
	s.Draw = func(seed uint64) ([]scenarios.Plan, error) {
		again := plan
		again.Seed = seed
		return []scenarios.Plan{again}, nil
	}
	plans := []scenarios.Plan{plan}
	where, err := runtimes.Choose(ctx, r.where, r.Settings.Tool.KindOf, plans, r.Out.Say)
	if err != nil {
		return shown, err
	}
	s.Where = where
	err = errors.Join(s.Do(ctx, plan.Scenario.Name,
		fmt.Sprintf("what the simulation found (%s), replayed on the real service", property), plans), where.Close())
	if ctx.Err() != nil {
		return shown, ctx.Err()
	}
	for _, sc := range s.all {
		shown.take(sc, property)
	}
	shown.Failed += r.Tries - len(s.all)
	if len(s.all) == 0 || len(s.errs) > 0 {
		return shown, err
	}
	return shown, nil // that it was violated is what was asked
}

// take counts a try.
func (s *Shown) take(sc reports.Scenario, property string) {
	switch {
	case slices.ContainsFunc(sc.Verdict.Properties,
		func(p checker.PropertyResult) bool { return p.Name == property && p.CountOf(checker.Defect) > 0 }):
		s.Hits++
	case sc.Failed != "" || sc.Skipped != "":
		s.Failed++
	}
	for _, text := range sc.StandIns {
		if !slices.Contains(s.StandIns, text) {
			s.StandIns = append(s.StandIns, text)
		}
	}
}

// needsOf says what a real run has to meet by luck: it repeats which faults strike and when
// they are due. A simulated fault strikes at once; a real one some milliseconds after its step.
func needsOf(faults []scenarios.Fault) string {
	var words []string
	for _, f := range faults {
		words = append(words, strings.TrimSpace(f.Label()+" "+f.When))
	}
	if len(words) == 0 {
		return "an order of events that no fault brings about, and that a real run does not repeat"
	}
	return strings.Join(words, ", ") + " at the very step, and a real fault strikes milliseconds later"
}

// Found replays each defect that a simulated run shows, as Replay does, and tells what the real
// service showed. Its error carries the exit status of the run, err, which the real tries do not
// change.
func (t ReplayOptions) Found(ctx context.Context, run *runs.Run, err error) error {
	if t.Where == "" || ctx.Err() != nil {
		return err
	}
	found := 0
	for i, result := range run.Results {
		plan := run.Plans[i]
		property, _ := defectOf(result.Verdict, plan.Scenario)
		if property == "" {
			continue
		}
		found++
		a := plan.Scenario.Adapter
		r, failed := NewReplay(ctx, run.Settings, t,
			own.Program{Go: a.Go, Service: a.Service, TTL: plan.Scenario.TTL.Std()}, run.Screen)
		if failed != nil {
			return errors.Join(err, failed)
		}
		r.Again = run.Command + " " + reports.Shell("--then", t.Where, "--tries", strconv.Itoa(t.Tries))
		shown, failed := r.Do(ctx, plan, property)
		if failed != nil {
			return errors.Join(err, failed)
		}
		run.Screen.Say(fmt.Sprintf("\n%s: %s: %s", plan.Scenario.Name, property, shown))
	}
	if found == 0 {
		run.Screen.Say("nothing is replayed: the simulation showed no certain defect of the lock")
	}
	return err
}
