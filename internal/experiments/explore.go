package experiments

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/harness"
	"github.com/lockchaos/lockchaos/internal/harness/possible"
	"github.com/lockchaos/lockchaos/internal/harness/simulated"
	"github.com/lockchaos/lockchaos/internal/hosts/sim"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/own"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
	"github.com/lockchaos/lockchaos/internal/runs/screen"
	"github.com/lockchaos/lockchaos/internal/shrink"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Exploring searches schedules in virtual time until a lock shows a defect.
type Exploring struct {
	Tool *runs.Tool
	Lock *own.Lock
	// Seed is the first; Most bounds how many are tried (0: For alone does), For how long to
	// search.
	Seed uint64
	Most uint64
	For  time.Duration
	// Length is the virtual time of each run.
	Length time.Duration
	// Cores is how many seeds are tried at once.
	Cores int
	// Faults is how many faults strike a run of a complete search: 1 or 2.
	Faults int
	// File is where the regression goes; "": a name of the lock's and the property's.
	File string
	// Corpus is the folder from which the search starts, and where it leaves
	// what it has learned; UsualCorpus: that of the adapter in the user's
	// cache. "": it starts from nothing. Fresh empties it first.
	Corpus string
	Fresh  bool
	// Then replays what is found on the real service; nil: nothing does.
	Then *Replay
	Out  *screen.Screen

	program *sim.Program
	base    scenarios.RandomLock
	began   time.Time

	mu     sync.Mutex
	next   uint64
	tried  tally
	corpus *corpus
	found  *finding
	failed error
}

// tally counts what was searched.
type tally struct {
	seeds, overruns, dull int
	grants                int64
	virtual               time.Duration
}

// finding is a plan that shows a defect.
type finding struct {
	plan     scenarios.Plan
	property string
	text     string
	// real is replayed in its place on the real service; nil: the plan itself is.
	real *scenarios.Plan
}

// reliesOn says why a fault is not drawn: it takes away what a lock on Redis rests on, so what
// comes of it is no defect of the lock.
func reliesOn(f nemesis.Spec) error {
	if !f.Target.Client() && (f.OnClocks() || f.Touch().Ends == history.EndsServer) {
		return errors.New("the lock rests on the clocks and the memory of its service")
	}
	return nil
}

// Do searches, and on a defect shrinks it and writes the regression. Its error carries the exit
// status.
func (x *Exploring) Do(ctx context.Context) (err error) {
	x.began = time.Now()
	var programs runtimes.Programs
	defer func() { err = errors.Join(err, programs.Close()) }()
	if x.program, err = programs.Of(ctx, x.Lock.Adapter.Go); err != nil {
		return err
	}
	kind := x.Lock.Kind()
	x.base = scenarios.RandomLock{Nature: possible.Nature(kind), Base: x.Lock.Examinee().Undisturbed(),
		Together: possible.CheckTogether, Fits: func(f scenarios.Fault) error {
			if why := simulated.WhyNotFault(f.Spec()); why != "" {
				return errors.New(why)
			}
			return errors.Join(reliesOn(f.Spec()), possible.CheckFault(kind, f))
		}}
	x.next = x.Seed
	if err := x.recall(); err != nil {
		return err
	}
	x.Out.Say(fmt.Sprintf("exploring %s: seeds from %d, %v of virtual time each, %d at once, for %v", x.Lock.Name,
		x.Seed, x.Length, x.Cores, x.For))
	x.search(ctx)
	x.Out.Say(x.String())
	if err := x.corpus.save(); err != nil {
		return fmt.Errorf("keep the corpus: %w", err)
	}
	switch {
	case ctx.Err() != nil:
		return exit.With(exit.Failed, errors.New("interrupted: nothing is written"))
	case x.found != nil:
		return x.tell(ctx)
	case x.failed != nil:
		return x.failed
	case x.tried.seeds == 0:
		return exit.With(exit.Inconclusive, errors.New("no seed came to its end: give it more time (--for)"))
	}
	x.Out.Say("no defect was found. That is no proof: it is what these seeds showed, in the simulation (docs/simulation.md).")
	return nil
}

// UsualCorpus stands for the folder of the adapter in the user's cache.
const UsualCorpus = "cache"

// recall takes over what earlier searches learned.
func (x *Exploring) recall() (err error) {
	dir := x.Corpus
	if dir == UsualCorpus {
		if dir, err = sim.CacheEntry(sim.Corpora, x.program.Hash); err != nil {
			return err
		}
	}
	if x.Fresh {
		if err := emptyCorpus(dir); err != nil {
			return fmt.Errorf("empty the corpus: %w", err)
		}
	}
	x.corpus, err = openCorpus(dir, x.stamp(nil), func(p *scenarios.Plan) error {
		p.Scenario.Lock, p.Scenario.Adapter = x.Lock.Name, x.Lock.Adapter
		return simulated.Check(x.Lock.Adapter.Service)(p.Scenario)
	}, x.Tool.Catalogue(), x.Out.Say)
	return err
}

