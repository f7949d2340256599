//go:build linux

package locktest

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/harness"
	"github.com/lockchaos/lockchaos/hosts"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Run runs the scenario against the lock that open opens, and reports each property as a subtest. See the package's documentation.
func Run(t *testing.T, s Scenario, open Open) {
	t.Helper()
	r := &run{t: t, given: s, call: calls.next(t)}
	if me.client {
		if me.test == t.Name() && me.call == r.call {
			serve(s, open)
		}
		return // another call of the test is the client's
	}
	if testing.Short() && !s.smoke() && !s.attack() {
		t.Skipf("not of the smoke set, and this is a short test: %s", s.faultName())
	}
	for r.try = 1; ; r.try++ {
		sc, compared := r.attempt()
		next := ""
		if r.failed == nil && r.try < tries {
			next = r.next(sc)
		}
		if next == "" {
			r.tell(sc, compared)
			return
		}
		t.Log(shown("%s", next))
	}
}

// next says why there is to be one more try; "": there is not.
func (r *run) next(sc reports.Scenario) string {
	switch {
	case r.given.attack():
		if why := sc.Again(); why != "" {
			return fmt.Sprintf("try %d %s: once more", r.try, why)
		}
	case !sc.Met && sc.Verdict.Outcome == checker.Inconclusive:
		return fmt.Sprintf("inconclusive: %s The next try lasts twice as long.", strings.Join(sc.Verdict.Reasons, " "))
	}
	return ""
}

// tries is how often a scenario is run at most, each time for twice as long, if the runs before prove nothing: on a busy machine less happens.
const tries = 3

// RunAll runs the scenario under every fault of Faults that its service can bear, each as a subtest of that name, several at once. Its own Fault
// must not be given.
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
				if err := harness.CheckFault(one.kind("lock"), f.make(scenarios.Duration(one.ttl()))); err != nil {
					t.Skipf("%s does not fit: %v", f.name, err)
				}
			}
			Run(t, one, open)
		})
	}
}

// Client tells whether this process is a client of a run, in which the test runs once more up to its call of Run. A test that prepares something
// that clients must not prepare again asks before it does.
func Client() bool { return me.client }

// attack reports whether the scenario is one of an exam.
func (s Scenario) attack() bool { return s.Custom != nil && s.Custom.Attack != "" }

func (s Scenario) faultName() string {
	if s.attack() {
		return s.Custom.Attack
	}
	if s.Custom != nil {
		return "a scenario of its own"
	}
	if s.Fault == "" {
		return noFault
	}
	return s.Fault
}

// run is one call of Run, in the process that go test started.
type run struct {
	t     *testing.T
	given Scenario
	call  int
	try   int
	plan  scenarios.Plan
	// dir is the run's folder; kept, whatever comes of it, if keep is set.
	dir  string
	keep bool
	// failed is what the harness could not do.
	failed  error
	began   time.Time
	elapsed time.Duration
}

// counter counts the calls of Run in each test: a test may call it more than once, and each client belongs to one of them.
type counter struct {
	mu sync.Mutex
	of map[*testing.T]int
}

var calls = counter{of: map[*testing.T]int{}}

func (c *counter) next(t *testing.T) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of[t]++; c.of[t] == 1 {
		t.Cleanup(func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			delete(c.of, t)
		})
	}
	return c.of[t]
}

// The environment variables of the package's documentation.
const (
	seedVar    = "LOCKCHAOS_SEED"
	runsVar    = "LOCKCHAOS_RUNS"
	requireVar = "LOCKCHAOS_REQUIRE"
)

// The files of a run's folder.
const (
	planFile    = "plan.yaml"
	jobFile     = "locktest.json"
	historyFile = "history.jsonl"
	logFolder   = reports.LogFolder
	harnessLog  = "harness.log"
	errorFile   = "error.txt"
)

// job is what the process inside must know beside the plan.
type job struct {
	Lock    string
	Service string
	Given   Scenario // its claims
	Test    string
	Call    int
	Worker  []string // the arguments of a client
}

// prepare makes the plan, checks it, and saves it.
func (r *run) prepare() {
	t := r.t
	t.Helper()
	if err := checkService(r.given.Service); err != nil {
		t.Fatalf("locktest: %v", err)
	}
	full, err := r.given.full(t.Name())
	if !r.given.attack() { // one of an exam lasts as long as its fault needs
		full.Duration <<= r.try - 1
	}
	if err != nil {
		t.Fatalf("locktest: %v", err)
	}
	if r.given.Inherent {
		if len(full.Expect.Properties) > 0 || full.Expect.Severity != "" {
			t.Fatal("locktest: Inherent says what is expected: give no Expect beside it")
		}
		full.Expect = harness.Nature(r.given.kind(full.Lock)).Inherent(full.Store, full.Faults)
	}
	seed, err := r.seed()
	if err != nil {
		t.Fatalf("locktest: %v", err)
	}
	r.plan = scenarios.Plan{Seed: seed, Scenario: full}
	if err := r.folder(); err != nil {
		t.Fatalf("locktest: %v", err)
	}
	dir := r.dir // of this try
	t.Cleanup(func() { r.tidy(dir) })
	if err := r.plan.Save(filepath.Join(r.dir, planFile)); err != nil {
		t.Fatalf("locktest: %v", err)
	}
	// Checked as a file, so that a mistake has a place.
	checked, err := scenarios.LoadPlan(filepath.Join(r.dir, planFile), catalogue(r.given, full.Lock))
	if err != nil {
		t.Fatalf("locktest: the scenario can't be run: %v", err)
	}
	r.plan = *checked
}

