package main

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lockchaos/lockchaos/internal/experiments"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/reports"
)

const (
	secret     = "the secret of another folder"
	setnx      = "redis-setnx.none.unfenced"
	endsWithin = time.Minute // what waits for a pipe never ends
)

// trap is a folder of a run in which something leads out of it, or never ends.
type trap struct {
	name string
	set  func(t *testing.T, dir, victim string)
	// mend: the commands end well, since what is in their way is replaced.
	mend bool
}

// must is for steps of a test that are no part of what it shows.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// linked puts a link in the place of a file in the run's folder. It leads to a
// file of the victim, unless its path is absolute.
func linked(name, target string) func(*testing.T, string, string) {
	return func(t *testing.T, dir, victim string) {
		to := target
		if !filepath.IsAbs(to) {
			to = filepath.Join(victim, to)
		}
		must(t, os.RemoveAll(filepath.Join(dir, name)))
		must(t, os.Symlink(to, filepath.Join(dir, name)))
	}
}

// piped puts a pipe in the place of a file in the run's folder, or beside its files.
func piped(name string) func(*testing.T, string, string) {
	return func(t *testing.T, dir, _ string) {
		must(t, os.RemoveAll(filepath.Join(dir, name)))
		must(t, unix.Mkfifo(filepath.Join(dir, name), 0o600))
	}
}

// redirected changes the folder of the first scenario in the run's record.
func redirected(to string) func(*testing.T, string, string) {
	return func(t *testing.T, dir, _ string) {
		rewrite(t, dir, func(r *runs.Record) { r.Scenarios[0].Dir = to })
	}
}

// repetition makes the folder one of a run that was repeated, whose only run is the victim.
func repetition(t *testing.T, dir, _ string) {
	must(t, reports.WriteFile(filepath.Join(dir, runs.RepeatFile), func(w io.Writer) error {
		return json.NewEncoder(w).Encode(map[string]any{"runs": []map[string]any{{"dir": "../victim", "seed": 1}}})
	}))
}

var traps = []trap{
	{name: "a scenario's folder is elsewhere", set: redirected("../victim")},
	{name: "a scenario's folder is a long way elsewhere", set: redirected("x/../../victim")},
	{name: "a scenario's folder is absolute", set: redirected("/tmp")},
	{name: "a scenario's folder is a link", set: linked(setnx, ".")},
	{name: "the plan is a link", set: linked(setnx+"/"+runs.PlanFile, "text")},
	{name: "the history is a link", set: linked(setnx+"/"+runs.HistoryFile, "text")},
	{name: "the history is endless", set: linked(setnx+"/"+runs.HistoryFile, "/dev/zero")},
	{name: "the record is endless", set: linked(runs.RecordFile, "/dev/zero")},
	{name: "the plan is a pipe", set: piped(setnx + "/" + runs.PlanFile)},
	{name: "the history is a pipe", set: piped(setnx + "/" + runs.HistoryFile)},
	{name: "the record is a pipe", set: piped(runs.RecordFile)},
	{name: "the record of repetitions is a pipe", set: piped(runs.RepeatFile), mend: true},
	{name: "the ruling is a pipe", set: piped(runs.GateFile)},
	{name: "a repetition is elsewhere", set: repetition},
	{name: "the verdict is a link", set: linked(setnx+"/"+runs.VerdictFile, "text"), mend: true},
	{name: "the page is a link", set: linked(setnx+"/"+runs.ReportFile, "text"), mend: true},
	{name: "the first page is a link", set: linked(reports.IndexFile, "text"), mend: true},
	{name: "the page's other name is a link", set: linked("."+reports.IndexFile+".next", "text"), mend: true},
	{name: "the comparison is a link", set: linked(experiments.CompareFile, "text"), mend: true},
	{name: "junit.xml is a link", set: linked(runs.JunitFile, "text"), mend: true},
	{name: "the page is a pipe", set: piped(setnx + "/" + runs.ReportFile), mend: true},
}

// TestHostileFolders: whatever a folder of a run holds, commands that read it
// end, tell nothing of what lies elsewhere, and change nothing there.
func TestHostileFolders(t *testing.T) {
	for _, trap := range traps {
		t.Run(trap.name, func(t *testing.T) {
			parent := t.TempDir()
			dir, victim := filepath.Join(parent, "run"), filepath.Join(parent, "victim")
			must(t, os.Rename(replayShard(t, 1, 1, nil, tryStands, tryStands), dir))
			must(t, os.Mkdir(victim, 0o755))
			must(t, os.WriteFile(filepath.Join(victim, "text"), []byte(secret), 0o644))
			trap.set(t, dir, victim)
			for _, args := range [][]string{{"report", dir}, {"report", "--merge", "--out", filepath.Join(parent, "merged"), dir},
				{"report", "--compare", dir, dir}, {"run", "quick", "--dry-run", "--only-changed-since", dir}, {"trend", parent}} {
				code := endsSoon(t, args)
				if code == exit.OK && !trap.mend && args[0] == "report" && args[1] == dir {
					t.Errorf("%q: nothing was wrong", args)
				}
				if code != exit.OK && trap.mend && args[0] == "report" && args[1] == dir {
					t.Errorf("%q: %d", args, code)
				}
			}
			unharmed(t, parent, victim)
		})
	}
}

