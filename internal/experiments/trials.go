package experiments

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
	"github.com/lockchaos/lockchaos/internal/runs/screen"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Trials runs plans for those who search or measure with them: out of sight,
// many at once, in folders that are deleted.
type Trials struct {
	flags  runs.Settings
	where  runtimes.Runtime
	dir    string
	places chan struct{}
	next   atomic.Int64
}

// NewTrials makes the folder of the trials, beside those of runs.
func NewTrials(f runs.Settings, where runtimes.Runtime, what string) (*Trials, error) {
	if err := os.MkdirAll(f.Out, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder for runs: %w", err)
	}
	dir, err := os.MkdirTemp(f.Out, "."+what+"-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for trials: %w", err)
	}
	return &Trials{flags: f, where: where, dir: dir, places: make(chan struct{}, f.Parallel)}, nil
}

// Close deletes the folder of the trials.
func (t *Trials) Close() error { return os.RemoveAll(t.dir) }

// Run runs a plan when a place is free, judges it by its properties, and shows
// what came out to look, with the scenario's folder, which is deleted afterwards.
func (t *Trials) Run(ctx context.Context, p scenarios.Plan, look func(reports.Scenario, string)) error {
	select {
	case t.places <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-t.places }()
	dir := filepath.Join(t.dir, fmt.Sprint(t.next.Add(1)))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder of a trial: %w", err)
	}
	defer os.RemoveAll(dir)
	f := t.flags
	f.NoExpect, f.Parallel = true, 1
	one := &runs.Run{Settings: f, Where: t.where, Name: p.Scenario.Name, Plans: []scenarios.Plan{p},
		Screen: screen.New(io.Discard)}
	one.Prepare(dir, time.Now())
	one.Launch(ctx, make(chan struct{}, 1))()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	sc := one.Results[0].Scenario
	look(sc, filepath.Join(dir, sc.Dir))
	return nil
}

// TrialCounts is what some trials of one plan said.
type TrialCounts struct {
	Shown, Held, Failed int
	Grants, Handovers   int64 // the least of a trial that showed it
	err                 error
}

// Rate is how many of the trials that were decided showed it.
func (b TrialCounts) Rate() reports.Rate { return reports.Rate{Hits: b.Shown, Of: b.Shown + b.Held} }

// Vote runs a plan with n seeds from its own, until need trials have violated
// the property, or too few are left for that; need 0: all are run.
func (t *Trials) Vote(ctx context.Context, p scenarios.Plan, property string, n, need int) (TrialCounts, error) {
	enough, cancel := context.WithCancel(ctx)
	defer cancel()
	var b TrialCounts
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range n {
		one := p
		one.Seed += uint64(i)
		all.Go(func() {
			err := t.Run(enough, one, func(sc reports.Scenario, _ string) {
				mu.Lock()
				defer mu.Unlock()
				b.count(sc, property)
			})
			mu.Lock()
			defer mu.Unlock()
			if err != nil && enough.Err() == nil {
				b.err = errors.Join(b.err, err)
			}
			if need > 0 && (b.Shown >= need || b.Held+b.Failed > n-need) {
				cancel()
			}
		})
	}
	all.Wait()
	return b, errors.Join(ctx.Err(), b.err)
}

// count takes what one trial came to. One that failed or was skipped says
// nothing of the property, unless it was violated before.
func (b *TrialCounts) count(sc reports.Scenario, property string) {
	st := sc.Verdict.Stats
	switch {
	case violates(sc, property):
		if b.Shown == 0 || st.Grants < b.Grants {
			b.Grants = st.Grants
		}
		if b.Shown == 0 || st.Handovers < b.Handovers {
			b.Handovers = st.Handovers
		}
		b.Shown++
	case sc.Failed != "" || sc.Skipped != "":
		b.Failed++
	default:
		b.Held++
	}
}

// violates reports whether a scenario's verdict finds the property violated.
func violates(sc reports.Scenario, property string) bool {
	return slices.ContainsFunc(sc.Verdict.Properties,
		func(p checker.PropertyResult) bool { return p.Name == property && p.Outcome == checker.Violated })
}
