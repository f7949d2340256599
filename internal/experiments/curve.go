package experiments

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/internal/outside"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
	"github.com/lockchaos/lockchaos/internal/runs/screen"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/page"
	"github.com/lockchaos/lockchaos/reports/studies"
	"github.com/lockchaos/lockchaos/scenarios"
)

// The files of a safety curve.
const (
	curveCSV  = "curve.csv"
	curveJSON = "curve.json"
)

// Curve is one measurement.
type Curve struct {
	runs.Settings
	// Property is the one whose violations are counted, in Runs runs at each value.
	Property string
	Runs     int
	// Command is what the user would type to have it again.
	Command string
	Screen  *screen.Screen
	// Base is the scenario that is varied, and Values are what its fault is given.
	Base   scenarios.Scenario
	Values Values
	// Began is when the measurement began.
	Began time.Time
	tries *Trials

	mu   sync.Mutex // guards what follows
	data studies.Curve
	left []int // how many runs each point still waits for
	told int   // the points up to here have been told
}

// Do measures and writes.
func (c *Curve) Do(ctx context.Context, plans []scenarios.Plan, where runtimes.Runtime) (err error) {
	if why := where.Skip(plans[0]); why != "" {
		return fmt.Errorf("the fault can't be done here: %s", why)
	}
	dir, err := runs.MakeFolder(c.Out, c.Began)
	if err != nil {
		return err
	}
	if c.tries, err = NewTrials(c.Settings, where, "sweep"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.tries.Close()) }()
	c.begin(where, len(plans))
	c.measure(ctx, plans)
	c.data.Elapsed = int64(time.Since(c.Began))
	if ctx.Err() != nil {
		c.Screen.Say("interrupted: the points that are there are written")
	}
	return errors.Join(c.write(dir), c.summarize(ctx, dir))
}

// begin says what will be done.
func (c *Curve) begin(where runtimes.Runtime, runs int) {
	service := "no service"
	if kind, err := c.Tool.KindOf(&c.Base); err == nil && kind.Service != "" {
		service = kind.Service
	}
	c.data = studies.Curve{Lock: c.Base.Lock, Service: service, Store: c.Base.Store.Kind,
		Fault: c.Base.Faults[0].Label(), TTL: c.Base.TTL.Std(), Property: c.Property, Over: c.Values.What, Runs: c.Runs,
		Seed:    c.Seed,
		Command: c.Command, Version: c.Tool.Version, Runtime: where.About(),
		Started: c.Began.UTC().Truncate(time.Second)}
	for _, v := range c.Values.all {
		c.data.Points = append(c.data.Points, studies.CurvePoint{Ratio: float64(v) / float64(c.Base.TTL),
			Value: int64(v)})
		c.left = append(c.left, c.Runs)
	}
	c.Screen.Say(fmt.Sprintf("lockchaos %s · safety curve of %s under %s · %s · seeds from %d", c.Tool.Version,
		c.data.Lock, c.data.Fault, c.data.Runtime, c.Seed))
	c.Screen.Say(fmt.Sprintf("%d values of its %s, %d runs each: %d runs, %d at once\n", len(c.Values.all),
		c.Values.What, c.Runs, runs, c.Parallel))
}

// Plans are all runs, point by point, each with a seed of its own.
func (c *Curve) Plans() (all []scenarios.Plan, err error) {
	for _, v := range c.Values.all {
		s := c.Values.Apply(c.Base, v)
		if err := Runnable(c.Tool.Catalogue(), s); err != nil {
			return nil, fmt.Errorf("%s of %v: %w", c.Values.What, v, err)
		}
		for range c.Runs {
			all = append(all, scenarios.Plan{Seed: c.Seed + uint64(len(all)), Scenario: s})
		}
	}
	return all, nil
}

// measure runs all plans, and tells each point when it and those before it are done.
func (c *Curve) measure(ctx context.Context, plans []scenarios.Plan) {
	places := make(chan struct{}, c.Parallel)
	var all sync.WaitGroup
	for i, p := range plans {
		places <- struct{}{} // so that points are measured in their order
		all.Go(func() {
			defer func() { <-places }()
			one := studies.CurvePoint{Runs: 1, Failed: 1}
			err := c.tries.Run(ctx, p, func(sc reports.Scenario, folder string) {
				h, _, err := runs.ReadHistory(folder, "")
				if err != nil || sc.Failed != "" || sc.Skipped != "" || h.Truncated {
					return
				}
				one = StruckHolds(h, c.Property)
			})
			if ctx.Err() != nil {
				return
			}
			c.add(i/c.Runs, one, err)
		})
	}
	all.Wait()
}

// add takes what one run showed at a point.
func (c *Curve) add(point int, one studies.CurvePoint, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.Screen.Say(fmt.Sprintf("a run failed: %v", err))
	}
	c.data.Points[point].Add(one)
	c.left[point]--
	for c.told < len(c.left) && c.left[c.told] == 0 {
		c.Screen.Say(fmt.Sprintf("%6.1f s  %s", time.Since(c.Began).Seconds(),
			studies.CurveLine(c.data, c.data.Points[c.told])))
		c.told++
	}
}

