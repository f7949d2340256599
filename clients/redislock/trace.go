package redislock

import (
	"context"
	"sync"
	"time"

	"github.com/bsm/redislock"
	goredis "github.com/redis/go-redis/v9"

	"github.com/lockchaos/lockchaos/clients/internal/redisconn"
)

// trace notes what became of the latest attempt of an Obtain. It is also the
// library's retry strategy, which is asked between two attempts: there, and
// nowhere else, the end of the context ends the Obtain.
type trace struct {
	redisconn.Tries
	backoff redislock.RetryStrategy

	mu    sync.Mutex
	start int64 // of the latest attempt
	open  bool  // it was sent, perhaps, and not answered
	busy  bool  // the latest that was answered said that another has the key
}

// begin starts the trace of a call. stop ends the context that the library was given.
func (t *trace) begin(stop context.CancelFunc) {
	t.mu.Lock()
	t.start, t.open, t.busy = 0, false, false
	t.mu.Unlock()
	t.Begin(stop)
}

// NextBackoff returns the pause before another attempt.
func (t *trace) NextBackoff() time.Duration {
	t.Pause()
	return t.backoff.NextBackoff()
}

// done takes in one command's outcome.
func (t *trace) done(_ goredis.Cmder, start int64, got redisconn.Outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if got == redisconn.Unsent {
		return
	}
	t.start, t.open = start, got == redisconn.Unknown
	t.busy = t.busy || got == redisconn.No
}