// String says in words what was searched.
func (x *Exploring) String() string {
	t := x.tried
	took := time.Since(x.began)
	return fmt.Sprintf("%d seeds in %v (%.1f a second), %v of virtual time, %d grants; %d seeds with overruns, which no lease prevents; %d orders of events; %d seeds that showed nothing",
		t.seeds, took.Round(time.Second), float64(t.seeds)/took.Seconds(), t.virtual.Round(time.Second), t.grants,
		t.overruns, len(x.corpus.orders), t.dull)
}

// fewerCollections is the garbage collector's target while a search goes on.
const fewerCollections = 400

// search tries seeds on all cores until one shows a defect, or the time is over.
func (x *Exploring) search(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, x.For)
	defer cancel()
	// what is collected is small, and there is much of it
	defer debug.SetGCPercent(debug.SetGCPercent(fewerCollections))
	var all sync.WaitGroup
	for range max(1, x.Cores) {
		all.Go(func() {
			for ctx.Err() == nil {
				plan, ok := x.draw()
				if !ok {
					return
				}
				if x.try(ctx, plan) {
					cancel()
				}
			}
		})
	}
	all.Wait()
}

// draw makes the plan of the next seed: faults drawn at random, or a plan of the corpus with other
// draws.
func (x *Exploring) draw() (scenarios.Plan, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	seed := x.next
	if x.found != nil || x.failed != nil || x.Most > 0 && seed-x.Seed >= x.Most {
		return scenarios.Plan{}, false
	}
	x.next++
	s := scenarios.Random(seed, x.base, scenarios.Duration(x.Length))
	s.Name = "explore/" + x.Lock.Name
	plan := scenarios.Plan{Seed: seed, Scenario: s}
	if rng := plan.Stream("guide"); len(x.corpus.plans) > 0 && rng.IntN(2) == 0 {
		// What led to an order of events that had not been seen leads to others near it.
		kept := x.corpus.plans[rng.IntN(len(x.corpus.plans))].Scenario
		if n := len(kept.Faults); n > 0 && len(s.Faults) > 0 && rng.IntN(2) == 0 {
			kept.Faults = slices.Clone(kept.Faults)
			kept.Faults[rng.IntN(n)] = s.Faults[rng.IntN(len(s.Faults))]
		}
		plan.Scenario = kept
	}
	return plan, true
}

// try runs a plan, and reports whether the search is over.
func (x *Exploring) try(ctx context.Context, plan scenarios.Plan) (over bool) {
	h, err := x.simulate(ctx, plan)
	if err != nil && ctx.Err() != nil {
		return true
	}
	var v checker.Verdict
	if err == nil {
		// before the lock: all cores judge at once
		v = checker.Judge(h, checker.Options{KeepDefects: true})
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if err != nil {
		x.failed = cmp.Or(x.failed, fmt.Errorf("seed %d: %w", plan.Seed, err))
		return true
	}
	t := &x.tried
	t.seeds++
	t.grants += v.Stats.Grants
	if n := len(h.Events); n > 0 {
		t.virtual += time.Duration(h.Events[n-1].Time)
	}
	if v.Stats.Grants < int64(plan.Scenario.Needs.Grants) {
		t.dull++
	}
	if overran(v) {
		t.overruns++
	}
	if x.corpus.fresh(h) {
		if err := x.corpus.keep(plan); err != nil {
			x.failed = cmp.Or(x.failed, fmt.Errorf("keep the corpus: %w", err))
		}
	}
	property, text := defectOf(v, plan.Scenario)
	if property == "" {
		return false
	}
	if x.found == nil {
		x.found = &finding{plan: plan, property: property, text: text}
	}
	return true
}

// simulate runs a plan in memory.
func (x *Exploring) simulate(ctx context.Context, plan scenarios.Plan) (*history.History, error) {
	var text bytes.Buffer
	if err := harness.Simulate(ctx, simulated.Config{Plan: plan, Lock: x.Lock.Kind(), Program: x.program,
		History: &text}); err != nil {
		return nil, err
	}
	return history.ReadAll(&text, runs.HistoryFile)
}

// overran reports whether a holder outlived its lease.
func overran(v checker.Verdict) bool {
	return slices.ContainsFunc(v.Properties, func(p checker.PropertyResult) bool {
		return p.Outcome == checker.Violated && p.CountOf(checker.Inherent) > 0
	})
}

// defectOf names a property whose violation is a certain defect of the lock, with its first
// violation of that kind; "": none is. What a fault breaks that the lock relies on is none.
func defectOf(v checker.Verdict, s scenarios.Scenario) (property, text string) {
	for _, p := range v.InOrderOfBlame() {
		if p.CountOf(checker.Defect) == 0 || slices.Contains(s.Expect.Relied, p.Name) {
			continue
		}
		for i := range p.Violations {
			if p.Violations[i].Blame() == checker.Defect {
				return p.Name, p.Violations[i].Text
			}
		}
		return p.Name, ""
	}
	return "", ""
}

// seedsEach is with how many seeds a candidate of the shrinking is tried: what is taken away moves
// all that comes after it.
const seedsEach = 6

// tell shrinks what was found, and writes it.
func (x *Exploring) tell(ctx context.Context) error {
	f := x.found
	x.Out.Say(fmt.Sprintf("\nseed %d shows a defect: %s\n  %s\nshrinking it", f.plan.Seed, f.property, f.text))
	best := f.plan
	limited, cancel := context.WithTimeout(ctx, max(x.For, time.Minute))
	defer cancel()
	r, err := shrink.Reduce(limited, f.plan.Scenario, func(ctx context.Context, s scenarios.Scenario) (bool, error) {
		seed, shows, err := x.shows(ctx, scenarios.Plan{Seed: best.Seed, Scenario: s}, f.property)
		if shows {
			best = scenarios.Plan{Seed: seed, Scenario: s}
		}
		return shows, err
	}, shrink.Options{Valid: func(s scenarios.Scenario) error { return Runnable(x.Tool.Catalogue(), s) },
		Progress: func(s shrink.Step) {
			if s.Shows {
				x.Out.Say(fmt.Sprintf("%6.1f s  %s: still violated", time.Since(x.began).Seconds(), s.What))
			}
		}})
	if err != nil {
		return interrupted(ctx, err)
	}
	if ctx.Err() != nil {
		return interrupted(ctx, ctx.Err())
	}
	best, more, err := x.settle(limited, best, f.property)
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return interrupted(ctx, ctx.Err())
	}
	return x.write(ctx, best, r.Tried+more)
}

