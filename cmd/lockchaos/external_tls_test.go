package main

import (
	"fmt"
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
	"github.com/lockchaos/lockchaos/internal/redact"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
)

// A redis-server with TLS and users, under its real name: clients verify its certificate through
// the relay, faults of clients and of their links bite, and the password is written nowhere.
func TestExternalRedisTLS(t *testing.T) {
	if !sandboxed(t) {
		t.Skip("this machine refuses namespaces")
	}
	t.Parallel()
	ca := authority.New(t)
	port := probetest.Redis(t, ca, "cache.test", authority.Good)
	lockchaos := program(t)
	where := []string{"--runtime", "external", "--cacert", ca.File, "--connect-to", "cache.test:" + port + "=" + "127.0.0.1:" + port}
	env := []string{"MY_PASSWORD=" + probetest.Secret}
	nodes := "redis=rediss://me:${MY_PASSWORD}@cache.test:" + port + "/2"
	decided.Run(t, func() {
		out := t.TempDir()
		code, text := said(t, env, lockchaos, append([]string{"run", "redis-setnx/pause-holder/unfenced", "redislock/none/unfenced",
			"redis-setnx/cut-off-release/unfenced", "redis-setnx/cut-brief-acquire/unfenced", "--seed", "7", "--nodes", nodes, "--out", out}, where...)...)
		for _, want := range []string{
			regexp.QuoteMeta("external: redis-1 at rediss://cache.test:" + port + "/2"),
			"(?m)^left out, since TLS hides which packet holds the request, .*: redis-setnx/cut-brief-acquire/unfenced$"} {
			if !regexp.MustCompile(want).MatchString(text) {
				t.Errorf("it does not say %s", want)
			}
		}
		unwritten(t, out, text)
		checkDecided(code, text)
		for _, want := range []string{"redis-setnx/pause-holder/unfenced +✗ corrupted", "redislock/none/unfenced +✓ pass",
			"redis-setnx/cut-off-release/unfenced +✓ pass .*faults"} {
			if !regexp.MustCompile(want).MatchString(text) {
				decided.Lacks("%s: %s", want, text)
			}
		}
		if code != exit.OK || t.Failed() {
			t.Errorf("exit status %d\n%s", code, redact.Text(text))
		}
	})
	t.Run("adapter", func(t *testing.T) {
		needed.Be(t, exec.Command("python3", "-c", "import sys; sys.path.append('/usr/lib/python3/dist-packages'); import redis").Run())
		adapter, err := filepath.Abs("../../examples/python/redispy_lock.py")
		if err != nil {
			t.Fatal(err)
		}
		decided.Run(t, func() {
			out := t.TempDir()
			// TLS, Python and a busy machine take a good part of a second
			code, text := said(t, env, lockchaos, append([]string{"run", "redis-setnx/none/unfenced", "--lock-cmd", "python3 " + adapter,
				"--service", "redis", "--ttl", "3s", "--duration", "10s", "--nodes", nodes, "--out", out}, where...)...)
			unwritten(t, out, text)
			checkDecided(code, text)
			if code != exit.OK || !strings.Contains(text, "redis-py Lock") {
				t.Errorf("exit status %d\n%s", code, text)
			}
		})
	})
}

// An etcd with clients' certificates and users, under its real name: the lock, a store that lies in
// the same etcd, and a count of requests all log in.
func TestExternalEtcdTLS(t *testing.T) {
	needed.Apart(t, "TestExternalRedisTLS stands for all services with TLS")
	if !sandboxed(t) {
		t.Skip("this machine refuses namespaces")
	}
	t.Parallel()
	ca := authority.New(t)
	port := probetest.Etcd(t, ca, "etcd.test")
	cert, key := ca.Issue(t, "me")
	sealedRun(t, []string{"etcd-lease/none/unfenced", "etcd-txn/none/guarded", "etcd-lease/end-session-work/fenced"}, "--nodes", "etcd=https://me:${MY_PASSWORD}@etcd.test:"+port,
		"--cacert", ca.File, "--cert", cert, "--key", key, "--connect-to", "etcd.test:"+port+"=127.0.0.1:"+port)
}

