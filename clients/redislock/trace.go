package redislock

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/bsm/redislock"
	goredis "github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/monotime"
)

// trace notes what became of the latest attempt of an Obtain. It is also the library's retry strategy, which is asked between two
// attempts: there, and nowhere else, the end of the context ends the Obtain.
type trace struct {
	backoff redislock.RetryStrategy

	mu    sync.Mutex
	start int64 // of the latest attempt
	open  bool  // it was sent, perhaps, and not answered
	busy  bool  // the latest that was answered said that another has the key

	stop    context.CancelFunc // ends the library's context
	pausing bool               // between two attempts
	over    bool               // the context has ended
}

// begin starts the trace of a call. stop ends the context that the library was given.
func (t *trace) begin(stop context.CancelFunc) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.start, t.open, t.busy = 0, false, false
	t.stop, t.pausing, t.over = stop, false, false
}

// end is called when the call has run out of time.
func (t *trace) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over = true; t.pausing {
		t.stop()
	}
}

// NextBackoff returns the pause before another attempt.
func (t *trace) NextBackoff() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pausing = true; t.over {
		t.stop()
	}
	return t.backoff.NextBackoff()
}

// sending is called before a command is sent. From here on the context does not end, but for its deadline.
func (t *trace) sending(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pausing = false
	if err := ctx.Err(); err != nil {
		return err // go-redis would not send it either
	}
	t.start = monotime.Now()
	return nil
}

func (t *trace) answered(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var reply goredis.Error
	var op *net.OpError
	switch {
	case errors.Is(err, goredis.Nil):
		t.busy = true
	case errors.As(err, &reply), errors.As(err, &op) && op.Op == "dial": // carried out nowhere
	case err != nil:
		t.open = true
	}
}

// The trace is the hook of its client.

func (t *trace) DialHook(next goredis.DialHook) goredis.DialHook { return next }

func (t *trace) ProcessPipelineHook(next goredis.ProcessPipelineHook) goredis.ProcessPipelineHook {
	return next // the library sends no pipelines
}

func (t *trace) ProcessHook(next goredis.ProcessHook) goredis.ProcessHook {
	return func(ctx context.Context, cmd goredis.Cmder) error {
		if err := t.sending(ctx); err != nil {
			cmd.SetErr(err)
			return err
		}
		err := next(ctx, cmd)
		t.answered(err)
		return err
	}
}
