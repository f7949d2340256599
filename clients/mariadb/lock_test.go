package mariadb_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/clienttest"
	"github.com/lockchaos/lockchaos/clients/mariadb"
	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/backends/backendstest"
)

func TestMain(m *testing.M) {
	backendstest.Main(m, mariadb.GetLock, mariadb.Row, mariadb.Lease, mariadb.BrokenReconnect)
}

func TestMariaDBConformance(t *testing.T) {
	t.Parallel()
	backendstest.Need(t, "mariadb")
	began := time.Now()
	s := backendstest.Start(t, "mariadb")
	t.Logf("up in %v", time.Since(began))
	stop, resume := backendstest.FreezeHost(s)
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
	backendstest.Need(t, "mariadb")
	s := backendstest.Start(t, "mariadb")
	own := netip.MustParseAddrPort(backendstest.LocalAddr(t, s.Addrs()[0]))
	for _, kind := range []clients.Kind{mariadb.GetLock, mariadb.Row, mariadb.BrokenReconnect} {
		l := backendstest.Open(t, kind, s, backendstest.KeptTTL, 1)
		other := backendstest.Open(t, mariadb.GetLock, s, backendstest.KeptTTL, 2)
		if kind.Name == mariadb.Row.Name {
			other = backendstest.Open(t, kind, s, backendstest.KeptTTL, 2)
		}
		g, err := l.Acquire(backendstest.Limit(t), kind.Name)
		if err != nil {
			t.Fatal(err)
		}
		ended, err := s.Expire(backendstest.Limit(t), backends.Client{Addr: own.Addr()})
		if err != nil || len(ended) == 0 || !strings.Contains(ended[0], "MariaDB killed connection ") {
			t.Fatalf("%s: ended: %q, %v", kind.Name, ended, err)
		}
		if _, err := other.Acquire(backendstest.Limit(t), kind.Name); err != nil {
			t.Errorf("%s: another can't have it: %v", kind.Name, err)
		}
		if kind.Control != "" {
			if err := l.(clients.Holder).Held(backendstest.Limit(t), g); err != nil {
				t.Errorf("%s was to go on as holder: %v", kind.Name, err)
			}
			continue
		}
		select {
		case loss := <-l.(clients.Watcher).Lost():
			if loss.Key != g.Key {
				t.Errorf("%+v", loss)
			}
		case <-backendstest.Limit(t).Done():
			t.Errorf("%s: nobody told of the loss", kind.Name)
		}
	}
}
