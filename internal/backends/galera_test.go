package backends_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/mariadb"
	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/backends/backendstest"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
)

// needGalera skips a test that needs a Galera cluster, where MariaDB or its library is missing.
func needGalera(t testing.TB) {
	t.Helper()
	backendstest.Need(t, "mariadb")
	k, _ := backends.Lookup("mariadb-galera")
	p := backends.Place{Listen: "10.0.0.1", Data: "/tmp", Peers: map[string]string{}}
	for _, n := range k.Nodes {
		p.Peers[n.Name] = "10.0.0.1"
	}
	_, err := k.Task(k.Nodes[0].Name, p)
	needed.Be(t, err)
}

// galeraDoes runs a statement at one of the nodes, and returns the number that it answers with.
func galeraDoes(t *testing.T, n *backends.Node, statement string) (number int) {
	t.Helper()
	if err := mariadbAt(t, n.Addr).QueryRowContext(backendstest.Limit(t), statement).Scan(&number); err != nil {
		t.Fatalf("%s at %s: %v", statement, n.Name, err)
	}
	return number
}

// TestGalera: what is committed at one node is there at the others, also at one
// that was killed and has missed it. GET_LOCK is known to one node alone.
func TestGalera(t *testing.T) {
	t.Parallel()
	needGalera(t)
	began := time.Now()
	s := backendstest.StartSpec(t, backends.Spec{Service: "mariadb-galera", Durable: true})
	t.Logf("up in %v", time.Since(began))
	const synced = "SELECT count(*) FROM k"
	var rows int
	for i, statement := range []string{"CREATE TABLE k (x INT PRIMARY KEY)", "INSERT INTO k VALUES (1)", synced} {
		db := mariadbAt(t, s.Nodes[i].Addr)
		db.SetMaxOpenConns(1) // for the setting is the session's
		// Each node first applies what the others have committed.
		if _, err := db.ExecContext(backendstest.Limit(t), "SET SESSION wsrep_sync_wait=15"); err != nil {
			t.Fatal(err)
		}
		if statement == synced {
			if err := db.QueryRowContext(backendstest.Limit(t), synced).Scan(&rows); err != nil || rows != 1 {
				t.Errorf("%d rows at the third node, %v", rows, err)
			}
		} else if _, err := db.ExecContext(backendstest.Limit(t), statement); err != nil {
			t.Fatal(err)
		}
	}
	for _, holder := range []int{0, 1} {
		l := backendstest.Open(t, mariadb.GaleraGetLock, s, backendstest.KeptTTL, holder)
		if _, err := l.Acquire(backendstest.Limit(t), "k"); err != nil {
			t.Errorf("client %d is to have the lock of its node: %v", holder, err)
		}
	}
	// a second client of the first node
	backendstest.Refused(t, backendstest.Open(t, mariadb.GaleraGetLock, s, backendstest.KeptTTL, 3), "k")

	killed := s.Nodes[2]
	if _, err := killed.Kill(backendstest.Limit(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := mariadbAt(t, s.Nodes[0].Addr).ExecContext(backendstest.Limit(t), "INSERT INTO k VALUES (2)"); err != nil {
		t.Fatal(err)
	}
	again := time.Now()
	if _, err := killed.Start(backendstest.Limit(t), true); err != nil {
		t.Fatal(err)
	}
	if err := killed.Await(backendstest.Limit(t)); err != nil {
		t.Fatal(err)
	}
	t.Logf("back in %v", time.Since(again))
	if rows := galeraDoes(t, killed, synced); rows != 2 {
		t.Errorf("%d rows at a node that was killed and started again", rows)
	}
}

// TestGaleraSessionIsEnded: a client's connections are killed at whichever node they are.
func TestGaleraSessionIsEnded(t *testing.T) {
	t.Parallel()
	needGalera(t)
	s := backendstest.Start(t, "mariadb-galera")
	l := backendstest.Open(t, mariadb.GaleraGetLock, s, backendstest.KeptTTL, 2)
	g, err := l.Acquire(backendstest.Limit(t), "k")
	if err != nil {
		t.Fatal(err)
	}
	own := netip.MustParseAddrPort(backendstest.LocalAddr(t, s.Addrs()[2]))
	ended, err := s.Expire(backendstest.Limit(t), backends.Client{Addr: own.Addr()})
	if err != nil || len(ended) != 1 || !strings.Contains(ended[0], "MariaDB killed connection ") {
		t.Fatalf("ended: %q, %v", ended, err)
	}
	select {
	case loss := <-l.(clients.Watcher).Lost():
		if loss.Key != g.Key {
			t.Errorf("%+v", loss)
		}
	case <-backendstest.Limit(t).Done():
		t.Error("nobody told of the loss")
	}
	if _, err := s.Requests(backendstest.Limit(t)); err != nil {
		t.Error(err)
	}
}
