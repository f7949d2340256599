//go:build linux

package locktest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/broken"
	"github.com/lockchaos/lockchaos/clients/redis"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/locktest"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/scenarios"
)

// fixtureVar names the test of this file that is run as its user would: it
// fails, and another test looks at what it says.
const fixtureVar = "LOCKTEST_FIXTURE"

// fixtures are tests that fail, or are skipped.
var fixtures = map[string]func(t *testing.T){
	"broken": func(t *testing.T) { locktest.Run(t, undisturbed("none"), none) },
	"unreached": func(t *testing.T) {
		if locktest.Client() {
			t.Skip("no database here")
		}
		locktest.Run(t, undisturbed("none"), none)
	},
	"unopened": func(t *testing.T) {
		locktest.Run(t, undisturbed("none"), func(locktest.Nodes) (clients.Lock, error) { return nil, errors.New("no licence") })
	},
	"nothing": func(t *testing.T) {
		locktest.Run(t, undisturbed("none"), func(locktest.Nodes) (clients.Lock, error) { return nil, nil })
	},
	"panics": func(t *testing.T) {
		locktest.Run(t, undisturbed("none"), func(locktest.Nodes) (clients.Lock, error) { panic("out of luck") })
	},
	"few": func(t *testing.T) {
		s := undisturbed("none")
		s.Clients, s.Duration = 1, 100*time.Millisecond
		locktest.Run(t, s, func(locktest.Nodes) (clients.Lock, error) {
			return locktest.Funcs{
				Acquire: func(ctx context.Context, _ string) (int64, error) { return 0, clients.Wait(ctx, 50*time.Millisecond) },
				Release: func(context.Context, string) error { return nil },
			}.Lock()
		})
	},
	"racy": func(t *testing.T) {
		s := undisturbed("none")
		s.Expect = scenarios.Expect{Properties: map[string]string{"mutual-exclusion": "violated",
			"unfenced-write": "any", "lost-update": "any"}}
		locktest.Run(t, s, func(n locktest.Nodes) (clients.Lock, error) {
			total, done := 0, make(chan struct{})
			go func() { total++; close(done) }()
			total++
			<-done
			return none(n)
		})
	},
	"exam": func(t *testing.T) {
		locktest.Exam(t, locktest.Examination{Service: "redis", Claims: broken.Del.Claims, Attacks: []string{"stop-release", "stop-long"}},
			func(n locktest.Nodes) (clients.Lock, error) { return broken.Del.Open(context.Background(), n.Config) })
	},
	"exam of a scheduler": func(t *testing.T) {
		locktest.ExamJob(t, locktest.Examination{Service: "redis", Claims: redis.CronLooks.Claims, Attacks: []string{"nothing-crowd-ticks"}}, looks)
	},
	"no scheduler": func(t *testing.T) {
		locktest.ExamJob(t, locktest.Examination{Service: "redis", Claims: redis.Setnx.Claims}, looks)
	},
	"idle": func(t *testing.T) { // the key is granted to nobody, so nothing follows
		locktest.Exam(t, locktest.Examination{Service: "none", Claims: clients.Claims{NoExpiry: true}, Attacks: []string{"stop-work"}},
			func(locktest.Nodes) (clients.Lock, error) {
				return locktest.Funcs{
					Acquire: func(ctx context.Context, _ string) (int64, error) {
						return 0, errors.Join(clients.Wait(ctx, 100*time.Millisecond), errors.New("no answer"))
					},
					Release: func(context.Context, string) error { return nil },
				}.Lock()
			})
	},
	"no attack": func(t *testing.T) {
		locktest.Exam(t, locktest.Examination{Service: "none", Attacks: []string{"stop-wrok"}}, none)
	},
	"expected": func(t *testing.T) {
		s := undisturbed("redis")
		s.Expect = scenarios.Expect{Properties: map[string]string{"mutual-exclusion": "violated"}}
		locktest.Run(t, s, fenced)
	},
	"service": func(t *testing.T) { locktest.Run(t, undisturbed("redos"), none) },
	"fault":   func(t *testing.T) { locktest.Run(t, locktest.Scenario{Service: "none", Fault: "gremlins"}, none) },
	"unfit": func(t *testing.T) {
		locktest.Run(t, locktest.Scenario{Service: "redis",
			Custom: &scenarios.Scenario{TTL: 1, Clients: 2, Keys: 1, Workload: scenarios.Workload{Kind: "counter"}}}, fenced)
	},
	"restart": func(t *testing.T) {
		locktest.Exam(t, locktest.Examination{Service: "redis", Claims: redis.SetnxFenced.Claims,
			Attacks: []string{"node-restarts"}}, fenced)
	},
	"postgres": func(t *testing.T) { locktest.Run(t, locktest.Scenario{Service: "postgres"}, none) },
	"all": func(t *testing.T) {
		locktest.RunAll(t, locktest.Scenario{Service: "none", Duration: 400 * time.Millisecond,
			Expect: scenarios.Expect{Properties: map[string]string{"mutual-exclusion": "any", "unfenced-write": "any",
				"lost-update": "any", "stuck-lock": "any", "dead-grant": "any"}}}, none)
	},
}

