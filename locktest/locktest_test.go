//go:build linux

package locktest_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/redis"
	"github.com/lockchaos/lockchaos/locktest"
	"github.com/lockchaos/lockchaos/scenarios"
)

func fenced(n locktest.Nodes) (clients.Lock, error) {
	return redis.SetnxFenced.Open(context.Background(), n.Config)
}

// none is no lock: everybody gets it.
func none(locktest.Nodes) (clients.Lock, error) {
	return locktest.Funcs{
		Acquire: func(context.Context, string) (int64, error) { return 0, nil },
		Release: func(context.Context, string) error { return nil },
	}.Lock()
}

// undisturbed is a short run without a fault.
func undisturbed(service string) locktest.Scenario {
	return locktest.Scenario{Service: service, Duration: time.Second}
}

// TestRightLock: a right lock on a store with a fence passes under a frozen
// holder, but for what is inherent.
func TestRightLock(t *testing.T) {
	t.Parallel()
	locktest.Run(t, locktest.Scenario{Service: "redis", Fault: "pause-holder", Claims: redis.SetnxFenced.Claims, Inherent: true}, fenced)
}

// TestExam: a right lock stands, and what no lease prevents does not fail the test.
func TestExam(t *testing.T) {
	locktest.Exam(t, locktest.Examination{Service: "redis", Claims: redis.Setnx.Claims,
		Attacks: []string{"stop-work", "stop-release", "stop-long"}},
		func(n locktest.Nodes) (clients.Lock, error) { return redis.Setnx.Open(context.Background(), n.Config) })
}

// cron is an instance of a scheduler on Redis: redis-cron, which tells of its executions.
func cron(n locktest.Nodes, _ time.Duration, jobs *locktest.Executions) (stop func(), err error) {
	return scheduler(redis.Cron, n, jobs)
}

// looks is the same with a mistake: it looks for a claim, and then makes its own.
func looks(n locktest.Nodes, _ time.Duration, jobs *locktest.Executions) (stop func(), err error) {
	return scheduler(redis.CronLooks, n, jobs)
}

func scheduler(kind clients.Kind, n locktest.Nodes, jobs *locktest.Executions) (stop func(), err error) {
	ctx, cancel := context.WithCancel(context.Background())
	instance, err := kind.Open(ctx, n.Config)
	if err != nil {
		cancel()
		return nil, err
	}
	go func() {
		for ctx.Err() == nil {
			g, err := instance.Acquire(ctx, "bill")
			if err != nil {
				continue
			}
			e := jobs.Run(time.UnixMilli(g.Token))
			e.Done(instance.Release(ctx, g) == nil)
		}
	}()
	return func() { cancel(); _ = instance.Close(context.Background()) }, nil
}

// TestExamJob: a right scheduler stands.
func TestExamJob(t *testing.T) {
	locktest.ExamJob(t, locktest.Examination{Service: "redis", Claims: redis.Cron.Claims,
		Attacks: []string{"nothing-ticks", "kill-mark", "stop-tick"}}, cron)
}

// TestExpected: a lock that is none is caught, as expected. Whatever a test or
// a library prints does not disturb the client.
func TestExpected(t *testing.T) {
	t.Parallel()
	if locktest.Client() {
		fmt.Println("not of the protocol")
	}
	s := undisturbed("none")
	s.Expect = scenarios.Expect{Properties: map[string]string{"mutual-exclusion": "violated", "unfenced-write": "any",
		"lost-update": "any"}}
	locktest.Run(t, s, func(n locktest.Nodes) (clients.Lock, error) {
		fmt.Println("nor this")
		var word string
		if _, err := fmt.Scanln(&word); err == nil {
			return nil, fmt.Errorf("read %q from standard input, which is the harness's", word)
		}
		return none(n)
	})
}

// TestNames: each client comes to its own call of Run, whatever the tests are
// called and however many calls they make.
func TestNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a lock/of (mine)", "a lock/of (mine)", "[x"} {
		calls := 1
		if name == "[x" {
			calls = 2
		}
		t.Run(name, func(t *testing.T) {
			for call := range calls {
				opened := false
				locktest.Run(t, locktest.Scenario{Service: "redis", Duration: 300 * time.Millisecond, Claims: redis.SetnxFenced.Claims,
					Custom: &scenarios.Scenario{TTL: scenarios.Duration(500 * time.Millisecond), Clients: 2, Keys: 1,
						Store: scenarios.Store{Kind: "fenced"},
						Workload: scenarios.Workload{Kind: "counter", Guard: "none",
							AcquireTimeout: scenarios.Duration(8 * time.Second), OpTimeout: scenarios.Duration(8 * time.Second)},
						Duration: scenarios.Duration(300 * time.Millisecond)}},
					func(n locktest.Nodes) (clients.Lock, error) {
						opened = true
						if len(n.Addrs) != 1 || n.TTL != 500*time.Millisecond || n.Client < 1 {
							return nil, fmt.Errorf("given %+v", n)
						}
						return fenced(n)
					})
				if opened {
					t.Errorf("call %d: a client was opened in the test's own process", call)
				}
			}
		})
	}
}

// TestFlags: clients are given the user's flags.
func TestFlags(t *testing.T) {
	if locktest.Client() && *word != "as given" {
		fmt.Printf("a client was given %q\n", *word)
		os.Exit(1)
	}
	if err := flag.Set("word", "as given"); err != nil {
		t.Fatal(err)
	}
	s := undisturbed("none")
	s.Expect = scenarios.Expect{Properties: map[string]string{"mutual-exclusion": "violated", "unfenced-write": "any",
		"lost-update": "any"}}
	locktest.Run(t, s, none)
}

func TestFaultsAreKnown(t *testing.T) {
	if names := locktest.Faults(); len(names) < 10 || names[0] != "none" {
		t.Error(names)
	}
}
