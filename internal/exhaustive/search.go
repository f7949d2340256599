package exhaustive

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/harness"
	"github.com/lockchaos/lockchaos/internal/harness/possible"
	"github.com/lockchaos/lockchaos/internal/harness/simulated"
	"github.com/lockchaos/lockchaos/internal/hosts/sim"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Search tries each fault of a list at each place of the smallest application. A schedule is one
// simulated run.
type Search struct {
	// Lock is the lock as the harness knows it, and Examinee as the exam does.
	Lock     clients.Kind
	Examinee scenarios.Examinee
	// Program is what clients are instances of, and Start says how they are started.
	Program *sim.Program
	Start   sim.Start
	Seed    uint64
	// For is how long to search, Cores how many schedules are tried at once.
	For   time.Duration
	Cores int
	// Faults is how many strike a run: 1, or 2, and then pairs are tried when all single ones are.
	Faults int
	// Folder is where the journal lies, from which a later search goes on; "": it is forgotten.
	// Fresh begins it anew.
	Folder string
	Fresh  bool
	// Settings say where the run's folder goes; Command is what the user would type to have it
	// again.
	Settings runs.Settings
	Command  string
	// Say is told how far the search is.
	Say func(string)
	// Unreduced tries schedules that are equal, too.
	Unreduced bool

	began   time.Time
	plan    scenarios.Plan // nothing is disturbed
	places  []place
	strikes []strike
	lacking map[string]string // why a fault of the list cannot be tried, by its column
	all     []schedule
	whole   int // how many schedules there are, those that are equal to another one included

	tell   sync.Mutex // guards what follows
	done   map[int]outcome
	log    *journal
	told   time.Time
	tests  int // schedules that were tried by this search
	failed error
	calm   string              // what the clients of the undisturbed run saw
	paired map[batch]batchDone // what batches of pairs came to
}

// outcome is what a schedule came to.
type outcome struct {
	// Schedule is its number, from 0.
	Schedule int `json:"schedule"`
	// Fate is the exam's word; What says more.
	Fate string `json:"fate"`
	What string `json:"what,omitempty"`
	// Seen is a hash of what the clients saw.
	Seen string `json:"seen,omitempty"`
}

// begin forgets what an earlier search has done.
func (x *Search) begin() {
	x.began, x.told, x.done, x.paired, x.log = time.Now(), time.Now(), map[int]outcome{}, map[batch]batchDone{}, &journal{}
}

// Do tries all schedules, or as many as there is time for.
func (x *Search) Do(ctx context.Context) error {
	x.begin()
	calm, err := x.survey(ctx)
	if err != nil {
		return err
	}
	if fate := calm.Fate(); fate != reports.Stood {
		column := undisturbed
		if x.plan.Scenario.Twins > 0 {
			column = undisturbedTwins
		}
		x.Say(column + ", and that came to: " + calm.CameTo())
		x.strikes = []strike{{Column: column, Host: "client-1"}}
		x.all, x.whole = []schedule{{strike: x.strikes[0], Place: x.places[0]}}, 1
		x.done[0] = outcomeOf(0, x.plan.Scenario, x.calm, calm)
		return nil
	}
	if err := x.resume(); err != nil {
		return err
	}
	x.Say(fmt.Sprintf("%s: %s places, %d faults: %s schedules, %s without those that are equal; %s are in the journal",
		x.Examinee.Base.Lock, phrase.Grouped(x.instants()), len(x.strikes), phrase.Grouped(x.whole),
		phrase.Grouped(len(x.all)), phrase.Grouped(len(x.done))))
	limited, cancel := context.WithTimeout(ctx, x.For)
	defer cancel()
	err = x.tryAll(limited)
	if err == nil && x.Faults > 1 && limited.Err() == nil {
		err = x.tryPairs(limited)
	}
	if err == nil && ctx.Err() != nil {
		x.Say("interrupted: the journal has what was tried; the same command goes on")
	}
	return errors.Join(err, x.log.Close())
}

// AnyTime is longer than any search.
const AnyTime = 100 * 24 * time.Hour

// The columns of a lock that falls without a fault: by itself, or by two clients of one identity.
const (
	undisturbed      = "nothing disturbed"
	undisturbedTwins = undisturbed + ", two clients of one identity"
)

