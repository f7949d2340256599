package runs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/runs/exit"
)

// shardFolder makes the folder of a shard of two, which has run one of the scenarios a and b.
func shardFolder(t *testing.T, shard, scenario string, change func(*Record)) string {
	t.Helper()
	dir, passed := t.TempDir(), exit.OK
	r := &Record{Suite: "mine", Version: "1", Seed: 7, Command: "lockchaos run mine --shard " + shard, Runtime: "network of " + shard,
		Started: time.Unix(100, 0).UTC(), Elapsed: time.Second, Exit: &passed, Shard: shard,
		Shares:    []share{{Name: "x/b", Shard: 2}, {Name: "x/a", Shard: 1}},
		Scenarios: []ScenarioRecord{{Name: scenario, Dir: FolderOf(scenario), State: StateEnded, Exit: &passed}}}
	if change != nil {
		change(r)
	}
	for _, folder := range []string{FolderOf(scenario), FolderOf(scenario) + ".try1", "another"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, folder, "f"), []byte(shard), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Save(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// merged are the shards as one run.
func merged(t *testing.T, dirs ...string) (string, *Record) {
	t.Helper()
	dir, err := MergeShards(t.TempDir(), dirs)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir, r
}

// TestMergedShardsAreOneRun: it has the scenarios of all in the order of the suite, with what they
// have left. It began with the first and took as long as the longest. Its command names no shard.
func TestMergedShardsAreOneRun(t *testing.T) {
	second := shardFolder(t, "2/2", "x/b", func(r *Record) {
		violated := exit.Violated
		r.Exit, r.Elapsed, r.Started = &violated, time.Minute, r.Started.Add(-time.Hour)
	})
	dir, r := merged(t, second, shardFolder(t, "1/2", "x/a", nil))
	var names []string
	for _, s := range r.Scenarios {
		names = append(names, s.Name)
	}
	if !slices.Equal(names, []string{"x/b", "x/a"}) || *r.Exit != exit.Violated || r.Elapsed != time.Minute ||
		r.Started.Unix() != 100-3600 || r.Command != "lockchaos run mine" || r.Shard != "" || r.Interrupted {
		t.Errorf("%v: %+v, exit %d", names, r, *r.Exit)
	}
	for file, want := range map[string]string{"x.a/f": "1/2", "x.a.try1/f": "1/2", "x.b/f": "2/2"} {
		if text, err := os.ReadFile(filepath.Join(dir, file)); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v", file, text, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "another")); err == nil {
		t.Error("a folder was copied that is no scenario's")
	}
}

// TestMissingShardIsNoPass: what it would have run is named, and the whole is inconclusive. What
// was killed has failed.
func TestMissingShardIsNoPass(t *testing.T) {
	_, r := merged(t, shardFolder(t, "1/2", "x/a", nil))
	if len(r.Scenarios) != 2 || r.Scenarios[0].Skipped != "shard 2/2 is missing" || *r.Exit != exit.Inconclusive {
		t.Errorf("exit %d: %+v", *r.Exit, r.Scenarios)
	}
	_, r = merged(t, shardFolder(t, "1/2", "x/a", nil), shardFolder(t, "2/2", "x/b", func(r *Record) { r.Exit = nil }))
	if *r.Exit != exit.Failed || !r.Interrupted {
		t.Errorf("a shard was killed: exit %d, interrupted %v", *r.Exit, r.Interrupted)
	}
}

// TestMergeRefuses what are not different shards of one run, and folders outside of theirs.
func TestMergeRefuses(t *testing.T) {
	first := shardFolder(t, "1/2", "x/a", nil)
	link := filepath.Join(t.TempDir(), "same")
	if err := os.Symlink(first, link); err != nil {
		t.Fatal(err)
	}
	changed := func(change func(*Record)) string { return shardFolder(t, "2/2", "x/b", change) }
	for want, second := range map[string]string{
		"the same shard, 1/2":   link,
		"different seeds":       changed(func(r *Record) { r.Seed = 8 }),
		"different suites":      changed(func(r *Record) { r.Suite = "another" }),
		"different versions":    changed(func(r *Record) { r.Version = "2" }),
		"different scenarios":   changed(func(r *Record) { r.Shares[1].Plan = "another" }),
		"without --shard":       changed(func(r *Record) { r.Shard = "" }),
		"is no folder of a run": t.TempDir(),
		"not below the run's":   changed(func(r *Record) { r.Scenarios[0].Dir = "../x.b" }),
		"no folder of a scenario": changed(func(r *Record) {
			r.Scenarios[0].Dir = ".hidden"
		}),
	} {
		if _, err := MergeShards(t.TempDir(), []string{first, second}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
}
