package backends_test

import (
	"context"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/hashicorp/consul/api"
	"github.com/jackc/pgx/v5"
	"github.com/minio/minio-go/v7"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/backends/backendstest"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/logins"
)

// crash kills the nodes, all before the first is started again, and returns when they answer.
func crash(t *testing.T, s *backends.Service, keep bool, nodes ...*backends.Node) {
	t.Helper()
	was := map[*backends.Node]*hosts.Process{}
	for _, n := range nodes {
		p, err := n.Kill(backendstest.Limit(t))
		if err != nil {
			t.Fatal(err)
		}
		was[n] = p
		if left, err := n.Host.PIDs(); len(left) != 0 || err != nil {
			t.Errorf("%s: processes %v are left, %v", n.Name, left, err)
		}
		if _, err := n.Kill(backendstest.Limit(t)); err == nil {
			t.Errorf("%s was killed twice", n.Name)
		}
	}
	if s.Alive() == nil {
		t.Error("all are said to live")
	}
	for _, n := range nodes {
		p, err := n.Start(backendstest.Limit(t), keep)
		if err != nil {
			t.Fatal(err)
		}
		if p == was[n] || p.PID() == was[n].PID() || n.Process != p {
			t.Errorf("%s: process %d after %d", n.Name, p.PID(), was[n].PID())
		}
	}
	for _, n := range nodes {
		if err := n.Await(backendstest.Limit(t)); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case err := <-s.Died():
		t.Errorf("a death that was meant is told: %v", err)
	default:
	}
	if err := s.Alive(); err != nil {
		t.Error(err)
	}
}

// TestRestart: every service survives the death of its nodes with what it had answered for.
func TestRestart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		service string
		need    func(testing.TB)
		// remember leaves something in the service; known reports whether it is
		// still there, asked through the first node.
		remember func(context.Context, *testing.T, *backends.Service)
		known    func(context.Context, *testing.T, *backends.Service) bool
	}{
		{"redis", backendstest.NeedRedis, redisRemembers, redisKnows},
		{"etcd", func(testing.TB) {}, func(ctx context.Context, t *testing.T, s *backends.Service) {
			if _, err := etcdClient(t, s.Nodes[0]).Put(ctx, "k", "v"); err != nil {
				t.Fatal(err)
			}
		}, func(ctx context.Context, t *testing.T, s *backends.Service) bool {
			got, err := etcdClient(t, s.Nodes[0]).Get(ctx, "k")
			if err != nil {
				t.Fatal(err)
			}
			return got.Count == 1
		}},
		{"zookeeper", needs("zookeeper"), func(_ context.Context, t *testing.T, s *backends.Service) {
			if _, err := backendstest.ZooKeeper(t, s.Nodes[0].Addr).Create("/k", nil, 0, zk.WorldACL(zk.PermAll)); err != nil {
				t.Fatal(err)
			}
		}, func(_ context.Context, t *testing.T, s *backends.Service) bool {
			there, _, err := backendstest.ZooKeeper(t, s.Nodes[0].Addr).Exists("/k")
			if err != nil {
				t.Fatal(err)
			}
			return there
		}},
		{"postgres", needs("postgres"), func(ctx context.Context, t *testing.T, s *backends.Service) {
			postgresDoes(ctx, t, s, "CREATE TABLE k (x int)")
		}, func(ctx context.Context, t *testing.T, s *backends.Service) bool {
			return postgresDoes(ctx, t, s, "SELECT x FROM k")
		}},
		{"mariadb", needs("mariadb"), func(ctx context.Context, t *testing.T, s *backends.Service) {
			if _, err := mariadbAt(t, s.Addrs()[0]).ExecContext(ctx, "CREATE TABLE k (x INT)"); err != nil {
				t.Fatal(err)
			}
		}, func(ctx context.Context, t *testing.T, s *backends.Service) bool {
			_, err := mariadbAt(t, s.Addrs()[0]).ExecContext(ctx, "SELECT x FROM k")
			return err == nil
		}},
		{"s3", needs("s3"), func(ctx context.Context, t *testing.T, s *backends.Service) {
			if _, err := s3At(t, s).PutObject(ctx, logins.S3Bucket, "k", strings.NewReader("x"), 1, "", "",
				minio.PutObjectOptions{}); err != nil {
				t.Fatal(err)
			}
		}, func(ctx context.Context, t *testing.T, s *backends.Service) bool {
			_, err := s3At(t, s).StatObject(ctx, logins.S3Bucket, "k", minio.StatObjectOptions{})
			return err == nil
		}},
		{"consul", needs("consul"), func(ctx context.Context, t *testing.T, s *backends.Service) {
			if _, err := consulAt(t, s.Addrs()[0]).Put(&api.KVPair{Key: "k"}, (&api.WriteOptions{}).WithContext(ctx)); err != nil {
				t.Fatal(err)
			}
		}, func(ctx context.Context, t *testing.T, s *backends.Service) bool {
			got, _, err := consulAt(t, s.Addrs()[0]).Get("k", (&api.QueryOptions{RequireConsistent: true}).WithContext(ctx))
			if err != nil {
				t.Fatal(err)
			}
			return got != nil
		}},
	} {
		t.Run(c.service, func(t *testing.T) {
			t.Parallel()
			c.need(t)
			s := backendstest.StartSpec(t, backends.Spec{Service: c.service, Durable: true})
			ctx := backendstest.Limit(t)
			c.remember(ctx, t, s)
			crash(t, s, true, s.Nodes[0])
			if !c.known(ctx, t, s) {
				t.Error("one node was killed, and what was answered for is lost")
			}
			if len(s.Nodes) > 1 {
				crash(t, s, true, s.Nodes...)
				if !c.known(ctx, t, s) {
					t.Error("all nodes were killed, and what was answered for is lost")
				}
			}
			if k, _ := backends.Lookup(c.service); k.Forgets {
				crash(t, s, false, s.Nodes[0])
				if c.known(ctx, t, s) {
					t.Error("it was to lose its data")
				}
				return
			}
			n := s.Nodes[0]
			if _, err := n.Kill(ctx); err != nil {
				t.Fatal(err)
			}
			if _, err := n.Start(ctx, false); err == nil || !strings.Contains(err.Error(), "does not lose that") {
				t.Errorf("%s without its data: %v", n.Name, err)
			}
		})
	}
}

