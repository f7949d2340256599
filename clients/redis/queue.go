package redis

import (
	"context"
	"errors"
	"fmt"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// Queue is no lock: who wants something done about a key puts a job into its list,
// and one consumer does the jobs, one after the other. It is the reliable queue of
// the Redis manual (LMOVE, "Pattern: Reliable queue"): a job that is taken moves
// into a list of jobs in progress in the same step, and is deleted from there when
// it is done, so a consumer that dies leaves it for its successor.
//
// Client 1 is the consumer: it acquires by taking a job, and releases by acknowledging
// it. Every other client's Acquire puts a job into the list and is answered ErrBusy:
// so only the consumer is ever granted, and two cannot be unless two consumers run. It
// claims no exclusion all the same: it is no lock, a fresh client cannot be granted
// what only the consumer gets, and what counts is that no update is lost.
var Queue = clients.Kind{
	Name:    "queue",
	About:   "no lock at all: client 1, the consumer, takes jobs from a list; every other client puts its job there, and is answered busy",
	Service: "redis",
	Claims:  clients.Claims{Token: "none", NoExpiry: true},
	Open: func(_ context.Context, c clients.Config) (clients.Lock, error) {
		l, err := open(c, Algorithm{})
		if err != nil {
			return nil, err
		}
		if l.number == consumerNumber {
			return &consumer{l}, nil
		}
		return &producer{l}, nil
	},
}

// consumerNumber is the client that does the jobs.
const consumerNumber = 1

func jobs(key string) string       { return "jobs:{" + key + "}" }
func inProgress(key string) string { return "in-progress:{" + key + "}" }

// producer is a client that has others do its jobs.
type producer struct{ *lock }

// Acquire queues a job.
func (p *producer) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	g, err := clients.Grant{Key: key}, ctx.Err()
	if err == nil { // else over already: nothing is sent
		defer p.cutter.Watch(ctx)()
		start := monotime.Now()
		if err = p.client.LPush(ctx, jobs(key), newValue(p.number)).Err(); err != nil {
			g.First = start
		}
	}
	if err != nil {
		return g, fmt.Errorf("queue a job for %q at redis %s: %w", key, p.addr, err)
	}
	return g, fmt.Errorf("queued for the consumer of %q at redis %s: %w", key, p.addr, clients.ErrBusy)
}

// Release refuses: a producer holds nothing.
func (p *producer) Release(_ context.Context, g clients.Grant) error {
	return fmt.Errorf("release %q: only the consumer holds anything: %w", g.Key, clients.ErrNotHeld)
}

// Held refuses, too.
func (p *producer) Held(_ context.Context, g clients.Grant) error {
	return fmt.Errorf("%q: only the consumer holds anything: %w", g.Key, clients.ErrNotHeld)
}

// consumer does the jobs.
type consumer struct{ *lock }

// job is the secret of a grant.
type job string

// listen is how long one BLMOVE waits at the server. An Acquire outlives its context by no more.
const listen = 100 * time.Millisecond

// Acquire waits for a job until ctx is done. A job in progress that nobody acknowledged comes
// first: it was left by a consumer that died, or by a request of this one that was not answered.
func (c *consumer) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	g, err := clients.Grant{Key: key}, ctx.Err()
	for ctx.Err() == nil {
		start := monotime.Now()
		var value string
		value, err = c.next(ctx, key)
		if err == nil {
			return clients.Grant{Key: key, Attempt: start, First: start, Secret: job(value)}, nil
		}
		if errors.Is(err, goredis.Nil) {
			err = clients.ErrBusy
			continue
		}
		if g.First == 0 {
			g.First = start
		}
		_ = clients.Wait(ctx, listen/4)
	}
	if g.First != 0 && errors.Is(err, clients.ErrBusy) {
		err = errors.New("there is no job now, and an earlier request was not answered")
	}
	return g, fmt.Errorf("take a job for %q from redis at %s: %w", key, c.addr, err)
}

// next takes the next job, goredis.Nil if there is none.
func (c *consumer) next(ctx context.Context, key string) (value string, err error) {
	ctx, cancel := clients.WithGrace(ctx, 2*listen)
	defer cancel()
	defer c.cutter.Watch(ctx)()
	value, err = c.client.LIndex(ctx, inProgress(key), -1).Result()
	if !errors.Is(err, goredis.Nil) {
		return value, err
	}
	// go-redis's own BLMove waits for whole seconds.
	return c.client.Do(ctx, "BLMOVE", jobs(key), inProgress(key), "RIGHT", "LEFT", listen.Seconds()).Text()
}

// Release acknowledges the job.
func (c *consumer) Release(ctx context.Context, g clients.Grant) error {
	value, ok := g.Secret.(job)
	if !ok {
		return fmt.Errorf("acknowledge %q: the grant is not one of this consumer's: %w", g.Key, clients.ErrNotHeld)
	}
	err := ctx.Err() // over already: nothing is sent
	var n int64
	if err == nil {
		defer c.cutter.Watch(ctx)()
		n, err = c.client.LRem(ctx, inProgress(g.Key), 1, string(value)).Result()
	}
	if err == nil && n == 0 {
		err = clients.ErrNotHeld
	}
	if err != nil {
		return fmt.Errorf("acknowledge a job of %q at redis %s: %w", g.Key, c.addr, err)
	}
	return nil
}

// Held reports whether the job is still in progress.
func (c *consumer) Held(ctx context.Context, g clients.Grant) error {
	value, _ := g.Secret.(job)
	defer c.cutter.Watch(ctx)()
	err := c.client.LPos(ctx, inProgress(g.Key), string(value), goredis.LPosArgs{}).Err()
	if errors.Is(err, goredis.Nil) {
		err = clients.ErrNotHeld
	}
	if err != nil {
		return fmt.Errorf("ask redis at %s for the job of %q: %w", c.addr, g.Key, err)
	}
	return nil
}
