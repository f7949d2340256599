package harness

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/lockchaos/lockchaos/internal/harness/record"
	"github.com/lockchaos/lockchaos/internal/harness/wire"
	"github.com/lockchaos/lockchaos/internal/hosts"
)

// workerProcess is a client's process on its host.
type workerProcess struct {
	*wire.Client
	proc  *hosts.Process
	stdin *os.File
}

// stillThere is the error of a worker whose output does not end.
func (w *workerProcess) stillThere(ctx context.Context) error {
	return fmt.Errorf("client %d on host %s has ended, and its output has not: %w", w.Number, w.Host, ctx.Err())
}

// giveUpAt has a client give up the acquire that it is about, when stop is
// closed and answered is not.
func (w *workerProcess) giveUpAt(stop, answered <-chan struct{}) {
	select {
	case <-stop:
	case <-answered:
		return
	}
	// It may not have begun: it is told again and again.
	for tick := time.NewTicker(record.AskEvery); ; {
		if w.proc.SignalAlone(wire.GiveUp) != nil {
			tick.Stop()
			return // it is gone
		}
		select {
		case <-tick.C:
		case <-answered:
			tick.Stop()
			return
		}
	}
}

// lastWordsLimit is how long the standard error of a worker that has ended is
// waited for, where a descendant keeps it open.
const lastWordsLimit = 2 * time.Second

// exitLimit is how long a worker whose input has ended may take to end.
const exitLimit = 20 * time.Second
