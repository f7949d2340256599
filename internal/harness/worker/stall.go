package worker

import (
	"context"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/harness/wire"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// holdUp holds an activity of this process up, as long as the command says, and tells
// of the beginning and the end. The application is this goroutine: it waits here, while
// those of the lock go on. Renewals wait at their gate, while the application goes on.
func (w *Worker) holdUp(ctx context.Context, c wire.Command) error {
	from, d := monotime.Now(), time.Duration(c.Timeout)
	end := func(count int64) error {
		return w.send(wire.Reply{Event: wire.EventHoldEnds, Grant: c.ID, From: from, To: monotime.Now(), Value: count})
	}
	if c.Op == wire.OpHoldRenewals {
		w.renewals.Shut()
	}
	beats := w.beats.Load()
	if err := w.send(wire.Reply{Event: wire.EventHoldBegins, Grant: c.ID, From: from}); err != nil {
		return err
	}
	if c.Op == wire.OpHoldRenewals {
		go func() {
			_ = clients.Wait(ctx, d)
			_ = end(int64(w.renewals.Open())) // the next answer will fail as well
		}()
		return nil
	}
	if err := clients.Wait(ctx, d); err != nil {
		return err
	}
	return end(w.beats.Load() - beats)
}
