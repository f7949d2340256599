package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/nftables"

	"github.com/lockchaos/lockchaos/internal/clockskew"
	"github.com/lockchaos/lockchaos/internal/hosts/docker/dockertest"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/reports"
)

// composeSample are the kinds that are tried without LOCKCHAOS_SOAK=1: what a filter and
// what a skew leaves would outlive lockchaos, and of a pause there is a test of its own.
var composeSample = []string{nemesis.KindPartition, nemesis.KindClockStrobe}

// Killed under a fault of a server that is the user's own, and outlives it, a run
// leaves that server as it was: it runs, its clocks are right, its network has no
// rule and no queue of ours, and it is in the control group in which it was.
func testKilledComposeRunHealsTheServer(t *testing.T) {
	kinds := everyKind(t)
	dockertest.Need(t, "redis")
	dir := filepath.Join(t.TempDir(), "mine")
	writeFile(t, filepath.Join(dir, "docker-compose.yml"),
		"services:\n  redis-1:\n    image: "+runtimes.LocalImage("redis")+"\n    command: redis-server --protected-mode no\n")
	up(t, dir)
	before := engineState(t)
	server := firstProcess(t, compose(t, dir, "ps", "-q", "redis-1"))
	group := cgroupOf(t, server)
	rng := rand.New(rand.NewPCG(5, 5))
	for _, k := range nemesis.Kinds() {
		i := slices.IndexFunc(kinds[k.Name], func(c healingCase) bool {
			return c.lock == "redis-setnx" && strings.Contains(c.fault, "target: redis-1")
		})
		if i < 0 || !soaking() && !slices.Contains(composeSample, k.Name) {
			continue
		}
		c := kinds[k.Name][i]
		t.Run(k.Name, func(t *testing.T) {
			moment := time.Duration(rng.Int64N(healingFor * int64(time.Millisecond)))
			killComposed(t, dir, healingSuite+c.scenario(healingName, k.Name, "2m"), moment)
			if s := stateOf(t, server); s == "T" {
				t.Error("the server is stopped")
				sendSignal(t, "-CONT", server)
			}
			if now := cgroupOf(t, server); now != group {
				t.Errorf("the server was in the control group %s and is in %s", group, now)
			}
			if !clocksOf(t, server) {
				t.Error("the server's clocks are wrong")
			}
			networkFree(t, server)
			if t.Failed() {
				t.Logf("killed %v after it struck: %s", moment, c.fault)
			}
		})
	}
	// The engine removes a container a moment after it has ended.
	awaitThat(t, "the engine has what it had:\n"+before, func() bool { return engineState(t) == before })
}

// Killed together with its agent, a run can heal nothing; the next one does, before it begins.
func testNextComposeRunHealsTheServer(t *testing.T) {
	dockertest.Need(t, "redis")
	dir := filepath.Join(t.TempDir(), "left")
	writeFile(t, filepath.Join(dir, "docker-compose.yml"),
		"services:\n  redis-1:\n    image: "+runtimes.LocalImage("redis")+"\n    command: redis-server --protected-mode no\n")
	up(t, dir)
	server := firstProcess(t, compose(t, dir, "ps", "-q", "redis-1"))
	c := healingCase{lock: "redis-setnx", fault: "target: redis-1, when: random, clock: wall, by: 1h"}
	file := filepath.Join(dir, "heal.yaml")
	writeFile(t, file, healingSuite+strings.Replace(c.scenario(healingName, nemesis.KindClockJump, "2m"),
		c.lasts(nemesis.KindClockJump), "for: 1m, ", 1))
	cmd := startComposed(t, dir, file)
	awaitThat(t, "the clocks are wrong", func() bool { return !clocksOf(t, server) }) // it is told before it is done
	dockerOutput(t, "kill", dockerOutput(t, "ps", "-q", "--filter", "label=lockchaos.agent"))
	cmd.stop(t)
	if clocksOf(t, server) {
		t.Fatal("the clocks are right though nobody has healed them: the test shows nothing")
	}
	writeFile(t, file, healingSuite+healingCase{lock: "redis-setnx",
		fault: "target: holder, when: before-write"}.scenario(healingName, nemesis.KindPause, "1s"))
	out := t.TempDir()
	// A second try would have nothing to heal. On a busy machine one try may decide nothing, or the
	// pause may outlast the lease: what becomes of the lock is not asked here.
	code, said := finish(t, lockchaos(t, "run", file, "--retries", "0", "--runtime", "compose", "--project", dir, "--out", out))
	if code != exit.OK && code != exit.Inconclusive && code != exit.Violated {
		t.Errorf("exit status %d\n%s", code, said)
	}
	log, _ := os.ReadFile(filepath.Join(out, runs.LatestLink, runs.FolderOf(healingName), reports.LogFolder, "harness.log"))
	if !clocksOf(t, server) || !strings.Contains(string(log), "set the clocks of process "+server+" right") {
		t.Errorf("the clocks are right: %v; its log says:\n%s", clocksOf(t, server), log)
	}
}

