package backendstest

import (
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/backends"
)

// Five starts five servers and opens a lock on them, and a client behind its back on each.
func Five(t *testing.T, kind clients.Kind, ttl time.Duration) (s *backends.Service, l clients.Lock, all []*goredis.Client) {
	t.Helper()
	NeedRedis(t)
	s = Start(t, "redis-five")
	for _, n := range s.Nodes {
		all = append(all, Behind(t, n.Addr))
	}
	return s, Open(t, kind, s, ttl, 1), all
}

// Behind opens a client that looks behind a lock's back.
func Behind(t *testing.T, addr string) *goredis.Client {
	t.Helper()
	c := goredis.NewClient(&goredis.Options{Addr: addr, Protocol: 2})
	t.Cleanup(func() { c.Close() })
	return c
}
