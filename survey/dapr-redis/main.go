// The lock component "redis" of github.com/dapr/components-contrib on one Redis
// server, as an adapter for lockchaos.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"time"

	"github.com/dapr/components-contrib/lock"
	"github.com/dapr/components-contrib/lock/redis"
	"github.com/dapr/components-contrib/metadata"
	"github.com/dapr/kit/logger"

	"example.com/golocks/protocol"
)

type adapter struct {
	store   lock.Store
	seconds int32
	owners  map[string]string
}

// open takes the lease in whole seconds, as the component does.
func open(h protocol.Hello) (protocol.Lock, error) {
	log := logger.NewLogger("lock")
	log.SetOutput(io.Discard)
	store := redis.NewStandaloneRedisLock(log)
	err := store.InitLockStore(context.Background(), lock.Metadata{Base: metadata.Base{
		Properties: map[string]string{"redisHost": h.Nodes[0], "redisPassword": ""},
	}})
	return &adapter{store: store, seconds: int32(h.TTL / time.Second), owners: map[string]string{}}, err
}

func (a *adapter) Declare() protocol.Declaration {
	return protocol.Declaration{
		Name:     "dapr lock.redis " + protocol.Version("github.com/dapr/components-contrib"),
		Validity: "from_invocation",   // SET NX EX
		Confirms: []string{"release"}, // a script that compares the owner
		Can:      []string{"cancel"},
	}
}

// Acquire tries again and again, each time as another owner.
func (a *adapter) Acquire(ctx context.Context, key string) (protocol.Grant, error) {
	var owner string
	g, err := protocol.Poll(ctx, func() time.Duration { return 20 * time.Millisecond }, time.Second,
		func(ctx context.Context) error {
			owner = rand.Text()
			r, err := a.store.TryLock(ctx, &lock.TryLockRequest{ResourceID: key, LockOwner: owner,
				ExpiryInSeconds: a.seconds})
			if err == nil && !r.Success {
				return protocol.Busy // no error, and no success: another owner has it
			}
			return err
		})
	if err == nil {
		a.owners[key] = owner
	}
	return g, err
}

func (a *adapter) Release(ctx context.Context, key string) error {
	owner := a.owners[key]
	delete(a.owners, key)
	r, err := a.store.Unlock(ctx, &lock.UnlockRequest{ResourceID: key, LockOwner: owner})
	if err != nil {
		return err
	}
	switch r.Status {
	case lock.Success:
		return nil
	case lock.LockDoesNotExist, lock.LockBelongsToOthers:
		return protocol.NotHeld
	}
	return errors.New("internal error")
}

func (a *adapter) Close(context.Context) error { return nil }

func main() { protocol.Main(open) }
