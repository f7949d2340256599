//go:build !wasip1

package locktest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// StartScheduler starts one instance of the scheduler under test, with a job that is due whenever
// the wall clock shows a whole multiple of every. It is called in the client's process. The
// instance tells jobs of what it executes. stop, which may be nil, ends it.
type StartScheduler func(n Nodes, every time.Duration, jobs *Executions) (stop func(), err error)

// ExamJob is Exam for a scheduler: a library that shares out the executions of a job among
// instances. The attacks are those of `lockchaos exam --job-cmd`. Claims.Job says what it promises.
func ExamJob(t *testing.T, e Examination, start StartScheduler) {
	t.Helper()
	if e.Claims.Job == "" {
		t.Fatal("locktest: ExamJob needs Claims.Job: at-most-once, at-least-once or exactly-once")
	}
	Exam(t, e, start.open)
}

// open is an Open: a lock whose grants are the instance's executions.
func (start StartScheduler) open(n Nodes) (clients.Lock, error) {
	x := &Executions{begun: make(chan *Execution), lost: make(chan clients.Loss, 100), closed: make(chan struct{}),
		open: map[int64]*Execution{}, free: monotime.Now()}
	stop, err := start(n, n.Config.Every, x)
	x.stop = stop
	return x, err
}

// Executions is what an instance of a scheduler tells of what it executes. Its methods may be
// called from any goroutine.
type Executions struct {
	begun  chan *Execution
	lost   chan clients.Loss
	closed chan struct{}
	stop   func()

	mu   sync.Mutex
	key  string
	open map[int64]*Execution
	// free is an instant since which the instance may have claimed its next execution.
	free int64
}

// Execution is one execution of the job.
type Execution struct {
	of      *Executions
	tick    int64
	claimed int64
	over    chan struct{}
	once    sync.Once
	ended   chan bool
}

// Run is to be called in the place of the job's work, with the instant that the execution is due
// at. It returns when the work is over. Then the scheduler marks the execution as done.
func (x *Executions) Run(tick time.Time) *Execution {
	e := &Execution{of: x, tick: tick.UnixMilli(), over: make(chan struct{}), ended: make(chan bool, 1)}
	x.mu.Lock()
	e.claimed = x.free
	x.open[e.tick] = e
	x.mu.Unlock()
	select {
	case x.begun <- e:
	case <-x.closed:
		return e
	}
	select {
	case <-e.over:
	case <-x.closed:
	}
	return e
}

// Done says that the execution has ended, and whether it is known to be marked as done.
func (e *Execution) Done(marked bool) {
	e.once.Do(func() {
		e.ended <- marked
		e.of.mu.Lock()
		defer e.of.mu.Unlock()
		if e.of.open[e.tick] == e {
			delete(e.of.open, e.tick)
		}
		if len(e.of.open) == 0 {
			e.of.free = monotime.Now()
		}
	})
}

// Lose says that the execution of a tick is no longer this instance's.
func (x *Executions) Lose(tick time.Time, why string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	select {
	case x.lost <- clients.Loss{Key: x.key, Token: tick.UnixMilli(), Why: why}:
	default: // a reader that is a hundred behind knows enough
	}
}

// Lost tells of executions that are lost.
func (x *Executions) Lost() <-chan clients.Loss { return x.lost }

// Acquire waits for the next execution.
func (x *Executions) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	x.mu.Lock()
	x.key = key
	x.mu.Unlock()
	select {
	case e := <-x.begun:
		return clients.Grant{Key: key, Token: e.tick, Attempt: e.claimed, First: e.claimed, Secret: e}, nil
	case <-ctx.Done():
		return clients.Grant{Key: key}, fmt.Errorf("%s: no execution began at this instance: %w", key, clients.ErrBusy)
	}
}

// Release says that the work is over, and waits until the execution has ended.
func (x *Executions) Release(ctx context.Context, g clients.Grant) error {
	e, ok := g.Secret.(*Execution)
	if !ok {
		return clients.ErrNotHeld
	}
	close(e.over)
	select {
	case marked := <-e.ended:
		if !marked {
			return errors.New("it is not known whether the execution is marked as done")
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the execution of tick %d has not ended: %w", e.tick, ctx.Err())
	}
}

// Close ends the instance.
func (x *Executions) Close(context.Context) error {
	close(x.closed)
	if x.stop != nil {
		x.stop()
	}
	return nil
}