// write writes the curve's files.
func (c *Curve) write(dir string) error {
	return errors.Join(
		outside.Write(dir, reports.IndexFile, func(w io.Writer) error { return page.WriteCurve(w, c.data) }),
		outside.Write(dir, curveCSV, func(w io.Writer) error { return studies.WriteCurveCSV(w, c.data) }),
		outside.Write(dir, curveJSON, func(w io.Writer) error { return studies.WriteCurveJSON(w, c.data) }),
	)
}

// summarize says what came out; its error carries the exit status.
func (c *Curve) summarize(ctx context.Context, dir string) error {
	c.Screen.Say("\n" + c.data.Headline())
	c.Screen.Say(fmt.Sprintf("again: %s\nreport: %s, %s", c.data.Command, filepath.Join(dir, reports.IndexFile),
		filepath.Join(dir, curveCSV)))
	code := exit.OK
	for _, p := range c.data.Points {
		if p.Failed > 0 {
			code = exit.Worse(code, exit.Failed)
		}
		if p.Struck == 0 {
			code = exit.Worse(code, exit.Inconclusive)
		}
	}
	return exit.Ended(code, nil, ctx.Err() != nil)
}

// What can be varied.
const (
	OverDuration = "duration"
	OverOffset   = "offset"
)

// strikesPerRun is for how many strikes, one after the other, each run of a curve has time.
const strikesPerRun = 3

// Values are the values of what is varied.
type Values struct {
	// What is OverDuration or OverOffset; Text is what the user typed.
	What, Text string
	all        []time.Duration
}

// ParseValues reads "duration=0.5..3xTTL" or "offset=-250ms..2s", and spaces so many values evenly.
func ParseValues(text string, ttl time.Duration, points int) (o Values, err error) {
	what, span, named := strings.Cut(text, "=")
	low, high, two := strings.Cut(span, "..")
	if !named || !two || what != OverDuration && what != OverOffset {
		return o, fmt.Errorf("--over %q: what is varied, and from where to where, as in %s=0.5..3xTTL or %s=250ms..2s",
			text, OverDuration, OverOffset)
	}
	unit := time.Duration(0)
	for _, end := range []string{"xTTL", "×TTL", "*TTL"} {
		if cut, found := strings.CutSuffix(high, end); found {
			high, unit = cut, ttl
		}
		low = strings.TrimSuffix(low, end)
	}
	from, err := parseValue(low, unit)
	if err != nil {
		return o, fmt.Errorf("--over %q: %w", text, err)
	}
	to, err := parseValue(high, unit)
	if err != nil {
		return o, fmt.Errorf("--over %q: %w", text, err)
	}
	if from >= to || what == OverDuration && from <= 0 {
		return o, fmt.Errorf("--over %q: from something longer than 0 to something longer", text)
	}
	o = Values{What: what, Text: text}
	for i := range points {
		v := from + time.Duration(float64(to-from)*float64(i)/float64(points-1))
		v = v.Round(100 * time.Microsecond)
		if v != 0 { // an offset of nothing is no fault
			o.all = append(o.all, v)
		}
	}
	return o, nil
}

// parseValue reads a number of units, or a duration where there is no unit.
func parseValue(text string, unit time.Duration) (time.Duration, error) {
	if unit == 0 {
		d, err := time.ParseDuration(text)
		if err != nil {
			return 0, fmt.Errorf("%q is not a duration such as 500ms (or give both as numbers of TTLs: 0.5..3xTTL)",
				text)
		}
		return d, nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || v < -1e6 || v > 1e6 { // not a number fails both
		return 0, fmt.Errorf("%q is not a number of TTLs", text)
	}
	return time.Duration(v * float64(unit)), nil
}

// Apply is the scenario with a value: its fault lasts so long, or its clock
// jumps so far, and the workload has time for some strikes.
func (o Values) Apply(s scenarios.Scenario, v time.Duration) scenarios.Scenario {
	f := s.Faults[0]
	if o.What == OverDuration {
		f.For = scenarios.Duration(v)
	} else {
		f.By = scenarios.Offset(v)
	}
	s.Faults = []scenarios.Fault{f}
	round := f.For + f.Every.Max
	// who is let in by a clock that is ahead stays in for as long when it is set right
	if o.What == OverOffset {
		round += scenarios.Duration(v.Abs())
	}
	if f.Every.Max > 0 {
		s.Duration = f.After + strikesPerRun*round + s.TTL
	}
	s.Quiet, s.Enough = 0, 0 // each value has the same time
	s.Workload.AcquireTimeout = max(s.Workload.AcquireTimeout, 2*round+4*s.TTL)
	s.Workload.OpTimeout = max(s.Workload.OpTimeout, 2*f.For)
	return s
}