// A PostgreSQL with TLS alone and passwords, under its real name.
func TestExternalPostgresTLS(t *testing.T) {
	needed.Apart(t, "TestExternalRedisTLS stands for all services with TLS")
	if !sandboxed(t) {
		t.Skip("this machine refuses namespaces")
	}
	t.Parallel()
	ca := authority.New(t)
	port := probetest.Postgres(t, ca, "pg.test")
	sealedRun(t, []string{"pg-lease/none/fenced", "pg-advisory/none/unfenced"}, "--nodes",
		"postgres=postgres://me:${MY_PASSWORD}@pg.test:"+port+"/postgres?sslmode=verify-full", "--cacert", ca.File,
		"--connect-to", "pg.test:"+port+"=127.0.0.1:"+port)
}

// A MariaDB with TLS and users, under its real name.
func TestExternalMariaDBTLS(t *testing.T) {
	needed.Apart(t, "TestExternalRedisTLS stands for all services with TLS")
	if !sandboxed(t) {
		t.Skip("this machine refuses namespaces")
	}
	t.Parallel()
	ca := authority.New(t)
	port := probetest.MariaDB(t, ca, "maria.test")
	sealedRun(t, []string{"mariadb-lease/none/fenced", "mariadb-getlock/none/unfenced"}, "--nodes",
		"mariadb=mysql://me:${MY_PASSWORD}@maria.test:"+port+"/locks?tls=true", "--cacert", ca.File,
		"--connect-to", "maria.test:"+port+"=127.0.0.1:"+port)
}

// Five redis-servers with TLS, each under a name of its own, for locks that ask for a majority.
func TestExternalRedlockTLS(t *testing.T) {
	needed.Apart(t, "TestExternalRedisTLS stands for all services with TLS")
	if !sandboxed(t) {
		t.Skip("this machine refuses namespaces")
	}
	t.Parallel()
	ca := authority.New(t)
	// redsync gives each node a twentieth of the TTL, which is too little for TLS on a busy machine
	where := []string{"--cacert", ca.File, "--scale", "real", "--duration", "10s"}
	for i := 1; i <= 5; i++ {
		name := fmt.Sprintf("r%d.test", i)
		port := probetest.Redis(t, ca, name, authority.Good)
		where = append(where, "--nodes", fmt.Sprintf("redis-%d=rediss://me:${MY_PASSWORD}@%s:%s", i, name, port),
			"--connect-to", name+":"+port+"=127.0.0.1:"+port)
	}
	sealedRun(t, []string{"redlock/none/unfenced", "redsync/none/unfenced"}, where...)
}

// An object store with TLS and keys, under its real name.
func TestExternalS3TLS(t *testing.T) {
	needed.Apart(t, "TestExternalRedisTLS stands for all services with TLS")
	if !sandboxed(t) {
		t.Skip("this machine refuses namespaces")
	}
	t.Parallel()
	ca := authority.New(t)
	port := probetest.S3(t, ca, "s3.test")
	sealedRun(t, []string{"s3-lease/none/fenced"}, "--nodes", "s3=https://me:${MY_PASSWORD}@s3.test:"+port+"/locks", "--cacert", ca.File,
		"--connect-to", "s3.test:"+port+"=127.0.0.1:"+port)
}

// A NATS server with TLS, under its real name: with a password, and with a file of credentials that
// is named as it lies here.
func TestExternalNATSTLS(t *testing.T) {
	needed.Apart(t, "TestExternalRedisTLS stands for all services with TLS")
	if !sandboxed(t) {
		t.Skip("this machine refuses namespaces")
	}
	t.Parallel()
	ca := authority.New(t)
	port := probetest.NATS(t, ca, "nats.test", authority.Good)
	signed, creds := probetest.NATSByCreds(t, ca, "nats.test")
	here, err := os.Getwd()
	if err == nil {
		creds, err = filepath.Rel(here, creds)
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ nodes, port string }{
		"password":    {"nats=tls://me:${MY_PASSWORD}@nats.test:" + port, port},
		"credentials": {"nats=tls://nats.test:" + signed + "?creds=" + creds, signed},
	} {
		t.Run(name, func(t *testing.T) {
			sealedRun(t, []string{"nats-kv/none/fenced"}, "--nodes", c.nodes, "--cacert", ca.File,
				"--connect-to", "nats.test:"+c.port+"=127.0.0.1:"+c.port)
		})
	}
}

