package exhaustive

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/harness/simulated"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
	"github.com/lockchaos/lockchaos/reports/studies"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Pairs of faults are too many to be tried all: a second fault has as many places as the first one.
// So they are tried in an order, in batches. The first faults that the lock stood are grouped by
// what they changed for the clients: each of a group may well come to the same, and of most groups
// one is tried soon. What a first fault changed gives the places of the second one, at its time and
// after it. A batch is each phases-th of the schedules behind one first fault.

// phases is in how many batches the schedules behind a first fault are tried.
const phases = 61

// batch is a share of the second faults behind a first one.
type batch struct {
	First int `json:"first"` // the schedule of the first fault
	Phase int `json:"phase"`
}

// batchDone is what a batch came to.
type batchDone struct {
	batch
	Tried int            `json:"tried"`
	Equal int            `json:"equal"`
	Fates map[string]int `json:"fates"`
	Falls []pairFall     `json:"falls,omitempty"`
}

// pairFall is a pair that did not stand, by its second fault.
type pairFall struct {
	outcome        // Schedule counts those behind the first fault
	Host    string `json:"host"`
	Column  string `json:"fault"`
	At      int64  `json:"at_ns"`
	Step    string `json:"step"`
}

// outcomesHash is a hash of what the clients saw: each call of theirs, and how it ended, without
// times.
func outcomesHash(h *history.History) string {
	var text bytes.Buffer
	for _, o := range history.NewView(h).Ops {
		fmt.Fprintln(&text, o.Client, o.Kind, o.Outcome)
	}
	return fmt.Sprintf("%x", sha256.Sum256(text.Bytes()))[:16]
}

// groups are the first faults that the lock stood, by what they changed for the clients: the
// smallest group first, and last that of faults which changed nothing.
func (x *Search) groups() (all [][]int) {
	by := map[string][]int{}
	for n := range x.all {
		if o, tried := x.done[n]; tried && o.Fate == reports.Stood.String() {
			by[o.Seen] = append(by[o.Seen], n)
		}
	}
	for _, g := range by {
		all = append(all, g)
	}
	rank := func(g []int) int {
		if x.done[g[0]].Seen == x.calm {
			return len(x.all)
		}
		return len(g)
	}
	slices.SortFunc(all, func(a, b []int) int { return cmp.Or(rank(a)-rank(b), a[0]-b[0]) })
	return all
}

// batchesOf are all of these groups in the order in which they are tried: the first phase of the
// first fault of each group, then the next ones of a group and the next phases of those.
func batchesOf(groups [][]int) (all []batch) {
	most := 0
	for _, g := range groups {
		most = max(most, len(g))
	}
	for round := range most + phases {
		for _, g := range groups {
			for phase := max(0, round-len(g)+1); phase <= min(round, phases-1); phase++ {
				all = append(all, batch{g[round-phase], phase})
			}
		}
	}
	return all
}

// tryPairs tries batches on all cores until the time is over.
func (x *Search) tryPairs(ctx context.Context) error {
	groups := x.groups()
	all := batchesOf(groups)
	x.Say(fmt.Sprintf("pairs: a second fault behind each of %s first ones that it stood; they changed what clients see in %s",
		phrase.Grouped(len(all)/phases), phrase.Plural(len(groups), "way")))
	next := 0
	return x.onCores(ctx, func(ctx context.Context) (more bool, err error) {
		x.tell.Lock()
		for next < len(all) && x.paired[all[next]].Fates != nil {
			next++
		}
		if next >= len(all) {
			x.tell.Unlock()
			return false, nil
		}
		b := all[next]
		next++
		x.tell.Unlock()
		return true, x.tryBatch(ctx, b)
	})
}

// tryBatch tries a batch, and notes what it came to. One that is cut short is not noted.
func (x *Search) tryBatch(ctx context.Context, b batch) error {
	behind, err := x.secondSchedules(ctx, b.First)
	if err != nil {
		return err
	}
	done := batchDone{batch: b, Fates: map[string]int{}}
	for n := b.Phase; n < len(behind); n += phases {
		s := behind[n]
		o, err := x.tryPlan(ctx, n, x.planOf(x.all[b.First], s))
		if err != nil {
			return err
		}
		done.Tried++
		done.Equal += s.Equal
		done.Fates[o.Fate]++
		if o.Fate != reports.Stood.String() {
			done.Falls = append(done.Falls, pairFall{o, s.Host, s.Column, s.Place.At, s.Place.step(s.Host)})
		}
	}
	x.tell.Lock()
	defer x.tell.Unlock()
	x.paired[b] = done
	if x.due() {
		x.Say(fmt.Sprintf("%6.1f s  %s pairs are tried, of about %s", time.Since(x.began).Seconds(),
			phrase.Grouped(x.pairs()), phrase.Grouped(x.about(x.groups()))))
	}
	return x.log.add(done)
}

