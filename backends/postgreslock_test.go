package backends_test

import (
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/backends"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/clienttest"
	"github.com/lockchaos/lockchaos/clients/postgres"
	"github.com/lockchaos/lockchaos/hosts"
)

// freezeHost makes the functions that stop and continue the host of a service's only node: PostgreSQL's sessions are no part of its process group.
func freezeHost(s *backends.Service) (stop, resume func(*testing.T)) {
	var pause *hosts.Pause
	stop = func(t *testing.T) {
		t.Helper()
		var err error
		if pause, err = s.Nodes[0].Host.Stop(limit(t)); err != nil {
			t.Fatal(err)
		}
	}
	resume = func(t *testing.T) {
		t.Helper()
		if err := pause.Resume(); err != nil {
			t.Error(err)
		}
	}
	return stop, resume
}

func TestPostgresConformance(t *testing.T) {
	needPostgres(t)
	s := start(t, "postgres")
	stop, resume := freezeHost(s)
	for _, kind := range []clients.Kind{postgres.Advisory, postgres.AdvisoryXact, postgres.Row, postgres.Lease} {
		t.Run(kind.Name, func(t *testing.T) {
			clienttest.Run(t, kind, clienttest.Service{Nodes: s.Addrs(), TTL: time.Second, Stop: stop, Continue: resume})
		})
	}
}
