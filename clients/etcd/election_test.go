package etcd_test

import (
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/etcd"
	"github.com/lockchaos/lockchaos/internal/backends/backendstest"
)

// TestElectionGivesUp: a leader that is closed gives its lease back, so that another one leads. The
// control leaves it to its expiry.
func TestElectionGivesUp(t *testing.T) {
	t.Parallel()
	backendstest.Need(t, "etcd")
	b := newEtcdBench(t)
	ctx := backendstest.Limit(t)
	for _, kind := range []clients.Kind{etcd.Election, etcd.ElectionStays} {
		open := func(client int) clients.Lock {
			l, err := kind.Open(ctx, clients.Config{Nodes: b.service.Addrs(), TTL: etcdTTL, Client: client})
			if err != nil {
				t.Fatal(err)
			}
			return l
		}
		first, second := open(1), open(2)
		t.Cleanup(func() { _ = second.Close(ctx) })
		a, err := first.Acquire(ctx, kind.Name)
		if err != nil {
			t.Fatal(err)
		}
		if err := first.Close(ctx); err != nil {
			t.Error(err)
		}
		left, err := b.client.TimeToLive(ctx, clientv3.LeaseID(a.Session))
		if err != nil || (left.TTL >= 0) != (kind.Control != "") {
			t.Errorf("%s: the lease of the closed leader has %d s left, %v", kind.Name, left.TTL, err)
		}
		next, err := second.Acquire(ctx, kind.Name)
		if err != nil || next.Token <= a.Token {
			t.Errorf("%s: %+v after %+v, %v", kind.Name, next, a, err)
		}
	}
}