// A Consul with TLS and ACLs, under its real name.
func TestExternalConsulTLS(t *testing.T) {
	needed.Apart(t, "TestExternalRedisTLS stands for all services with TLS")
	if !sandboxed(t) {
		t.Skip("this machine refuses namespaces")
	}
	t.Parallel()
	ca := authority.New(t)
	port := probetest.Consul(t, ca, "consul.test", false)
	sealedRun(t, []string{"consul-session/none/fenced", "consul-semaphore/none/unfenced"}, "--nodes", "consul=https://:${MY_TOKEN}@consul.test:"+port,
		"--cacert", ca.File, "--connect-to", "consul.test:"+port+"=127.0.0.1:"+port)
}

// A ZooKeeper with TLS, clients' certificates and users, under its real name: locks have no right
// but under their own znode.
func TestExternalZooKeeperTLS(t *testing.T) {
	needed.Apart(t, "TestExternalRedisTLS stands for all services with TLS")
	if !sandboxed(t) {
		t.Skip("this machine refuses namespaces")
	}
	t.Parallel()
	ca := authority.New(t)
	port := probetest.ZooKeeper(t, ca, "zk.test")
	cert, key := ca.Issue(t, "me")
	sealedRun(t, []string{"zookeeper/none/fenced", "zookeeper/end-session-work/unfenced"}, "--nodes", "zookeeper=zks://me:${MY_PASSWORD}@zk.test:"+port, "--cacert", ca.File,
		"--cert", cert, "--key", key, "--connect-to", "zk.test:"+port+"=127.0.0.1:"+port)
}

// sealedRun runs scenarios where all that is written down must be without the password, and each
// comes out as expected, with grants.
func sealedRun(t *testing.T, scenarios []string, where ...string) {
	t.Helper()
	lockchaos := program(t)
	decided.Run(t, func() {
		out := t.TempDir()
		code, text := said(t, []string{"MY_PASSWORD=" + probetest.Secret, "MY_TOKEN=" + probetest.Token}, lockchaos, append(append([]string{"run", "--runtime", "external", "--out", out},
			scenarios...), where...)...)
		unwritten(t, out, text)
		checkDecided(code, text)
		if grants := regexp.MustCompile(`\([1-9][0-9]* (grants|overruns?)`).FindAllString(text, -1); code != exit.OK || len(grants) < len(scenarios) {
			t.Errorf("exit status %d\n%s", code, text)
		}
	})
}

// checkDecided has a run made once more that decided nothing, or that came to something else
// because the machine was busy: it failed, or a client was so slow that its lease ended under it.
func checkDecided(code int, text string) {
	busy := code == exit.Failed && strings.Contains(text, "on a busy machine") ||
		code == exit.Violated && strings.Contains(text, "(worked-past-lease)")
	if code == exit.Inconclusive || busy {
		decided.Lacks("%s", text)
	}
}

// unwritten holds a run to have written the password nowhere, in whatever form.
func unwritten(t *testing.T, out, text string) {
	t.Helper()
	for _, secret := range []string{probetest.Secret, "pass%2Fword", probetest.Token} {
		if strings.Contains(text, secret) {
			t.Error("the password is on the screen")
		}
		if files := leaks(t, out, secret); len(files) > 0 {
			t.Errorf("the password is in %v", files)
		}
	}
}

