package exhaustive

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/hosts/needed"
	"github.com/lockchaos/lockchaos/internal/hosts/sim"
	"github.com/lockchaos/lockchaos/reports"
)

// hasty prepares a search of pairs of a lock which only two faults break: few first faults, each a
// pause of client-1 before it frees its key, and one kind of second fault.
func hasty(t *testing.T, p *sim.Program, folder string) *Search {
	t.Helper()
	x := searched(t, p, folder)
	x.Faults, x.Cores = 2, 2
	sampled(t, x, 1)
	x.all = slices.DeleteFunc(x.all, func(s schedule) bool {
		return s.Host != "client-1" || s.Column != "paused into the next holder's work" || s.Place.step(s.Host) != stepReleasing ||
			s.Place.At < int64(ttl)/4 // of a grant under which it has worked
	})
	x.all, x.whole = x.all[:min(3, len(x.all))], 0
	for _, s := range x.all {
		x.whole += 1 + s.Equal
	}
	x.strikes = slices.DeleteFunc(x.strikes, func(s strike) bool {
		return s.Host != "client-1" || s.Column != "its connections reset"
	})
	if len(x.all) == 0 || len(x.strikes) == 0 {
		t.Fatal("the fault has no place")
	}
	if err := x.resume(); err != nil {
		t.Fatal(err)
	}
	return x
}

// TestPairs: a lock that stands each single fault falls by two of them, the report says that no
// single fault shows it, and a search that was cut short comes to the same from its journal.
func TestPairs(t *testing.T) {
	needed.Simulates(t)
	p, err := load("hasty")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	x := hasty(t, p, folder)
	if err := x.tryAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := counted(x); len(got) != 1 || got[reports.Stood.String()] != len(x.all) {
		t.Fatalf("single faults: %v", got)
	}
	if _, fell, err := x.FirstDefect(t.Context()); fell || err != nil {
		t.Fatalf("a defect without a second fault: %v", err)
	}
	if err := x.tryPairs(t.Context()); err != nil {
		t.Fatal(err)
	}
	c, dir, err := x.Report(t.Context())
	if err != nil || c.Pairs.Count(reports.FellDefect) == 0 || Status(c) != 1 {
		t.Fatalf("%v\n%s", err, strings.Join(c.Lines(), "\n"))
	}
	if f := c.Pairs.Falls[0]; !f.New || f.Dir == "" || f.Fate != reports.FellDefect.String() {
		t.Errorf("%+v", f)
	}
	if html, err := os.ReadFile(filepath.Join(dir, PageFile)); err != nil || !strings.Contains(string(html), "which no single fault shows") {
		t.Errorf("the page: %v", err)
	}
	plan, fell, err := x.FirstDefect(t.Context())
	if err != nil || !fell || len(plan.Scenario.Faults) != 2 {
		t.Fatalf("%v: %+v", err, plan.Scenario.Faults)
	}
	if o, err := x.tryPlan(t.Context(), 0, plan); err != nil || o.Fate != reports.FellDefect.String() {
		t.Errorf("the plan by itself: %v, %v", o, err)
	}
	if err := x.log.Close(); err != nil {
		t.Fatal(err)
	}

	again := hasty(t, p, folder)
	if len(again.done) != len(x.all) || len(again.paired) != len(x.paired) {
		t.Fatalf("%d schedules and %d batches are in the journal, of %d and %d", len(again.done), len(again.paired), len(x.all), len(x.paired))
	}
	for b := range again.paired {
		if b.Phase > 10 {
			delete(again.paired, b)
		}
	}
	err = again.tryPairs(t.Context())
	if got := again.studyPairs(nil); err != nil || !maps.Equal(got.Fates, c.Pairs.Fates) || got.Tried != c.Pairs.Tried {
		t.Errorf("resumed: %v, %v, want %v", got, err, c.Pairs)
	}
}

// TestOrderOfPairs: the first batch of each group comes first, the group that changed nothing last,
// and each batch comes once.
func TestOrderOfPairs(t *testing.T) {
	x := &Search{calm: "calm", all: make([]schedule, 6), done: map[int]outcome{}}
	for n, seen := range []string{"calm", "b", "b", "a", "calm", "calm"} {
		x.done[n] = outcome{Schedule: n, Fate: reports.Stood.String(), Seen: seen}
	}
	x.done[5] = outcome{Schedule: 5, Fate: reports.FellInherent.String(), Seen: "calm"}
	all := batchesOf(x.groups())
	if want := []batch{{3, 0}, {1, 0}, {0, 0}}; !slices.Equal(all[:3], want) {
		t.Errorf("%v", all[:3])
	}
	times := map[batch]int{}
	for _, b := range all {
		times[b]++
	}
	if len(all) != 5*phases || len(times) != len(all) {
		t.Errorf("%d batches, %d of them different", len(all), len(times))
	}
}