// secondSchedules are the schedules of a second fault behind a first one: at the places of the run
// which that disturbs.
func (x *Search) secondSchedules(ctx context.Context, first int) ([]schedule, error) {
	plan := x.planOf(x.all[first])
	var places []simulated.Place
	h, err := x.run(ctx, plan, x.collect(&places, x.all[first].Place.At))
	if err != nil {
		return nil, err
	}
	all, _ := schedulesOf(stepsOf(places, h, x.Examinee.Base.TTL.Std()), x.strikes, x.Unreduced, false)
	return all, nil
}

// pairs is how many were tried.
func (x *Search) pairs() (n int) {
	for _, d := range x.paired {
		n += d.Tried
	}
	return n
}

// about is how many pairs there are with these first faults, if one changes nothing of the places
// behind it.
func (x *Search) about(groups [][]int) (n int) {
	var at []int64
	for _, s := range x.all {
		if s.Order == nil { // a second fault leaves the order as it is
			at = append(at, s.Place.At)
		}
	}
	slices.Sort(at)
	for _, g := range groups {
		for _, first := range g {
			before, _ := slices.BinarySearch(at, x.all[first].Place.At)
			n += len(at) - before
		}
	}
	return n
}

// batchesDone are those that were tried, in the order of their first faults.
func (x *Search) batchesDone() []batchDone {
	return slices.SortedFunc(maps.Values(x.paired), func(a, b batchDone) int {
		return cmp.Or(a.First-b.First, a.Phase-b.Phase)
	})
}

// recallPair takes over what a line of the journal tells of a batch.
func (x *Search) recallPair(line []byte) {
	var d batchDone
	if json.Unmarshal(line, &d) == nil && d.Fates != nil && d.First >= 0 && d.First < len(x.all) && d.Phase >= 0 && d.Phase < phases {
		x.paired[d.batch] = d
	}
}

// pairPlan is the plan of a pair.
func (x *Search) pairPlan(ctx context.Context, first, second int) (scenarios.Plan, error) {
	behind, err := x.secondSchedules(ctx, first)
	if err != nil {
		return scenarios.Plan{}, err
	}
	if second < 0 || second >= len(behind) { // a journal that somebody else wrote
		return scenarios.Plan{}, fmt.Errorf("there is no schedule %d behind schedule %d", second, first)
	}
	return x.planOf(x.all[first], behind[second]), nil
}

// studyPairs is what pairs came to, as a report tells it: ways to fall that no single fault shows
// come first among those of a fate.
func (x *Search) studyPairs(single []studies.Fall) *studies.Pairs {
	known := map[[2]string]bool{}
	for _, f := range single {
		known[[2]string{f.Fate, kindOfFall(f.What)}] = true
	}
	groups := x.groups()
	p := &studies.Pairs{Ways: len(groups), About: x.about(groups), Tried: x.pairs(), Fates: map[string]int{}}
	for _, g := range groups {
		p.Firsts += len(g)
	}
	falls := map[[2]string]int{}
	for _, d := range x.batchesDone() {
		p.Equal += d.Equal
		for fate, n := range d.Fates {
			p.Fates[fate] += n
		}
		first := x.all[d.First]
		for _, f := range d.Falls {
			key := [2]string{f.Fate, kindOfFall(f.What)}
			if _, there := falls[key]; !there {
				falls[key] = len(p.Falls)
				p.Falls = append(p.Falls, studies.PairFall{Fate: f.Fate, What: f.What, New: !known[key],
					Schedules: [2]int{d.First, f.Schedule},
					First:     first.mark(),
					Second:    studies.Mark{At: f.At, Host: f.Host, Fault: f.Column, Step: f.Step}})
			}
			p.Falls[falls[key]].Count++
		}
	}
	rank := func(f studies.PairFall) int {
		if f.New {
			return 2 * rankOf(f.Fate)
		}
		return 2*rankOf(f.Fate) + 1
	}
	slices.SortStableFunc(p.Falls, func(a, b studies.PairFall) int { return rank(a) - rank(b) })
	return p
}

// tryPlan runs the plan of a schedule. If the lock's program ends, or answers no more, that is what
// the schedule came to. A run during which the time is over came to nothing.
func (x *Search) tryPlan(ctx context.Context, n int, plan scenarios.Plan) (outcome, error) {
	h, err := x.run(ctx, plan, nil)
	if ctx.Err() != nil { // the run was cut short: it shows nothing
		return outcome{}, context.Cause(ctx)
	}
	if broken, is := errors.AsType[*simulated.BrokenProgramError](err); is {
		return outcome{Schedule: n, Fate: reports.NotRun.String(), What: broken.Error()}, nil
	}
	if err != nil {
		return outcome{}, fmt.Errorf("schedule %d: %w", n, err)
	}
	return outcomeOf(n, plan.Scenario, outcomesHash(h), runs.Assess(h, plan.Scenario)), nil
}
