package main

import (
	"errors"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/hosts/hoststest"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
	"github.com/lockchaos/lockchaos/nemesis"
)

// soakVar set to 1 asks for many moments instead of a few.
const soakVar = "LOCKCHAOS_SOAK"

// soakMoments is how many moments each kind of fault gets then.
const soakMoments = 50

func soaking() bool { return os.Getenv(soakVar) == "1" }

// TestHealing ends lockchaos at seeded moments under each kind of fault, in every way, and looks
// for whatever may be left: a process, stopped or not, a namespace with its rules, links and
// queues, a table or a queue in our own namespace, a control group, a mount, a temporary file. With
// LOCKCHAOS_SOAK=1 it does so fifty times for each kind, else once, each kind in one of the ways.
func TestHealing(t *testing.T) {
	needed.WithoutRace(t) // who is killed reports no races
	if !sandboxed(t) {
		t.Skip("this machine refuses namespaces")
	}
	t.Parallel()
	kinds := everyKind(t)
	tried := nemesis.ProbeNeeds(t.Context(), runtimes.ProbeVerb)
	for _, k := range nemesis.Kinds() {
		kind, cases := k.Name, kinds[k.Name]
		if len(cases) == 0 {
			continue
		}
		h := fnv.New64a()
		h.Write([]byte(kind))
		rng := rand.New(rand.NewPCG(h.Sum64(), 4))
		t.Run(kind, func(t *testing.T) {
			if why, _ := tried(k.Needs); why != "" {
				needed.Be(t, errors.New(why))
			}
			if kind == nemesis.KindFailover {
				needed.Program(t, "redis-server") // the stand-in has no replica
			}
			for _, c := range cases {
				c.need(t)
			}
			t.Parallel()
			moments := 1
			if soaking() {
				moments = soakMoments
			}
			ways := endings()
			first := rng.IntN(len(ways))
			for i := range moments {
				c, way := cases[(i+first)%len(cases)], ways[(i+first)%len(ways)]
				moment := time.Duration(rng.Int64N(3 * healingFor / 2 * int64(time.Millisecond)))
				way.end(startHealing(t, kind, c), t, moment)
				if t.Failed() {
					t.Fatalf("%s under %s of %s {%s}, %v after it struck, number %d", way.name, kind, c.lock, c.fault, moment, i)
				}
			}
			t.Logf("%d moments, nothing left", moments)
		})
	}
}

// ending is a way in which lockchaos ends.
type ending struct {
	name string
	end  func(r *healingRun, t *testing.T, moment time.Duration)
}

// endings lists the ways. Killed is the most frequent: it leaves nobody who could clean up.
func endings() []ending {
	killed := ending{"killed", (*healingRun).killed}
	return []ending{killed, {"interrupted once", (*healingRun).interrupted}, killed,
		{"its scenario's process killed", (*healingRun).innerKilled}, killed,
		{"interrupted twice", (*healingRun).interruptedTwice}, {"failing inside", (*healingRun).failing}}
}

// TestEveryEnding goes through all the ways in which lockchaos ends, under one fault.
func TestEveryEnding(t *testing.T) {
	if !sandboxed(t) {
		t.Skip("this machine refuses namespaces")
	}
	c := healingCases["pause"][0]
	seen := map[string]bool{}
	for _, way := range endings() {
		if seen[way.name] {
			continue
		}
		seen[way.name] = true
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			way.end(startHealing(t, "pause", c), t, 100*time.Millisecond)
		})
	}
}

// killed: SIGKILL to the program that the user started.
func (r *healingRun) killed(t *testing.T, moment time.Duration) {
	r.struck(t, moment)
	if err := r.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	r.over(t, func(s *os.ProcessState) bool { return signalled(s, unix.SIGKILL) })
	r.nothingLeft(t)
}

// innerKilled: SIGKILL to the process that injects the faults. The outer one
// says so, and how what was recorded can be judged.
func (r *healingRun) innerKilled(t *testing.T, moment time.Duration) {
	r.struck(t, moment)
	if err := unix.Kill(r.inner(t), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	r.over(t, exitedWith(exit.Failed))
	if !strings.Contains(r.said(), "the scenario's process was killed from outside") {
		t.Errorf("it does not say what happened:\n%s", r.said())
	}
	r.nothingLeft(t)
}

// interrupted: one SIGINT heals, and reports what there is.
func (r *healingRun) interrupted(t *testing.T, moment time.Duration) {
	r.struck(t, moment)
	r.signal(t, unix.SIGINT)
	r.over(t, exitedWith(exit.Failed))
	if !strings.Contains(r.said(), "interrupted: the report holds what there is") {
		t.Errorf("it does not say that it was interrupted:\n%s", r.said())
	}
	r.nothingLeft(t)
	r.healed(t)
	if _, err := os.Stat(filepath.Join(filepath.Dir(r.history(t)), runs.ReportFile)); err != nil {
		t.Error(err)
	}
}

// interruptedTwice: the first SIGINT cannot be obeyed, for the process that
// would heal stands still; the second ends all at once.
func (r *healingRun) interruptedTwice(t *testing.T, moment time.Duration) {
	r.struck(t, moment)
	if err := unix.Kill(r.inner(t), unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	awaitThat(t, "the second interrupt, sent again until the first has been noticed, ends it", func() bool {
		_ = r.cmd.Process.Signal(unix.SIGINT) // it may have ended
		<-time.After(50 * time.Millisecond)
		return r.ended()
	})
	r.over(t, func(s *os.ProcessState) bool { return signalled(s, unix.SIGINT) || s.ExitCode() == endedBySIGINT })
	r.nothingLeft(t)
}

// failing: the store dies, so that the run fails while a fault is in effect. It
// is healed, and the failure told.
func (r *healingRun) failing(t *testing.T, moment time.Duration) {
	r.struck(t, moment)
	if err := unix.Kill(r.find(t, "node", "store"), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	r.over(t, exitedWith(exit.Failed))
	if !strings.Contains(r.said(), "store") {
		t.Errorf("it does not say that the store died:\n%s", r.said())
	}
	r.nothingLeft(t)
	r.healed(t)
}

// healed looks whether each fault that was injected has ended, by the history.
func (r *healingRun) healed(t *testing.T) {
	t.Helper()
	h, err := history.ReadFile(r.history(t))
	if err != nil {
		t.Fatal(err)
	}
	open := map[int]string{}
	for _, e := range h.Events {
		if e.Type == history.Fault && e.Fault.Injected {
			if open[e.Fault.ID] = e.Fault.Kind; e.Fault.Phase == "end" {
				delete(open, e.Fault.ID)
			}
		}
	}
	if len(open) > 0 {
		t.Errorf("faults that were injected and never healed: %v", open)
	}
}

func signalled(s *os.ProcessState, by syscall.Signal) bool {
	w, ok := s.Sys().(syscall.WaitStatus)
	return ok && w.Signaled() && w.Signal() == by
}

func exitedWith(code int) func(*os.ProcessState) bool {
	return func(s *os.ProcessState) bool { return s.ExitCode() == code }
}

// healingRun is one lockchaos under a fault.
type healingRun struct {
	cmd    *exec.Cmd
	done   chan struct{} // closed when it has ended
	dir    string
	temp   string
	mark   string
	before leavings
	spaces *hoststest.Namespaces // that it made
}
