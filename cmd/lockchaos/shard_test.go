package main

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/policy"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/screen"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
)

// ofLengths are plans of these lengths (s), which differ in their names.
func ofLengths(lengths []int) (plans []scenarios.Plan) {
	for i, n := range lengths {
		p := scenarios.Plan{Seed: 1}
		p.Scenario.Name = fmt.Sprintf("lock-%d/none/unfenced", i)
		p.Scenario.Duration = scenarios.Duration(time.Duration(n) * time.Second)
		plans = append(plans, p)
	}
	return plans
}

// cutInto are the parts that so many machines run, each of which cuts for itself.
func cutInto(t *testing.T, plans []scenarios.Plan, total int) (parts [][]scenarios.Plan) {
	t.Helper()
	for number := 1; number <= total; number++ {
		var s runs.Shard
		if err := s.Set(fmt.Sprintf("%d/%d", number, total)); err != nil {
			t.Fatal(err)
		}
		if err := s.Cut(plans, func(i int) time.Duration { return scenarios.LengthOf(plans[i]) }); err != nil {
			t.Fatal(err)
		}
		parts = append(parts, s.Part(plans))
	}
	return parts
}

// TestCut: every scenario is in one shard, no shard is empty, the order of the suite
// is kept, and no shard takes longer than another by more than the longest scenario.
func TestCut(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		lengths := make([]int, 1+rng.IntN(40))
		for i := range lengths {
			lengths[i] = 1 + rng.IntN(20)
		}
		plans := ofLengths(lengths)
		total := 1 + rng.IntN(len(plans))
		seen := map[string]int{}
		var loads []time.Duration
		for _, part := range cutInto(t, plans, total) {
			loads = append(loads, scenarios.LengthOfAll(part, 1))
			place := -1
			for _, p := range part {
				seen[p.Scenario.Name]++
				same := func(q scenarios.Plan) bool { return q.Scenario.Name == p.Scenario.Name }
				i := slices.IndexFunc(plans, same)
				if i <= place {
					t.Errorf("%v in %d: the order is not that of the suite", lengths, total)
				}
				place = i
			}
			if len(part) == 0 {
				t.Errorf("%v in %d: an empty shard", lengths, total)
			}
		}
		for _, p := range plans {
			if seen[p.Scenario.Name] != 1 {
				t.Errorf("%v in %d: %s is in %d shards", lengths, total, p.Scenario.Name, seen[p.Scenario.Name])
			}
		}
		longest := time.Duration(slices.Max(lengths))*time.Second + scenarios.Overhead
		if slices.Max(loads)-slices.Min(loads) > longest {
			t.Errorf("%v in %d: %v", lengths, total, loads)
		}
	}
}

