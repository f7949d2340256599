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
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// Claimer is where instances claim ticks.
type Claimer interface {
	fmt.Stringer
	// Claim claims a tick for the owner, and returns the one that it has; 0: none. That is the tick
	// that is due, or an older one where each is made up for. An error that is not definite says
	// that it may have one.
	Claim(ctx context.Context, key, owner string, due int64) (tick int64, err error)
	// Done marks a tick of the owner's as done. ErrNotHeld: the owner has it no more.
	Done(ctx context.Context, key, owner string, tick int64) error
	Close() error
}

// Giver is a Claimer at which an instance that is stopped in order gives up what it executes, so
// that another one goes on at once. At one that is none nothing need be given up, or it stays
// claimed.
type Giver interface {
	// GiveUp gives up a tick of the owner's, which is not done.
	GiveUp(ctx context.Context, key, owner string, tick int64) error
}

// StopHandover is how soon after an orderly stop another instance goes on: whatever was given up,
// it asks again for a tick well within a quarter of a lease.
func StopHandover(ttl time.Duration) time.Duration { return ttl / 4 }

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
	job   string      // whose tick is executed; "": none is
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
		due := i.due(now)
		if due <= i.before {
			_ = clients.Wait(ctx, i.nap(now))
			continue
		}
		start := monotime.Now()
		tick, err := i.at.Claim(ctx, key, i.owner, due)
		switch {
		case err != nil:
			i.tried(due)
			return clients.Grant{Key: key, First: start}, fmt.Errorf("claim tick %d of %s at %v: %w", due, key, i.at, err)
		case tick != 0:
			i.before = tick
			i.watch(key, tick, now)
			return clients.Grant{Key: key, Token: tick, Attempt: start, First: start}, nil
		}
		if i.tried(due); i.rules.Retries {
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
// long. A clock may be set, and a tick that another one has may be given up (StopHandover).
func (i *Instance) nap(now time.Time) time.Duration {
	next := time.UnixMilli(i.due(now)).Add(i.every)
	return min(next.Sub(now), max(min(i.every/10, i.ttl/8), time.Millisecond))
}

// watch notes an execution, and tells the application when the time of its execution is over.
func (i *Instance) watch(key string, tick int64, since time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.job = key; !i.rules.Tells {
		return
	}
	i.alarm = time.AfterFunc(i.ttl-time.Since(since), func() {
		clients.Tell(i.lost, clients.Loss{Key: key, Token: tick, Why: "the time that an execution may take is over"}, i.end,
			func(task func()) { go task() })
	})
}

// Lost tells of executions whose time is over; nil where the scheduler tells of none.
func (i *Instance) Lost() <-chan clients.Loss { return i.lost }

// Guard returns the owner in whose name the tick is claimed; see clients.Guarder.
func (i *Instance) Guard(clients.Grant) string { return i.owner }

// Release marks the tick as done.
func (i *Instance) Release(ctx context.Context, g clients.Grant) error {
	i.over()
	if err := i.at.Done(ctx, g.Key, i.owner, g.Token); err != nil {
		return fmt.Errorf("mark tick %d of %s as done at %v: %w", g.Token, g.Key, i.at, err)
	}
	return nil
}

// over notes that the execution is over, and returns whose tick it was; "": there was none.
func (i *Instance) over() (job string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.alarm != nil {
		i.alarm.Stop()
	}
	job, i.job = i.job, ""
	return job
}

// Close gives up a tick that is not marked as done, where the service knows how, and the
// connections.
func (i *Instance) Close(ctx context.Context) error {
	close(i.end)
	var err error
	if job := i.over(); job != "" {
		err = i.giveUp(ctx, job)
	}
	if closing := i.at.Close(); closing != nil {
		err = errors.Join(err, fmt.Errorf("close the connections to %v: %w", i.at, closing))
	}
	return err
}

// giveUp gives up the tick that the instance executes. One that is another's by now is given up.
func (i *Instance) giveUp(ctx context.Context, job string) error {
	giver, gives := i.at.(Giver)
	if !gives {
		return nil
	}
	if err := giver.GiveUp(ctx, job, i.owner, i.before); err != nil && !errors.Is(err, clients.ErrNotHeld) {
		return fmt.Errorf("give up tick %d of %s at %v: %w", i.before, job, i.at, err)
	}
	return nil
}
