package runs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/internal/outside"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/reports"
)

// shardRun is the run of one shard, or one repetition of it.
type shardRun struct {
	top string // the shard's folder
	sub string // that of the run inside it: "." or "seed-7"
	run *Record
	of  Shard
}

func (r shardRun) dir() string { return filepath.Join(r.top, r.sub) }

// MergeShards makes one new folder in parent of the folders of shards, and
// returns it. It has the scenarios of all shards, and no report yet. Those of a
// shard that is missing are recorded as not run.
func MergeShards(parent string, dirs []string) (string, error) {
	var first []shardRun // of every shard
	bySub := map[string][]shardRun{}
	for _, dir := range dirs {
		runs, err := runsOfShard(dir)
		if err != nil {
			return "", exit.Misuse(err)
		}
		first = append(first, runs[0])
		for _, r := range runs {
			bySub[r.sub] = append(bySub[r.sub], r)
		}
	}
	var repetitions [][]shardRun
	for _, runs := range append([][]shardRun{first}, slices.Collect(maps.Values(bySub))...) {
		if err := oneRun(runs); err != nil {
			return "", exit.Misuse(err)
		}
		repetitions = append(repetitions, runs)
	}
	repetitions = repetitions[1:]
	slices.SortFunc(repetitions, func(a, b []shardRun) int { return int(int64(a[0].run.Seed - b[0].run.Seed)) })
	dir, err := MakeFolder(parent, time.Now())
	if err != nil {
		return "", err
	}
	var all []*Record
	var folders []reports.RepeatedRun
	for _, runs := range repetitions {
		run, err := mergeRuns(filepath.Join(dir, runs[0].sub), runs)
		if err != nil {
			return "", err
		}
		all = append(all, run)
		folders = append(folders, reports.RepeatedRun{Seed: run.Seed, Dir: runs[0].sub})
	}
	return dir, describeMerged(dir, first, all, folders)
}

// runsOfShard are the run in a shard's folder, or its repetitions in the order of their seeds.
func runsOfShard(dir string) (all []shardRun, err error) {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real // the same folder under two names is one shard twice
	}
	subs := []string{"."}
	if !outside.Has(dir, RecordFile) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, fmt.Errorf("%s is no folder of a run: %w", dir, err)
		}
		subs = nil
		for _, e := range entries {
			if outside.Has(dir, filepath.Join(e.Name(), RecordFile)) {
				subs = append(subs, e.Name())
			}
		}
	}
	for _, sub := range subs {
		r := shardRun{top: dir, sub: sub}
		if r.run, err = Load(r.dir()); err != nil {
			return nil, err
		}
		if r.of, err = r.run.shard(); err != nil {
			return nil, err
		}
		if r.of.Total == 0 {
			return nil, fmt.Errorf("%s is no shard: it was run without --shard", dir)
		}
		all = append(all, r)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s is no folder of a run: it has no %s", dir, RecordFile)
	}
	slices.SortFunc(all, func(a, b shardRun) int { return int(int64(a.run.Seed - b.run.Seed)) })
	return all, nil
}

// oneRun refuses runs that are not different shards of the same, and puts them in order.
func oneRun(all []shardRun) error {
	slices.SortStableFunc(all, func(a, b shardRun) int { return a.of.Number - b.of.Number })
	for i, r := range all[1:] {
		if before := all[i]; before.of.String() == r.of.String() {
			return fmt.Errorf("%s and %s are the same shard, %s: name each shard once", before.dir(), r.dir(),
				r.run.Shard)
		}
		if err := differ(all[0], r); err != nil {
			return err
		}
	}
	return nil
}

// differ is an error that says in what two runs differ, if they are not shards of the same.
func differ(a, b shardRun) error {
	for _, c := range []struct {
		what string
		of   func(shardRun) any
		show bool
	}{
		{"suites", func(r shardRun) any { return r.run.Suite }, true},
		{"versions of lockchaos", func(r shardRun) any { return r.run.Version }, true},
		{"seeds", func(r shardRun) any { return r.run.Seed }, true},
		{"policies", func(r shardRun) any { return r.run.Policy }, false},
		{"expectations (--no-expect)", func(r shardRun) any { return r.run.NoExpect }, false},
		{"kinds of run (--repeat)", func(r shardRun) any { return r.sub }, false},
		{"scenarios or cuts", func(r shardRun) any { return r.run.Shares }, false},
		{"exams", func(r shardRun) any { return r.run.Exam }, false},
	} {
		x, y := asJSON(c.of(a)), asJSON(c.of(b))
		if x == y {
			continue
		}
		values := ""
		if c.show {
			values = fmt.Sprintf(" (%s and %s)", x, y)
		}
		return fmt.Errorf("%s and %s are shards of different %s%s: run every shard with the same command, files and "+
			"version, on machines that can do the same faults", a.dir(), b.dir(), c.what, values)
	}
	return nil
}

// asJSON is a value of a record in the form that it is saved in.
func asJSON(value any) string {
	text, _ := json.Marshal(value) // it has been read from JSON
	return string(text)
}