// TestCutByHand: the longest first, each to the shard that has the least; of equal ones the first.
func TestCutByHand(t *testing.T) {
	var got []string
	for _, part := range cutInto(t, ofLengths([]int{5, 9, 5, 9, 1, 20}), 3) {
		var names []string
		for _, p := range part {
			names = append(names, strings.TrimSuffix(strings.TrimPrefix(p.Scenario.Name, "lock-"), "/none/unfenced"))
		}
		got = append(got, strings.Join(names, " "))
	}
	// 23 | 12 | 12, then 20 and 20 with an 8 each, then the 4 to the second.
	if want := []string{"5", "0 1 4", "2 3"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	var s runs.Shard
	if err := s.Set("1/3"); err != nil {
		t.Fatal(err)
	}
	if err := s.Cut(ofLengths([]int{1, 2}), func(int) time.Duration { return 1 }); exit.Of(err) != exit.Usage {
		t.Errorf("three shards of two scenarios: %v", err)
	}
}

func TestShardWords(t *testing.T) {
	for _, text := range []string{"0/8", "9/8", "x", "", "3", "3/", "/8", "3/8/2", "-1/8", "+3/8", "03/8",
		"3/0", "3 /8", "3/8 ", "1/99999999999999999999"} {
		var s runs.Shard
		if s.Set(text) == nil {
			t.Errorf("%q is taken for %+v", text, s)
		}
	}
	for _, text := range []string{"1/1", "3/8", "8/8"} {
		var s runs.Shard
		if err := s.Set(text); err != nil || s.String() != text {
			t.Errorf("%q: %v, %q", text, err, s.String())
		}
	}
}

// replayShard runs a shard of two scenarios, in a replayed runtime, and returns its folder.
func replayShard(t *testing.T, number, total int, change func(*runs.Run), tries ...try) string {
	t.Helper()
	c, err := ours().Choose([]string{"redis-setnx/none/unfenced", "redis-setnx-fenced/none/fenced"}, false)
	if err != nil {
		t.Fatal(err)
	}
	s := &runs.Run{Settings: runs.Settings{Tool: ours(), Words: []string{"--runtime", "local"}, Parallel: 1, Seed: 7},
		Where: &replayed{tries: tries},
		Name:  "two", Screen: screen.New(io.Discard)}
	for _, sc := range c.Scenarios {
		sc.Needs, sc.Expect = scenarios.Needs{Grants: 1}, scenarios.Expect{}
		s.Plans = append(s.Plans, scenarios.Plan{Seed: 7, Scenario: sc})
	}
	if change != nil {
		change(s)
	}
	s.Settings.Shard.Number, s.Settings.Shard.Total = number, total
	if err := s.Settings.Shard.Cut(s.Plans, func(i int) time.Duration { return scenarios.LengthOf(s.Plans[i]) }); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	s.Command = strings.Join(append([]string{"lockchaos run two"}, s.Settings.Shard.Words()...), " ")
	s.Prepare(dir, time.Now())
	s.Begin()
	s.Launch(t.Context(), make(chan struct{}, 1))()
	s.Screen.Stop()
	if _, err := s.Finish(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// ruledBy lets a policy ask for the scenarios, and warn of all that is left open.
func ruledBy(s *runs.Run) {
	s.Settings.Policy = &policy.Policy{File: "lockchaos.yaml", Inconclusive: policy.Warn, Skipped: policy.Warn}
	for _, p := range s.Plans {
		run := policy.Run{Name: p.Scenario.Name, Demand: policy.Demand{All: true}, Repetitions: 1}
		s.Settings.Policy.Runs = append(s.Settings.Policy.Runs, run)
	}
}

// rewrite changes what the record of a run says.
func rewrite(t *testing.T, dir string, change func(*runs.Record)) {
	t.Helper()
	r, err := runs.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	change(r)
	if err := r.Save(dir); err != nil {
		t.Fatal(err)
	}
}

// mergeAll runs report --merge, and returns the exit status, what was said, and the new folder.
func mergeAll(t *testing.T, dirs ...string) (code int, said, dir string) {
	t.Helper()
	parent := t.TempDir()
	var out bytes.Buffer
	code = execute(t.Context(), append([]string{"report", "--out", parent, "--merge"}, dirs...), &out, &out)
	dir, _ = filepath.EvalSymlinks(filepath.Join(parent, runs.LatestLink))
	return code, out.String(), dir
}

func TestMerge(t *testing.T) {
	one, two := replayShard(t, 1, 2, nil, tryStands), replayShard(t, 2, 2, nil, tryStands)
	gateOne, gateTwo := replayShard(t, 1, 2, ruledBy, tryStands), replayShard(t, 2, 2, ruledBy, tryStands)
	broken := replayShard(t, 2, 2, nil, tryDefect)
	gateBroken := replayShard(t, 2, 2, ruledBy, tryDefect)
	gateOpen, gateCut := replayShard(t, 1, 2, ruledBy, tryOpen), replayShard(t, 1, 2, ruledBy, tryOpen)
	rewrite(t, gateCut, func(r *runs.Record) { r.Interrupted = true })
	gateKilled := replayShard(t, 1, 2, ruledBy, tryOpen)
	rewrite(t, gateKilled, func(r *runs.Record) { r.Exit = nil })
	openOne := replayShard(t, 1, 2, nil, tryOpen)
	exam := func(s *runs.Run) { s.Exam = &reports.Exam{Lock: "redis-setnx"} }
	examOne, examTwo := replayShard(t, 1, 2, exam, tryStands), replayShard(t, 2, 2, exam, tryStands)
	for _, c := range []struct {
		name string
		dirs []string
		code int
		says string
	}{
		{"both pass", []string{two, one}, exit.OK, "2 scenarios"},
		{"one is violated", []string{one, broken}, exit.Violated, "1 did not come out as expected"},
		{"one is open", []string{openOne, two}, exit.Inconclusive, "inconclusive"},
		{"the second is missing", []string{one}, exit.Inconclusive, "shard 2/2 is missing"},
		{"the first is missing", []string{broken}, exit.Violated, "shard 1/2 is missing"},
		{"an exam", []string{examOne, examTwo}, exit.OK, "2 attacks. No defect."},
		{"an exam lacks a shard", []string{examTwo}, exit.Inconclusive, "not run: shard 1/2 is missing"},
		{"a gate is passed", []string{gateOne, gateTwo}, exit.OK, "gate PASSED: Every rule is met in 2 runs of 2 scenarios."},
		{"a gate is failed", []string{gateOne, gateBroken}, exit.Violated, "gate FAILED: mutual-exclusion"},
		{"a gate with an open run, and lenient", []string{gateOpen, gateTwo}, exit.OK, "1 run is left open"},
		{"a shard of a gate was interrupted", []string{gateCut, gateTwo}, exit.Failed, "It was interrupted"},
		{"a shard of a gate was killed", []string{gateKilled, gateTwo}, exit.Failed, "It was interrupted"},
		{"a gate lacks a shard, however lenient", []string{gateTwo}, exit.Inconclusive, "Shard 1/2 is missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, said, dir := mergeAll(t, c.dirs...)
			if code != c.code || !strings.Contains(said, c.says) {
				t.Fatalf("%d, want %d with %q:\n%s", code, c.code, c.says, said)
			}
			run, suite, err := ours().JudgeRun(dir)
			if err != nil || len(suite.Scenarios) != 2 || run.Shard != "" || run.Command != "lockchaos run two" ||
				*run.Exit != code {
				t.Errorf("%v, %+v", err, run)
			}
			for file, want := range map[string]string{runs.JunitFile: "redis-setnx-fenced/none/fenced",
				runs.SarifFile: `"lockchaos/`, reports.IndexFile: "redis-setnx.none.unfenced/report.html"} {
				text, err := os.ReadFile(filepath.Join(dir, file))
				told := strings.Contains(string(text), "is missing")
				if err != nil || !strings.Contains(string(text), want) || len(c.dirs) == 1 && !told {
					t.Errorf("%s lacks %q, or what is missing: %v", file, want, err)
				}
			}
			if again := execute(t.Context(), []string{"report", dir}, io.Discard, io.Discard); again != code {
				t.Errorf("reported again it is %d", again)
			}
			if len(c.dirs) == 2 && suite.Scenarios[0].Name != "redis-setnx/none/unfenced" {
				t.Errorf("the order is not that of the suite: %s first", suite.Scenarios[0].Name)
			}
		})
	}
}

// TestMergeRefuses: what are not different shards of the same is no run.
func TestMergeRefuses(t *testing.T) {
	one := replayShard(t, 1, 2, nil, tryStands)
	change := func(change func(*runs.Run)) string { return replayShard(t, 2, 2, change, tryStands) }
	plans := func(change func(*scenarios.Plan)) func(*runs.Run) {
		return func(s *runs.Run) { change(&s.Plans[0]) }
	}
	other := change(nil)
	rewrite(t, other, func(r *runs.Record) { r.Version = "v0.0.1" })
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(one, link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ dir, says string }{
		{replayShard(t, 1, 2, nil, tryStands), "are the same shard, 1/2"},
		{link, "are the same shard, 1/2"},
		{change(func(s *runs.Run) { s.Name = "three" }), `shards of different suites ("two" and "three")`},
		{change(func(s *runs.Run) { s.Plans[0].Seed, s.Plans[1].Seed = 8, 8 }), "shards of different seeds (7 and 8)"},
		{change(ruledBy), "shards of different policies"},
		{other, "shards of different versions of lockchaos"},
		{change(func(s *runs.Run) { s.Settings.NoExpect = true }), "shards of different expectations"},
		{change(func(s *runs.Run) { s.Exam = &reports.Exam{Lock: "redis-setnx"} }), "shards of different exams"},
		{change(plans(func(p *scenarios.Plan) { p.Scenario.Duration++ })), "shards of different scenarios"},
		{replayShard(t, 1, 1, nil, tryStands), "shards of different scenarios"},
		{replayShard(t, 0, 0, nil, tryStands), "is no shard: it was run without --shard"},
		{t.TempDir(), "is no folder of a run"},
	} {
		if code, said, dir := mergeAll(t, one, c.dir); code != exit.Usage || !strings.Contains(said, c.says) || dir != "" {
			t.Errorf("%d, want %q and nothing written:\n%s", code, c.says, said)
		}
	}
	folder := change(plans(func(p *scenarios.Plan) { p.Scenario.Adapter.Dir = "elsewhere" }))
	if code, said, _ := mergeAll(t, one, folder); code != exit.OK {
		t.Errorf("another folder of an adapter: %d\n%s", code, said)
	}
}
