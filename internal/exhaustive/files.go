package exhaustive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/hosts/sim"
	"github.com/lockchaos/lockchaos/internal/lazyregexp"
	"github.com/lockchaos/lockchaos/internal/outside"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/screen"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/page"
	"github.com/lockchaos/lockchaos/reports/studies"
	"github.com/lockchaos/lockchaos/scenarios"
)

// The files of a complete search, in the folder of its run.
const (
	PageFile = "complete.html"
	JSONFile = "complete.json"
)

// mostShown bounds the schedules that get a page of their own: the first of each way to fall.
const mostShown = 12

// Report writes the run's folder and says what came out.
func (x *Search) Report(ctx context.Context) (c studies.Complete, dir string, err error) {
	c = x.study()
	if dir, err = x.show(context.WithoutCancel(ctx), &c); err != nil {
		return c, dir, err
	}
	return c, dir, errors.Join(
		outside.Write(dir, PageFile, func(w io.Writer) error { return page.WriteComplete(w, c) }),
		outside.Write(dir, JSONFile, func(w io.Writer) error { return studies.WriteCompleteJSON(w, c) }))
}

// Status is the exit status of an exam with these outcomes. That pairs are left, or did not strike,
// changes nothing: there are always too many.
func Status(c studies.Complete) int {
	switch {
	case c.Count(reports.FellDefect)+c.Pairs.Count(reports.FellDefect) > 0:
		return exit.Violated
	case c.Count(reports.NotRun)+c.Pairs.Count(reports.NotRun) > 0:
		return exit.Failed
	case c.Left() > 0 || c.Count(reports.FellUnclear)+c.Count(reports.NothingFollows)+c.Pairs.Count(reports.FellUnclear) > 0:
		return exit.Inconclusive
	}
	return exit.OK
}

// FirstDefect is the plan of the first schedule that shows a certain defect, with one fault if one
// is enough; false: none does.
func (x *Search) FirstDefect(ctx context.Context) (plan scenarios.Plan, fell bool, err error) {
	for _, o := range x.outcomes() {
		if o.Fate == reports.FellDefect.String() {
			return x.planOf(x.all[o.Schedule]), true, nil
		}
	}
	for _, d := range x.batchesDone() {
		for _, f := range d.Falls {
			if f.Fate == reports.FellDefect.String() {
				plan, err = x.pairPlan(ctx, d.First, f.Schedule)
				return plan, err == nil, err
			}
		}
	}
	return plan, false, nil
}

// study is what came out, as a report tells it.
func (x *Search) study() studies.Complete {
	s := x.plan.Scenario
	c := studies.Complete{Lock: x.Examinee.Base.Lock, Service: x.Lock.Service, Program: x.Program.Hash,
		Version: x.Settings.Tool.Version, Command: x.Command,
		Started: x.began.UTC().Truncate(time.Second), Elapsed: time.Since(x.began), Seed: x.Seed, TTL: s.TTL.Std(),
		Clients: s.Clients, Keys: s.Keys, Length: time.Duration(x.places[len(x.places)-1].At), Places: x.instants(),
		Faults: len(x.strikes), Schedules: x.whole, Tried: len(x.done), Steps: steps, Spans: x.spans()}
	for column, why := range x.lacking {
		c.Lacking = append(c.Lacking, studies.Lacking{Fault: column, Why: why})
	}
	slices.SortFunc(c.Lacking, func(a, b studies.Lacking) int { return cmp.Compare(a.Fault, b.Fault) })
	cells, rows := map[string]int{}, x.strikes // the row of each fault
	if len(x.all) > 0 && x.all[0].Column == anotherOrder {
		rows = slices.Insert(slices.Clone(rows), 0, x.all[0].strike)
	}
	for _, f := range rows {
		if _, there := cells[f.Column]; !there {
			cells[f.Column] = len(c.Rows)
			c.Rows = append(c.Rows, studies.CompleteRow{Fault: f.Column, Cells: make([]studies.CompleteCell, len(steps))})
		}
	}
	falls := map[[2]string]int{}
	for n, sch := range x.all {
		c.Equal += sch.Equal
		if sch.Order != nil {
			c.Reordered++
		}
		step := sch.Place.step(sch.Host)
		cell := &c.Rows[cells[sch.Column]].Cells[slices.Index(steps, step)]
		cell.Equal += sch.Equal
		o, tried := x.done[n]
		if !tried {
			cell.Left++
			continue
		}
		cell.Tried++
		if cell.Fates == nil {
			cell.Fates = map[string]int{}
		}
		cell.Fates[o.Fate]++
		if o.Fate == reports.Stood.String() {
			continue
		}
		key := [2]string{o.Fate, kindOfFall(o.What)}
		if _, there := falls[key]; !there {
			falls[key] = len(c.Falls)
			c.Falls = append(c.Falls, studies.Fall{Fate: o.Fate, What: o.What})
		}
		f := &c.Falls[falls[key]]
		f.Marks = append(f.Marks, sch.mark())
	}
	if x.Faults > 1 && c.Left() == 0 {
		c.Pairs = x.studyPairs(c.Falls)
	}
	x.reasons(&c)
	slices.SortStableFunc(c.Falls, func(a, b studies.Fall) int { return rankOf(a.Fate) - rankOf(b.Fate) })
	return c
}

