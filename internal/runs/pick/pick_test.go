package pick

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/broken"
	"github.com/lockchaos/lockchaos/clients/redis"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/scenarios"
)

// suite has three scenarios: of two locks, without a fault, with one, and with two at once.
const suite = `suite: mine
defaults:
  ttl: 500ms
  clients: 2
  keys: 1
  duration: 4s
  enough: 2
  workload: {kind: counter, guard: none, think: 5ms..20ms, rest: 5ms..30ms, acquire_timeout: 8s, op_timeout: 8s}
scenarios:
  - {name: mine/calm, lock: redis-setnx, store: {kind: unfenced}}
  - name: mine/paused
    lock: redis-setnx
    store: {kind: unfenced}
    faults: [{kind: pause, target: holder, when: after-grant, for: 1s, every: 1s..2s}]
  - name: mine/both
    lock: broken-del
    store: {kind: unfenced}
    faults:
      - target: holder
        when: after-grant
        for: 1s
        every: 1s..2s
        together: [{kind: pause}, {kind: partition, peers: service}]
`

// request asks for a suite in a file.
func request(t *testing.T) Request {
	t.Helper()
	file := filepath.Join(t.TempDir(), "mine.yaml")
	if err := os.WriteFile(file, []byte(suite), 0o600); err != nil {
		t.Fatal(err)
	}
	r := Request{Names: []string{file}, Say: func(string) {}}
	r.Tool, r.Seed = runs.NewTool("1", "lockchaos", []clients.Kind{redis.Setnx, redis.Fair, broken.Del}), 7
	return r
}

// names are the names of plans.
func names(plans []scenarios.Plan) (all []string) {
	for _, p := range plans {
		all = append(all, p.Scenario.Name)
	}
	return all
}

func TestSelection(t *testing.T) {
	for words, want := range map[string][]string{
		"":                                      {"mine/calm", "mine/paused", "mine/both"},
		"--lock redis-setnx":                    {"mine/calm", "mine/paused"},
		"--fault none":                          {"mine/calm"},
		"--fault pause":                         {"mine/paused", "mine/both"},
		"--fault partition":                     {"mine/both"},
		"--fault none,partition":                {"mine/calm", "mine/both"},
		"--lock broken-del --fault pause":       {"mine/both"},
		"--lock broken-del,redis-fair":          {"mine/both"},
		"--lock redis-setnx --fault none":       {"mine/calm"},
		"--lock redis-setnx --fault clock-jump": nil,
	} {
		r := request(t)
		fields := strings.Fields(words)
		for i := 0; i < len(fields); i += 2 {
			list := strings.Split(fields[i+1], ",")
			if fields[i] == "--lock" {
				r.Only.Locks = list
			} else {
				r.Only.Faults = list
			}
		}
		if got := strings.Join(r.Only.Words(), " "); got != words {
			t.Errorf("%q is said again as %q", words, got)
		}
		if err := r.Only.Check(r.Tool.Catalogue()); err != nil {
			t.Errorf("%q: %v", words, err)
		}
		got, err := r.Plans(t.Context())
		if (err != nil) != (want == nil) || err != nil && !strings.Contains(err.Error(), "none of 3 scenarios is left by "+words) {
			t.Errorf("%q: %v", words, err)
		}
		if !slices.Equal(names(got.Plans), want) {
			t.Errorf("%q leaves %v, want %v", words, names(got.Plans), want)
		}
	}
	known := request(t).Tool.Catalogue()
	for want, s := range map[string]Selection{`no lock named "redis-setn" (did you mean "redis-setnx"?`: {Locks: []string{"redis-setn"}},
		`no fault named "pauze"`: {Faults: []string{"pauze"}}} {
		if err := s.Check(known); err == nil || !strings.Contains(err.Error(), strings.TrimSuffix(want, ` (did you mean "redis-setnx"?`)) {
			t.Errorf("want %q: %v", want, err)
		}
	}
}

// TestPlans: they have the seed, and another seed changes nothing else. A length that is asked for
// is whole: no scenario ends early.
func TestPlans(t *testing.T) {
	r := request(t)
	r.Duration = time.Minute
	got, err := r.Plans(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range got.Plans {
		if p.Seed != 7 || p.Scenario.Duration.Std() != time.Minute || p.Scenario.Enough != 0 {
			t.Errorf("%s: seed %d, %v, enough %v", p.Scenario.Name, p.Seed, p.Scenario.Duration, p.Scenario.Enough)
		}
	}
	again, err := got.Draw(8)
	if err != nil || !slices.Equal(names(again), names(got.Plans)) || again[0].Seed != 8 || got.Plans[0].Seed != 7 {
		t.Errorf("with another seed: %v, %v", names(again), err)
	}
}

// TestLastFailed: of what failed last, what is named and selected is run again, with this seed.
func TestLastFailed(t *testing.T) {
	r := request(t)
	all, err := r.Plans(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r.Last, r.Seed = &runs.FailedRun{Dir: "runs/x", Run: &runs.Record{}, Plans: all.Plans[1:]}, 9
	for _, c := range []struct {
		names []string
		only  Selection
		want  []string
	}{
		{nil, Selection{}, []string{"mine/paused", "mine/both"}},
		{r.Names, Selection{Locks: []string{"redis-setnx"}}, []string{"mine/paused"}},
		{nil, Selection{Faults: []string{NoFault}}, nil},
		{[]string{Random}, Selection{}, nil}, // none of them was drawn
	} {
		r.Names, r.Only = c.names, c.only
		got, err := r.Plans(t.Context())
		if !slices.Equal(names(got.Plans), c.want) || (err == nil) != (c.want != nil) {
			t.Errorf("%v, %v: %v, %v", c.names, c.only, names(got.Plans), err)
		}
		if err == nil && got.Plans[0].Seed != 9 {
			t.Errorf("seed %d", got.Plans[0].Seed)
		}
	}
}

// TestChosenLocks: each once, in the order in which they are named; without names all but the
// controls.
func TestChosenLocks(t *testing.T) {
	r := request(t)
	for words, want := range map[string]string{"": "redis-setnx redis-fair", AllLocks: "redis-setnx redis-fair",
		"broken-del redis-fair broken-del": "broken-del redis-fair"} {
		r.Locks = strings.Fields(words)
		got, err := r.chosenLocks()
		var chosen []string
		for _, k := range got {
			chosen = append(chosen, k.Name)
		}
		if err != nil || strings.Join(chosen, " ") != want {
			t.Errorf("%q: %v, %v", words, chosen, err)
		}
	}
	r.Locks = []string{"redis-fare"}
	if _, err := r.chosenLocks(); err == nil || !strings.Contains(err.Error(), "redis-fair") {
		t.Errorf("%v", err)
	}
	if r.Names = []string{Random}; !r.Random() {
		t.Error("the suite random is not drawn")
	}
	if r.Names = []string{Random, "quick"}; r.Random() {
		t.Error("the suite random is drawn beside another")
	}
}
