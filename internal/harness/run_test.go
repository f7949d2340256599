package harness

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/etcd"
	"github.com/lockchaos/lockchaos/clients/redis"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/harness/director"
	"github.com/lockchaos/lockchaos/internal/harness/record"
	"github.com/lockchaos/lockchaos/internal/hosts/hoststest"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
	"golang.org/x/sys/unix"
)

// plan is a short run of a lock under a pause of 600 ms, past a TTL of 300 ms.
func plan(lock string, d time.Duration) scenarios.Plan {
	ms := func(n int) scenarios.Duration { return scenarios.Duration(time.Duration(n) * time.Millisecond) }
	return scenarios.Plan{Seed: 7, Scenario: scenarios.Scenario{
		Name: "test", Lock: lock, TTL: ms(300), Clients: 3, Keys: 1, Store: scenarios.Store{Kind: "unfenced"},
		Duration: scenarios.Duration(d),
		Workload: scenarios.Workload{Kind: "counter", Guard: "none", Think: scenarios.Range{Min: ms(1), Max: ms(3)},
			Rest:           scenarios.Range{Min: ms(1), Max: ms(3)},
			AcquireTimeout: ms(5000), OpTimeout: ms(5000)},
		Faults: []scenarios.Fault{{Kind: "pause", Target: "holder", When: "between-read-and-write", For: ms(600), After: ms(50),
			Every: scenarios.Range{Min: ms(50), Max: ms(50)}}},
	}}
}

// runs carries a plan out, on a network of its own, and returns its history and error.
func runs(t *testing.T, ctx context.Context, kind clients.Kind, p scenarios.Plan,
	progress func(record.Progress)) (*history.History, error) {
	t.Helper()
	return runsIn(t, ctx, t.TempDir(), kind, p, progress)
}

func runsIn(t *testing.T, ctx context.Context, dir string, kind clients.Kind, p scenarios.Plan,
	progress func(record.Progress)) (*history.History, error) {
	t.Helper()
	network, _ := hoststest.Network(t)
	defer func() { // before the next run of the test
		if err := network.Close(); err != nil {
			t.Error(err)
		}
	}()
	file := filepath.Join(dir, "history.jsonl")
	err := Run(ctx, Config{Plan: p, Lock: kind, History: file, Logs: dir, Network: network, Progress: progress})
	h, readErr := history.ReadFile(file)
	if readErr != nil && err == nil {
		t.Fatal(readErr)
	}
	if h != nil {
		checkFaultTimes(t, h)
	}
	return h, err
}

// checkFaultTimes checks that the events of each injected fault stand around all that it may
// have disturbed: it began before it bit, and it ended when its healing had been measured.
func checkFaultTimes(t *testing.T, h *history.History) {
	t.Helper()
	begun := map[int]*history.Event{}
	for i := range h.Events {
		e := &h.Events[i]
		f := e.Fault
		if f == nil || !planned(f) {
			continue
		}
		if f.Phase == "begin" {
			begun[f.ID] = e
			continue
		}
		b := begun[f.ID]
		late := f.Kind == nemesis.KindHold || f.Kind == nemesis.KindCut || f.Kind == nemesis.KindExpireSession ||
			f.Kind == nemesis.KindFailover
		if b == nil || !late && b.Time > f.From || late && b.Fault.From > f.From {
			t.Errorf("fault %d (%s) was in effect from %d, and began with %+v", f.ID, f.Kind, f.From, b)
		}
		if f.To > e.Time || f.From > f.To {
			t.Errorf("fault %d (%s) was in effect from %d to %d, and was over at %d", f.ID, f.Kind, f.From, f.To, e.Time)
		}
	}
}