// survey runs the smallest application with nothing disturbed, and finds its places and schedules.
func (x *Search) survey(ctx context.Context) (calm reports.Scenario, err error) {
	ttl := x.Examinee.Base.TTL.Std()
	s := x.Examinee.Smallest(scenarios.Duration(max(1, x.Faults)) * scenarios.Duration(longestStrike*float64(ttl)))
	x.plan = scenarios.Plan{Seed: x.Seed, Scenario: s}
	x.plan.Simulation = &scenarios.Simulation{Program: x.Program.Hash, Simulator: harness.SimulatorHash(),
		Steady: simulated.Draws(x.plan, x.Lock.Service)}
	var all []simulated.Place
	x.Program.KeepStarts(true)
	text, err := x.text(ctx, x.plan, x.collect(&all, 1))
	if err != nil {
		return calm, err
	}
	if err := x.checkStarts(ctx, text); err != nil {
		return calm, err
	}
	h, err := history.ReadAll(bytes.NewReader(text), runs.HistoryFile)
	if err != nil {
		return calm, err
	}
	x.calm = outcomesHash(h)
	if len(all) == 0 {
		return calm, fmt.Errorf("%s: its undisturbed run has no place", x.Examinee.Base.Lock)
	}
	x.places, x.lacking = stepsOf(all, h, ttl), map[string]string{}
	for _, f := range strikesOf(ttl, s.Clients, simulated.Nodes(x.Lock.Service)) {
		if err := x.fits(f.sample()); err != nil {
			x.lacking[f.Column] = err.Error()
			continue
		}
		x.strikes = append(x.strikes, f)
	}
	x.all, x.whole = schedulesOf(x.places, x.strikes, x.Unreduced, true)
	if calm = runs.Assess(h, s); calm.Fate() != reports.Stood {
		return calm, nil
	}
	return x.twins(ctx, calm)
}

// twins has two clients of one identity do the same, where the lock makes the names of its clients.
// If that falls, it is what the search shows. If it shows nothing, the search goes on.
func (x *Search) twins(ctx context.Context, calm reports.Scenario) (reports.Scenario, error) {
	plan := x.plan
	s, has := x.Examinee.Twinned(plan.Scenario)
	if !has {
		return calm, nil
	}
	plan.Scenario = s
	h, err := x.run(ctx, plan, nil)
	if err != nil {
		return calm, err
	}
	switch twins := runs.Assess(h, s); twins.Fate() {
	case reports.Stood:
	case reports.NothingFollows, reports.NotRun:
		x.Say(undisturbedTwins + ", and that came to: " + twins.CameTo())
	default:
		x.plan, x.calm, calm = plan, outcomesHash(h), twins
	}
	return calm, nil
}

// checkStarts runs the undisturbed plan again, with programs that begin where those of the first
// run first waited. If that is not the same run, all programs start from their beginning.
func (x *Search) checkStarts(ctx context.Context, first []byte) error {
	again, err := x.text(ctx, x.plan, nil)
	if ctx.Err() != nil {
		return err
	}
	if err != nil || !bytes.Equal(again, first) {
		x.Program.KeepStarts(false)
		x.Say("programs of this build of Go are started anew for each schedule, which takes longer")
	}
	return nil
}

// collect keeps the places from a time on, until nothing is disturbed any more.
func (x *Search) collect(all *[]simulated.Place, from int64) func(simulated.Place) {
	s := x.plan.Scenario
	return func(p simulated.Place) {
		if p.At >= from && scenarios.Duration(p.At) < s.Duration-s.Quiet {
			*all = append(*all, p)
		}
	}
}

// fits reports why a fault cannot strike the lock in virtual time.
func (x *Search) fits(f scenarios.Fault) error {
	if why := simulated.WhyNotFault(f.Spec()); why != "" {
		return errors.New(why)
	}
	return possible.CheckFault(x.Lock, f)
}

// planOf is the plan of a run with these faults.
func (x *Search) planOf(all ...schedule) scenarios.Plan {
	plan := x.plan
	for _, s := range all {
		if s.Fault.Kind != "" {
			plan.Scenario = x.Examinee.Struck(plan.Scenario, append(slices.Clone(plan.Scenario.Faults), s.Fault)...)
		}
		if s.Order != nil {
			simulation := *plan.Simulation
			simulation.Order = &scenarios.Order{At: scenarios.Duration(s.Place.At), Events: s.Order}
			plan.Simulation = &simulation
		}
	}
	return plan
}

// tryAll tries the schedules on all cores until the time is over, each column in turn: so a search
// that is cut short has tried some of every fault.
func (x *Search) tryAll(ctx context.Context) error {
	left := x.order()
	return x.onCores(ctx, func(ctx context.Context) (more bool, err error) {
		x.tell.Lock()
		if len(left) == 0 {
			x.tell.Unlock()
			return false, nil
		}
		n := left[0]
		left = left[1:]
		x.tell.Unlock()
		return true, x.tryOne(ctx, n)
	})
}

