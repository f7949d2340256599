package backends_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/backends/backendstest"
	"github.com/lockchaos/lockchaos/internal/hosts/hoststest"
	"github.com/lockchaos/lockchaos/internal/store"
)

func TestStore(t *testing.T) {
	n, _ := hoststest.Network(t)
	for _, f := range []store.Fencing{{}, {Writes: true}, {Writes: true, Reads: true}, {Writes: true, Reads: true, AcceptsEqual: true}} {
		node, err := backends.StartStore(backendstest.Limit(t), n, backends.StoreSpec{Engine: "sqlite", Fencing: f, Logs: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		c, err := store.Dial(backendstest.Limit(t), node.Addr)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := c.Info(backendstest.Limit(t)); err != nil || info.Fencing != f.String() || !strings.HasPrefix(node.Version, "sqlite 3.") {
			t.Errorf("%v: %+v, %v, version %q", f, info, err, node.Version)
		}
		if _, err := c.Write(backendstest.Limit(t), store.Request{Key: "a", Token: 5}); err != nil {
			t.Errorf("%v: a write: %v", f, err)
		}
		_, err = c.Write(backendstest.Limit(t), store.Request{Key: "a", Token: 4})
		if f.Enabled() != errors.Is(err, store.ErrRefused) {
			t.Errorf("%v: a stale write: %v", f, err)
		}
		c.Close()
		if err := node.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := backends.StartStore(backendstest.Limit(t), n, backends.StoreSpec{Engine: "sqlite",
		Fencing: store.Fencing{Reads: true}, Logs: t.TempDir()}); !errors.Is(err, store.ErrBadRequest) {
		t.Errorf("a fence that nothing checks: %v", err)
	}
}

// TestStoreEngines: each engine has servers of its own, beside a lock service
// of the same kind, and their death is told.
func TestStoreEngines(t *testing.T) {
	t.Parallel()
	for _, engine := range store.Engines() {
		if engine == "sqlite" {
			continue
		}
		t.Run(engine, func(t *testing.T) {
			backendstest.Need(t, engine)
			n, _ := hoststest.Network(t)
			locks, err := backends.Start(backendstest.Limit(t), n, backends.Spec{Service: engine, Logs: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			defer locks.Close()
			s, err := backends.StartStore(backendstest.Limit(t), n,
				backends.StoreSpec{Engine: engine, Fencing: store.Fencing{Writes: true, Reads: true}, Logs: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if !strings.HasPrefix(s.Version, engine+" ") || !strings.HasPrefix(s.Servers.Nodes[0].Name, "store-"+engine) || s.Err() != nil {
				t.Errorf("version %q, %s, %v", s.Version, s.Servers.Nodes[0].Name, s.Err())
			}
			c, err := store.Dial(backendstest.Limit(t), s.Addr)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := c.Write(backendstest.Limit(t), store.Request{Key: "a", Token: 5}); err != nil {
				t.Error(err)
			}
			if _, err := c.Write(backendstest.Limit(t), store.Request{Key: "a", Token: 4}); !errors.Is(err, store.ErrRefused) {
				t.Errorf("a stale write: %v", err)
			}
			if err := s.Servers.Nodes[0].Process.Kill(backendstest.Limit(t)); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-s.Died():
				if !strings.Contains(err.Error(), "store-"+engine+"-1") {
					t.Error(err)
				}
			case <-backendstest.Limit(t).Done():
				t.Error("the death of the engine's server was not told")
			}
			if s.Err() == nil {
				t.Error("a store without its engine seems to live")
			}
		})
	}
}

// TestGuardedStore lies in the lock's own etcd; no other engine can be guarded.
func TestGuardedStore(t *testing.T) {
	n, _ := hoststest.Network(t)
	locks, err := backends.Start(backendstest.Limit(t), n, backends.Spec{Service: "etcd", Logs: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer locks.Close()
	guarded := store.Fencing{Guarded: true}
	s, err := backends.StartStore(backendstest.Limit(t), n, backends.StoreSpec{Engine: "etcd", Fencing: guarded,
		At: locks.Addrs(), Logs: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.Servers != nil || !strings.HasPrefix(s.Version, "etcd ") {
		t.Errorf("servers of its own: %+v, version %q", s.Servers, s.Version)
	}
	if _, err := backends.StartStore(backendstest.Limit(t), n, backends.StoreSpec{Engine: "sqlite", Fencing: guarded,
		Logs: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "needs the engine etcd") {
		t.Errorf("a guarded file: %v", err)
	}
}
