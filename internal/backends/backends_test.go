package backends_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/backends/backendstest"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/hosts/hoststest"
)

var number = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+$`)

// checkUp looks at what Start returned: every node alive, logged to a file,
// with an address and a version.
func checkUp(t *testing.T, s *backends.Service, nodes int) {
	t.Helper()
	if len(s.Nodes) != nodes || len(s.Addrs()) != nodes || s.Alive() != nil {
		t.Fatalf("%d nodes at %v, alive: %v", len(s.Nodes), s.Addrs(), s.Alive())
	}
	for _, n := range s.Nodes {
		if info, err := os.Stat(n.Log); err != nil || n.Version == "" || n.Process.PID() <= 0 ||
			!strings.HasPrefix(n.Addr, n.Host.Addr.String()+":") {
			t.Errorf("%+v: log %v, %v", n, info, err)
		}
	}
}

func TestRedis(t *testing.T) {
	backendstest.NeedRedis(t)
	began := time.Now()
	s := backendstest.Start(t, "redis")
	t.Logf("redis up in %v", time.Since(began))
	checkUp(t, s, 1)
	if !number.MatchString(s.Version) || len(s.StandIns()) != 0 || len(s.Notes) == 0 {
		t.Errorf("version %q, stand-ins %q, notes %q", s.Version, s.StandIns(), s.Notes)
	}
	// What the server says of itself is what the program says.
	out, err := exec.Command("redis-server", "--version").Output()
	if err != nil || !strings.Contains(string(out), "v="+s.Version) {
		t.Errorf("version %q of %q, %v", s.Version, out, err)
	}
	config := goredis.NewClient(&goredis.Options{Addr: s.Addrs()[0], Protocol: 2})
	defer config.Close()
	if kept, err := config.ConfigGet(backendstest.Limit(t), "save").Result(); err != nil || kept["save"] != "" {
		t.Errorf("redis saves by itself: %v, %v", kept, err)
	}
}

// TestRedisFive: five servers on hosts of their own, none of which knows of
// what another was told; each death is told by name.
func TestRedisFive(t *testing.T) {
	for _, as := range []string{"redis-server", "miniredis"} {
		t.Run(as, func(t *testing.T) {
			needed := 0 // stand-ins
			if as == "miniredis" {
				needed = 1 // for all of them
				t.Setenv(backends.RedisVar, "miniredis")
			} else {
				backendstest.NeedRedis(t)
			}
			began := time.Now()
			s := backendstest.Start(t, "redis-five")
			t.Logf("five up in %v", time.Since(began))
			checkUp(t, s, 5)
			if len(s.StandIns()) != needed || needed == 1 && !strings.HasPrefix(s.StandIns()[0], "miniredis stands in for Redis, because") {
				t.Errorf("stand-ins %q", s.StandIns())
			}
			ctx := backendstest.Limit(t)
			for i, n := range s.Nodes {
				if want := fmt.Sprintf("redis-%d", i+1); n.Name != want {
					t.Errorf("node %d is named %s", i+1, n.Name)
				}
				c := goredis.NewClient(&goredis.Options{Addr: n.Addr, Protocol: 2})
				defer c.Close()
				if ok, err := c.SetNX(ctx, "k", n.Name, 0).Result(); err != nil || !ok {
					t.Errorf("%s: not empty and alone: %t, %v", n.Name, ok, err)
				}
			}
			victim := s.Nodes[3]
			if err := victim.Process.Signal(unix.SIGKILL); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-s.Died():
				if !strings.Contains(err.Error(), "redis-4") {
					t.Error(err)
				}
			case <-ctx.Done():
				t.Fatal("nobody told")
			}
		})
	}
}

// TestMiniredis: the stand-in names itself, and its keys expire by the clock, never early.
func TestMiniredis(t *testing.T) {
	t.Setenv(backends.RedisVar, "miniredis")
	s := backendstest.Start(t, "redis")
	checkUp(t, s, 1)
	if len(s.StandIns()) != 1 || !strings.Contains(s.StandIns()[0], "stands in for Redis") || !strings.HasPrefix(s.Version, "miniredis ") {
		t.Errorf("version %q, stand-ins %q", s.Version, s.StandIns())
	}
	if fix := backends.RealInstead(s.StandIns()[0]); fix != "unset LOCKCHAOS_REDIS, and apt-get install redis-server (or valkey-server)" {
		t.Errorf("to have a real one: %q", fix)
	}
	c := goredis.NewClient(&goredis.Options{Addr: s.Addrs()[0], Protocol: 2})
	defer c.Close()
	ctx := backendstest.Limit(t)
	const ttl = 60 * time.Millisecond
	for range 5 {
		began := time.Now()
		if err := c.Set(ctx, "k", "v", ttl).Err(); err != nil {
			t.Fatal(err)
		}
		set := time.Now()
		for {
			asked := time.Now()
			err := c.Get(ctx, "k").Err()
			if errors.Is(err, goredis.Nil) {
				if lived := time.Since(began); lived < ttl {
					t.Errorf("a key with a TTL of %v was gone after %v", ttl, lived)
				}
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if asked.Sub(set) > ttl {
				t.Errorf("a key with a TTL of %v was there %v after it was set", ttl, asked.Sub(set))
				break
			}
		}
	}
}

func TestEtcd(t *testing.T) {
	proxies := []string{"HTTP_PROXY", "https_proxy"}
	for _, name := range proxies {
		t.Setenv(name, "http://127.0.0.1:1") // the user's; nothing of ours may go there
	}
	began := time.Now()
	s := backendstest.Start(t, "etcd")
	t.Logf("etcd ×3 up in %v", time.Since(began))
	for _, name := range proxies {
		os.Unsetenv(name)
	}
	checkUp(t, s, 3)
	if !number.MatchString(s.Version) || len(s.StandIns()) != 0 {
		t.Errorf("version %q, stand-ins %q", s.Version, s.StandIns())
	}
	c, err := clientv3.New(clientv3.Config{Endpoints: s.Addrs(), Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx := backendstest.Limit(t)
	// The shortest lease that a lock can ask for is granted as it is.
	lease, err := c.Grant(ctx, 1)
	if err != nil || lease.TTL != 1 {
		t.Errorf("asked for a lease of 1 s, got %+v, %v", lease, err)
	}
	// A cluster of three goes on without any one of them.
	for _, n := range s.Nodes {
		p, err := n.Process.Stop(ctx)
		if err != nil {
			t.Fatal(err)
		}
		put := backendstest.Limit(t)
		for _, other := range s.Nodes {
			if other == n {
				continue
			}
			one, err := clientv3.New(clientv3.Config{Endpoints: []string{other.Addr}, Logger: zap.NewNop()})
			if err != nil {
				t.Fatal(err)
			}
			for {
				// What is asked while a leader is elected may fail, or wait for long: ask again.
				try, stop := context.WithTimeout(put, time.Second)
				_, err = one.Put(try, "k", "v")
				stop()
				if err == nil || put.Err() != nil {
					break
				}
			}
			if err != nil {
				t.Errorf("without %s, through %s: %v", n.Name, other.Name, err)
			}
			one.Close()
		}
		if err := p.Resume(); err != nil {
			t.Fatal(err)
		}
	}
}

// program writes a shell script that plays a redis-server gone wrong.
func program(t *testing.T, text string) { server(t, "[ \"$1\" = --version ] && exit\n"+text) }

// server is a script that stands for redis-server, also when it is asked for its version.
func server(t *testing.T, text string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "redis-server")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv(backends.RedisVar, path)
}

// TestVersionThatNeverEnds: who asks a program for its version waits neither
// for a child that it leaves behind, nor for ever.
func TestVersionThatNeverEnds(t *testing.T) {
	server(t, "if [ \"$1\" = --version ]; then sleep 100 & echo v=9.9.9; exit; fi\necho 'a child keeps the output'; exit 3\n")
	began := time.Now()
	checkFailure(t, backendstest.Limit(t), "a child keeps the output", "exit status 3")
	if took := time.Since(began); took > 90*time.Second {
		t.Errorf("noticed after %v", took)
	}
}

// TestDiesAtStart: the error names the node, its address and the end of its
// log, at once; and nothing is left.
func TestDiesAtStart(t *testing.T) {
	program(t, "echo 'bad directive in line 7' >&2\nexit 3\n")
	began := time.Now()
	checkFailure(t, backendstest.Limit(t), "bad directive in line 7", "exit status 3")
	if took := time.Since(began); took > time.Minute {
		t.Errorf("noticed after %v", took)
	}
}

// TestNeverAnswers: a process that lives and is silent. It and its children are
// gone when Start returns.
func TestNeverAnswers(t *testing.T) {
	program(t, "echo 'loading forever'\nsleep 1000 &\nsleep 1000\n")
	wait := 300 * time.Millisecond
	decided.Run(t, func() {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		defer cancel()
		err := failure(t, ctx)
		if wait *= 2; strings.Contains(err.Error(), "it logged nothing") {
			decided.Lacks("a program that had begun")
		}
		says(t, err, "loading forever", "dial tcp ") // refused, or on a busy machine not even that
	})
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range processes {
		if line, err := os.ReadFile(p); err == nil && strings.HasPrefix(string(line), "sleep\x001000") {
			t.Errorf("%s was left", p)
		}
	}
}

func checkFailure(t *testing.T, ctx context.Context, words ...string) {
	t.Helper()
	says(t, failure(t, ctx), words...)
}

// failure is the error with which a Redis does not start.
func failure(t *testing.T, ctx context.Context) error {
	t.Helper()
	n, _ := hoststest.Network(t)
	s, err := backends.Start(ctx, n, backends.Spec{Service: "redis", Logs: t.TempDir()})
	if err == nil {
		t.Fatalf("it started: %+v", s)
	}
	return err
}

func says(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, word := range append(words, "redis-1", ":6379", "redis-1.log") {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("the error lacks %q: %v", word, err)
		}
	}
}

// TestDeath: a node that dies in the run is told, once, with the end of its log.
func TestDeath(t *testing.T) {
	s := backendstest.Start(t, "etcd")
	victim := s.Nodes[1]
	if err := victim.Process.Signal(unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-s.Died():
		if !strings.Contains(err.Error(), victim.Name) || !strings.Contains(err.Error(), "killed") {
			t.Error(err)
		}
	case <-backendstest.Limit(t).Done():
		t.Fatal("nobody told")
	}
	if err := s.Alive(); err == nil || !strings.Contains(err.Error(), victim.Name) {
		t.Errorf("alive: %v", err)
	}
	// What ends because the service is closed is no news.
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for _, n := range s.Nodes {
		if n.Process.Gone() == 0 {
			t.Errorf("%s was left", n.Name)
		}
	}
	select {
	case err := <-s.Died():
		t.Errorf("told after the end: %v", err)
	default:
	}
}

// TestNodesEndOnRequest: SIGTERM ends each kind of node, with status 0.
func TestNodesEndOnRequest(t *testing.T) {
	t.Setenv(backends.RedisVar, "miniredis")
	n, _ := hoststest.Network(t)
	node, err := backends.StartStore(backendstest.Limit(t), n, backends.StoreSpec{Engine: "sqlite", Logs: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	nodes := append(append([]*backends.Node{node.Node}, backendstest.Start(t, "redis").Nodes...), backendstest.Start(t, "etcd").Nodes...)
	for _, n := range nodes {
		if err := n.Process.Signal(unix.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range nodes {
		if err := n.Process.Wait(backendstest.Limit(t)); err != nil {
			t.Error(err)
		}
	}
}

func TestUnknown(t *testing.T) {
	n, _ := hoststest.Network(t)
	_, err := backends.Start(backendstest.Limit(t), n, backends.Spec{Service: "mongodb", Logs: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(),
		"redis, redis-five, redis-failover, etcd, zookeeper, postgres, postgres-pgbouncer, memcached, nats, consul, mariadb, mariadb-galera, s3, dynamodb, kubernetes") {
		t.Errorf("mongodb: %v", err)
	}
	s, err := backends.Start(backendstest.Limit(t), n, backends.Spec{Logs: t.TempDir()})
	if err != nil || len(s.Nodes) != 0 || s.Close() != nil {
		t.Errorf("no service: %+v, %v", s, err)
	}
	t.Setenv(backends.RedisVar, "/no/such/program")
	if _, err := backends.Start(backendstest.Limit(t), n, backends.Spec{Service: "redis", Logs: t.TempDir()}); err == nil ||
		!strings.Contains(err.Error(), "/no/such/program") {
		t.Errorf("no such program: %v", err)
	}
	for _, args := range [][]string{nil, {"mongodb"}, {"etcd", "--no-such-flag"}, {"store", "--fence", "reads"},
		{"etcd", "--client-url", "x"}} {
		if status := backends.NodeMain(args); status == 0 {
			t.Errorf("node %q: status 0", args)
		}
	}
}
