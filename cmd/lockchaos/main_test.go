package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/lockchaos/lockchaos/clients/shell"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/docker/dockertest"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
	"github.com/lockchaos/lockchaos/internal/runs/own"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
	"github.com/lockchaos/lockchaos/reports"
)

// internal are the verbs that lockchaos starts itself as.
var internal = []string{"worker", "node", "scenario", runtimes.ProbeVerb, own.TrialVerb, shell.Verb}

func TestMain(m *testing.M) {
	hosts.Stage()
	if len(os.Args) > 1 && os.Args[1] == waitVerb {
		waitForInterrupts()
	}
	if len(os.Args) > 1 && slices.Contains(internal, os.Args[1]) {
		os.Exit(execute(interruptible(), os.Args[1:], os.Stdout, os.Stderr))
	}
	if os.Getenv(runtimes.EnvironmentVar) == "" {
		// the tests of containers say so themselves
		os.Setenv(runtimes.EnvironmentVar, runtimes.Local)
	}
	testscript.Main(tests{m}, map[string]func(){"lockchaos": main})
}

// tests ends what some of them share, when all are done.
type tests struct{ *testing.M }

func (t tests) Run() int {
	defer removeStatic()
	defer dockertest.Stop()
	return t.M.Run()
}

// TestScripts runs what the command promises, as readable scripts.
func TestScripts(t *testing.T) {
	able := sandboxed(t)
	t.Parallel()
	testscript.Run(t, testscript.Params{
		// No Deadline of its own: a script that waits for what never comes
		// fails at the end of `go test -timeout`. A shorter one for all of them
		// together fails whichever is last on a slow machine.
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("GORACE", os.Getenv("GORACE"))
			e.Setenv("LOCKCHAOS_REQUIRE", os.Getenv("LOCKCHAOS_REQUIRE"))
			e.Setenv(runtimes.EnvironmentVar, os.Getenv(runtimes.EnvironmentVar))
			e.Setenv("XDG_CACHE_HOME", filepath.Join(e.WorkDir, ".cache"))
			return nil
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "sandbox":
				return able, nil
			case "raced":
				return needed.Raced(), nil
			case "soak": // what takes long
				return os.Getenv("LOCKCHAOS_SOAK") != "", nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"status": status_, "decided": decided_, "schema": schema_},
	})
}

// status_ N COMMAND…: the command must exit with status N.
func status_(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N COMMAND …")
	}
	ts.Check(ts.Exec("sh", append([]string{"-c", withStatus}, args...)...))
}

// withStatus runs a command that must exit with a status.
const withStatus = `want=$0; "$@"; got=$?; test $got = $want || { echo "exit status $got, want $want" >&2; exit 1; }`

// decided_ N PATTERN COMMAND…: the command is made again until it exits with
// status N and says what the pattern matches, since one run may show too little. An exam that says
// there is a defect has decided: it is wrong unless status 1 is wanted.
func decided_(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: decided N PATTERN COMMAND …")
	}
	pattern, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	decided.Run(ts, func() {
		err := ts.Exec("sh", append([]string{"-c", withStatus, args[0]}, args[2:]...)...)
		if args[0] != "1" && strings.Contains(ts.ReadFile("stdout"), "fell: a defect") {
			ts.Fatalf("exit status %s is expected, so the lock is a correct one: it is accused", args[0])
		}
		if err != nil {
			decided.Lacks("exit status %s", args[0])
		}
		if !pattern.MatchString(ts.ReadFile("stdout")) {
			decided.Lacks("%q in what it says", args[1])
		}
	})
}

func TestShell(t *testing.T) {
	if got := reports.Shell("./lockchaos", "run", "a b", "it's", ""); got != `./lockchaos run 'a b' 'it'\''s' ''` {
		t.Error(got)
	}
}
