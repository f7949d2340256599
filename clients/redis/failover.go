package redis

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/endpoint/redisurl"
	"github.com/lockchaos/lockchaos/internal/logins"
)

// Failover is the lock redis-failover: redis-setnx on a primary with a replica that
// Sentinel promotes when the primary is gone. The client asks the sentinels which server
// is the primary (go-redis's failover client). Replication is asynchronous, so a key that
// the primary had answered for may be unknown to the replica that is promoted: the Redis
// manual describes just this under "Why Failover-based Implementations Are Not Enough".
var Failover = clients.Kind{
	Name:    "redis-failover",
	About:   "redis-setnx on the primary that Sentinel names; replication is asynchronous, so a promotion can lose the lock",
	Service: "redis-failover",
	Claims:  clients.Claims{Validity: "from_invocation", Token: "none", Confirms: []string{"release"}, Permits: 1},
	Open:    openFailover,
}

// longestAnswer bounds the wait for an answer: a sentinel that says nothing
// must not keep the client from asking another.
const longestAnswer = 3 * time.Second

func openFailover(_ context.Context, c clients.Config) (clients.Lock, error) {
	if len(c.Nodes) == 0 {
		return nil, fmt.Errorf("redis-failover was given no addresses; configure those of the sentinels")
	}
	l, err := unconnected(c, Algorithm{})
	if err != nil {
		return nil, err
	}
	// Only the connections to the primary are cut: go-redis keeps one to a
	// sentinel, to be told of promotions.
	o, err := redisurl.Failover(c.Nodes, logins.RedisPrimary, new(net.Dialer).DialContext, l.cutter.Dial)
	if err != nil {
		return nil, err
	}
	l.addr = "the primary that the sentinels " + strings.Join(o.SentinelAddrs, ",") + " name"
	answer := min(max(l.ttl/2, l.grace), longestAnswer)
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = answer, answer, answer
	l.client = goredis.NewFailoverClient(o)
	return l, nil
}
