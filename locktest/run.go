//go:build !wasip1

package locktest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/harness/possible"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/screen"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Run runs the scenario against the lock that open opens, and reports each
// property as a subtest. See the package's documentation.
func Run(t *testing.T, s Scenario, open Open) {
	t.Helper()
	call := nextCall(t)
	if s.Seeds > 1 {
		t.Fatal("locktest: Seeds is for Simulate: Run runs one")
	}
	if me.client {
		if me.test == t.Name() && me.call == call {
			serve(s, open)
		}
		return // another call of the test is the client's
	}
	if testing.Short() && !s.smoke() && !s.attack() {
		t.Skipf("not of the smoke set, and this is a short test: %s", s.faultName())
	}
	seed, err := s.seed()
	r := &run{t: t, given: s, test: t.Name()}
	if err == nil {
		err = r.prepare(seed)
	}
	if err != nil {
		t.Fatalf("locktest: %v", err)
	}
	lock := s.lock(r.plan.Scenario.Lock)
	todo, err := json.Marshal(job{Lock: lock, Test: t.Name(), Call: call, Worker: clientArgs(t.Name())})
	if err != nil {
		t.Fatalf("locktest: %v", err)
	}
	where := &network{PrivateNetwork: runs.PrivateNetwork{Able: able,
		Env:   []string{roleVar + "=" + roleRun + " " + string(todo)},
		Locks: func(*scenarios.Scenario) (clients.Kind, error) { return lock.Kind(), nil }}}
	sc := r.execute(where)
	if where.refused != nil {
		sc.Skipped = where.refused.Error()
	}
	r.tell(sc)
}

// RunAll runs the scenario under every fault of Faults that its service can bear,
// each as a subtest of that name, several at once. Its own Fault must not be given.
func RunAll(t *testing.T, s Scenario, open Open) {
	t.Helper()
	if s.Fault != "" || s.Custom != nil {
		t.Fatalf("locktest: RunAll takes every fault, so the scenario must not say which: Fault is %q", s.faultName())
	}
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel() // a run mostly waits
			one := s
			one.Fault = f.name
			if f.make != nil {
				if err := possible.CheckFault(one.lock("lock").Kind(),
					f.make(scenarios.Duration(one.ttl()))); err != nil {
					t.Skipf("%s does not fit: %v", f.name, err)
				}
			}
			Run(t, one, open)
		})
	}
}

// run is one call of Run, in the process that go test started.
type run struct {
	t     *testing.T
	given Scenario
	// test is the name of the test that clients run: t's, or that of which t is one seed.
	test string
	plan scenarios.Plan
	// dir is the run's folder.
	dir string
}

// The environment variables of the package's documentation.
const (
	seedVar    = "LOCKCHAOS_SEED"
	runsVar    = "LOCKCHAOS_RUNS"
	requireVar = "LOCKCHAOS_REQUIRE"
)

// prepare makes the run's folder and its plan.
func (r *run) prepare(seed uint64) error {
	if err := checkService(r.given.Service); err != nil {
		return err
	}
	full, err := r.given.full(r.test)
	if err != nil {
		return err
	}
	lock := r.given.lock(full.Lock).Kind()
	if r.given.Inherent {
		if len(full.Expect.Properties) > 0 || full.Expect.Severity != "" {
			return errors.New("the field Inherent says what is expected: give no Expect beside it")
		}
		full.Expect = possible.Nature(lock).Inherent(full.Store, full.Faults)
	}
	if err := r.folder(); err != nil {
		return err
	}
	// Checked as a file, so that a mistake has a place.
	plan := scenarios.Plan{Seed: seed, Scenario: full}
	file := filepath.Join(r.dir, runs.PlanFile)
	if err := plan.Save(file); err != nil {
		return err
	}
	checked, err := scenarios.LoadPlan(file, tool(lock).Catalogue())
	if err != nil {
		return fmt.Errorf("the scenario can't be run: %w", err)
	}
	r.plan = *checked
	return nil
}

func (s Scenario) seed() (uint64, error) {
	text := os.Getenv(seedVar)
	switch {
	case s.Seed != 0:
		return s.Seed, nil
	case text == "":
		return rand.Uint64N(1_000_000), nil
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s=%q is not a number", seedVar, text)
	}
	return seed, nil
}