// What is wrong with a server with TLS is one error, before anything has run.
func TestExternalTLSErrors(t *testing.T) {
	t.Parallel()
	ca := authority.New(t)
	port := probetest.Redis(t, ca, "cache.test", authority.Good)
	to := "cache.test:" + port + "=" + "127.0.0.1:" + port
	file := t.TempDir() + "/redis.url"
	writeFile(t, file, "rediss://me:wrong@cache.test:"+port+"\n")
	for name, c := range map[string]struct {
		nodes, want string
		more        []string
		code        int
	}{
		"authority": {"redis=rediss://me:x@cache.test:" + port, "--cacert FILE", []string{"--connect-to", to}, exit.Failed},
		"a file":    {"redis=@" + file, "redis-1 at rediss://cache.test:" + port + ": log in: WRONGPASS", []string{"--connect-to", to, "--cacert", ca.File}, exit.Failed},
		"no name":   {"redis=rediss://me:x@cache.invalid:" + port, "knows no host of that name", nil, exit.Failed},
		"variable":  {"redis=rediss://me:${NOT_SET_HERE}@cache.test:1", "the environment has no NOT_SET_HERE: set it", nil, exit.Usage},
		"address":   {"redis=rediss://me:x@[::1]:1", "rediss://[::1]:1: the private network has no addresses of IPv6: give the name", nil, exit.Usage},
		"two":       {"redis-1=rediss://a.test:1,redis-2=rediss://a.test:2", "have the same name", nil, exit.Usage},
		"scheme":    {"redis=https://me:x@a.test:1", "https://a.test:1: that is no address of redis", nil, exit.Usage},
		"way":       {"redis=rediss://a.test:1", "--connect-to nowhere: want NAME:PORT=ADDRESS:PORT", []string{"--connect-to", "nowhere"}, exit.Usage},
	} {
		var out, errs strings.Builder
		dir := t.TempDir()
		args := append([]string{"run", "redis-setnx/none/unfenced", "--runtime", "external", "--nodes", c.nodes, "--out", dir}, c.more...)
		if code := execute(t.Context(), args, &out, &errs); code != c.code || !strings.Contains(errs.String(), c.want) {
			t.Errorf("%s: exit status %d, want %q\n%s%s", name, code, c.want, out.String(), errs.String())
		}
		if made, _ := os.ReadDir(dir); len(made) > 0 || strings.Contains(errs.String(), ":x@") {
			t.Errorf("%s: something ran, or a password is told: %v\n%s", name, made, errs.String())
		}
	}
}

// What is for servers that run already is refused elsewhere.
func TestTLSFlagsElsewhere(t *testing.T) {
	var out, errs strings.Builder
	if code := execute(t.Context(), []string{"run", "redis-setnx/none/unfenced", "--runtime", "local", "--cacert", "ca.pem", "--out",
		t.TempDir()}, &out, &errs); code != exit.Usage || !strings.Contains(errs.String(), "are for --runtime external") {
		t.Errorf("exit status %d: %s", code, errs.String())
	}
}

// A probe says what a server is and races on it, within the time that was promised, and leaves
// nothing; with --read-only it writes nothing. The password is nowhere.
func TestProbe(t *testing.T) {
	ca := authority.New(t)
	port := probetest.Redis(t, ca, "cache.test", authority.Good)
	t.Setenv("MY_PASSWORD", probetest.Secret)
	args := []string{"probe", "--nodes", "redis=rediss://me:${MY_PASSWORD}@cache.test:" + port, "--cacert", ca.File, "--connect-to",
		"cache.test:" + port + "=" + "127.0.0.1:" + port}
	var out, errs strings.Builder
	if code := execute(t.Context(), args, &out, &errs); code != exit.OK || errs.Len() > 0 {
		t.Fatalf("exit status %d\n%s%s", code, out.String(), errs.String())
	}
	for _, want := range []string{"^redis-1 at rediss://cache.test:" + port + "\n", "\n  version +Redis ", "\n  eviction +noeviction",
		"\n +! a server that dies forgets locks", "\n  create-if-absent +holds: 50 clients, [1-9]", "\n  compare-and-set +holds: 50 clients, [1-9]",
		"\n  expiry +holds: 50 keys for 1s"} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("it does not say %q:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), probetest.Secret) {
		t.Error("the password is told")
	}
	out.Reset()
	if code := execute(t.Context(), append(args, "--read-only"), &out, &errs); code != exit.OK ||
		!strings.Contains(out.String(), "nothing was written") || strings.Contains(out.String(), "create-if-absent") {
		t.Errorf("--read-only: exit status %d\n%s%s", code, out.String(), errs.String())
	}
}