// A run's history has every phase, a proven pause of a holder, an op that
// waited it out, and the whole ledger.
func TestRunRecordsWhatHappened(t *testing.T) {
	t.Parallel()
	decided.Run(t, func() {
		h, err := runs(t, t.Context(), redis.SetnxFenced, plan("redis-setnx-fenced", 1500*time.Millisecond), nil)
		if err != nil {
			t.Fatal(err)
		}
		if h.Truncated {
			t.Error("the history has no end")
		}
		var phases []string
		var slept, accepted, answered int
		var seq int64
		for i := range h.Events {
			e := &h.Events[i]
			switch e.Type {
			case history.Mark:
				phases = append(phases, e.Text)
			case history.Fault:
				if e.Fault.Phase == "end" && planned(e.Fault) {
					checkPause(t, e.Fault)
					slept += woken(h, e.Fault)
				}
			case history.Ledger:
				if e.Seq != seq+1 {
					t.Errorf("ledger entry %d after %d", e.Seq, seq)
				}
				seq = e.Seq
				if e.Kind == history.Write && !e.Refused {
					accepted++
				}
			case history.OK:
				if e.Kind == history.Write {
					answered++
				}
			}
		}
		if want := "run quiet probe each close final"; strings.Join(phases, " ") != want {
			t.Errorf("phases %v, want %s", phases, want)
		}
		if slept == 0 {
			decided.Lacks("a write that waited a pause out")
		}
		if accepted == 0 || accepted != answered {
			t.Errorf("the ledger has %d accepted writes, the clients were told of %d", accepted, answered)
		}
		if len(h.Header.Versions) < 2 || h.Header.Claims.Token != "fencing" {
			t.Errorf("header %+v", h.Header)
		}
	})
}

func checkPause(t *testing.T, f *history.FaultInfo) {
	t.Helper()
	if !f.Bit || f.Holding == 0 || !strings.HasPrefix(f.Evidence, "state T on ") || f.To-f.From < int64(600*time.Millisecond) {
		t.Errorf("a pause without its proof: %+v", f)
	}
}

// woken counts the writes that were sent during the pause, and began after it.
func woken(h *history.History, f *history.FaultInfo) (n int) {
	sent := map[int64]bool{}
	for i := range h.Events {
		e := &h.Events[i]
		if e.Kind != history.Write || e.Grant != f.Holding {
			continue
		}
		if e.Type == history.Invoke && e.Time > f.From && e.Time < f.To {
			sent[e.Op] = true
		}
		if e.Type == history.OK && sent[e.Op] && e.Start >= f.To {
			n++
		}
	}
	return n
}

// The real etcd runs too, and its lock tells of its loss.
func TestRunOnEtcd(t *testing.T) {
	t.Parallel()
	p := plan("etcd-lease", 4*time.Second)
	p.Scenario.TTL = scenarios.Duration(time.Second)
	p.Scenario.Faults[0].For = scenarios.Duration(2800 * time.Millisecond)
	decided.Run(t, func() {
		h, err := runs(t, t.Context(), etcd.Lease, p, nil)
		if err != nil {
			t.Fatal(err)
		}
		lost := 0
		for i := range h.Events {
			if h.Events[i].Type == history.Lost {
				lost++
			}
		}
		if lost == 0 {
			decided.Lacks("a lost-event of a client that was stopped past its session")
		}
	})
}

// Faults at random moments, several at once: no client is struck twice at a
// time, and what is called a holder is one.
func TestRandomFaultsStrikeHolders(t *testing.T) {
	t.Parallel()
	p := plan("redis-setnx", 2*time.Second)
	p.Scenario.Workload.Think, p.Scenario.Workload.Rest = scenarios.Range{}, scenarios.Range{}
	f := scenarios.Fault{Kind: "pause", Target: "holder", When: "random", For: scenarios.Duration(20 * time.Millisecond),
		Every: scenarios.Range{Min: 1e6, Max: 5e6}}
	p.Scenario.Faults = []scenarios.Fault{f, f, f}
	decided.Run(t, func() {
		h, err := runs(t, t.Context(), redis.Setnx, p, nil)
		if err != nil {
			t.Fatal(err)
		}
		released := map[int64]int64{} // grant → when its release was asked for
		for i := range h.Events {
			if e := &h.Events[i]; e.Type == history.Invoke && e.Kind == history.Release {
				released[e.Grant] = e.Time
			}
		}
		met := 0
		for i := range h.Events {
			f := h.Events[i].Fault
			if f == nil || f.Phase != "end" || !planned(f) || f.Holding == 0 {
				continue
			}
			met++
			if at, ok := released[f.Holding]; ok && at < f.From {
				t.Errorf("fault %d says that it met the holder of grant %d, whose release was asked for %v before",
					f.ID, f.Holding, time.Duration(f.From-at))
			}
		}
		if met == 0 {
			decided.Lacks("a fault that met a holder")
		}
	})
}

