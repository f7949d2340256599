package backends_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	goredis "github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/backends/backendstest"
)

// TestAccount: each service that has users lets its account in, everywhere where clients
// connect and after a node was killed and started again, and refuses it with another password.
func TestAccount(t *testing.T) {
	t.Parallel()
	for _, service := range []struct {
		name string
		try  func(ctx context.Context, addr string, a backends.Account) error
	}{
		{"redis", tryRedis}, {"redis-five", tryRedis}, {"redis-failover", tryRedis},
		{"postgres", tryPostgres},
		{"mariadb", tryMariaDB}, {"mariadb-galera", tryMariaDB},
	} {
		t.Run(service.name, func(t *testing.T) {
			t.Parallel()
			backendstest.Need(t, service.name)
			s := backendstest.Start(t, service.name)
			admits(t, s, service.try)
			if service.name == "mariadb-galera" {
				return // a node that comes back takes half a minute to catch up with the others
			}
			n := s.Nodes[0]
			if _, err := n.Kill(backendstest.Limit(t)); err != nil {
				t.Fatal(err)
			}
			if _, err := n.Start(backendstest.Limit(t), true); err != nil {
				t.Fatal(err)
			}
			if err := n.Await(backendstest.Limit(t)); err != nil {
				t.Fatal(err)
			}
			admits(t, s, service.try)
		})
	}
}

// admits demands that each node lets the account in, and nobody by another password.
func admits(t *testing.T, s *backends.Service, try func(context.Context, string, backends.Account) error) {
	t.Helper()
	account := s.Account()
	if account == nil || account.User == "" || account.Password == "" || account.Database == "" {
		t.Fatalf("the account is %+v", account)
	}
	right, wrong := *account, *account
	wrong.Password += "?"
	for _, n := range s.Nodes {
		if err := try(backendstest.Limit(t), n.Addr, right); err != nil {
			t.Errorf("%s: %v", n.Name, err)
		}
		if err := try(backendstest.Limit(t), n.Addr, wrong); err == nil {
			t.Errorf("%s lets a client in with a wrong password", n.Name)
		}
	}
}

func tryRedis(ctx context.Context, addr string, a backends.Account) error {
	var database int
	if _, err := fmt.Sscan(a.Database, &database); err != nil {
		return err
	}
	c := goredis.NewClient(&goredis.Options{Addr: addr, Username: a.User, Password: a.Password, DB: database, MaxRetries: -1})
	defer c.Close()
	return c.Ping(ctx).Err()
}

func tryPostgres(ctx context.Context, addr string, a backends.Account) error {
	c, err := pgx.Connect(ctx, fmt.Sprintf("postgres://%s:%s@%s/%s?sslmode=disable", a.User, a.Password, addr, a.Database))
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	_, err = c.Exec(ctx, "CREATE TEMPORARY TABLE mine (n int)")
	return err
}

func tryMariaDB(ctx context.Context, addr string, a backends.Account) error {
	config := mysql.NewConfig()
	config.User, config.Passwd, config.DBName, config.Net, config.Addr = a.User, a.Password, a.Database, "tcp", addr
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	_, err = db.ExecContext(ctx, "CREATE TEMPORARY TABLE mine (n int)")
	return err
}

// TestNoAccount: a service without users tells of no account, nor does the
// stand-in, which asks everybody for a password or nobody.
func TestNoAccount(t *testing.T) {
	t.Setenv(backends.RedisVar, "miniredis")
	for _, name := range []string{"redis", "etcd"} {
		if a := backendstest.Start(t, name).Account(); a != nil {
			t.Errorf("%s tells of the account %+v", name, a)
		}
	}
}
