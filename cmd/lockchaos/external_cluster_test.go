package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/endpoint/authority"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
	"github.com/lockchaos/lockchaos/internal/probe/probetest"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
)

// A Redis Cluster that announces addresses of this machine's loopback: clients follow where its
// nodes send them, each to its relay. Faults of links to all nodes bite. Locks that cannot work
// there are left out, with the reason.
func TestExternalRedisCluster(t *testing.T) {
	if !sandboxed(t) {
		t.Skip("this machine refuses namespaces")
	}
	t.Parallel()
	cluster := probetest.RedisCluster(t, nil, "cache.test", false)
	lockchaos := program(t)
	nodes := "redis=127.0.0.1:" + cluster.Ports[4]
	decided.Run(t, func() {
		code, text := said(t, nil, lockchaos, "run", "redis-setnx/pause-holder/unfenced", "redislock/none/unfenced", "redis-setnx/cut-off-release/unfenced",
			"redlock/none/unfenced", "redis-multi/none/unfenced", "redis-failover/none/unfenced", "--seed", "7", "--runtime", "external",
			"--nodes", nodes, "--out", t.TempDir())
		for _, want := range []string{"external: redis-1 at redis://127.0.0.1:[0-9]+, redis-2 at .*, redis-6 at ",
			"(?m)^left out, since a lock that asks for a majority needs servers that are independent .*: redlock$",
			"(?m)^left out, since a lock of several keys at once .*: redis-multi$",
			"(?m)^left out, since a lock that finds its primary by sentinels .*: redis-failover$",
			"skipped: redlock/none/unfenced: A lock that asks for a majority"} {
			if !regexp.MustCompile(want).MatchString(text) {
				t.Errorf("it does not say %s", want)
			}
		}
		checkDecided(code, text)
		for _, want := range []string{"redis-setnx/pause-holder/unfenced +✗ corrupted", "redislock/none/unfenced +✓ pass",
			"redis-setnx/cut-off-release/unfenced +✓ pass .*faults"} {
			if !regexp.MustCompile(want).MatchString(text) {
				decided.Lacks("%s: %s", want, text)
			}
		}
		if code != exit.OK || t.Failed() {
			t.Errorf("exit status %d\n%s", code, text)
		}
	})
	suite := filepath.Join(t.TempDir(), "resets.yaml")
	writeFile(t, suite, resets)
	decided.Run(t, func() {
		code, text := said(t, nil, lockchaos, "run", suite, "--runtime", "external", "--nodes", nodes, "--out", t.TempDir())
		checkDecided(code, text)
		if code != exit.OK || !regexp.MustCompile(`pass .*\b[1-9][0-9]* faults`).MatchString(text) {
			t.Errorf("exit status %d\n%s", code, text)
		}
	})
	code, text := said(t, nil, lockchaos, "exam", "redlock", "--runtime", "external", "--nodes", nodes, "--out", t.TempDir())
	if code != exit.Usage || !strings.Contains(text, "needs servers that are independent of each other, and the nodes of a Redis Cluster are not") {
		t.Errorf("exam redlock: exit status %d\n%s", code, text)
	}
	t.Run("adapter", func(t *testing.T) {
		needed.Be(t, exec.Command("python3", "-c", "import sys; sys.path.append('/usr/lib/python3/dist-packages'); import redis.cluster").Run())
		adapter, err := filepath.Abs("../../examples/python/redispy_lock.py")
		if err != nil {
			t.Fatal(err)
		}
		decided.Run(t, func() {
			code, text := said(t, nil, lockchaos, "run", "redis-setnx/none/unfenced", "--lock-cmd", "python3 "+adapter, "--service", "redis",
				"--duration", "2s", "--runtime", "external", "--nodes", nodes, "--out", t.TempDir())
			checkDecided(code, text)
			if code != exit.OK || !strings.Contains(text, "redis-py Lock") {
				t.Errorf("exit status %d\n%s", code, text)
			}
		})
	})
}

// resets is a suite of one scenario, in which the connections of holders are reset.
const resets = `
suite: resets
about: connections to a cluster are reset
defaults:
  ttl: 500ms
  clients: 3
  keys: 3
  workload: {kind: counter, guard: none, think: 5ms..20ms, rest: 5ms..30ms, acquire_timeout: 8s, op_timeout: 8s}
scenarios:
  - name: redis-setnx/reset-holder/unfenced
    about: the holder's connections are reset
    lock: redis-setnx
    store: {kind: unfenced}
    duration: 5s
    faults:
      - {kind: reset, target: holder, when: after-grant, peers: service, every: 200ms..400ms}
    needs: {grants: 10, bites: 2}
    expect:
      properties: {token-order: not judged}
      severity: none
      why: A lock lives in a key.
`

