package shrink

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/scenarios"
)

const ms = scenarios.Duration(time.Millisecond)

// big is a scenario with more than is needed.
func big() scenarios.Scenario {
	fault := func(kind string, d scenarios.Duration) scenarios.Fault {
		return scenarios.Fault{Kind: kind, Target: "holder", When: "random", For: d,
			Every: scenarios.Range{Min: 100 * ms, Max: 200 * ms}, After: 50 * ms}
	}
	mix := scenarios.Fault{Mix: []scenarios.Fault{fault("loss", 100*ms), fault("pause", 900*ms),
		fault("delay", 300*ms)}, Every: scenarios.Range{Min: 100 * ms, Max: 100 * ms}}
	for i := range mix.Mix {
		mix.Mix[i].Every, mix.Mix[i].After, mix.Mix[i].Weight = scenarios.Range{}, 0, 1
	}
	return scenarios.Scenario{Name: "big", TTL: 500 * ms, Clients: 40, Keys: 16, Duration: 20_000 * ms, Quiet: 1000 * ms,
		Workload: scenarios.Workload{Ask: true, Renew: true}, Store: scenarios.Store{Engine: "etcd"},
		Faults: []scenarios.Fault{fault("kill", 0), fault("partition", 400*ms), mix, fault("reset", 0), fault("throttle", 100*ms)}}
}

// pauses is the truth of these tests: two clients, a pause longer than the TTL, and time for it.
func pauses(s scenarios.Scenario) bool {
	for _, f := range s.Faults {
		for _, single := range f.Singles() {
			if single.Kind == "pause" && single.For > s.TTL && s.Duration > single.For && s.Clients >= 2 {
				return true
			}
		}
	}
	return false
}

func judging(truth func(scenarios.Scenario) bool) Judge {
	return func(_ context.Context, s scenarios.Scenario) (bool, error) { return truth(s), nil }
}

func TestReducesToWhatIsNeeded(t *testing.T) {
	before := big()
	told := 0
	r, err := Reduce(t.Context(), before, judging(pauses), Options{Progress: func(Step) { told++ }})
	if err != nil {
		t.Fatal(err)
	}
	got := smallest(r)
	if !pauses(got) || !r.Minimal {
		t.Fatalf("minimal: %v, of %+v", r.Minimal, got)
	}
	if len(got.Faults) != 1 || got.Faults[0].Kind != "pause" || len(got.Faults[0].Grant) != 1 || got.Faults[0].Weight != 0 {
		t.Errorf("faults: %+v", got.Faults)
	}
	if got.Clients != 2 || got.Keys != 1 || got.Quiet != 0 || got.Workload.Ask || got.Workload.Renew || got.Store.Engine != "" {
		t.Errorf("%+v", got)
	}
	last := r.Trail[len(r.Trail)-2]
	if d := last.Scenario.Faults[0].For; d <= 500*ms || d > 560*ms {
		t.Errorf("pause for %v", d)
	}
	if d := got.Faults[0].For; d < 600*ms || d > 700*ms || d >= got.Duration {
		t.Errorf("with a margin: %v", d)
	}
	if got.Duration <= got.Faults[0].For || got.Duration > 1100*ms {
		t.Errorf("duration %v", got.Duration)
	}
	if told != r.Tried || r.Tried > 80 {
		t.Errorf("%d told of %d tried", told, r.Tried)
	}
	if again := big(); !slices.EqualFunc(again.Faults, before.Faults, func(a, b scenarios.Fault) bool {
		return a.Label() == b.Label() && len(a.Mix) == len(b.Mix) && a.For == b.For
	}) {
		t.Error("the scenario that was given has changed")
	}
}

// What only shows with two faults at once keeps both, wherever they stand.
func TestKeepsFaultsThatNeedEachOther(t *testing.T) {
	kinds := func(s scenarios.Scenario) (all []string) {
		for _, f := range s.Faults {
			all = append(all, f.Kind)
		}
		return all
	}
	r, err := Reduce(t.Context(), big(), judging(func(s scenarios.Scenario) bool {
		return slices.Contains(kinds(s), "kill") && slices.Contains(kinds(s), "throttle")
	}), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(kinds(smallest(r)), " "); got != "kill throttle" {
		t.Error(got)
	}
}

// Without any fault that is needed none is left, and no need that one bites.
func TestFaultsMayBeSpared(t *testing.T) {
	from := big()
	from.Needs.Bites = 3
	r, err := Reduce(t.Context(), from, judging(func(scenarios.Scenario) bool { return true }), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s := smallest(r); s.Faults != nil || s.Needs.Bites != 0 || s.Clients != 1 || s.Duration != leastDuration {
		t.Errorf("%+v", s)
	}
}

// What can't be run is not judged, and nothing is judged twice.
func TestJudgesOnlyWhatItMust(t *testing.T) {
	seen := map[string]bool{}
	valid := func(s scenarios.Scenario) error {
		if s.Clients < 10 {
			return errors.New("too few")
		}
		return nil
	}
	_, err := Reduce(t.Context(), big(), func(_ context.Context, s scenarios.Scenario) (bool, error) {
		text := fmt.Sprintf("%+v", s)
		if seen[text] {
			t.Errorf("judged twice: %s", text)
		}
		seen[text] = true
		if s.Clients < 10 {
			t.Error("judged what can't be run")
		}
		return pauses(s), nil
	}, Options{Valid: valid})
	if err != nil {
		t.Fatal(err)
	}
}

// A search that is cut short has what it had found, and does not call it
// minimal; what was judged in haste does not count.
func TestEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	r, err := Reduce(ctx, big(), func(_ context.Context, s scenarios.Scenario) (bool, error) {
		if n++; n == 6 {
			cancel()
			return true, nil
		}
		return pauses(s), nil
	}, Options{})
	if err != nil || r.Minimal || n != 6 || !pauses(smallest(r)) {
		t.Errorf("%v, minimal: %v, judged %d", err, r.Minimal, n)
	}
	if r, err := Reduce(t.Context(), big(), judging(pauses), Options{Most: 3}); err != nil || r.Tried != 3 || r.Minimal {
		t.Errorf("%v, %d tried, minimal: %v", err, r.Tried, r.Minimal)
	}
	boom := errors.New("no redis")
	if _, err := Reduce(t.Context(), big(), func(context.Context, scenarios.Scenario) (bool, error) {
		return false,
			boom
	}, Options{}); !errors.Is(err, boom) {
		t.Errorf("the judge's error is lost: %v", err)
	}
}

// A second judge takes back what the first was wrong about.
func TestConfirmsTheLastThatHolds(t *testing.T) {
	trail := []Step{{What: "as it was"}, {What: "a", Scenario: scenarios.Scenario{Clients: 3}},
		{What: "b", Scenario: scenarios.Scenario{Clients: 2}}, {What: "c", Scenario: scenarios.Scenario{Clients: 1}}}
	left, err := Confirm(t.Context(), trail, judging(func(s scenarios.Scenario) bool { return s.Clients >= 3 }))
	if err != nil || len(left) != 2 || left[1].What != "a" {
		t.Errorf("%v, %v", left, err)
	}
	left, err = Confirm(t.Context(), trail, judging(func(scenarios.Scenario) bool { return false }))
	if err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
}

// smallest is the last of the trail.
func smallest(r Result) scenarios.Scenario { return r.Trail[len(r.Trail)-1].Scenario }
