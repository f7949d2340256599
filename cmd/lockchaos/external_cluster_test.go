package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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

// A failover that the user triggers is a fault, with evidence from the cluster: clients go on
// with the new master. One that waits for the replica has lost nothing, and the history says so.
// Without the command it is left out, and elsewhere it is refused. A command after which the
// masters are the same does not bite.
func TestExternalFailover(t *testing.T) {
	needed.Later(t, "TestExternalSentinels fails over, too")
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
		if !regexp.MustCompile(`"kept":true[^\n]*; nothing was lost: `).MatchString(told) {
			decided.Lacks("a failover of which the servers show that it lost nothing")
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
	needed.Apart(t, "TestExternalRedisCluster stands for other clusters")
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

// members is a suite of scenarios in which one node of a cluster is out of its clients' reach.
const members = `
suite: members
about: one node of a cluster is out of reach
defaults:
  ttl: 2s
  clients: 3
  keys: 8
  workload: {kind: counter, guard: none, think: 5ms..20ms, rest: 5ms..30ms, acquire_timeout: 8s, op_timeout: 8s}
scenarios:
  - name: LOCK/node/unfenced
    about: all clients are cut off from one node
    lock: LOCK
    store: {kind: unfenced}
    duration: 6s
    faults:
      - {kind: partition, target: NODE, peers: clients, when: random, for: 500ms, after: 300ms, every: 500ms}
    needs: {grants: 4, bites: 1, handovers: 0}
    expect:
      properties: {starvation: any, token-order: any}
      severity: none
      why: The others answer.
  - name: LOCK/link/unfenced
    about: the packets between the holder and one node are late
    lock: LOCK
    store: {kind: unfenced}
    duration: 6s
    faults:
      - {kind: delay, target: holder, peers: NODE, when: after-grant, delay: 30ms, for: 500ms, after: 100ms, every: 200ms}
    needs: {grants: 4, bites: 1, handovers: 0}
    expect:
      properties: {starvation: any, token-order: any}
      severity: none
      why: The others answer.
`

// ofNode is the suite, of the lock, about a node.
func ofNode(t *testing.T, lock, node string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "members.yaml")
	writeFile(t, file, strings.NewReplacer("LOCK", lock, "NODE", node).Replace(members))
	return file
}

// aNode is the name of a node of a service.
var aNode = regexp.MustCompile(`(redis|etcd)-[0-9]+`)

// checkMembers runs the suite on a cluster, until each fault has bitten: on the links of the one
// node alone.
func checkMembers(t *testing.T, lock, node string, env []string, where ...string) {
	t.Helper()
	lockchaos, suite := program(t), ofNode(t, lock, node)
	decided.Run(t, func() {
		out := t.TempDir()
		code, text := said(t, env, lockchaos, append([]string{"run", suite, "--runtime", "external", "--out", out}, where...)...)
		checkDecided(code, text)
		told := histories(t, out)
		struck := 0
		for _, evidence := range regexp.MustCompile(`"bit":true,"evidence":"([^"]*)"`).FindAllStringSubmatch(told, -1) {
			if strings.Contains(evidence[1], "nobody injected") {
				continue // the machine was busy
			}
			for _, name := range aNode.FindAllString(evidence[1], -1) {
				if struck++; name != node {
					t.Errorf("it lies on other links, too: %s", evidence[1])
				}
			}
		}
		if code != exit.OK || struck == 0 || len(regexp.MustCompile(`✓ pass \([1-9].* faults?[,)]`).FindAllString(text, -1)) != 2 {
			t.Errorf("exit status %d\n%s", code, text)
		}
	})
}

// histories are those of a folder of runs.
func histories(t *testing.T, out string) (told string) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(out, "*", "*", "history.jsonl"))
	for _, file := range files {
		one, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		told += string(one)
	}
	return told
}

