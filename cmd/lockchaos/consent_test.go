package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
)

// foreign writes the folder of a run that somebody else has made, whose adapter
// leaves a file. It returns the run's folder and the plan.
func foreign(t *testing.T, command string, where ...string) (dir, plan string) {
	t.Helper()
	dir = t.TempDir()
	text, err := json.Marshal(runs.Record{Suite: "theirs", Program: "lockchaos", Where: where,
		Scenarios: []runs.ScenarioRecord{{Name: "theirs/none/unfenced", Dir: "theirs"}}})
	if err != nil {
		t.Fatal(err)
	}
	plan = filepath.Join(dir, "theirs", runs.PlanFile)
	if err := os.Mkdir(filepath.Dir(plan), 0o755); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{
		filepath.Join(dir, runs.RecordFile): string(text),
		plan: "seed: 1\nscenario:\n  {name: theirs/none/unfenced, about: x, lock: theirs, adapter: {command: \"" +
			command + "\", service: none}, ttl: 500ms, clients: 2, keys: 1,\n" +
			"    store: {kind: unfenced}, duration: 1s, needs: {grants: 20},\n" +
			"    workload: {kind: counter, guard: none, think: 5ms..20ms, rest: 5ms..30ms, acquire_timeout: 8s, op_timeout: 8s}}\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir, plan
}

// TestHostilePlans: a saved plan from elsewhere starts no command before the user has agreed to it.
func TestHostilePlans(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	marker := filepath.Join(t.TempDir(), "marker")
	dir, plan := foreign(t, "touch "+marker)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	try := func(ctx context.Context, words ...string) (code int, said string) {
		var out, errs bytes.Buffer
		code = execute(ctx, append(words, "--out", t.TempDir()), &out, &errs)
		return code, out.String() + errs.String()
	}
	for _, words := range [][]string{{"rerun", dir}, {"rerun", filepath.Dir(plan)}, {"run", "--plan", plan}} {
		words = append(words, "--runtime", "local")
		if code, said := try(t.Context(), words...); code != exit.Usage || !strings.Contains(said, "touch "+marker) ||
			!strings.Contains(said, "--yes") {
			t.Errorf("%q: exit status %d: %s", words, code, said)
		}
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("the command was started")
	}
	if code, said := try(over, "run", "--plan", plan, "--runtime", "local", "--yes"); code != exit.Failed ||
		!strings.Contains(said, "touch "+marker) {
		t.Errorf("with --yes: exit status %d: %s", code, said)
	}
	if code, said := try(over, "rerun", dir, "--runtime", "local"); code != exit.Failed || strings.Contains(said, "--yes") {
		t.Errorf("once more: exit status %d: %s", code, said)
	}
}

// TestHostileRecord: what a saved run says of where it ran is no other flag,
// and is shown where it chooses containers.
func TestHostileRecord(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("DOCKER_HOST", "unix:///nowhere")
	for _, c := range []struct {
		where []string
		want  string
	}{
		{[]string{"--yes"}, "does not say where"},
		{[]string{"--out", "/etc"}, "does not say where"},
		{[]string{"--runtime"}, "run.json: "},
		{[]string{"--runtime", "docker", "--image", "redis=evil.example/x"}, "--image redis=evil.example/x"},
	} {
		dir, _ := foreign(t, "true", c.where...)
		var out, errs bytes.Buffer
		if code := execute(t.Context(), []string{"rerun", dir}, &out, &errs); code != exit.Usage ||
			!strings.Contains(errs.String(), c.want) {
			t.Errorf("%q: exit status %d: %s%s", c.where, code, &out, &errs)
		}
	}
}
