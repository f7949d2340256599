//go:build !wasip1

package locktest

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/exhaustive"
	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/harness/possible"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/reports/studies"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Complete tries each fault of a list at each place of the smallest application of the lock, as
// `lockchaos explore --complete` does, in virtual time. A place is a call of a client to the
// outside, or a segment of the network. Of the scenario it takes Service, TTL, Store, Claims and
// Seed.
//
// A defect of the lock fails the test. So does a fall of which it is not clear why it came, and a
// search that the deadline of the tests cuts short. What no lease prevents is logged. With -short
// it is skipped.
func Complete(t *testing.T, s Scenario, open Open) {
	t.Helper()
	call := nextCall(t)
	if me.client {
		return // a call of another's
	}
	if testing.Short() {
		t.Skip("locktest: it tries thousands of schedules")
	}
	program, seed := s.simulated(t)
	r := &run{t: t, given: s, test: t.Name()}
	if err := r.folder(); err != nil {
		t.Fatalf("locktest: %v", err)
	}
	name := lockName(t.Name())
	kind := s.lock(name).Kind()
	x := exhaustive.Search{Lock: kind, Program: program, Start: clientStart(t.Name(), call), Seed: seed,
		Examinee: possible.Examinee(kind, scenarios.Scenario{Lock: name, TTL: scenarios.Duration(s.ttl()),
			Store: scenarios.Store{Kind: s.store()}}),
		For: untilDeadline(t), Cores: runtime.GOMAXPROCS(0), Command: r.command(),
		Settings: runs.Settings{Tool: tool(kind), Out: r.dir}, Say: func(text string) { t.Log(shown("%s", text)) }}
	if err := x.Do(t.Context()); err != nil {
		t.Fatal(shown("locktest: %s", harmless.Block(err.Error(), "")))
	}
	c, dir, err := x.Report(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Error(shown("locktest: %v", err))
	}
	tellComplete(t, c, dir)
}

// tellComplete tells what a search came to.
func tellComplete(t *testing.T, c studies.Complete, dir string) {
	t.Helper()
	for _, line := range c.Lines() {
		t.Log(shown("%s", line))
	}
	if exhaustive.Status(c) != exit.OK {
		t.Error(shown("%s\nreport: %s/%s", c.Headline(), dir, exhaustive.PageFile))
	}
}

// untilDeadline is how long a search may take: nine tenths of the time that the tests have left.
func untilDeadline(t *testing.T) time.Duration {
	end, limited := t.Deadline()
	if !limited {
		return exhaustive.AnyTime
	}
	return time.Until(end) * 9 / 10
}
