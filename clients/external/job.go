package external

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/adapter"
	"github.com/lockchaos/lockchaos/clients"
)

// job is an adapter that is an instance of a scheduler, or a candidate for leadership. Its
// executions, or terms, come by themselves: Acquire waits for the next one, and Release says that
// its work is over and waits for its end. It is driven one at a time; one that begins meanwhile
// waits for its turn.
type job struct {
	*lock
	gone <-chan struct{}
	// leads: it is a candidate for leadership.
	leads bool
	// idle is for how long a term may wait for its turn: a leader that nobody drives keeps others
	// out.
	idle time.Duration

	asking sync.Mutex // held while a request has no answer

	mu    sync.Mutex
	now   *execution // the one that is driven; nil: none is
	turns []*announced
	turn  chan struct{} // gets a value when there may be one whose turn it is
	// open are those that have begun and not ended.
	open map[string]*announced
	// free is an instant since which the instance may have claimed the next one: the latest at
	// which it had none, or an earlier one.
	free int64
}

// announced is an execution that the adapter has told of.
type announced struct {
	run  string
	tick int64
	// claimed is when it may have been claimed at the earliest. attempt is when it was: as the
	// adapter says, else the earliest instant of an execution, and of a term the latest, since a
	// candidate that stood still may have asked anew.
	claimed, attempt int64
	// driven: its turn has come. lost: the adapter has told that it is.
	driven, lost bool
	over         chan struct{} // closed when it is marked as done, or was lost after its turn had come
}

// execution is what is driven.
type execution struct {
	key string
	*announced
}

// mostRuns is how many executions may wait for their turn.
const mostRuns = 1000

func newJob(l *lock, c clients.Config) *job {
	return &job{lock: l, leads: c.Adapter.Leader, idle: c.TTL / 2, turn: make(chan struct{}, 1),
		open: map[string]*announced{}, free: l.times.Now()}
}

// tell takes an event. It must not block, so executions beyond mostRuns are dropped: who has begun
// so many and ended none is never seen to end one.
func (j *job) tell(e adapter.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	a := j.open[e.Run]
	switch {
	case e.Kind == adapter.EventRun:
		j.begins(e)
	case a == nil:
	case e.Kind == adapter.EventDone:
		close(a.over)
		j.ends(a)
	default:
		j.loses(a, e.Why)
	}
}

// loses notes that an execution is lost. One whose turn has not come is not driven.
func (j *job) loses(a *announced, why string) {
	a.lost = true
	if !a.driven {
		return
	}
	close(a.over)
	j.ends(a)
	if j.now == nil || j.now.announced != a {
		return
	}
	select {
	case j.lost <- clients.Loss{Key: j.now.key, Token: j.now.tick, Why: why}:
	default: // a reader that is a hundred behind knows enough
	}
}

func (j *job) begins(e adapter.Event) {
	now := j.times.Now()
	a := &announced{run: e.Run, tick: e.Tick, claimed: j.free, attempt: j.free, over: make(chan struct{})}
	switch {
	case e.Attempt != 0 && !j.blind:
		a.claimed = min(e.Attempt, now)
		a.attempt = a.claimed
	case j.leads:
		a.attempt = now
	}
	j.open[e.Run] = a
	if len(j.turns) == mostRuns {
		return
	}
	j.turns = append(j.turns, a)
	j.wake()
	if j.leads {
		time.AfterFunc(j.idle, func() { j.stepDown(a) })
	}
}

// wake tells all that wait that there may be an execution whose turn it is.
func (j *job) wake() {
	select {
	case j.turn <- struct{}{}:
	default:
	}
}

// ends notes that an execution goes on no more.
func (j *job) ends(a *announced) {
	if j.open[a.run] == a {
		delete(j.open, a.run)
	}
	if len(j.open) == 0 {
		j.free = j.times.Now()
	}
}

// stepDown ends a term that still waits for its turn.
func (j *job) stepDown(a *announced) {
	j.mu.Lock()
	i := slices.Index(j.turns, a)
	if i >= 0 {
		j.turns = slices.Delete(j.turns, i, i+1)
	}
	j.mu.Unlock()
	if i >= 0 {
		_, _ = j.goOn(a, usualLimit.Milliseconds()) // the next caller is told how the adapter is
	}
}

// next takes the execution whose turn it is; nil: there is none.
func (j *job) next() *announced {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.turns) == 0 {
		return nil
	}
	a := j.turns[0]
	j.turns = slices.Delete(j.turns, 0, 1)
	if len(j.turns) > 0 {
		j.wake()
	}
	return a
}

// goOn says that the work of an execution is over.
func (j *job) goOn(a *announced, limit int64) (adapter.Reply, error) {
	j.asking.Lock()
	defer j.asking.Unlock()
	return j.conn.Ask(adapter.Request{Op: adapter.OpGo, Run: a.run, TimeoutMS: limit})
}

// Acquire waits for the next execution. The adapter claimed it at an unknown time since it had
// none, unless it says when. One that was lost before its turn is not driven.
func (j *job) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	began := j.times.Now()
	for {
		if a := j.next(); a != nil {
			if g, driven := j.drive(key, a); driven {
				return g, nil
			}
			if _, err := j.goOn(a, j.limit(ctx)); err != nil {
				return clients.Grant{Key: key, First: began}, err
			}
			continue
		}
		select {
		case <-j.turn:
		case <-j.gone:
			return clients.Grant{Key: key, First: began}, j.conn.Broken()
		case <-ctx.Done():
			return clients.Grant{Key: key}, fmt.Errorf("%s: no execution or term began at this instance: %w", key, clients.ErrBusy)
		}
	}
}

// drive makes an execution the one that is driven. It returns false if it is lost already.
func (j *job) drive(key string, a *announced) (clients.Grant, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if a.lost {
		j.ends(a)
		return clients.Grant{}, false
	}
	a.driven = true
	j.now = &execution{key, a}
	return clients.Grant{Key: key, Token: a.tick, Attempt: a.attempt, First: a.claimed, Secret: a}, true
}

// Release says that the work is over, and waits until the execution is marked as done.
func (j *job) Release(ctx context.Context, g clients.Grant) error {
	a, ok := g.Secret.(*announced)
	if !ok {
		return fmt.Errorf("go %q: the execution is not one of this instance's: %w", g.Key, clients.ErrNotHeld)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	j.mu.Lock()
	j.now = nil
	j.mu.Unlock()
	r, err := j.goOn(a, j.limit(ctx))
	switch {
	case err != nil:
		return err
	case !r.OK:
		return failure(adapter.OpGo, r)
	}
	select {
	case <-a.over:
		return j.marked(g, a)
	case <-j.gone:
		return j.conn.Broken()
	case <-ctx.Done():
		return fmt.Errorf("execution %q of %s has not ended: %w", a.run, g.Key, ctx.Err())
	}
}

// marked returns nil if an execution that is over was marked as done, and not lost.
func (j *job) marked(g clients.Grant, a *announced) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if a.lost {
		return fmt.Errorf("execution %q of %s is lost, as the adapter has told: %w", a.run, g.Key, clients.ErrNotHeld)
	}
	return nil
}

// Close ends the adapter.
func (j *job) Close(ctx context.Context) error {
	j.asking.Lock()
	defer j.asking.Unlock()
	return j.lock.Close(ctx)
}
