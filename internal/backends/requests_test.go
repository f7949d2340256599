package backends_test

import (
	"context"
	"errors"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/jackc/pgx/v5"
	goredis "github.com/redis/go-redis/v9"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/lockchaos/lockchaos/internal/backends/backendstest"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/logins"
)

// A service that was asked more has handled more, and about as much as it was asked.
func TestRequestsAreCounted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		service string
		need    func(testing.TB)
		asks    func(t *testing.T, addr string) func(context.Context) error
	}{
		{"redis", backendstest.NeedRedis, asksRedis},
		{"etcd", func(testing.TB) {}, asksEtcd},
		{"zookeeper", needs("zookeeper"), asksZooKeeper},
		{"postgres", needs("postgres"), asksPostgres},
		{"consul", needs("consul"), asksConsul},
		{"mariadb", needs("mariadb"), asksMariaDB},
	} {
		t.Run(c.service, func(t *testing.T) {
			c.need(t)
			s := backendstest.Start(t, c.service)
			ctx := backendstest.Limit(t)
			before := backendstest.Requests(t, s)
			const more = 200
			ask := c.asks(t, s.Addrs()[0])
			for range more {
				decided.Await(t, "the service answers", func() bool {
					err := ask(ctx)
					if err != nil && !errors.Is(err, zk.ErrConnectionClosed) { // it may be between two leaders
						t.Fatal(err)
					}
					return err == nil
				})
			}
			after := before
			for rounds := int64(0); after-before < more; rounds++ { // PostgreSQL tells it late
				after = backendstest.Requests(t, s)
				// The questions themselves may be counted, and what members and pings add.
				if after-before > 4*more+10*rounds {
					t.Fatalf("%d requests were counted, %d made", after-before, more)
				}
			}
		})
	}
}

func asksRedis(t *testing.T, addr string) func(context.Context) error {
	c := goredis.NewClient(&goredis.Options{Addr: addr, Protocol: 2})
	t.Cleanup(func() { c.Close() })
	return func(ctx context.Context) error { return c.Ping(ctx).Err() }
}

func asksEtcd(t *testing.T, addr string) func(context.Context) error {
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{addr}, Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithNoProxy()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return func(ctx context.Context) error {
		_, err := c.Get(ctx, "k")
		return err
	}
}

func asksZooKeeper(t *testing.T, addr string) func(context.Context) error {
	c := backendstest.ZooKeeper(t, addr)
	return func(context.Context) error {
		_, _, err := c.Exists("/k")
		return err
	}
}

// asksPostgres connects for each question: a server process tells of its
// transactions at the latest when it ends.
func asksPostgres(_ *testing.T, addr string) func(context.Context) error {
	return func(ctx context.Context) error {
		c, err := pgx.Connect(ctx, "postgres://"+logins.PostgresUser+"@"+addr+"/"+logins.PostgresDatabase+"?sslmode=disable")
		if err != nil {
			return err
		}
		_, err = c.Exec(ctx, "SELECT 1")
		return errors.Join(err, c.Close(ctx))
	}
}