// order lists the schedules that are left in the order in which they are tried.
func (x *Search) order() []int {
	var left []int
	for n := range x.all {
		if _, done := x.done[n]; !done {
			left = append(left, n)
		}
	}
	return spread(left)
}

// onCores calls a step on all cores, until there is no more, the time is over, or one fails.
func (x *Search) onCores(limited context.Context, step func(context.Context) (more bool, err error)) error {
	ctx, cancel := context.WithCancel(limited)
	defer cancel()
	defer debug.SetGCPercent(debug.SetGCPercent(fewerCollections))
	var all sync.WaitGroup
	for range max(1, x.Cores) {
		all.Go(func() {
			for ctx.Err() == nil {
				more, err := step(ctx)
				if err != nil && ctx.Err() == nil {
					x.fail(err)
					cancel()
				}
				if !more {
					return
				}
			}
		})
	}
	all.Wait()
	return x.failed
}

// spread orders numbers so that each beginning of the list is spread over all of them.
func spread(all []int) (out []int) {
	const stride = 61
	for from := range min(stride, len(all)) {
		for i := from; i < len(all); i += stride {
			out = append(out, all[i])
		}
	}
	return out
}

func (x *Search) fail(err error) {
	x.tell.Lock()
	defer x.tell.Unlock()
	x.failed = cmp.Or(x.failed, err)
}

// tryOne runs a schedule and notes what it came to.
func (x *Search) tryOne(ctx context.Context, n int) error {
	s := x.all[n]
	o, err := x.tryPlan(ctx, n, x.planOf(s))
	if err != nil {
		return fmt.Errorf("%s %s at %v: %w", s.Host, s.Column, time.Duration(s.Place.At), err)
	}
	x.tell.Lock()
	defer x.tell.Unlock()
	x.done[n] = o
	x.tests++
	x.progress()
	return x.log.add(o)
}

// outcomeOf is what a schedule came to: sc judges the run of the scenario s.
func outcomeOf(n int, s scenarios.Scenario, seen string, sc reports.Scenario) outcome {
	fate := sc.Fate()
	for i := range s.Faults {
		struck := func(f checker.FaultStats) bool { return f.Plan == i+1 && f.Bit > 0 }
		if fate == reports.Stood && !slices.ContainsFunc(sc.Verdict.Stats.Faults, struck) {
			return outcome{Schedule: n, Fate: reports.NothingFollows.String(), What: "a fault did not strike"}
		}
	}
	return outcome{Schedule: n, Fate: fate.String(), What: sc.FateWords(fate), Seen: seen}
}

// fewerCollections is the garbage collector's target while a search goes on: what is collected is
// small, and there is much of it.
const fewerCollections = 400

// toldEvery is how often a search says how far it is.
const toldEvery = 10 * time.Second

// progress says how much is done, and how long the rest takes. The caller holds the lock.
func (x *Search) progress() {
	if x.due() {
		took := time.Since(x.began)
		each := float64(took) / float64(x.tests)
		left := time.Duration(each * float64(len(x.all)-len(x.done))).Round(time.Second)
		x.Say(fmt.Sprintf("%6.1f s  %d %% of the schedules are done; the rest takes about %v",
			took.Seconds(), 100*len(x.done)/len(x.all), left))
	}
}

// due reports whether it is time to say how far the search is. The caller holds the lock.
func (x *Search) due() bool {
	now := time.Now()
	if now.Sub(x.told) < toldEvery {
		return false
	}
	x.told = now
	return true
}

// run simulates a plan in memory.
func (x *Search) run(ctx context.Context, plan scenarios.Plan, places func(simulated.Place)) (*history.History, error) {
	text, err := x.text(ctx, plan, places)
	if err != nil {
		return nil, err
	}
	return history.ReadAll(bytes.NewReader(text), runs.HistoryFile)
}

// text is the history of a plan's run.
func (x *Search) text(ctx context.Context, plan scenarios.Plan, places func(simulated.Place)) ([]byte, error) {
	var text bytes.Buffer
	err := harness.Simulate(ctx, simulated.Config{Plan: plan, Lock: x.Lock, Program: x.Program, Start: x.Start,
		History: &text, Places: places})
	return text.Bytes(), err
}

// outcomes are what the schedules came to that were tried, in their order.
func (x *Search) outcomes() (all []outcome) {
	for n := range x.all {
		if o, tried := x.done[n]; tried {
			all = append(all, o)
		}
	}
	return slices.Clip(all)
}