// mergeRuns makes the folder of a run from those of its shards.
func mergeRuns(dir string, all []shardRun) (*Record, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of a repetition: %w", err)
	}
	merged := *all[0].run
	merged.Shard, merged.Shares, merged.Scenarios = "", nil, nil
	merged.Command, merged.Parallel = wholeCommand(merged.Command, all[0].of), 0
	code := exit.OK
	byNumber := map[int]shardRun{}
	var runtimes []string
	for _, r := range all {
		byNumber[r.of.Number] = r
		runtimes = appendNew(runtimes, r.run.Runtime)
		merged.Elapsed = max(merged.Elapsed, r.run.Elapsed)
		if r.run.Started.Before(merged.Started) {
			merged.Started = r.run.Started
		}
		if r.run.Exit == nil || r.run.Interrupted { // without an exit status it was killed
			code, merged.Interrupted = exit.Failed, true
		} else {
			code = exit.Worse(code, *r.run.Exit)
		}
	}
	merged.Runtime = strings.Join(runtimes, "; ")
	for _, s := range all[0].run.Shares {
		r, there := byNumber[s.Shard]
		i := -1
		if there {
			i = slices.IndexFunc(r.run.Scenarios, func(one ScenarioRecord) bool { return one.Name == s.Name })
		}
		if i < 0 {
			merged.Scenarios = append(merged.Scenarios, s.missing(all[0].of.Total))
			code = exit.Worse(code, exit.Inconclusive)
			continue
		}
		one := r.run.Scenarios[i]
		merged.Scenarios = append(merged.Scenarios, one)
		if err := copyScenario(dir, r.dir(), one.Dir); err != nil {
			return nil, err
		}
	}
	merged.Exit = &code
	return &merged, merged.Save(dir)
}

// wholeCommand is the command of a shard without the words that choose it.
func wholeCommand(command string, s Shard) string {
	return strings.Replace(command, " "+reports.Shell(s.Words()...), "", 1)
}

// appendNew appends a text that is not there yet.
func appendNew(all []string, text string) []string {
	if slices.Contains(all, text) {
		return all
	}
	return append(all, text)
}

// missing is the record of a scenario whose shard, of so many, is missing.
func (s share) missing(total int) ScenarioRecord {
	code, why := exit.Inconclusive, fmt.Sprintf("shard %d/%d is missing", s.Shard, total)
	return ScenarioRecord{Name: s.Name, Dir: FolderOf(s.Name), Skipped: why, Reason: why, Missing: &s,
		State: StateEnded, Result: reports.Skipped.String(), Exit: &code}
}

// copyScenario copies what a scenario has left, with the tries that were put
// aside. A scenario that was never begun has left nothing.
func copyScenario(to, from, folder string) error {
	if folder == "" || folder != filepath.Base(folder) || folder[0] == '.' {
		return exit.Misuse(fmt.Errorf("%s: %q is no folder of a scenario", filepath.Join(from, RecordFile), folder))
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return fmt.Errorf("read the folder of a shard: %w", err)
	}
	for _, e := range entries {
		if !e.IsDir() || e.Name() != folder && !strings.HasPrefix(e.Name(), folder+".try") {
			continue
		}
		if err := outside.Copy(to, from, e.Name()); err != nil {
			return fmt.Errorf("copy a scenario of a shard: %w", err)
		}
	}
	return nil
}

// describeMerged writes gate.json or repeat.json, by which "report" knows a gate or a
// repetition. first are the first runs of every shard; all are the merged runs, in the folders.
func describeMerged(dir string, first []shardRun, all []*Record, folders []reports.RepeatedRun) error {
	one := all[0]
	if p := one.Policy; p != nil {
		ruling := reports.Gate{Policy: p.File, Command: one.Command, Version: one.Version, Runtime: one.Runtime,
			Seed: one.Seed, Started: one.Started, Runs: folders}
		for _, r := range all {
			ruling.Elapsed = max(ruling.Elapsed, r.Elapsed)
		}
		return outside.Write(dir, GateFile, func(w io.Writer) error {
			return reports.WriteGate(w, ruling, reports.Suite{}) // it is ruled on by the report
		})
	}
	if folders[0].Dir == "." {
		return nil
	}
	table := reports.Repetition{Suite: one.Suite, Version: one.Version, Runtime: one.Runtime,
		Started: one.Started, Runs: folders}
	var ended []string
	for _, r := range first {
		saved, err := LoadRepetition(r.top)
		if err != nil || saved == nil {
			return exit.Misuse(errors.Join(err, fmt.Errorf("%s: there is no %s", r.top, RepeatFile)))
		}
		table.Wanted, table.Elapsed = saved.Wanted, max(table.Elapsed, saved.Elapsed)
		table.Command = wholeCommand(saved.Command, r.of)
		ended = appendNew(ended, saved.Ended)
	}
	table.Ended = strings.Join(ended, " ")
	return outside.Write(dir, RepeatFile, func(w io.Writer) error {
		return reports.WriteRepetitionJSON(w, table)
	})
}