// failovers is a suite of one scenario, in which the service fails over.
const failovers = `
suite: failovers
about: a cluster fails over
defaults:
  ttl: 2s
  clients: 3
  keys: 1
  workload: {kind: counter, guard: none, think: 500ms..900ms, rest: 5ms..30ms, acquire_timeout: 8s, op_timeout: 8s}
scenarios:
  - name: redis-setnx/failover/unfenced
    about: a master fails over while a client holds the lock
    lock: redis-setnx
    store: {kind: unfenced}
    duration: 6s
    faults:
      - {kind: failover, target: service, when: random, for: 100ms, after: 500ms, every: 2s}
    needs: {grants: 4, bites: 1, handovers: 0}
    expect:
      properties: {mutual-exclusion: any, unfenced-write: any, lost-update: any, starvation: any, token-order: not judged}
      why: A failover may forget what the replica has not heard of.
`

// A failover that the user triggers is a fault, with evidence from the cluster: clients go on with
// the new master. Without the command it is left out, and elsewhere it is refused. A command after
// which the masters are the same does not bite.
func TestExternalFailover(t *testing.T) {
	if !sandboxed(t) {
		t.Skip("this machine refuses namespaces")
	}
	t.Parallel()
	cluster := probetest.RedisCluster(t, nil, "cache.test", false)
	lockchaos := program(t)
	suite := filepath.Join(t.TempDir(), "failovers.yaml")
	writeFile(t, suite, failovers)
	where := []string{"run", suite, "--runtime", "external", "--nodes", "redis=127.0.0.1:" + cluster.Ports[0]}
	with := func(command string) []string { return append(where, "--failover-cmd", command) }
	// the first that is a replica takes over
	script := filepath.Join(t.TempDir(), "failover.sh")
	text := "test \"$1\" = -a || exit 1\n"
	for _, port := range cluster.Ports {
		cli := strings.Join(cluster.Line(port), " ")
		text += "if " + cli + " ROLE | grep -q ^slave; then " + cli + " CLUSTER FAILOVER; exit; fi\n"
	}
	writeFile(t, script, text)
	decided.Run(t, func() {
		out := t.TempDir()
		code, text := said(t, nil, lockchaos, append(with("sh "+script+" -a hunter2hunter2"), "--out", out)...)
		checkDecided(code, text)
		if code != exit.OK || !regexp.MustCompile(`[1-9] faults?\)`).MatchString(text) {
			t.Errorf("exit status %d\n%s", code, text)
		}
		if strings.Contains(text, "hunter2") || len(leaks(t, out, "hunter2")) > 0 {
			t.Error("the command's password is written")
		}
		histories, _ := filepath.Glob(filepath.Join(out, "*", "*", "history.jsonl"))
		told := ""
		for _, file := range histories {
			one, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			told += string(one)
		}
		if !regexp.MustCompile(`"bit":true,"evidence":"before: masters [^"]*, epoch [0-9]+; --failover-cmd, while grant [0-9]+ was held: .{0,4}OK.{0,4}; after: masters `).MatchString(told) {
			t.Error("no failover bit, with its evidence")
		}
	})
	code, said1 := said(t, nil, lockchaos, append(with("true"), "--retries", "0", "--out", t.TempDir())...)
	if code != exit.Inconclusive || !strings.Contains(said1, "Nothing proves that the injected fault took effect") {
		t.Errorf("without effect: exit status %d\n%s", code, said1)
	}
	if code, text := said(t, nil, lockchaos, append(where, "--out", t.TempDir())...); code != exit.Usage || !strings.Contains(text, "--failover-cmd says how") {
		t.Errorf("without a command: exit status %d\n%s", code, text)
	}
	for _, args := range [][]string{{"run", suite, "--runtime", "local"}, {"run", "redis-setnx/none/unfenced", "--runtime", "local", "--failover-cmd", "true"}} {
		if code, text := said(t, nil, lockchaos, append(args, "--out", t.TempDir())...); code != exit.Usage || !strings.Contains(text, "--failover-cmd") {
			t.Errorf("%v: exit status %d\n%s", args, code, text)
		}
	}
}

// A Redis Cluster with TLS and users, whose nodes announce IP addresses, or a name each: clients
// verify each node's certificate through its relay.
func TestExternalRedisClusterTLS(t *testing.T) {
	needed.Later(t, "a Redis Cluster without TLS stands for three")
	if !sandboxed(t) {
		t.Skip("this machine refuses namespaces")
	}
	t.Parallel()
	for _, named := range []bool{false, true} {
		ca := authority.New(t)
		cluster := probetest.RedisCluster(t, ca, "cache.test", named)
		where, host := []string{"--cacert", ca.File}, "cache.test"
		if named {
			host = "redis-2.cache.test"
		}
		for i, port := range cluster.Ports {
			for _, name := range []string{"cache.test", "redis-" + string(rune('1'+i)) + ".cache.test"} {
				where = append(where, "--connect-to", name+":"+port+"=127.0.0.1:"+port)
			}
		}
		where = append(where, "--nodes", "redis=rediss://me:${MY_PASSWORD}@"+host+":"+cluster.Ports[1])
		sealedRun(t, []string{"redis-setnx/none/unfenced", "redis-watchdog/none/unfenced", "redis-setnx/cut-off-release/unfenced"}, where...)
	}
}
