package backendstest

import (
	"testing"

	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/hosts"
)

// StopNode freezes one node until the test's end.
func StopNode(t *testing.T, n *backends.Node) (resume func()) {
	t.Helper()
	p, err := n.Process.Stop(Limit(t))
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := p.Resume(); err != nil {
			t.Error(err)
		}
	}
}

// Freeze makes the functions that stop and continue every node of a service.
func Freeze(nodes ...*backends.Node) (stop, resume func(*testing.T)) {
	var pauses []*hosts.Pause
	stop = func(t *testing.T) {
		t.Helper()
		for _, n := range nodes {
			p, err := n.Process.Stop(Limit(t))
			if err != nil {
				t.Fatal(err)
			}
			pauses = append(pauses, p)
		}
	}
	resume = func(t *testing.T) {
		t.Helper()
		for _, p := range pauses {
			if err := p.Resume(); err != nil {
				t.Error(err)
			}
		}
		pauses = nil
	}
	return stop, resume
}

// FreezeHost makes the functions that stop and continue the host of a service's
// only node: PostgreSQL's sessions are no part of its process group.
func FreezeHost(s *backends.Service) (stop, resume func(*testing.T)) {
	var pause *hosts.Pause
	stop = func(t *testing.T) {
		t.Helper()
		var err error
		if pause, err = s.Nodes[0].Host.Stop(Limit(t)); err != nil {
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