// folder makes the run's folder. One that nobody wants to keep is removed after
// a run that has nothing to tell.
func (r *run) folder() error {
	parent, err := filepath.Abs(cmp.Or(os.Getenv(runsVar), os.TempDir()))
	if err == nil {
		err = os.MkdirAll(parent, 0o755)
	}
	if err == nil {
		r.dir, err = os.MkdirTemp(parent, "lockchaos-"+lockName(r.t.Name())+"-")
	}
	if err != nil {
		return fmt.Errorf("make the run's folder in $%s, or among temporary files: %w", runsVar, err)
	}
	r.t.Cleanup(func() {
		if os.Getenv(runsVar) == "" && !r.t.Failed() {
			_ = os.RemoveAll(r.dir) // what can't be removed lies among temporary files
		}
	})
	return nil
}

// examAlone is locked by the last try of an attack, which runs beside no other.
var examAlone sync.RWMutex

// deadlineMargin is how long before the deadline of the whole test binary a run
// is broken off, so that it can still tell why.
const deadlineMargin = 10 * time.Second

// execute runs the plan, and returns what it came to.
func (r *run) execute(where runs.Runtime) reports.Scenario {
	t := r.t
	t.Helper()
	ctx := t.Context()
	if end, limited := t.Deadline(); limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, end.Add(-deadlineMargin),
			errors.New("the time limit of the tests (go test -timeout) is near"))
		defer cancel()
	}
	lock := r.given.lock(r.plan.Scenario.Lock)
	one := &runs.Run{Name: t.Name(), Command: r.command(), Plans: []scenarios.Plan{r.plan}, Where: where, Test: &lock,
		Screen: screen.New(io.Discard),
		Settings: runs.Settings{Tool: tool(lock.Kind()), Parallel: 1, Retries: runs.DefaultRetries, Longer: true,
			NoExpect: !r.expects()},
		OnAgain: r.again}
	if r.given.attack() {
		one.Exam, one.Alone = reports.ExamOf(lock.Lock, []scenarios.Inapplicable{}), &examAlone
	}
	one.Prepare(r.dir, time.Now())
	one.Launch(ctx, make(chan struct{}, 1))()
	suite, err := one.Finish()
	if err != nil {
		t.Error(shown("locktest: %v", err))
	}
	sc := suite.Scenarios[0]
	if ctx.Err() != nil {
		sc.Failed = fmt.Sprintf("broken off: %v", context.Cause(ctx))
	}
	return sc
}

// again tells why a try that proves nothing is made once more.
func (r *run) again(sc reports.Scenario, why string) {
	if !r.given.attack() && sc.Failed == "" && sc.Verdict.Outcome == checker.Inconclusive {
		r.t.Log(shown("inconclusive: %s The next try lasts twice as long.", strings.Join(sc.Verdict.Reasons, " ")))
		return
	}
	r.t.Log(shown("%s: once more", why))
}

// expects reports whether the scenario says how it is to come out; else the
// properties alone decide.
func (r *run) expects() bool {
	e := r.plan.Scenario.Expect
	return r.given.Inherent || len(e.Properties) > 0 || e.Severity != ""
}

// job is what the process inside must know beside the plan. It comes behind roleRun.
type job struct {
	Lock   runs.GoTest
	Test   string
	Call   int
	Worker []string // the arguments of a client
}

// tool is this program, as package runs knows it. Go does not write the
// versions of modules into test binaries.
func tool(lock clients.Kind) *runs.Tool {
	return runs.NewTool("(version unknown)", "lockchaos", []clients.Kind{lock})
}

// clientArgs are the arguments with which this test binary comes to the same call of Run again.
func clientArgs(test string) []string {
	args := []string{"-test.run=" + exactly(test), "-test.count=1", "-test.timeout=0"}
	if testing.Short() {
		args = append(args, "-test.short")
	}
	// Of the user's own flags all, of those of go test none: they are about
	// output, profiles and caches of the one test that the user runs.
	flag.Visit(func(f *flag.Flag) {
		if !strings.HasPrefix(f.Name, "test.") {
			args = append(args, "-"+f.Name+"="+f.Value.String())
		}
	})
	return append(args, flag.Args()...)
}

// exactly is the pattern of -test.run that matches this test and no other.
func exactly(test string) string {
	parts := strings.Split(test, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}
