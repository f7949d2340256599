package broken

import (
	"context"
	"errors"
	"sync"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/redis"
)

// ReaderCount is the control broken-reader-count: a reader-writer lock whose readers are a number,
// with one expiry for all. A reader that releases when its lease is over takes one off, though it
// is no longer counted: the number is that of other readers by then. The last of those is taken for
// nobody, and a writer is let in beside it. A set of readers, each with its own end, would have
// shown who is there.
var ReaderCount = clients.Kind{
	Name:    "broken-reader-count",
	About:   "readers and writers, of whom the readers are a number: a release takes one off, whoever is counted by then",
	Service: "redis",
	Claims:  clients.Claims{Validity: "from_invocation", Token: "none", Permits: 1, ReadWrite: true},
	Control: checker.MutualExclusion,
	Open: func(_ context.Context, c clients.Config) (clients.Lock, error) {
		writer, err := redis.Open(c, redis.Algorithm{Take: takeBy(takeAsWriter), Free: freeBy(freeAsWriter)})
		if err != nil {
			return nil, err
		}
		reader, err := redis.Open(c, redis.Algorithm{Take: takeBy(takeAsReader), Free: freeBy(freeAsReader)})
		if err != nil {
			return nil, errors.Join(err, writer.Close(context.Background()))
		}
		return &readerCount{Lock: writer, reader: reader, reads: map[any]bool{}}, nil
	},
}

var (
	takeAsWriter = goredis.NewScript(`
if redis.call('EXISTS', KEYS[1]) == 1 and redis.call('HGET', KEYS[1], 'writer') ~= ARGV[1] then
	return 0
end
redis.call('HSET', KEYS[1], 'writer', ARGV[1])
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`)

	freeAsWriter = goredis.NewScript(`
if redis.call('HGET', KEYS[1], 'writer') == ARGV[1] then
	return redis.call('DEL', KEYS[1])
end
return 0`)

	takeAsReader = goredis.NewScript(`
if redis.call('HEXISTS', KEYS[1], 'writer') == 1 then
	return 0
end
redis.call('HINCRBY', KEYS[1], 'readers', 1)
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`)

	freeAsReader = goredis.NewScript(`
if redis.call('HEXISTS', KEYS[1], 'readers') == 1 and redis.call('HINCRBY', KEYS[1], 'readers', -1) <= 0 then
	redis.call('DEL', KEYS[1])
end
return 1`)
)

func takeBy(script *goredis.Script) func(context.Context, redis.Request) (redis.Answer, error) {
	return func(ctx context.Context, r redis.Request) (redis.Answer, error) {
		n, err := r.Run(ctx, script, redis.LockKey(r.Key))
		return redis.Answer{Taken: n == 1}, err
	}
}

func freeBy(script *goredis.Script) func(context.Context, redis.Request) (bool, error) {
	return func(ctx context.Context, r redis.Request) (bool, error) {
		n, err := r.Run(ctx, script, redis.LockKey(r.Key))
		return n == 1, err
	}
}

// readerCount is the writers' lock, with one for readers beside it.
type readerCount struct {
	clients.Lock
	reader clients.Lock

	mu    sync.Mutex
	reads map[any]bool // the secrets of readers' grants
}

// AcquireRead counts one more.
func (l *readerCount) AcquireRead(ctx context.Context, key string) (clients.Grant, error) {
	g, err := l.reader.Acquire(ctx, key)
	if err == nil {
		l.mu.Lock()
		l.reads[g.Secret] = true
		l.mu.Unlock()
	}
	return g, err
}

// Release takes one off, or gives a writer's key back.
func (l *readerCount) Release(ctx context.Context, g clients.Grant) error {
	l.mu.Lock()
	reads := l.reads[g.Secret]
	delete(l.reads, g.Secret)
	l.mu.Unlock()
	if reads {
		return l.reader.Release(ctx, g)
	}
	return l.Lock.Release(ctx, g)
}

// Close ends both connections.
func (l *readerCount) Close(ctx context.Context) error {
	return errors.Join(l.Lock.Close(ctx), l.reader.Close(ctx))
}
