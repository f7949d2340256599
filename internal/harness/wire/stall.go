package wire

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/nemesis"
)

// stallOps are the commands that hold an activity of a worker up.
var stallOps = map[nemesis.Activity]string{nemesis.ActivityApplication: OpHoldApplication,
	nemesis.ActivityRenewals: OpHoldRenewals}

// stalls are the activities of one worker that are held up, by the number of the command.
type stalls struct {
	mu   sync.Mutex
	told map[int64]chan Reply
}

// expect returns the channel on which the beginning and the end of a stall are told.
func (h *stalls) expect(id int64) <-chan Reply {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.told == nil {
		h.told = map[int64]chan Reply{}
	}
	told := make(chan Reply, 2)
	h.told[id] = told
	return told
}

// tell passes on what the worker says. What nobody expects is dropped.
func (h *stalls) tell(e Reply) {
	h.mu.Lock()
	defer h.mu.Unlock()
	told := h.told[e.Grant]
	if told == nil {
		return
	}
	if e.Event == EventHoldEnds {
		delete(h.told, e.Grant)
	}
	select {
	case told <- e:
	default: // a worker that says it more than once
	}
}

// TellStall hands the beginning or the end of a stall to the goroutine that waits for it.
func (c *Client) TellStall(e Reply) { c.stalls.tell(e) }

// HoldUp has the worker hold one of its activities up. If an op is under way,
// that begins when it is done.
func (c *Client) HoldUp(ctx context.Context, what nemesis.Activity, d time.Duration) (int64,
	func(context.Context) (nemesis.StallReport, error), error) {
	id := c.IDs.NextOp()
	told := c.stalls.expect(id)
	if err := c.send(Command{ID: id, Op: stallOps[what], Timeout: int64(d)}); err != nil {
		return 0, nil, c.reason(err)
	}
	begun, err := c.hears(ctx, told)
	return begun.From, func(ctx context.Context) (nemesis.StallReport, error) {
		e, err := c.hears(ctx, told)
		return nemesis.StallReport{From: e.From, To: e.To, Count: e.Value}, err
	}, err
}

// hears waits for the next that the worker tells of a stall.
func (c *Client) hears(ctx context.Context, told <-chan Reply) (Reply, error) {
	select {
	case e := <-told:
		return e, nil
	case <-c.gone:
		return Reply{}, c.reason(fmt.Errorf("client %d on host %s ended", c.Number, c.Host))
	case <-ctx.Done():
		return Reply{}, fmt.Errorf("client %d on host %s does not tell: %w", c.Number, c.Host, context.Cause(ctx))
	}
}
