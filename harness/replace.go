package harness

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/nemesis"
)

// do drives an op, unless the client has been killed, before or meanwhile, or
// is to be closed: then its round is over, as errKilled says.
func (a *actor) do(ctx context.Context, o op) (int64, reply, error) {
	if a.dead() {
		return 0, reply{}, errKilled
	}
	answered := a.director.asks(a.number, o)
	id, r, err := a.client.do(ctx, o)
	answered(id, r)
	if err != nil && ctx.Err() == nil && a.dead() {
		err = errKilled
	}
	return id, r, err
}

// dead reports whether a fault has killed the client, or an inquiry closes it.
func (a *actor) dead() bool {
	_, dead := a.director.death(a.number)
	return dead
}

// alive is passed what a round has come to. It lets a fresh process take the place of a
// client that was killed, or is closed by an inquiry, and the application go on with it.
func (a *actor) alive(ctx context.Context, err error) error {
	if err != nil && !errors.Is(err, errKilled) || err == nil && !a.dead() {
		return err
	}
	return a.director.revive(ctx, a)
}

// conducted is a run's director for its actors.
type conducted struct {
	*director
	run *run
}

func (c conducted) asks(client int32, o op) (answered func(id int64, r reply)) {
	over, told := c.traps.asks(client, o), c.run.vigil.sends(client, o)
	return func(id int64, r reply) {
		told(id, r)
		over()
	}
}

func (c conducted) revive(ctx context.Context, a *actor) error {
	if err := c.settled(ctx, a.number); err != nil {
		return err
	}
	why, _ := c.death(a.number)
	fresh, err := c.run.replace(ctx, a.workerProcess, why, a.done)
	if err != nil {
		return err
	}
	a.workerProcess = fresh
	c.replaced(a.number, fresh)
	return nil
}

func (c conducted) dies(ctx context.Context, a *actor) error {
	c.roundOver(a.number) // what a trap waits for does not come any more
	for condemned := false; !condemned; condemned = c.condemn(a.number) {
		if err := c.settled(ctx, a.number); err != nil {
			return err
		}
		if a.dead() {
			return errKilled // a fault has killed it meanwhile, or an inquiry closes it
		}
	}
	if _, err := nemesis.Kill(ctx, a.proc); err != nil {
		return fmt.Errorf("end client %d, whose application never releases: %w", a.number, err)
	}
	return errKilled
}

// leave ends the application: what a fault still does to its client is waited
// for, so that a living one is left behind.
func (r *run) leave(ctx context.Context, a *actor) error {
	for {
		if err := r.director.settled(ctx, a.number); err != nil {
			return err
		}
		if err := a.alive(ctx, nil); err != nil || r.director.leaves(a.number) {
			return err
		}
	}
}

// absence is why a client's process is gone, or is to go, and when a fresh one takes its place.
type absence struct {
	away time.Duration // after a kill
	// closing is set where an inquiry closes the client.
	closing *closing
}

// closing is how an inquiry closes a client. ended is closed when the client
// is; over by the inquiry, at its end.
type closing struct {
	ended chan struct{}
	over  <-chan struct{}
}

// replace records that a client's process is gone and, after a while, starts a
// fresh one in its place: the same client on the same host, which knows nothing
// of what its predecessor held. The while is as long as the absence says; that
// of a client that was killed ends with the workload's time.
func (r *run) replace(ctx context.Context, old *workerProcess, why absence, done <-chan struct{}) (*workerProcess,
	error) {
	var err error
	if why.closing != nil {
		err = r.end(ctx, old)
	} else if err = r.exited(ctx, old); err == nil {
		err = old.stdin.Close()
	}
	if err != nil {
		return nil, err
	}
	r.vigil.gone(old.number)
	if !why.wait(ctx, done) {
		return nil, context.Cause(ctx)
	}
	fresh, err := r.succeed(old)
	if err != nil {
		return nil, err
	}
	r.workers[old.number-1] = fresh
	return fresh, r.open(ctx, fresh)
}

// wait waits until a fresh process may come. It returns false when the context has ended.
func (a absence) wait(ctx context.Context, done <-chan struct{}) bool {
	if a.closing == nil {
		return pause(ctx, done, a.away)
	}
	close(a.closing.ended)
	select {
	case <-a.closing.over:
		return true
	case <-ctx.Done():
		return false
	}
}

// succeed starts a fresh process in the place of one that has ended.
func (r *run) succeed(old *workerProcess) (*workerProcess, error) {
	r.sessions.forget(old.number)
	fresh, err := r.spawn(old.number, old.proc.Host())
	if err != nil {
		return nil, err
	}
	fresh.rec, fresh.claims, fresh.life = r.rec, old.claims, old.life+1
	return fresh, nil
}

// exited waits for a process's end and its last lines, for nothing may come
// after its exit, and records that nothing more will come from it.
func (r *run) exited(ctx context.Context, w *workerProcess) error {
	ctx, cancel := context.WithTimeout(ctx, exitLimit)
	defer cancel()
	select {
	case <-w.gone:
	case <-ctx.Done():
		return w.stillThere(ctx)
	}
	r.rec.Record(history.Event{Type: history.Exit, Client: w.number, Process: w.process.Load(),
		Start: r.rec.Relative(w.proc.Gone())})
	return nil
}
