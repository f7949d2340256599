package harness

import (
	"context"
	"fmt"

	"github.com/lockchaos/lockchaos/internal/harness/director"
	"github.com/lockchaos/lockchaos/internal/harness/wire"
	"github.com/lockchaos/lockchaos/internal/harness/workload"
	"github.com/lockchaos/lockchaos/nemesis"
)

// actorDirector is a run's director for its actors: it also brings dead clients back.
type actorDirector struct {
	*director.Director
	run *run
}

func (c actorDirector) Asks(client int32, o wire.Op) (answered func(id int64, r wire.Reply)) {
	over, told := c.Asking(client, o), c.run.stuckWatch.sends(client, o)
	return func(id int64, r wire.Reply) {
		told(id, r)
		over()
	}
}

func (c actorDirector) Revive(ctx context.Context, a *workload.Actor) error {
	if err := c.AwaitRelease(ctx, a.Number); err != nil {
		return err
	}
	why, _ := c.Death(a.Number)
	fresh, err := c.run.restartClient(ctx, c.run.workers[a.Number-1], why, a.Done)
	if err != nil {
		return err
	}
	a.Client = fresh.Client
	c.Replace(a.Number, fresh.proc, fresh.Client)
	return nil
}

func (c actorDirector) Dies(ctx context.Context, a *workload.Actor) error {
	c.RoundOver(a.Number) // what a trap waits for does not come any more
	for condemned := false; !condemned; condemned = c.Condemn(a.Number) {
		if err := c.AwaitRelease(ctx, a.Number); err != nil {
			return err
		}
		if c.Dead(a.Number) {
			return wire.ErrKilled // a fault has killed it meanwhile, or it is closed to free a stuck key
		}
	}
	if _, err := nemesis.Kill(ctx, c.run.workers[a.Number-1].proc); err != nil {
		return fmt.Errorf("end client %d, whose application never releases: %w", a.Number, err)
	}
	return wire.ErrKilled
}

// leave ends the application: what a fault still does to its client is waited
// for, so that a living one is left behind.
func (r *run) leave(ctx context.Context, a *workload.Actor) error {
	for {
		if err := r.director.AwaitRelease(ctx, a.Number); err != nil {
			return err
		}
		if err := a.Survive(ctx, nil); err != nil || r.director.Leave(a.Number) {
			return err
		}
	}
}

// restartClient records that a client's process is gone and, after a while, starts a
// fresh one in its place: the same client on the same host, which knows nothing
// of what its predecessor held. The while is as long as the absence says; that
// of a client that was killed ends with the workload's time.
func (r *run) restartClient(ctx context.Context, old *workerProcess, why director.Absence,
	done <-chan struct{}) (*workerProcess, error) {
	var err error
	if why.Closing != nil || why.InOrder {
		err = r.end(ctx, old)
	} else if err = r.exited(ctx, old); err == nil {
		err = old.stdin.Close()
	}
	if err != nil {
		return nil, err
	}
	r.stuckWatch.noteEnd(old.Number)
	if !why.Wait(ctx, done) {
		return nil, context.Cause(ctx)
	}
	fresh, err := r.succeed(old)
	if err != nil {
		return nil, err
	}
	r.workers[old.Number-1] = fresh
	return fresh, r.open(ctx, fresh)
}