// TestFixture is the one test that is run as its user would.
func TestFixture(t *testing.T) {
	fixture := fixtures[os.Getenv(fixtureVar)]
	if fixture == nil {
		t.Skip("it is run by others")
	}
	fixture(t)
}

// said runs a fixture in a process of its own, through a shell line in which
// "$@" is the command, and returns what it says.
func said(t *testing.T, fixture, shell string, env ...string) (output string, failed bool) {
	t.Helper()
	cmd := exec.Command("sh", "-c", shell, "sh", os.Args[0], "-test.run=^TestFixture$", "-test.v")
	cmd.Env = append(os.Environ(), fixtureVar+"="+fixture, "LOCKCHAOS_SEED=7", "LOCKCHAOS_RUNS="+t.TempDir(), "LOCKCHAOS_REQUIRE=")
	cmd.Env = append(cmd.Env, env...)
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(text), err != nil
}

// slow are the fixtures of which not every test run need see what they say.
var slow = []string{"idle", "nothing", "panics", "expected", "all"}

const plainly = `exec "$@"`

// TestTold: whatever goes wrong, the test's output says what, and what to do.
func TestTold(t *testing.T) {
	needed.Later(t, "TestExam stands for those that fail")
	t.Parallel()
	for _, c := range []struct {
		name, fixture, shell string
		env                  []string
		fails                bool
		want                 []string // patterns
	}{
		{"violated", "broken", plainly, nil, true,
			[]string{`--- FAIL: TestFixture/mutual-exclusion`, `violated \d+ times .*, and pass or not judged is expected`, `both held k0`,
				`client \d +asks: acquire k0`, `\d+ ops of \d+ events are enough`, `report: \S+/report.html`,
				`again: LOCKCHAOS_SEED=7 go test( -race)? -count=1 -run '\^TestFixture\$'`,
				`--- PASS: TestFixture/continuity|--- SKIP: TestFixture/continuity`}},
		{"a client goes elsewhere", "unreached", plainly, nil, true,
			[]string{`says nothing about the lock: .*client \d.*`, `it must come to the same call of locktest`}},
		{"the lock can't be opened", "unopened", plainly, nil, true,
			[]string{`says nothing about the lock: client \d on host client-\d: .*no licence`}},
		{"no lock", "nothing", plainly, nil, true, []string{`returned neither a lock nor an error`}},
		{"a client dies", "panics", plainly, nil, true, []string{`panic: out of luck`}},
		{"too few grants", "few", plainly, nil, true,
			[]string{`inconclusive: .* grants.* The next try lasts twice as long`, `--- FAIL: TestFixture/mutual-exclusion`, `report: `}},
		{"not caught", "expected", plainly, nil, true,
			[]string{`--- FAIL: TestFixture/mutual-exclusion`, `pass, and violated is expected`}},
		{"an exam", "exam", plainly, nil, true, []string{`not applicable, since it does not keep its grants alive by itself: stop-long`,
			`--- FAIL: TestFixture/stop-release`, `fell: a defect: .*freed (other clients|another client)`, `client \d +asks: release k0`,
			`again: LOCKCHAOS_SEED=7 go test( -race)? -count=1 -run '\^TestFixture\$/\^stop-release\$'`}},
		{"an exam of a scheduler", "exam of a scheduler", plainly, nil, true, []string{`--- FAIL: TestFixture/nothing-crowd-ticks`,
			`fell: a defect: (a tick was|ticks were) executed twice`}},
		{"an exam of no scheduler", "no scheduler", plainly, nil, true, []string{`ExamJob needs Claims.Job`}},
		{"an exam that comes to nothing", "idle", plainly, nil, true,
			[]string{`(?s)try 1 was inconclusive .*: once more.*try 2 was inconclusive .*: once more`, `--- FAIL: TestFixture/stop-work`,
				`inconclusive: `}},
		{"an unknown attack", "no attack", plainly, nil, true, []string{`there is no attack named "stop-wrok"; did you mean stop-work\?`}},
		{"unknown service", "service", plainly, nil, true, []string{`there is no service "redos": one of redis, .*, or none`}},
		{"unknown fault", "fault", plainly, nil, true,
			[]string{`there is no fault "gremlins": one of none, pause-holder, .*Scenario.Custom`}},
		{"a scenario with mistakes", "unfit", plainly, nil, true, []string{`can't be run: \S+/plan.yaml(:\d+:\d+)?: .*`}},
		{"a seed that is none", "broken", plainly, []string{"LOCKCHAOS_SEED=x"}, true, []string{`LOCKCHAOS_SEED="x" is not a number`}},
		{"no PostgreSQL", "postgres", plainly, []string{"LOCKCHAOS_POSTGRES=/nowhere"}, false,
			[]string{`--- SKIP: TestFixture`, `service postgres: .*/nowhere`}},
		{"no PostgreSQL, required", "postgres", plainly,
			[]string{"LOCKCHAOS_POSTGRES=/nowhere", "LOCKCHAOS_REQUIRE=all"}, true, []string{`service postgres: .*/nowhere`}},
		{"a stand-in that can't restart", "restart", plainly, []string{"LOCKCHAOS_REDIS=miniredis"}, false,
			[]string{`--- SKIP: TestFixture/node-restarts`,
				`service redis: the stand-in has no restart that keeps data: unset LOCKCHAOS_REDIS, and apt-get install redis-server`}},
		{"no namespaces", "broken", `exec unshare -r sh -c 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"' sh "$@"`, nil, false,
			[]string{`--- SKIP: TestFixture`,
				`Fixture/none/unfenced was not run: this machine refuses to make new namespaces: .*max_user_namespaces is 0: sudo sysctl`}},
		{"all, in short", "all", `exec "$@" -test.short`, nil, false,
			[]string{`--- SKIP: TestFixture/hold-write`, `not of the smoke set`, `--- PASS: TestFixture/none`,
				`--- (PASS|FAIL): TestFixture/pause-holder`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() || os.Getenv("LOCKCHAOS_SOAK") == "" && slices.Contains(slow, c.fixture) {
				t.Skip("it is run with LOCKCHAOS_SOAK=1 (make soak)")
			}
			decided.Run(t, func() {
				text, failed := said(t, c.fixture, c.shell, c.env...)
				if failed != c.fails {
					decided.Lacks("a test that fails: %v, but %v\n%s", c.fails, failed, text)
				}
				for _, want := range c.want {
					if !regexp.MustCompile(want).MatchString(text) {
						decided.Lacks("%s in what it says:\n%s", want, text)
					}
				}
			})
		})
	}
}

