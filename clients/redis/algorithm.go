package redis

import (
	"context"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// Algorithm is what tells the locks of this package apart: what is sent to the
// server. When to try again, what is open when an answer is lost, and how a call
// ends with its context are the same for all. A nil function is redis-setnx's.
type Algorithm struct {
	// Take is one attempt to take the key for the value.
	Take func(context.Context, Request) (Answer, error)
	// Free gives back what is held, or may be held, with the value. freed false
	// without an error: it was not, or is no longer, held.
	Free func(context.Context, Request) (freed bool, err error)
	// Has reports whether the grant with the value still stands.
	Has func(context.Context, Request) (bool, error)
	// Extend renews the lease of the grant with the value. ours false without
	// an error: the grant is over.
	Extend func(context.Context, Request) (ours bool, err error)
	// Queues: an attempt that was answered no stands in a queue, which Free leaves.
	Queues bool
}

func (a Algorithm) complete() Algorithm {
	if a.Take == nil {
		a.Take = takeSetnx
	}
	if a.Free == nil {
		a.Free = FreeOwn
	}
	if a.Has == nil {
		a.Has = HasOwn
	}
	if a.Extend == nil {
		a.Extend = extendIfOwn
	}
	return a
}

func extendIfOwn(ctx context.Context, r Request) (bool, error) {
	return r.Confirms(ctx, extendOwn, LockKey(r.Key))
}

// Request is about one key of a lock, for one value, which names the grant.
type Request struct {
	Client     goredis.UniversalClient
	Key, Value string
	set        *keySet // of a lock that takes several keys at once; nil: Key alone
	TTL        time.Duration
	// Again: an earlier attempt with this value is open, so the key may already be ours.
	Again bool
}

// Run runs a script with the value, the TTL in ms as its arguments, and returns
// the number that it answers.
func (r Request) Run(ctx context.Context, script *goredis.Script, keys ...string) (int64, error) {
	return script.Run(ctx, r.Client, keys, r.Value, r.TTL.Milliseconds()).Int64()
}

// Confirms runs a script as Run does, and reports whether it answers 1.
func (r Request) Confirms(ctx context.Context, script *goredis.Script, keys ...string) (bool, error) {
	n, err := r.Run(ctx, script, keys...)
	return n == 1, err
}

// Answer is what came of one attempt. The zero value: another has the key.
type Answer struct {
	Token int64 // 0 where the lock has none
	Taken bool
	// Enqueued: this attempt put the waiter into the queue.
	Enqueued bool
}
