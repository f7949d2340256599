package main

import (
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
		if code != exit.OK || !regexp.MustCompile(`pass \([1-9].* faults\)`).MatchString(text) {
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

// A Redis Cluster with TLS and users, whose nodes announce IP addresses, or a name each: clients
// verify each node's certificate through its relay.
func TestExternalRedisClusterTLS(t *testing.T) {
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
