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
	"github.com/lockchaos/lockchaos/clockskew"
	"github.com/lockchaos/lockchaos/hosts/docker/dockertest"
	"github.com/lockchaos/lockchaos/nemesis"
)

// composeSample are the kinds that are tried without LOCKCHAOS_SOAK=1: what a filter and what a skew leaves would outlive lockchaos, and of a pause there is a
// test of its own.
var composeSample = []string{nemesis.KindPartition, nemesis.KindClockStrobe}

// Killed under a fault of a server that is the user's own, and outlives it, a run leaves that server as it was: it runs, its clocks are right, its network
// has no rule and no queue of ours, and it is in the control group in which it was.
func TestKilledComposeRunHealsTheServer(t *testing.T) {
	kinds := everyKind(t)
	dockertest.Need(t, "redis")
	dir := filepath.Join(t.TempDir(), "mine")
	writeFile(t, filepath.Join(dir, "docker-compose.yml"), "services:\n  redis-1:\n    image: "+localImage("redis")+"\n    command: redis-server --protected-mode no\n")
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
			clocksRight(t, server)
			networkFree(t, server)
			if t.Failed() {
				t.Logf("killed %v after it struck: %s", moment, c.fault)
			}
		})
	}
	if after := engineState(t); after != before {
		t.Errorf("the engine had\n%s\nand has\n%s", before, after)
	}
}

// killComposed kills a run on a project so long after a fault has struck, and waits until its agent has ended.
func killComposed(t *testing.T, project, suite string, moment time.Duration) {
	t.Helper()
	out := t.TempDir()
	file := filepath.Join(out, "heal.yaml")
	writeFile(t, file, suite)
	cmd := lockchaos(t, "run", file, "--runtime", "compose", "--project", project, "--out", out)
	said, err := os.Create(filepath.Join(out, "output"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }() // killed
	defer func() { _ = cmd.Process.Kill(); <-ended }()
	awaitThat(t, "a fault strikes", func() bool {
		select {
		case <-ended:
			text, _ := os.ReadFile(said.Name())
			t.Fatalf("the run ended before a fault struck:\n%s", text)
		default:
		}
		found, _ := filepath.Glob(filepath.Join(out, "*", folderOf(healingName), historyFile))
		if len(found) == 0 {
			return false
		}
		text, _ := os.ReadFile(found[0])
		return bytes.Contains(text, []byte(`"phase":"begin"`))
	})
	<-time.After(moment)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	awaitContainers(t, 0) // the agent heals, and ends
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

// clocksRight fails the test if a process reads a wrong time of day, or clocks that run wrong. What its monotonic clock has gained it keeps.
func clocksRight(t *testing.T, pid string) {
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
		if err != nil {
			t.Error(err)
		}
		return
	}
	now, err := target.Now()
	right := func(c clockskew.Clock) bool { return c.Rate == 0 || c.Rate == 1 }
	if err != nil || now.Wall.Offset != 0 || !right(now.Wall) || !right(now.Mono) {
		t.Errorf("the server's clocks: %v, %v", now, err)
	}
}

// networkFree fails the test if the network of a process has tables of the packet filter, or packet queues.
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
	if out, err := exec.Command("nsenter", "--net="+ns.Name(), "tc", "qdisc", "show").Output(); err == nil && strings.Contains(string(out), "netem") {
		t.Errorf("a queueing discipline is left: %s", out)
	}
}
