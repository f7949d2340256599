package backends_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/jackc/pgx/v5"
	goredis "github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/backends/backendstest"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/hosts/hoststest"
	"github.com/lockchaos/lockchaos/internal/logins"
)

// asked returns what servers answer. One that the machine lets answer too late is asked again.
func asked(t *testing.T, ask func() (string, error)) (answer string) {
	t.Helper()
	decided.Await(t, "servers answer in time", func() bool {
		var err error
		answer, err = ask()
		return err == nil
	})
	return answer
}

// TestFailover: sentinels tell where the primary is, and after its death, which
// is told, that the replica is the primary.
func TestFailover(t *testing.T) {
	t.Parallel()
	backendstest.NeedRedis(t)
	began := time.Now()
	s := backendstest.Start(t, "redis-failover")
	t.Logf("up in %v", time.Since(began))
	if len(s.Nodes) != 5 || len(s.Addrs()) != 3 || s.Addrs()[0] != s.Nodes[2].Addr || s.Alive() != nil || !number.MatchString(s.Version) {
		t.Fatalf("%d nodes, clients ask %v, alive: %v, version %q", len(s.Nodes), s.Addrs(), s.Alive(), s.Version)
	}
	ctx := backendstest.Limit(t)
	primary, replica := s.Nodes[0], s.Nodes[1]
	for _, addr := range s.Addrs() {
		if got := askMaster(t, ctx, addr); got != primary.Addr {
			t.Errorf("the sentinel at %s says that %s is the primary, not %s", addr, got, primary.Addr)
		}
	}
	backendstest.Leads(t, s, primary.Name)
	if got := asked(t, func() (string, error) { return s.Primary(ctx) }); got != primary.Name {
		t.Errorf("the primary is %q", got)
	}
	for name, want := range map[string]string{primary.Name: backends.RolePrimary, replica.Name: backends.RoleReplica} {
		if role := asked(t, func() (string, error) { return s.Role(ctx, name) }); role != want {
			t.Errorf("%s is %q; want %q", name, role, want)
		}
	}
	if err := primary.Process.Kill(ctx); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	select {
	case err := <-s.Died():
		if !strings.Contains(err.Error(), "redis-1") {
			t.Error(err)
		}
	case <-ctx.Done():
		t.Fatal("nobody told")
	}
	c := goredis.NewFailoverClient(&goredis.FailoverOptions{MasterName: logins.RedisPrimary, SentinelAddrs: s.Addrs(), Protocol: 2})
	defer c.Close()
	for {
		try, stop := context.WithTimeout(ctx, time.Second)
		err := c.Set(try, "k", "v", 0).Err()
		stop()
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("nobody was promoted: %v", err)
		}
	}
	t.Logf("promoted within %v", time.Since(killed))
	backendstest.Leads(t, s, replica.Name)
	direct := goredis.NewClient(&goredis.Options{Addr: replica.Addr, Protocol: 2})
	defer direct.Close()
	if info, err := direct.Info(ctx, "replication").Result(); err != nil || !strings.Contains(info, "role:master") {
		t.Errorf("%q, %v", info, err)
	}
	// sentinels may disagree for a moment
	if got, err := s.Primary(ctx); err == nil && got != replica.Name {
		t.Errorf("the primary is %q", got)
	}
	if role, err := s.Role(ctx, primary.Name); err == nil {
		t.Errorf("the dead primary is %q", role)
	}
}

func askMaster(t *testing.T, ctx context.Context, sentinel string) string {
	t.Helper()
	c := goredis.NewSentinelClient(&goredis.Options{Addr: sentinel, Protocol: 2})
	defer c.Close()
	addr, err := c.GetMasterAddrByName(ctx, logins.RedisPrimary).Result()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(addr, ":")
}

// TestFailoverNeedsRedis: the stand-in has no replication, and says what to install.
func TestFailoverNeedsRedis(t *testing.T) {
	t.Setenv(backends.RedisVar, "miniredis")
	n, _ := hoststest.Network(t)
	if _, err := backends.Start(backendstest.Limit(t), n, backends.Spec{Service: "redis-failover", Logs: t.TempDir()}); err == nil ||
		!strings.Contains(err.Error(), "apt-get install redis-server") {
		t.Error(err)
	}
}

