// Package cron is a scheduler whose instances claim each tick of a job at a service that all of
// them share. It is no lock: Acquire waits for the next tick that this instance may execute, and
// Release marks it as done.
//
// An instance computes its ticks from its own wall clock, as schedulers do: a tick is due whenever
// that shows a whole multiple of the period. It begins with the first one after its start. A tick
// is named by the instant that it is due at, in ms since 1970.
package cron

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// Claimer is where instances claim ticks.
type Claimer interface {
	fmt.Stringer
	// Claim claims a tick for the owner, and reports whether it has it. An error that is not
	// definite says that it may have.
	Claim(ctx context.Context, key, owner string, tick int64) (claimed bool, err error)
	// Done marks a tick of the owner's as done. ErrNotHeld: the owner has it no more.
	Done(ctx context.Context, key, owner string, tick int64) error
	Close() error
}

// Rules are what schedulers differ in.
type Rules struct {
	// Retries: a tick that could not be claimed is asked for again until the next one is due, so
	// that it is executed though its first instance died. Else each instance asks once.
	Retries bool
	// Tells: the application is told when the time is over that an execution may take.
	Tells bool
}

// Control is a scheduler that is broken on purpose, so that the property is violated.
func Control(property string, k clients.Kind) clients.Kind {
	k.Control = property
	return k
}

// Instance is one instance of the scheduler.
type Instance struct {
	at     Claimer
	rules  Rules
	every  time.Duration
	ttl    time.Duration
	owner  string
	before int64 // the latest tick that is no more to be asked for
	lost   chan clients.Loss
	end    chan struct{}

	mu    sync.Mutex
	alarm *time.Timer // of the execution that goes on; nil: none does
}

// New returns an instance of the job that the configuration describes.
func New(c clients.Config, at Claimer, r Rules) (*Instance, error) {
	i := &Instance{at: at, rules: r, every: c.Every, ttl: c.TTL, end: make(chan struct{})}
	if i.every < time.Millisecond || i.every%time.Millisecond != 0 {
		return nil, fmt.Errorf("%v: the period of the job is %v; give a whole number of ms (workload.every)", at, i.every)
	}
	if r.Tells {
		i.lost = make(chan clients.Loss)
	}
	var unique [8]byte
	_, _ = rand.Read(unique[:]) // never fails, by its documentation
	i.owner = fmt.Sprintf("i%d-%s", c.Client, hex.EncodeToString(unique[:]))
	i.before = i.due(time.Now())
	return i, nil
}

// due is the latest tick that was due at an instant.
func (i *Instance) due(now time.Time) int64 {
	every := i.every.Milliseconds()
	return now.UnixMilli() / every * every
}

// Acquire waits for the next tick that this instance may execute.
func (i *Instance) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	for ctx.Err() == nil {
		now := time.Now()
		tick := i.due(now)
		if tick <= i.before {
			_ = clients.Wait(ctx, i.nap(now))
			continue
		}
		start := monotime.Now()
		claimed, err := i.at.Claim(ctx, key, i.owner, tick)
		switch {
		case err != nil:
			i.tried(tick)
			return clients.Grant{Key: key, First: start}, fmt.Errorf("claim tick %d of %s at %v: %w", tick, key, i.at, err)
		case claimed:
			i.before = tick
			i.watch(key, tick, now)
			return clients.Grant{Key: key, Token: tick, Attempt: start, First: start}, nil
		}
		if i.tried(tick); i.rules.Retries {
			_ = clients.Wait(ctx, i.nap(now))
		}
	}
	return clients.Grant{Key: key}, fmt.Errorf("%s at %v: no tick came to this instance: %w", key, i.at, clients.ErrBusy)
}

// tried notes that a tick was asked for in vain.
func (i *Instance) tried(tick int64) {
	if !i.rules.Retries {
		i.before = tick
	}
}

// nap is how long to wait before the clock is looked at again: until the next tick, but not for
// long, since a clock may be set.
func (i *Instance) nap(now time.Time) time.Duration {
	next := time.UnixMilli(i.due(now)).Add(i.every)
	return min(next.Sub(now), max(i.every/10, time.Millisecond))
}

// watch tells the application when the time of its execution is over.
func (i *Instance) watch(key string, tick int64, since time.Time) {
	if !i.rules.Tells {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.alarm = time.AfterFunc(i.ttl-time.Since(since), func() {
		clients.Tell(i.lost, clients.Loss{Key: key, Token: tick, Why: "the time that an execution may take is over"}, i.end,
			func(task func()) { go task() })
	})
}

// Lost tells of executions whose time is over; nil where the scheduler tells of none.
func (i *Instance) Lost() <-chan clients.Loss { return i.lost }

// Release marks the tick as done.
func (i *Instance) Release(ctx context.Context, g clients.Grant) error {
	i.mu.Lock()
	if i.alarm != nil {
		i.alarm.Stop()
	}
	i.mu.Unlock()
	if err := i.at.Done(ctx, g.Key, i.owner, g.Token); err != nil {
		return fmt.Errorf("mark tick %d of %s as done at %v: %w", g.Token, g.Key, i.at, err)
	}
	return nil
}

// Close gives up the connections. A tick that is not marked as done stays claimed until its time
// is over.
func (i *Instance) Close(context.Context) error {
	close(i.end)
	if err := i.at.Close(); err != nil {
		return fmt.Errorf("close the connections to %v: %w", i.at, err)
	}
	return nil
}
