package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/adapter/skeleton"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
	"github.com/lockchaos/lockchaos/nemesis"
)

// healingCase is a fault under which lockchaos is killed, interrupted, or fails.
type healingCase struct {
	lock string
	// fault are the fields of its YAML beside for, after and every.
	fault string
	// adapter is the language of the skeleton that is the lock, on Redis, and once that is written
	// its command; "": lockchaos has the lock.
	adapter string
}

// healingCases are those of each kind of fault: at a client, and at nodes where
// it can strike them. A kind without one fails the tests.
var healingCases = map[string][]healingCase{
	nemesis.KindPause: {
		{lock: "redis-setnx", fault: "target: holder, when: between-read-and-write"},
		{lock: "redis-setnx", fault: "target: redis-1, when: random"},
		{lock: "etcd-lease", fault: `target: "nodes:2", when: random`},
	},
	nemesis.KindKill: {
		{lock: "redis-setnx", fault: "target: holder, when: before-write"},
	},
	nemesis.KindShutdown: {
		{lock: "redis-setnx", fault: "target: holder, when: before-write"},
	},
	nemesis.KindPartition: {
		{lock: "redis-setnx", fault: "target: holder, peers: store, when: after-grant"},
		{lock: "redis-setnx", fault: "target: redis-1, when: random"},
		{lock: "redlock", fault: "target: minority, when: random"},
		{lock: "etcd-lease", fault: "target: service, shape: majorities-ring, when: random"},
	},
	nemesis.KindClockJump: {
		{lock: "redis-setnx", fault: "target: redis-1, when: random, clock: wall, by: 1h"},
		{lock: "redis-setnx", fault: "target: holder, when: after-grant, clock: mono, by: 1m"},
	},
	nemesis.KindClockRate: {
		{lock: "redis-setnx", fault: "target: holder, when: between-read-and-write, clock: mono, rate: 0.2"},
		{lock: "redis-setnx", fault: "target: redis-1, when: random, clock: mono, rate: 5"},
		{lock: "etcd-lease", fault: `target: "nodes:3", when: random, clock: wall, rate: 10`},
	},
	nemesis.KindClockStrobe: {
		{lock: "redis-setnx", fault: "target: redis-1, when: random, clock: wall, by: 1h, period: 5ms"},
		{lock: "redis-setnx", fault: "target: holder, when: before-write, clock: wall, by: -1h, period: 5ms"},
	},
	"delay": {
		{lock: "redis-setnx", fault: "target: redis-1, when: random, delay: 30ms, jitter: 10ms"},
		{lock: "redis-setnx", fault: "target: holder, peers: service, when: between-read-and-write, delay: 50ms"},
		{lock: "etcd-lease", fault: "target: minority, when: random, delay: 20ms, way: out"},
	},
	"loss": {
		{lock: "redis-setnx", fault: "target: redis-1, when: random, probability: 0.3"},
		{lock: "redis-setnx", fault: "target: holder, when: after-grant, probability: 0.3"},
	},
	"duplicate": {
		{lock: "redis-setnx", fault: "target: redis-1, when: random, probability: 0.5"},
		{lock: "redis-setnx", fault: "target: holder, when: after-grant, probability: 0.5"},
	},
	"reorder": {
		{lock: "redis-setnx", fault: "target: redis-1, when: random, delay: 10ms, probability: 0.3"},
		{lock: "redis-setnx", fault: "target: holder, when: after-grant, delay: 10ms, probability: 0.3"},
	},
	"rate": {
		{lock: "redis-setnx", fault: "target: redis-1, when: random, bytes_per_second: 20000"},
		{lock: "redis-setnx", fault: "target: holder, when: after-grant, bytes_per_second: 5000"},
	},
	"black-hole": {
		{lock: "redis-setnx", fault: "target: redis-1, when: random, max_bytes: 60"},
		{lock: "redis-setnx", fault: "target: holder, when: after-grant, max_bytes: 60"},
	},
	"hold": {
		{lock: "redis-setnx", fault: "target: holder, when: before-write, request: write"},
		{lock: "redis-setnx", fault: "target: holder, when: acquiring, request: acquire, way: in"},
	},
	"kill-at-reply": {
		{lock: "redis-setnx", fault: "target: holder, when: acquiring, request: acquire"},
	},
	"cut": {
		{lock: "redis-setnx", fault: "target: holder, when: acquiring, request: acquire, point: after-request"},
		{lock: "redis-setnx", fault: "target: holder, when: before-write, request: write, point: before-request, silent: true"},
	},
	"reset": {
		{lock: "redis-setnx", fault: "target: redis-1, when: random"},
		{lock: "redis-setnx", fault: "target: holder, peers: service, when: after-grant"},
	},
	"crash-restart": {
		{lock: "redis-setnx", fault: "target: redis-1, when: random, data: lost"},
		{lock: "etcd-lease", fault: `target: "nodes:1", when: random, data: kept`},
	},
	nemesis.KindRefuseWrites: {
		{lock: "etcd-lease", fault: `target: "nodes:1", when: random`}, // a stand-in for Redis refuses no writes
	},
	"failover": {
		{lock: "redis-failover", fault: "target: service, when: random"},
	},
	"throttle": {
		{lock: "redis-setnx", fault: "target: redis-1, when: random, share: 0.2"},
		{lock: "redis-setnx", fault: "target: holder, when: after-grant, share: 0.2"},
	},
	"stall": {
		{lock: "redis-watchdog", fault: "target: holder, when: between-read-and-write"},
	},
	"renewer-stall": {
		{lock: "redis-watchdog", fault: "target: holder, when: after-grant"},
	},
	nemesis.KindCollect: {
		{lock: "lock-java", fault: "target: holder, when: before-write", adapter: "java"},
	},
	nemesis.KindBlockLoop: {
		{lock: "lock-node", fault: "target: holder, when: before-write", adapter: "node"},
	},
	"expire-session": {
		{lock: "etcd-lease", fault: "target: holder, when: after-grant"},
	},
}