// TestFolder: the folder of a run that failed has all that there is to read,
// and that of one that passed is gone, unless it is wanted.
func TestFolder(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	text, _ := said(t, "broken", plainly, "LOCKCHAOS_RUNS=", "TMPDIR="+temp)
	found, err := filepath.Glob(filepath.Join(temp, "lockchaos-Fixture-*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(found, " ")
	for _, want := range []string{"history.jsonl", "plan.yaml", "verdict.json", "report.html", "logs",
		"witness.mutual-exclusion.jsonl", "run.json", "index.html", "junit.xml", "sarif.json"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %s in %s\n%s", want, all, text)
		}
	}
	// as lockchaos report does, which knows no lock of a test
	run, suite, err := runs.NewTool("", "lockchaos", nil).JudgeRun(filepath.Dir(found[0]))
	if err != nil || len(suite.Scenarios) != 1 {
		t.Fatal(suite, err)
	}
	sc := suite.Scenarios[0]
	if sc.Failed != "" || sc.Result() != reports.Corrupted ||
		!strings.Contains(sc.Rerun, "LOCKCHAOS_SEED=7 go test ") || run.Exit == nil || *run.Exit != exit.Violated {
		t.Errorf("judged again: failed %q, %s, again: %s; exit status %v", sc.Failed, sc.Result(), sc.Rerun, run.Exit)
	}
	if text, failed := said(t, "postgres", plainly, "LOCKCHAOS_RUNS=", "TMPDIR="+temp, "LOCKCHAOS_POSTGRES=/nowhere"); failed {
		t.Error(text)
	}
	if again, _ := filepath.Glob(filepath.Join(temp, "lockchaos-*")); len(again) != 1 {
		t.Errorf("left over: %v", again)
	}
}

// TestRaces: a data race in a client fails the test, where it can be seen.
func TestRaces(t *testing.T) {
	t.Parallel()
	text, failed := said(t, "racy", plainly)
	if seen := strings.Contains(text, "a data race in a client of the lock:"); seen != raceEnabled || failed != raceEnabled {
		t.Errorf("built with the race detector: %v, failed: %v\n%s", raceEnabled, failed, text)
	}
}

func ExampleFuncs() {
	// A library with a simple lock: Lock(ctx) and Unlock(ctx).
	open := func(n locktest.Nodes) (clients.Lock, error) {
		return locktest.Funcs{
			Acquire: func(_ context.Context, _ string) (int64, error) {
				return 0, errors.New("to be written: lock the key at " + n.Addrs[0])
			},
			Release: func(_ context.Context, _ string) error { return errors.New("to be written: unlock the key") },
		}.Lock()
	}
	lock, err := open(locktest.Nodes{Addrs: []string{"10.88.0.2:6379"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = lock.Acquire(context.Background(), "k0")
	fmt.Println(err)
	// Output: to be written: lock the key at 10.88.0.2:6379
}