// An etcd that is given by one address is all its members, each with a relay of its own: faults are
// aimed at one. The exam's attacks on nodes come from the clients alone. A cluster whose members
// are not where they announce themselves is reached as one place, and that is said.
func TestExternalEtcdCluster(t *testing.T) {
	needed.Apart(t, "TestExternalRedisCluster stands for other clusters")
	if !sandboxed(t) {
		t.Skip("this machine refuses namespaces")
	}
	t.Parallel()
	ports := probetest.EtcdCluster(t, nil, "", nil)
	nodes := []string{"--nodes", "etcd=127.0.0.1:" + ports[1]}
	checkMembers(t, "etcd-lease", "etcd-2", nil, nodes...)
	lockchaos := program(t)
	decided.Run(t, func() {
		code, text := said(t, nil, lockchaos, append([]string{"exam", "etcd-lease", "--runtime", "external", "--attack", "leader-cut-off",
			"--attack", "node-cut-off", "--attack", "node-stops", "--out", t.TempDir()}, nodes...)...)
		checkDecided(code, text)
		if code != exit.OK || !strings.Contains(text, "the server's process is not lockchaos's own") {
			t.Errorf("exit status %d\n%s", code, text)
		}
	})
	first := func(ports []string) string { return ports[0] }
	ports = probetest.EtcdCluster(t, nil, "", map[int]func([]string) string{2: first})
	_, text := said(t, nil, lockchaos, "run", "etcd-lease/none/unfenced", "--runtime", "external", "--duration", "1s", "--no-expect",
		"--nodes", "etcd=127.0.0.1:"+ports[1], "--out", t.TempDir())
	for _, want := range []string{"is one place for all its members", "another member answers there", "name each \\(etcd-1=ADDRESS,etcd-2=ADDRESS,etcd-3=ADDRESS",
		"[1-9][0-9]* grants"} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("it does not say %s\n%s", want, text)
		}
	}
}

// The same with TLS and users: the members announce names of their own.
func TestExternalEtcdClusterTLS(t *testing.T) {
	needed.Apart(t, "TestExternalRedisCluster stands for other clusters")
	if !sandboxed(t) {
		t.Skip("this machine refuses namespaces")
	}
	t.Parallel()
	ca := authority.New(t)
	ports := probetest.EtcdCluster(t, ca, "etcd.test", nil)
	cert, key := ca.Issue(t, "me")
	where := []string{"--cacert", ca.File, "--cert", cert, "--key", key, "--nodes", "etcd=https://me:${MY_PASSWORD}@etcd.test:" + ports[0]}
	for i, port := range ports {
		for _, name := range []string{"etcd.test", "etcd-" + string(rune('1'+i)) + ".etcd.test"} {
			where = append(where, "--connect-to", name+":"+port+"=127.0.0.1:"+port)
		}
	}
	checkMembers(t, "etcd-lease", "etcd-2", []string{"MY_PASSWORD=" + probetest.Secret}, where...)
}

// Faults are aimed at one node of a Redis Cluster. One that it has not is left out with the reason,
// and refused where there is no cluster.
func TestExternalRedisClusterNode(t *testing.T) {
	needed.Apart(t, "TestExternalRedisCluster stands for other clusters")
	if !sandboxed(t) {
		t.Skip("this machine refuses namespaces")
	}
	t.Parallel()
	cluster := probetest.RedisCluster(t, nil, "cache.test", false)
	nodes := []string{"--nodes", "redis=127.0.0.1:" + cluster.Ports[0]}
	suite := ofNode(t, "redis-setnx", "redis-9")
	lockchaos := program(t)
	for _, c := range []struct {
		where []string
		want  string
	}{
		{append([]string{"--runtime", "external"}, nodes...), `redis-setnx/link/unfenced: .*redis-9.* nodes`},
		{[]string{"--runtime", "local"}, `\.yaml:[0-9]+:[0-9]+: unknown target "redis-9"`},
	} {
		if code, text := said(t, nil, lockchaos, append([]string{"run", suite, "--out", t.TempDir()}, c.where...)...); code != exit.Usage ||
			!regexp.MustCompile(c.want).MatchString(text) {
			t.Errorf("%v: exit status %d\n%s", c.where, code, text)
		}
	}
	slices.Sort(cluster.Ports) // as their nodes are numbered
	master := slices.IndexFunc(cluster.Ports, func(port string) bool { return strings.Contains(cluster.Ask(t, port, "ROLE"), "master") })
	checkMembers(t, "redis-setnx", "redis-"+string(rune('1'+master)), nil, nodes...)
}

