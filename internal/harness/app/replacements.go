package app

import (
	"context"
	"fmt"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/audit"
	"github.com/lockchaos/lockchaos/internal/hosts/agent"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// succeed follows the application's clients as they change, until over is closed.
func (a *run) succeed(ctx context.Context, over <-chan struct{}, join func(c *client)) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-over:
			return nil
		case change := <-a.cfg.Changes:
			before := a.client(change.Client)
			switch {
			case before == nil:
				return fmt.Errorf("%s is to change, and is no client of the application", change.Client)
			case change.Comes != nil:
				join(a.joins(before, *change.Comes))
			case a.director.Knows(before.number) && !before.leaving.Swap(true):
				go a.leaves(ctx, before)
			}
		}
	}
}

// client is the one of a name; nil: there is none.
func (a *run) client(name string) *client {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.clients {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// joins makes a client of one that has come in the place of another.
func (a *run) joins(before *client, now agent.Attached) *client {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := &client{ProcessLog: audit.ProcessLog{Name: now.Name}, number: int32(len(a.clients) + 1),
		member: before.member, host: now.Host, proc: now.Process, held: map[[2]string]int64{}}
	a.clients = append(a.clients, c)
	a.director.Join(c.number, c.member, a.place(now), now.Process)
	return c
}

// leaves waits until nothing of a client runs any more.
func (a *run) leaves(ctx context.Context, c *client) {
	if a.director.AwaitEmpty(ctx, c.number) != nil {
		return // the run is over; it may live
	}
	a.rec.Record(history.Event{Type: history.Exit, Client: c.number, Process: c.number,
		Start: a.rec.Relative(monotime.Now())})
	a.director.Lose(c.number)
}
