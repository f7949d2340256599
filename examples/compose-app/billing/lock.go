package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// grant is a lock that was granted.
type grant struct {
	order int64
	owner string
	token int64 // 0 without a fence
}

func (g *grant) key() string { return fmt.Sprintf("order:%d", g.order) }

// The lock in Redis. A grant's token is greater than those of all grants before.
var (
	take = redis.NewScript(`if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return redis.call('INCR', KEYS[1] .. ':token') end return 0`)
	give = redis.NewScript(`if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`)
)

// lock waits for the order's lock, for as long as the order is to be charged;
// nil: somebody else has done it.
func (b *billing) lock(ctx context.Context, order int64) (*grant, error) {
	g := &grant{order: order, owner: rand.Text()}
	began := time.Now()
	tell(began, "wait", g, nil)
	for ; ; time.Sleep(10 * time.Millisecond) {
		// Before each attempt, not after: who takes the lock that another has
		// just given up would only find that nothing is left to do.
		if charged, err := (unfenced{b.db}).charged(ctx, g); err != nil || charged {
			tell(began, "lock", g, errBusy)
			return nil, err
		}
		attempt := time.Now()
		token, err := take.Run(ctx, b.redis, []string{g.key()}, g.owner, ttl.Milliseconds()).Int64()
		if err != nil {
			tell(attempt, "lock", g, err)
			return nil, err
		}
		if token != 0 {
			if b.fence {
				g.token = token
			}
			tell(attempt, "lock", g, nil)
			return g, nil
		}
	}
}

// unlock gives the lock up, if it is still ours.
func (b *billing) unlock(ctx context.Context, g *grant) error {
	began := time.Now()
	ours, err := give.Run(ctx, b.redis, []string{g.key()}, g.owner).Bool()
	if err == nil && !ours {
		tell(began, "unlock", g, errNotOurs)
		return nil
	}
	tell(began, "unlock", g, err)
	return err
}