func (r *run) seed() (uint64, error) {
	if r.given.Seed != 0 {
		return r.given.Seed, nil
	}
	text := os.Getenv(seedVar)
	if text == "" {
		return rand.Uint64N(1_000_000), nil
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s=%q is not a number", seedVar, text)
	}
	return seed, nil
}

// folder makes the run's folder.
func (r *run) folder() (err error) {
	parent := os.Getenv(runsVar)
	if r.keep = parent != ""; r.keep {
		if parent, err = filepath.Abs(parent); err == nil {
			err = os.MkdirAll(parent, 0o755)
		}
		if err != nil {
			return fmt.Errorf("make the folder of %s: %w", runsVar, err)
		}
	}
	if r.dir, err = os.MkdirTemp(parent, "lockchaos-"+lockName(r.t.Name())+"-"); err != nil {
		return fmt.Errorf("make the run's folder: %w", err)
	}
	return os.MkdirAll(filepath.Join(r.dir, logFolder), 0o755)
}

// tidy removes the folder of a run that has nothing to tell.
func (r *run) tidy(dir string) {
	if !r.keep && !r.t.Failed() {
		_ = os.RemoveAll(dir) // what can't be removed lies among temporary files
	}
}

// deadlineMargin is how long before the deadline of the whole test binary a run is broken off, so that it can still tell why.
const deadlineMargin = 10 * time.Second

// execute carries the run out, in a sandbox.
func (r *run) execute() {
	t := r.t
	t.Helper()
	ctx := t.Context()
	if end, limited := t.Deadline(); limited {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, end.Add(-deadlineMargin), errors.New("the time limit of the tests (go test -timeout) is near"))
		defer cancel()
	}
	text, err := json.Marshal(job{Lock: r.plan.Scenario.Lock, Service: r.given.Service, Given: Scenario{Service: r.given.Service, Claims: r.given.Claims},
		Test: t.Name(), Call: r.call, Worker: clientArgs(t.Name())})
	if err == nil {
		err = os.WriteFile(filepath.Join(r.dir, jobFile), text, 0o644)
	}
	if err != nil {
		t.Fatalf("locktest: save what is to be done: %v", err)
	}
	log, err := os.Create(filepath.Join(r.dir, logFolder, harnessLog))
	if err != nil {
		t.Fatalf("locktest: %v", err)
	}
	defer log.Close()
	r.began = time.Now()
	inner, err := hosts.Sandbox{Stdout: log, Stderr: log, Env: []string{roleVar + "=" + roleRun}}.Start(ctx, r.dir)
	var refusal *hosts.RefusedError
	if errors.As(err, &refusal) {
		missing(t, fmt.Sprintf("%s was not run: %v", r.plan.Scenario.Name, err))
	}
	if err == nil {
		err = inner.Wait()
	}
	r.elapsed = time.Since(r.began)
	r.failed = r.reason(ctx, err)
}

// reason makes of how the process inside ended what went wrong.
func (r *run) reason(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("broken off: %w", context.Cause(ctx))
	}
	if text, readErr := os.ReadFile(filepath.Join(r.dir, errorFile)); readErr == nil {
		return errors.New(strings.TrimSpace(string(text)))
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 137 {
		return fmt.Errorf("the process that carried it out was killed from outside (out of memory?): %w", err)
	}
	log := filepath.Join(r.dir, logFolder, harnessLog)
	if text := crashIn(log); text != "" {
		return fmt.Errorf("a defect in lockchaos itself, please report it: %w; its log: %s\n%s", err, log, text)
	}
	return fmt.Errorf("the process that carried it out failed: %w; its log: %s", err, log)
}

// clientArgs are the arguments with which this test binary comes to the same call of Run again.
func clientArgs(test string) []string {
	args := []string{"-test.run=" + exactly(test), "-test.count=1", "-test.timeout=0"}
	if testing.Short() {
		args = append(args, "-test.short")
	}
	// Of the user's own flags all, of those of go test none: they are about output, profiles and caches of the one test that the user runs.
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

// catalogue is what a scenario of the lock may refer to.
func catalogue(s Scenario, lock string) scenarios.Catalogue {
	kind := s.kind(lock)
	return harness.Catalogue([]clients.Kind{kind}, func(*scenarios.Scenario) (clients.Kind, error) { return kind, nil })
}