func redisRemembers(ctx context.Context, t *testing.T, s *backends.Service) {
	if err := backendstest.Behind(t, s.Nodes[0].Addr).Set(ctx, "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
}

func redisKnows(ctx context.Context, t *testing.T, s *backends.Service) bool {
	n, err := backendstest.Behind(t, s.Nodes[0].Addr).Exists(ctx, "k").Result()
	if err != nil {
		t.Fatal(err)
	}
	return n == 1
}

func etcdClient(t *testing.T, n *backends.Node) *clientv3.Client {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{n.Addr}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// postgresDoes runs a statement on a connection of its own, and reports whether it could.
func postgresDoes(ctx context.Context, t *testing.T, s *backends.Service, statement string) bool {
	t.Helper()
	c, err := pgx.Connect(ctx, "postgres://"+logins.PostgresUser+"@"+s.Addrs()[0]+"/"+logins.PostgresDatabase+"?sslmode=disable")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(ctx)
	_, err = c.Exec(ctx, statement)
	return err == nil
}

// TestForgetfulRedis: a Redis without a file, as it usually runs here, comes
// back empty; also with what it left, for that is nothing.
func TestForgetfulRedis(t *testing.T) {
	backendstest.NeedRedis(t)
	s := backendstest.Start(t, "redis")
	for _, keep := range []bool{false, true} {
		redisRemembers(backendstest.Limit(t), t, s)
		crash(t, s, keep, s.Nodes[0])
		if redisKnows(backendstest.Limit(t), t, s) {
			t.Errorf("keep %t: it knows what it had in memory", keep)
		}
	}
	if err := s.Nodes[0].Process.Kill(backendstest.Limit(t)); err != nil { // not by the node's own Kill
		t.Fatal(err)
	}
	select {
	case err := <-s.Died():
		if !strings.Contains(err.Error(), "redis-1") {
			t.Error(err)
		}
	case <-backendstest.Limit(t).Done():
		t.Error("a death that nobody meant is not told")
	}
}