// Sentinels of the user's own, by the address of one: all of them are found, and the servers that
// they name, with their password. Clients follow a failover that the user triggers. A lock that
// needs one server is not tried there.
func TestExternalSentinels(t *testing.T) {
	needed.WithoutRace(t) // TestExternalFailover is run with it
	if !sandboxed(t) {
		t.Skip("this machine refuses namespaces")
	}
	t.Parallel()
	_, watching, line := probetest.Sentinels(t, nil, "")
	lockchaos := program(t)
	suite := filepath.Join(t.TempDir(), "failovers.yaml")
	writeFile(t, suite, strings.ReplaceAll(failovers, "redis-setnx", "redis-failover"))
	nodes := []string{"--runtime", "external", "--nodes", "redis-failover=redis+sentinel://:${MY_PASSWORD}@127.0.0.1:" + watching[1] + "/" + probetest.Watched}
	env := []string{"MY_PASSWORD=" + probetest.Secret}
	decided.Run(t, func() {
		out := t.TempDir()
		code, text := said(t, env, lockchaos, append([]string{"run", suite, "redis-failover/none/unfenced", "--out", out, "--failover-cmd",
			strings.Join(line(watching[0]), " ") + " SENTINEL FAILOVER " + probetest.Watched}, nodes...)...)
		unwritten(t, out, text)
		checkDecided(code, text)
		for _, want := range []string{`redis-2 at redis://127.0.0.1:[0-9]+, sentinel-1 at redis\+sentinel://127.0.0.1:[0-9]+/mymaster`, `sentinel-3 at `} {
			if !regexp.MustCompile(want).MatchString(text) {
				t.Errorf("it does not say %s", want)
			}
		}
		if !regexp.MustCompile(`"bit":true,"evidence":"before: primary 127.0.0.1:[0-9]+, epoch [0-9]+; --failover-cmd, .*; after: primary `).MatchString(histories(t, out)) {
			t.Error("no failover bit, with its evidence")
		}
		if code != exit.OK || t.Failed() {
			t.Errorf("exit status %d\n%s", code, text)
		}
	})
	for nodes, want := range map[string]string{
		"redis-failover=127.0.0.1:" + watching[0]:                                                   "that is no address of redis-sentinel: want redis+sentinel://",
		"redis-failover=redis+sentinel://127.0.0.1:" + watching[0]:                                  "say what the sentinels call the primary",
		"redis-failover=redis+sentinel://127.0.0.1:" + watching[0] + "/another":                     `the sentinel knows no primary that is called "another"`,
		"redis-failover=redis+sentinel://:wrong@127.0.0.1:" + watching[0] + "/" + probetest.Watched: "log in: ",
	} {
		code, text := said(t, nil, lockchaos, "run", "redis-failover/none/unfenced", "--runtime", "external", "--nodes", nodes, "--out", t.TempDir())
		if code == exit.OK || !strings.Contains(text, want) {
			t.Errorf("%s: exit status %d, want %s\n%s", nodes, code, want, text)
		}
	}
}

// The same with TLS: servers and sentinels that are announced by IP addresses have certificates for
// the name under which they were found.
func TestExternalSentinelsTLS(t *testing.T) {
	needed.Apart(t, "TestExternalSentinels stands for those with TLS")
	if !sandboxed(t) {
		t.Skip("this machine refuses namespaces")
	}
	t.Parallel()
	ca := authority.New(t)
	_, watching, _ := probetest.Sentinels(t, ca, "cache.test")
	sealedRun(t, []string{"redis-failover/none/unfenced"}, "--cacert", ca.File, "--connect-to", "cache.test:"+watching[0]+"=127.0.0.1:"+watching[0],
		"--nodes", "redis-failover=rediss+sentinel://:${MY_PASSWORD}@cache.test:"+watching[0]+"/"+probetest.Watched)
}