// endsSoon runs a command that may wait for what never comes.
func endsSoon(t *testing.T, args []string) int {
	t.Helper()
	var out bytes.Buffer
	done := make(chan int, 1)
	go func() { done <- execute(t.Context(), args, &out, &out) }()
	select {
	case code := <-done:
		if strings.Contains(out.String(), secret) {
			t.Errorf("%q tells the secret:\n%s", args, out.String())
		}
		return code
	case <-time.After(endsWithin):
		t.Fatalf("%q has not ended", args)
		return 0
	}
}

// unharmed checks that nothing of the victim has changed, and that its text is nowhere else.
func unharmed(t *testing.T, parent, victim string) {
	t.Helper()
	must(t, filepath.WalkDir(parent, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if told := bytes.Contains(text, []byte(secret)); told != strings.HasPrefix(path, victim) {
			t.Errorf("%s: the secret is there: %v", path, told)
		}
		return err
	}))
	left, err := os.ReadDir(victim)
	if err != nil || len(left) != 1 {
		t.Errorf("there are %v in the other folder: %v", left, err)
	}
}

// TestHostileShards: what is no file and no folder is not copied from a shard.
func TestHostileShards(t *testing.T) {
	parent := t.TempDir()
	must(t, os.WriteFile(filepath.Join(parent, "text"), []byte(secret), 0o644))
	one, two := replayShard(t, 1, 2, nil, tryStands), replayShard(t, 2, 2, nil, tryStands)
	link := filepath.Join(one, setnx, reports.LogFolder, "redis-1.log")
	must(t, os.Symlink(filepath.Join(parent, "text"), link))
	code, said, _ := mergeAll(t, one, two)
	if code == exit.OK || !strings.Contains(said, link) {
		t.Errorf("a link: %d, %s", code, said)
	}
	must(t, os.Remove(link))
	must(t, unix.Mkfifo(link, 0o600))
	if code, said, _ := mergeAll(t, one, two); code == exit.OK || !strings.Contains(said, link) {
		t.Errorf("a pipe: %d, %s", code, said)
	}
	must(t, os.Remove(link))
	if code, said, _ := mergeAll(t, one, two); code != exit.OK {
		t.Errorf("neither: %d, %s", code, said)
	}
}

// TestHostileInputEndsAtFirstSignal: a command that waits for a history which
// never comes ends at the first signal.
func TestHostileInputEndsAtFirstSignal(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "history.jsonl")
	must(t, unix.Mkfifo(pipe, 0o600))
	program, err := exec.LookPath("lockchaos") // testscript.Main puts it there
	must(t, err)
	for _, verb := range []string{"check", "witness"} {
		cmd := exec.CommandContext(t.Context(), program, verb, pipe)
		must(t, cmd.Start())
		in, err := os.OpenFile(pipe, os.O_WRONLY, 0) // it waits for the reader
		must(t, err)
		must(t, cmd.Process.Signal(unix.SIGTERM))
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		select {
		case <-done:
		case <-time.After(endsWithin):
			t.Errorf("%s goes on", verb)
			must(t, cmd.Process.Kill())
			<-done
		}
		if code := cmd.ProcessState.ExitCode(); code != exit.Failed {
			t.Errorf("%s ended with %d", verb, code)
		}
		must(t, in.Close())
	}
}

// TestHostileWhere: a record says where a run took place, and gives the command no other flag.
func TestHostileWhere(t *testing.T) {
	dir := replayShard(t, 1, 1, nil, tryStands, tryStands)
	for _, words := range [][]string{{"--out", "/elsewhere"}, {"--runtime", "local", "--parallel=9"}} {
		rewrite(t, dir, func(r *runs.Record) { r.Where = words })
		var out bytes.Buffer
		if code := execute(t.Context(), []string{"rerun", dir}, &out, &out); code != exit.Usage ||
			!strings.Contains(out.String(), "does not say where") {
			t.Errorf("%q: %d, %s", words, code, out.String())
		}
	}
}