// everyKind lists the cases of every kind of fault, and fails the test where a kind has none.
func everyKind(t *testing.T) map[string][]healingCase {
	t.Helper()
	for _, k := range nemesis.Kinds() {
		cases := healingCases[k.Name]
		// whose tests are in servers/kubernetes/cluster
		if len(cases) == 0 && k.Needs != nemesis.NeedsCluster {
			t.Errorf("fault %s has no case in healingCases: nothing shows that it leaves nothing behind", k.Name)
		}
		for _, c := range cases {
			if _, err := ours().Lock(c.lock); err != nil && c.adapter == "" {
				t.Error(err)
			}
		}
	}
	return healingCases
}

// healingFor is how long such a fault lasts, in milliseconds: two renewals of a
// lock with a TTL of a second, so that one at least is held up.
const healingFor = 700

// healingSuite begins the YAML of a suite of such scenarios.
const healingSuite = "suite: heal\nscenarios:\n"

// scenario is the YAML of a scenario of the suite. It goes on until somebody ends it, or for the
// given time. The workload is short of nothing, so that the fault soon meets whom it is aimed at.
func (c healingCase) scenario(name, kind, duration string) string {
	return fmt.Sprintf(`  - name: %s
    lock: %s%s
    ttl: 1s
    clients: 3
    keys: 1
    store: {kind: unfenced}
    workload: {kind: counter, guard: none, think: 20ms..40ms, rest: 1ms..5ms, acquire_timeout: 10s, op_timeout: 10s}
    duration: %s
    faults:
      - {kind: %s, %s, %safter: 10ms, every: 50ms..100ms}
    needs: {grants: 1, handovers: 0}
    expect: {}
`, name, c.lock, c.program(), duration, kind, c.fault, c.lasts(kind))
}

// lasts is how long the fault lasts, in YAML; one that is over as soon as it
// has struck takes no such field.
func (c healingCase) lasts(kind string) string {
	if kind == nemesis.KindCollect || kind == "reset" || kind == "expire-session" || kind == "cut" && !strings.Contains(c.fault, "silent: true") {
		return ""
	}
	return fmt.Sprintf("for: %dms, ", healingFor)
}

// skeletonCommand writes what `lockchaos adapter new` does for a kind of adapter ("": a lock) in a
// language, which needs no library, and returns the command that starts it.
func skeletonCommand(t testing.TB, language, kind string) string {
	t.Helper()
	l, known := skeleton.Lookup(language)
	if !known {
		t.Fatalf("there is no skeleton in %s", language)
	}
	l = l.Of(kind)
	dir := t.TempDir()
	if err := skeleton.Write(l, dir); err != nil {
		t.Fatal(err)
	}
	program := l.Needs[0]
	if language == "java" {
		program += " -XX:-UsePerfData" // of one file, which it compiles as it starts
	}
	return fmt.Sprintf("exec %s %s", program, filepath.Join(dir, l.File))
}

// program is the adapter in YAML, if there is one.
func (c healingCase) program() string {
	if c.adapter == "" {
		return ""
	}
	return fmt.Sprintf("\n    adapter: {command: %q, service: redis}", c.adapter)
}

// need skips the test of a case whose program this machine cannot run.
func (c healingCase) need(t *testing.T) {
	t.Helper()
	if l, known := skeleton.Lookup(c.adapter); known {
		needed.Later(t, l.Needs[0]+" is not on every machine")
		needed.Program(t, l.Needs[0])
	}
}

// ofNodes reports whether the case strikes nodes.
func (c healingCase) ofNodes() bool { return !strings.Contains(c.fault, "target: holder") }

// healingName is the scenario's name, and its folder's.
const healingName = "heal"