// shows reports whether a plan shows the defect with one of a few seeds, its own first.
func (x *Exploring) shows(ctx context.Context, plan scenarios.Plan, property string) (seed uint64, shows bool,
	err error) {
	for i := range uint64(seedsEach) {
		one := plan
		one.Seed += i
		h, err := x.simulate(ctx, one)
		if err != nil {
			if ctx.Err() != nil {
				return 0, false, nil // the search was cut short
			}
			return 0, false, err
		}
		if p, _ := defectOf(checker.Judge(h, checker.Options{KeepDefects: true}), one.Scenario); p == property {
			return one.Seed, true, nil
		}
	}
	return 0, false, nil
}

// write writes the plan as a file that `lockchaos run --plan` takes.
func (x *Exploring) write(ctx context.Context, plan scenarios.Plan, tried int) error {
	h, err := x.simulate(ctx, plan)
	if err != nil {
		return interrupted(ctx, err)
	}
	property, text := defectOf(checker.Judge(h, checker.Options{KeepDefects: true}), plan.Scenario)
	if property != x.found.property {
		return fmt.Errorf("a defect in lockchaos itself, please report it: seed %d showed %s, and does not any more",
			plan.Seed, x.found.property)
	}
	plan.Scenario.Expect, plan.Scenario.Needs = scenarios.Expect{}, scenarios.Needs{}
	plan.Scenario.About = fmt.Sprintf("found by lockchaos explore: %s shows a defect, %s", x.Lock.Says.Name, property)
	file := cmp.Or(x.File, filepath.Base(x.Lock.Name)+"."+property+".plan.yaml")
	if _, err := os.Stat(file); err == nil {
		return fmt.Errorf("%s is there already, and is left as it is: name another file with --write", file)
	}
	if err := save(file, plan); err != nil {
		return err
	}
	faults, err := yaml.Marshal(plan.Scenario.Faults)
	if err != nil {
		return err
	}
	x.Out.Say(fmt.Sprintf("\n%s: %s\n  %s\n%d clients, %d candidates, seed %d:\n%s%s\nwrote %s; run it: %s",
		x.Lock.Name, property, text, plan.Scenario.Clients, tried, plan.Seed, faults,
		x.drawn(plan), file, reports.Shell(x.Tool.Program, "run", "--plan", file, "--runtime", runtimes.Virtual)))
	return exit.With(exit.Violated, x.replay(ctx, plan, property, file))
}

func save(file string, plan scenarios.Plan) error {
	return reports.WriteFile(file, func(w io.Writer) error { return plan.Write(w) })
}

// replay tries the finding on the real service, if that is wanted, and notes in
// its plan what came of it: reports of the plan tell it.
func (x *Exploring) replay(ctx context.Context, plan scenarios.Plan, property, file string) error {
	if x.Then == nil {
		return nil
	}
	x.Then.Again = reports.Shell(x.Tool.Program, "run", "--plan", file, "--runtime", runtimes.Virtual, "--then",
		runtimes.Local)
	real := plan
	if x.found.real != nil {
		real = *x.found.real
	}
	shown, err := x.Then.Do(ctx, real, property)
	if err != nil {
		return fmt.Errorf("%s is simulated, and was not replayed to the end: %w", file, err)
	}
	x.Out.Say("\n" + property + ": " + shown.String())
	plan.Scenario.About += "; " + shown.String()
	return save(file, plan)
}
