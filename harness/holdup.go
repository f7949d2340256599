package harness

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/nemesis"
)

// holdOps are the commands that hold an activity of a worker up.
var holdOps = map[nemesis.Activity]string{nemesis.ActivityApplication: opHoldApplication,
	nemesis.ActivityRenewals: opHoldRenewals}

// holdUps are the activities of one worker that are held up, by the number of the command.
type holdUps struct {
	mu   sync.Mutex
	told map[int64]chan reply
}

// expect returns the channel on which the beginning and the end of a hold-up are told.
func (h *holdUps) expect(id int64) <-chan reply {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.told == nil {
		h.told = map[int64]chan reply{}
	}
	told := make(chan reply, 2)
	h.told[id] = told
	return told
}

// tell passes on what the worker says. What nobody expects is dropped.
func (h *holdUps) tell(e reply) {
	h.mu.Lock()
	defer h.mu.Unlock()
	told := h.told[e.Grant]
	if told == nil {
		return
	}
	if e.Event == eventHoldEnds {
		delete(h.told, e.Grant)
	}
	select {
	case told <- e:
	default: // a worker that says it more than once
	}
}

// HoldUp has the worker hold one of its activities up. If an op is under way,
// that begins when it is done.
func (c *client) HoldUp(ctx context.Context, what nemesis.Activity, d time.Duration) (int64,
	func(context.Context) (nemesis.HeldUp, error), error) {
	id := c.ids.nextOp()
	told := c.holdUps.expect(id)
	if err := c.send(command{ID: id, Op: holdOps[what], Timeout: int64(d)}); err != nil {
		return 0, nil, c.reason(err)
	}
	begun, err := c.hears(ctx, told)
	return begun.From, func(ctx context.Context) (nemesis.HeldUp, error) {
		e, err := c.hears(ctx, told)
		return nemesis.HeldUp{From: e.From, To: e.To, Count: e.Value}, err
	}, err
}

// hears waits for the next that the worker tells of a hold-up.
func (c *client) hears(ctx context.Context, told <-chan reply) (reply, error) {
	select {
	case e := <-told:
		return e, nil
	case <-c.gone:
		return reply{}, c.reason(fmt.Errorf("client %d on host %s ended", c.number, c.host))
	case <-ctx.Done():
		return reply{}, fmt.Errorf("client %d on host %s does not tell: %w", c.number, c.host, context.Cause(ctx))
	}
}
