package kubernetes_test

import (
	"context"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/clienttest"
	"github.com/lockchaos/lockchaos/clients/kubernetes"
	"github.com/lockchaos/lockchaos/internal/backends/backendstest"
)

const cronTTL = time.Second

// instances are two instances of a scheduler on one service. The first one is the test's to close.
func instances(t *testing.T, kind clients.Kind, ttl time.Duration) (ctx context.Context, first, second clients.Lock) {
	t.Helper()
	backendstest.Need(t, "kubernetes")
	s := backendstest.Start(t, "kubernetes")
	ctx = backendstest.Limit(t)
	open := func(client int) clients.Lock {
		l, err := kind.Open(ctx, clients.Config{Nodes: s.Addrs(), TTL: ttl, Client: client, Every: 100 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	first, second = open(1), open(2)
	t.Cleanup(func() { _ = second.Close(context.Background()) })
	return ctx, first, second
}

// TestCronHandsOver: an instance that does not go on keeps the job for the TTL, and no longer. Who
// comes after it has the job; a tick that was done is not executed again.
func TestCronHandsOver(t *testing.T) {
	t.Parallel()
	ctx, first, second := instances(t, kubernetes.Cron, cronTTL)
	defer first.Close(context.Background())
	clienttest.HandsOver(ctx, t, first, second, cronTTL)
}

// TestCronGivesUp: an instance that is closed at its work frees the Lease, so that another one has
// the job at once.
func TestCronGivesUp(t *testing.T) {
	t.Parallel()
	ctx, first, second := instances(t, kubernetes.Cron, time.Hour)
	if _, err := first.Acquire(ctx, "bill"); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(ctx); err != nil {
		t.Error(err)
	}
	if _, err := second.Acquire(ctx, "bill"); err != nil {
		t.Error(err)
	}
}
