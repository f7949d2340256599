package harness

import (
	"context"
	"fmt"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/history"
)

// countRequests records how many requests the service has handled since it
// started. A node may have no figure just now, while a leader is elected: it is
// asked again until it has one, or the time for a call is over.
func (r *run) countRequests(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, r.cfg.Plan.Scenario.Workload.OpTimeout.Std())
	defer cancel()
	n, err := r.service.Requests(ctx)
	for err != nil && clients.Wait(ctx, countPause) == nil {
		n, err = r.service.Requests(ctx)
	}
	if err != nil {
		return fmt.Errorf("ask service %s how many requests it has handled: %w", r.service.Name, err)
	}
	r.Recorder.Record(history.Event{Type: history.Count, Text: history.CountRequests, Value: n})
	return nil
}

// countPause is the time between two questions to a service that has no figure.
const countPause = 50 * time.Millisecond