func TestZooKeeper(t *testing.T) {
	t.Parallel()
	backendstest.Need(t, "zookeeper")
	began := time.Now()
	s := backendstest.Start(t, "zookeeper")
	t.Logf("up in %v", time.Since(began))
	checkUp(t, s, 3)
	if !number.MatchString(s.Version) {
		t.Errorf("version %q", s.Version)
	}
	ctx := backendstest.Limit(t)
	// What is written through one member is read through another that was told
	// to catch up; and one second is granted as it is.
	for i, n := range s.Nodes {
		next := s.Nodes[(i+1)%3]
		a, b := backendstest.ZooKeeper(t, n.Addr), backendstest.ZooKeeper(t, next.Addr)
		create(t, a, "/"+n.Name)
		served(t, func() error {
			_, err := b.Sync("/" + n.Name)
			return err
		})
		served(t, func() error {
			there, _, err := b.Exists("/" + n.Name)
			if err == nil && !there {
				t.Errorf("%s does not have what was written through %s", next.Name, n.Name)
			}
			return err
		})
	}
	// An ensemble of three goes on without any one of them.
	victim := s.Nodes[0]
	if err := victim.Process.Kill(ctx); err != nil {
		t.Fatal(err)
	}
	c := backendstest.ZooKeeper(t, s.Nodes[1].Addr)
	create(t, c, "/after")
	for _, n := range s.Nodes {
		log, err := os.ReadFile(n.Log)
		if err != nil || !strings.Contains(string(log), "org.apache.zookeeper") {
			t.Errorf("%s: its log does not tell what it does: %v\n%.500s", n.Name, err, log)
		}
		if strings.Contains(string(log), "Processing srvr command") {
			t.Errorf("%s: its log is full of our questions", n.Name)
		}
	}
}

// create creates a znode. An attempt whose answer was lost may have created it.
func create(t *testing.T, c *zk.Conn, path string) {
	t.Helper()
	served(t, func() error {
		if _, err := c.Create(path, nil, 0, zk.WorldACL(zk.PermAll)); !errors.Is(err, zk.ErrNodeExists) {
			return err
		}
		return nil
	})
}

// served asks until a member serves: on a busy machine the ensemble may be between two leaders, and
// a session may end.
func served(t *testing.T, ask func() error) {
	t.Helper()
	decided.Await(t, "a member of the ensemble serves", func() bool {
		err := ask()
		if err == nil {
			return true
		}
		for _, passing := range []error{zk.ErrConnectionClosed, zk.ErrNoServer, zk.ErrSessionExpired} {
			if errors.Is(err, passing) {
				return false
			}
		}
		t.Fatal(err)
		return false
	})
}

func TestPostgres(t *testing.T) {
	backendstest.Need(t, "postgres")
	t.Setenv("PGHOST", "192.0.2.1") // the user's; nothing of ours may use it
	t.Setenv("PGSSLMODE", "verify-full")
	began := time.Now()
	s := backendstest.Start(t, "postgres")
	t.Logf("up in %v", time.Since(began))
	checkUp(t, s, 1)
	ctx := backendstest.Limit(t)
	c, err := pgx.Connect(ctx, "postgres://"+logins.PostgresUser+"@"+s.Addrs()[0]+"/"+logins.PostgresDatabase+"?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	if _, err := c.Exec(ctx, "CREATE TABLE t (x int); INSERT INTO t VALUES (1)"); err != nil {
		t.Error(err)
	}
	// To stop this node is to stop its host: each session is a process of a group of its own.
	pause, err := s.Nodes[0].Host.Stop(ctx)
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	if _, err := c.Exec(short, "SELECT 1"); err == nil {
		t.Error("a stopped server answered")
	}
	if err := pause.Resume(); err != nil {
		t.Error(err)
	}
}

// TestMissingPrograms: the error names what to install.
func TestMissingPrograms(t *testing.T) {
	for _, test := range []struct {
		service, variable, value, want string
	}{
		{"postgres", backends.PostgresVar, "/no/such/folder", "/no/such/folder"},
		{"zookeeper", "JAVA_HOME", "/no/such/java", "openjdk-17-jre-headless"},
		{"zookeeper", "ZOOKEEPER_HOME", "/no/such/folder", "/no/such/folder"},
	} {
		t.Run(test.variable, func(t *testing.T) {
			if test.variable == "ZOOKEEPER_HOME" {
				backendstest.Need(t, "zookeeper") // Java is looked for first
			}
			t.Setenv(test.variable, test.value)
			k, _ := backends.Lookup(test.service)
			p := place(k)
			p.Contained = false
			if _, err := k.Task(k.Nodes[0].Name, p); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Error(err)
			}
		})
	}
}