// killComposed kills a run on a project so long after a fault has struck, and
// waits until its agent has ended.
func killComposed(t *testing.T, project, suite string, moment time.Duration) {
	t.Helper()
	file := filepath.Join(project, "heal.yaml")
	writeFile(t, file, suite)
	run := startComposed(t, project, file)
	<-time.After(moment)
	run.stop(t)
	awaitContainers(t, 0) // the agent heals, and ends
}

// composedRun is a run on a project, under a fault.
type composedRun struct {
	cmd   *exec.Cmd
	ended chan struct{}
}

// stop kills it.
func (r composedRun) stop(t *testing.T) {
	t.Helper()
	_ = r.cmd.Process.Kill() // it may have ended
	<-r.ended
}

// startComposed starts a run on a project, and waits until a fault strikes.
func startComposed(t *testing.T, project, file string) composedRun {
	t.Helper()
	out := t.TempDir()
	r := composedRun{lockchaos(t, "run", file, "--retries", "0", "--runtime", "compose", "--project", project, "--out",
		out), make(chan struct{})}
	said, err := os.Create(filepath.Join(out, "output"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	r.cmd.Stdout, r.cmd.Stderr = said, said
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = r.cmd.Wait(); close(r.ended) }() // killed
	t.Cleanup(func() { r.stop(t) })
	awaitThat(t, "a fault strikes", func() bool {
		select {
		case <-r.ended:
			text, _ := os.ReadFile(said.Name())
			t.Fatalf("the run ended before a fault struck:\n%s", text)
		default:
		}
		found, _ := filepath.Glob(filepath.Join(out, "*", runs.FolderOf(healingName), runs.HistoryFile))
		if len(found) == 0 {
			return false
		}
		text, _ := os.ReadFile(found[0])
		return bytes.Contains(text, []byte(`"phase":"begin"`))
	})
	return r
}

// cgroupOf is the control group of a process.
func cgroupOf(t *testing.T, pid string) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%s/cgroup", pid))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// clocksOf reports whether a process reads the true time of day, and clocks that
// run right. What its monotonic clock has gained it keeps.
func clocksOf(t *testing.T, pid string) bool {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	target, err := clockskew.Open(n)
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	if changed, err := target.Installed(); err != nil || !changed {
		return err == nil
	}
	now, err := target.Now()
	if err != nil {
		t.Fatal(err)
	}
	return runtimes.ClocksTrue(now)
}

// networkFree fails the test if the network of a process has tables of the
// packet filter, or packet queues.
func networkFree(t *testing.T, pid string) {
	t.Helper()
	ns, err := os.Open(fmt.Sprintf("/proc/%s/ns/net", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	conn, err := nftables.New(nftables.WithNetNSFd(int(ns.Fd())))
	if err != nil {
		t.Fatal(err)
	}
	tables, err := conn.ListTables()
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		if strings.Contains(table.Name, "lockchaos") {
			t.Errorf("a table is left: %s", table.Name)
		}
	}
	if queues := linesOf(fmt.Sprintf("/proc/%s/net/netfilter/nfnetlink_queue", pid), ""); len(queues) > 0 {
		t.Errorf("queues are left: %v", queues)
	}
	if out, err := exec.Command("nsenter", "--net="+ns.Name(), "tc", "qdisc", "show").Output(); err == nil &&
		strings.Contains(string(out), "netem") {
		t.Errorf("a queueing discipline is left: %s", out)
	}
}
