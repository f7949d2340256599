package backends_test

import (
	"strings"
	"syscall"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/backends/backendstest"
	"github.com/lockchaos/lockchaos/internal/logins"
)

// The primary is told by most of the sentinels: one may be silent, and no two may disagree.
func TestPrimaryBySentinels(t *testing.T) {
	t.Parallel()
	backendstest.NeedRedis(t)
	s := backendstest.Start(t, "redis-failover")
	ctx := backendstest.Limit(t)
	primary, replica, sentinels := s.Nodes[0], s.Nodes[1], s.Nodes[2:]
	tells := func(when string) {
		t.Helper()
		if got := asked(t, func() (string, error) { return s.Primary(ctx) }); got != primary.Name {
			t.Errorf("%s the primary is %q", when, got)
		}
	}
	refuses := func(when, why string) {
		t.Helper()
		if got, err := s.Primary(ctx); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s the primary is %q, %v; want %s", when, got, err, why)
		}
	}
	tells("with all sentinels")
	signal := func(n *backends.Node, sent syscall.Signal) {
		t.Helper()
		if err := n.Process.Signal(sent); err != nil {
			t.Fatal(err)
		}
	}
	signal(sentinels[0], syscall.SIGSTOP)
	tells("with a silent sentinel")
	signal(sentinels[0], syscall.SIGCONT)
	tells("with one that answers again")
	c := goredis.NewSentinelClient(&goredis.Options{Addr: sentinels[1].Addr, Protocol: 2})
	defer c.Close()
	host, port, _ := strings.Cut(replica.Addr, ":")
	if err := c.Remove(ctx, logins.RedisPrimary).Err(); err != nil {
		t.Fatal(err)
	}
	if err := c.Monitor(ctx, logins.RedisPrimary, host, port, "2").Err(); err != nil {
		t.Fatal(err)
	}
	refuses("with one that takes another for it", "another sentinel")
	if err := sentinels[1].Process.Kill(ctx); err != nil {
		t.Fatal(err)
	}
	tells("with a dead sentinel")
	if err := sentinels[2].Process.Kill(ctx); err != nil {
		t.Fatal(err)
	}
	refuses("with one sentinel of three", "1 of 3 sentinels")
}
