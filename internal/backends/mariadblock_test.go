package backends_test

import (
	"context"
	"database/sql"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/clienttest"
	"github.com/lockchaos/lockchaos/clients/mariadb"
	"github.com/lockchaos/lockchaos/internal/backends"
)

// needMariaDB skips a test that needs MariaDB, where there is none.
func needMariaDB(t testing.TB) { needService(t, "mariadb") }

func TestMariaDBConformance(t *testing.T) {
	t.Parallel()
	needMariaDB(t)
	began := time.Now()
	s := start(t, "mariadb")
	t.Logf("up in %v", time.Since(began))
	stop, resume := freezeHost(s)
	for _, kind := range []clients.Kind{mariadb.GetLock, mariadb.Row, mariadb.Lease} {
		t.Run(kind.Name, func(t *testing.T) {
			clienttest.Run(t, kind, clienttest.Service{Nodes: s.Addrs(), TTL: time.Second, Stop: stop, Continue: resume})
		})
	}
}

// TestMariaDBConnectionIsKilled: who held a lock by it has lost it, and is
// told; the control goes on as holder.
func TestMariaDBConnectionIsKilled(t *testing.T) {
	t.Parallel()
	needMariaDB(t)
	s := start(t, "mariadb")
	own := netip.MustParseAddrPort(localAddr(t, s.Addrs()[0]))
	for _, kind := range []clients.Kind{mariadb.GetLock, mariadb.Row, mariadb.BrokenReconnect} {
		l, other := opened(t, kind, s, keptTTL, 1), opened(t, mariadb.GetLock, s, keptTTL, 2)
		if kind.Name == mariadb.Row.Name {
			other = opened(t, kind, s, keptTTL, 2)
		}
		g, err := l.Acquire(limit(t), kind.Name)
		if err != nil {
			t.Fatal(err)
		}
		ended, err := s.Expire(limit(t), backends.Client{Addr: own.Addr()})
		if err != nil || len(ended) == 0 || !strings.Contains(ended[0], "MariaDB killed connection ") {
			t.Fatalf("%s: ended: %q, %v", kind.Name, ended, err)
		}
		if _, err := other.Acquire(limit(t), kind.Name); err != nil {
			t.Errorf("%s: another can't have it: %v", kind.Name, err)
		}
		if kind.Control != "" {
			if err := l.(clients.Holder).Held(limit(t), g); err != nil {
				t.Errorf("%s was to go on as holder: %v", kind.Name, err)
			}
			continue
		}
		select {
		case loss := <-l.(clients.Watcher).Lost():
			if loss.Key != g.Key {
				t.Errorf("%+v", loss)
			}
		case <-limit(t).Done():
			t.Errorf("%s: nobody told of the loss", kind.Name)
		}
	}
}

// localAddr is the address from which this process reaches another.
func localAddr(t *testing.T, to string) string {
	conn, err := net.Dial("tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return conn.LocalAddr().String()
}

func mariadbAt(t *testing.T, addr string) *sql.DB {
	config := mysql.NewConfig()
	config.User, config.DBName, config.Net, config.Addr = backends.MariaDBUser, backends.MariaDBDatabase, "tcp", addr
	connector, err := mysql.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { db.Close() })
	return db
}

func asksMariaDB(t *testing.T, addr string) func(context.Context) error {
	db := mariadbAt(t, addr)
	return func(ctx context.Context) error {
		_, err := db.ExecContext(ctx, "DO 1")
		return err
	}
}
