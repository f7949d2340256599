package harness

import (
	"context"
	"errors"

	"github.com/lockchaos/lockchaos/history"
)

// do drives an op, unless the client has been killed, before or meanwhile: then its round is over, as errKilled says.
func (a *actor) do(ctx context.Context, o op) (int64, reply, error) {
	if a.dead() {
		return 0, reply{}, errKilled
	}
	defer a.director.traps.asks(a.number, o)()
	id, r, err := a.client.do(ctx, o)
	if err != nil && ctx.Err() == nil && a.dead() {
		err = errKilled
	}
	return id, r, err
}

// dead tells whether a fault has killed the client.
func (a *actor) dead() bool {
	_, dead := a.director.death(a.number)
	return dead
}

// alive is passed what a round has come to. It lets a fresh process take the place of a client that was killed, and the application
// go on with it.
func (a *actor) alive(ctx context.Context, err error) error {
	if err != nil && !errors.Is(err, errKilled) || err == nil && !a.dead() {
		return err
	}
	if err := a.director.settled(ctx, a.number); err != nil {
		return err
	}
	away, _ := a.director.death(a.number)
	fresh, err := a.run.replace(ctx, a.workerProcess, func() bool { return pause(ctx, a.done, away) })
	if err != nil {
		return err
	}
	a.workerProcess = fresh
	a.director.replaced(a.number, fresh)
	return nil
}

// leave ends the application: what a fault still does to its client is waited for, so that a living one is left behind.
func (a *actor) leave(ctx context.Context) error {
	if err := a.director.settled(ctx, a.number); err != nil {
		return err
	}
	return a.alive(ctx, nil)
}

// replace records that a client's process is gone and, after a while, starts a fresh one in its place: the same client on the same host, which
// knows nothing of what its predecessor held. The while is over when away returns; false: the run is.
func (r *run) replace(ctx context.Context, old *workerProcess, away func() bool) (*workerProcess, error) {
	if err := r.exited(ctx, old); err != nil {
		return nil, err
	}
	if err := old.stdin.Close(); err != nil {
		return nil, err
	}
	if !away() {
		return nil, context.Cause(ctx)
	}
	r.sessions.forget(old.number)
	fresh, err := r.spawn(old.number, old.proc.Host())
	if err != nil {
		return nil, err
	}
	fresh.rec, fresh.modes, fresh.life = r.rec, old.modes, old.life+1
	r.workers[old.number-1] = fresh
	return fresh, r.open(ctx, fresh)
}

// exited waits for a process's end and its last lines, for nothing may come after its exit, and records that nothing more will come from it.
func (r *run) exited(ctx context.Context, w *workerProcess) error {
	ctx, cancel := context.WithTimeout(ctx, exitLimit)
	defer cancel()
	select {
	case <-w.gone:
	case <-ctx.Done():
		return w.stillThere(ctx)
	}
	r.rec.Record(history.Event{Type: history.Exit, Client: w.number, Process: w.process.Load(), Start: r.rec.Relative(w.proc.Gone())})
	return nil
}
