package external

import (
	"context"
	"fmt"
	"sync"

	"github.com/lockchaos/lockchaos/adapter"
	"github.com/lockchaos/lockchaos/clients"
)

// job is an adapter that is an instance of a scheduler. Its executions come by themselves:
// Acquire waits for the next one, and Release says that its work is over and waits for its end.
// It is driven one execution at a time; one that begins meanwhile waits for its turn.
type job struct {
	*lock
	gone <-chan struct{}
	runs chan announced

	mu   sync.Mutex
	now  *execution // the one that is driven; nil: none is
	done map[string]chan struct{}
}

// announced is an execution that the adapter has told of, and when.
type announced struct {
	run  string
	tick int64
	at   int64
}

// execution is what is driven.
type execution struct {
	key string
	announced
}

// mostRuns is how many executions may wait for their turn.
const mostRuns = 1000

func newJob(l *lock) *job {
	return &job{lock: l, runs: make(chan announced, mostRuns), done: map[string]chan struct{}{}}
}

// tell takes an event. It must not block, so executions beyond mostRuns are dropped: who has begun
// so many and ended none is never seen to end one.
func (j *job) tell(e adapter.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch e.Kind {
	case adapter.EventRun:
		j.done[e.Run] = make(chan struct{})
		select {
		case j.runs <- announced{e.Run, e.Tick, j.times.Now()}:
		default:
		}
	case adapter.EventDone:
		if done := j.done[e.Run]; done != nil {
			close(done)
			delete(j.done, e.Run)
		}
	case adapter.EventLost:
		if j.now != nil && j.now.run == e.Run {
			select {
			case j.lost <- clients.Loss{Key: j.now.key, Token: j.now.tick, Why: e.Why}:
			default: // whoever has not read a hundred knows enough
			}
		}
	}
}

// Acquire waits for the next execution. The adapter claimed it at an unknown time since the wait
// began, or before it was announced.
func (j *job) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	began := j.times.Now()
	select {
	case a := <-j.runs:
		j.mu.Lock()
		defer j.mu.Unlock()
		j.now = &execution{key, a}
		return clients.Grant{Key: key, Token: a.tick, Attempt: min(began, a.at), First: began, Secret: a}, nil
	case <-j.gone:
		return clients.Grant{Key: key, First: began}, j.conn.Broken()
	case <-ctx.Done():
		return clients.Grant{Key: key}, fmt.Errorf("%s: no execution began at this instance: %w", key, clients.ErrBusy)
	}
}

// Release says that the work is over, and waits until the execution is marked as done.
func (j *job) Release(ctx context.Context, g clients.Grant) error {
	a, ok := g.Secret.(announced)
	if !ok {
		return fmt.Errorf("go %q: the execution is not one of this instance's: %w", g.Key, clients.ErrNotHeld)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	j.mu.Lock()
	done := j.done[a.run]
	j.now = nil
	j.mu.Unlock()
	r, err := j.conn.Ask(adapter.Request{Op: adapter.OpGo, Run: a.run, TimeoutMS: j.limit(ctx)})
	switch {
	case err != nil:
		return err
	case !r.OK:
		return failure(adapter.OpGo, r)
	case done == nil:
		return nil // it had ended before, by itself
	}
	select {
	case <-done:
		return nil
	case <-j.gone:
		return j.conn.Broken()
	case <-ctx.Done():
		return fmt.Errorf("execution %q of %s has not ended: %w", a.run, g.Key, ctx.Err())
	}
}