// An interrupted run heals first: the stopped client goes on, the fault's end
// is recorded, and the history says that it was cut.
func TestInterruptedRunHeals(t *testing.T) {
	long := func(f scenarios.Fault) scenarios.Fault { f.For = scenarios.Duration(50 * time.Second); return f }
	for _, f := range []scenarios.Fault{
		plan("redis-setnx", time.Minute).Scenario.Faults[0],
		links("partition", "holder", "service", "before-write"),
		links("partition", "redis-1", "", "random"),
		clockFault("clock-jump", "redis-1", "wall", time.Hour),
		clockFault("clock-jump", "holder", "mono", time.Hour),
	} {
		t.Run(f.Label(), func(t *testing.T) { interrupted(t, long(f)) })
	}
}

func interrupted(t *testing.T, f scenarios.Fault) {
	ctx, cancel := context.WithCancelCause(t.Context())
	interrupt := errors.New("interrupted by the test")
	p := plan("redis-setnx", time.Minute)
	p.Scenario.Faults = []scenarios.Fault{f}
	dir := t.TempDir()
	h, err := runsIn(t, ctx, dir, redis.Setnx, p, func(record.Progress) {
		text, _ := os.ReadFile(filepath.Join(dir, "history.jsonl"))
		// Not any fault: on a busy machine a stall may come first.
		if strings.Contains(string(text), `"kind":"`+f.Kind+`","phase":"begin"`) {
			cancel(interrupt)
		}
	})
	if !errors.Is(err, interrupt) {
		t.Fatalf("got %v", err)
	}
	if !h.Truncated {
		t.Error("the history claims to be complete")
	}
	ends := 0
	for i := range h.Events {
		if f := h.Events[i].Fault; f != nil && f.Phase == "end" && planned(f) {
			ends++
			if strings.HasPrefix(f.Kind, "clock-") && !strings.Contains(f.Evidence, "healed to wall true") &&
				f.Evidence != director.NotInjected {
				t.Errorf("its clocks were not healed: %s", f.Evidence)
			}
			if f.Bit {
				t.Errorf("a fault that was cut short claims to have been as planned: %+v", f)
			}
		}
	}
	if ends != 1 {
		t.Errorf("%d ends of the fault recorded", ends)
	}
	if left := processes(t, "T", ""); len(left) > 0 {
		t.Errorf("still stopped: %v", left)
	}
}

// A node or a client that dies without a fault ends the run with an error that names it.
func TestDeathEndsTheRun(t *testing.T) {
	for _, c := range []struct{ program, arg, want string }{
		{"redis-server", "", "redis-1"},
		{"", "worker", "client"},
		{"", "store", "store"},
	} {
		t.Run(c.want, func(t *testing.T) {
			if c.program != "" {
				needed.Program(t, c.program) // a stand-in is no process of that name
			}
			p := plan("redis-setnx", time.Minute)
			p.Scenario.Faults = nil
			var once sync.Once
			_, err := runs(t, t.Context(), redis.Setnx, p, func(pr record.Progress) {
				if pr.Phase != history.PhaseRun || pr.Grants == 0 {
					return
				}
				once.Do(func() {
					pids := processes(t, "", c.program+c.arg)
					if len(pids) == 0 {
						t.Errorf("no %s%s runs", c.program, c.arg)
					} else if err := unix.Kill(pids[0], unix.SIGKILL); err != nil {
						t.Error(err)
					}
				})
			})
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "signal: killed") {
				t.Fatalf("got %v, want the death of %s", err, c.want)
			}
		})
	}
}

// processes lists the sandbox's processes in a state, whose command line has
// the word; empty means any.
func processes(t *testing.T, state, word string) (pids []int) {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		stat, err := os.ReadFile(dir + "/stat")
		if err != nil || pid == os.Getpid() || pid == 1 {
			continue // ended meanwhile, or ourselves
		}
		line, _ := os.ReadFile(dir + "/cmdline")
		after := string(stat[strings.LastIndexByte(string(stat), ')')+2:])
		if strings.HasPrefix(after, state) && strings.Contains(strings.ReplaceAll(string(line), "\x00", " "), word) {
			pids = append(pids, pid)
		}
	}
	return pids
}