// digits are what differs between falls of one kind: numbers of clients and grants, and times.
var digits = lazyregexp.New(`[0-9][0-9.,]*`)

// kindOfFall is what a fall is told by, without what is only this schedule's.
func kindOfFall(what string) string {
	return digits().ReplaceAllString(what, "…")
}

// rankOf is the place of a fate among all, the worst first.
func rankOf(fate string) int {
	for f := reports.FellDefect; f < reports.Stood; f++ {
		if f.String() == fate {
			return int(f)
		}
	}
	return int(reports.Stood)
}

// instants is at how many instants there is a place.
func (x *Search) instants() (n int) {
	for i, p := range x.places {
		if i == 0 || x.places[i-1].At != p.At {
			n++
		}
	}
	return n
}

// spans are the steps of the clients, each until the next one begins.
func (x *Search) spans() (all []studies.StepSpan) {
	last := map[string]int{}
	for _, p := range x.places {
		for i := range x.plan.Scenario.Clients {
			host := fmt.Sprintf("client-%d", i+1)
			at, begun := last[host]
			if begun && all[at].Step == p.Doing[host].step {
				all[at].To = p.At
				continue
			}
			if begun {
				all[at].To = p.At
			}
			last[host] = len(all)
			all = append(all, studies.StepSpan{Host: host, Step: p.Doing[host].step, From: p.At, To: p.At})
		}
	}
	return all
}

// reasons say of each empty cell why nothing was tried there.
func (x *Search) reasons(c *studies.Complete) {
	reached := map[string]bool{}
	for _, p := range x.places {
		for _, d := range p.Doing {
			reached[d.step] = true
		}
	}
	for i := range c.Rows {
		for j := range c.Rows[i].Cells {
			cell := &c.Rows[i].Cells[j]
			if cell.Tried == 0 {
				cell.Why = x.whyEmpty(c.Rows[i].Fault, steps[j], cell.Left, reached[steps[j]])
			}
		}
	}
}

// whyEmpty is the reason of one cell.
func (x *Search) whyEmpty(column, step string, left int, reached bool) string {
	switch {
	case left > 0:
		return "there was no time for it"
	case !reached:
		return "no client comes to this step"
	}
	for _, f := range x.strikes {
		if f.Column == column && f.Lacks != "" && slices.ContainsFunc(x.places, func(p place) bool {
			return f.Notices(p) && p.step(f.Host) == step
		}) {
			return f.Lacks
		}
	}
	if column == anotherOrder {
		return "no two events of one instant change something at this step"
	}
	return "nothing happens at this step that it could change: it strikes before the next"
}

// show simulates the undisturbed run, and the first schedule of each way to fall, once more, into a
// folder with their pages.
func (x *Search) show(ctx context.Context, c *studies.Complete) (dir string, err error) {
	plans := []scenarios.Plan{x.plan}
	for i := range c.Falls {
		if len(plans) > mostShown {
			break
		}
		m := c.Falls[i].Marks[0]
		n := slices.IndexFunc(x.all, func(s schedule) bool {
			return s.Host == m.Host && s.Column == m.Fault && s.Place.At == m.At && slices.Equal(s.Order, m.Order)
		})
		plan := x.planOf(x.all[n])
		plan.Scenario.Name += fmt.Sprintf("/fall-%d", i+1)
		plan.Scenario.About = m.String()
		plans = append(plans, plan)
		c.Falls[i].Dir = runs.FolderOf(plan.Scenario.Name)
	}
	for i := range c.Pairs.Each() {
		if len(plans) > 2*mostShown {
			break
		}
		f := &c.Pairs.Falls[i]
		plan, err := x.pairPlan(ctx, f.Schedules[0], f.Schedules[1])
		if err != nil {
			return "", err
		}
		plan.Scenario.Name += fmt.Sprintf("/pair-%d", i+1)
		plan.Scenario.About = f.First.String() + ", then " + f.Second.String()
		plans = append(plans, plan)
		f.Dir = runs.FolderOf(plan.Scenario.Name)
	}
	settings := x.Settings
	settings.Parallel, settings.Retries = max(1, x.Cores), 0
	run := &runs.Run{Settings: settings, Name: "every place", About: "each fault at each place of the smallest application", Command: x.Command,
		Plans: plans, Screen: screen.New(io.Discard), Where: &runs.Simulated{
			Locks: func(*scenarios.Scenario) (clients.Kind, error) { return x.Lock, nil }, Start: x.Start,
			Program: func(context.Context, *scenarios.Scenario) (*sim.Program, error) { return x.Program, nil }}}
	_, unwritten, err := run.Through(ctx)
	return run.Dir, errors.Join(err, unwritten)
}
