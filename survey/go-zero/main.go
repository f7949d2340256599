// The RedisLock of github.com/zeromicro/go-zero/core/stores/redis on one Redis
// server, as an adapter for lockchaos.
package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/zeromicro/go-zero/core/logx"
	"github.com/zeromicro/go-zero/core/stores/redis"

	"example.com/golocks/protocol"
)

type lock struct {
	store   *redis.Redis
	seconds int
	held    map[string]*redis.RedisLock
}

// open takes the lease in whole seconds: the library adds 500 ms of its own to each.
func open(h protocol.Hello) (protocol.Lock, error) {
	store, err := redis.NewRedis(redis.RedisConf{Host: h.Nodes[0], Type: redis.NodeType, NonBlock: true})
	if err != nil {
		return nil, err
	}
	return &lock{store: store, seconds: int(h.TTL / time.Second), held: map[string]*redis.RedisLock{}}, nil
}

func (l *lock) Declare() protocol.Declaration {
	return protocol.Declaration{
		Name:     "go-zero RedisLock " + protocol.Version("github.com/zeromicro/go-zero"),
		Validity: "from_invocation",   // a script around SET NX PX
		Confirms: []string{"release"}, // a script that compares the value; its answer is returned
		Can:      []string{"cancel"},
	}
}

// Acquire tries with one RedisLock until it has the key: the library lets an
// owner take its own key again.
func (l *lock) Acquire(ctx context.Context, key string) (protocol.Grant, error) {
	rl := redis.NewRedisLock(l.store, key)
	rl.SetExpire(l.seconds)
	g, err := protocol.Poll(ctx, func() time.Duration { return 20 * time.Millisecond }, time.Second,
		func(ctx context.Context) error {
			ok, err := rl.AcquireCtx(ctx)
			if err == nil && !ok {
				return protocol.Busy // the script compares the value: another one has the key
			}
			return err
		})
	if err == nil {
		l.held[key] = rl
	}
	return g, err
}

func (l *lock) Release(ctx context.Context, key string) error {
	rl := l.held[key]
	delete(l.held, key)
	if rl == nil {
		return protocol.NotHeld
	}
	ok, err := rl.ReleaseCtx(ctx)
	if err == nil && !ok {
		// The client may have sent the script twice, so the key may have been
		// ours at the first time.
		return errors.New("not held, or released by a first sending of the request")
	}
	return err
}

func (l *lock) Close(context.Context) error { return nil }

func main() {
	// the library logs to standard output, which is the protocol's
	logx.SetWriter(logx.NewWriter(os.Stderr))
	protocol.Main(open)
}
