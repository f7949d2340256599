package harness

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/harness/clock"
	"github.com/lockchaos/lockchaos/internal/harness/director"
	"github.com/lockchaos/lockchaos/internal/hosts"
)

// A worker's heartbeat shows that the worker was starved of its processor. An
// adapter beside it, and a server, have no heartbeat of ours: how long their
// threads waited for a processor is asked of the kernel.

// waitsEvery is how long to leave between two looks at the waits of a run with
// such a TTL, when a look takes so long. A look costs nine microseconds a
// thread, so where there are thousands it is made more seldom; but a stall must
// be in the history before what it explains is decided, half a TTL later.
func waitsEvery(ttl, took time.Duration) time.Duration {
	return max(ttl/10, 10*time.Millisecond, min(20*took, ttl/4))
}

// starving watches the hosts of a run.
type starving struct {
	waits    *hosts.Waits
	ttl      time.Duration
	bound    time.Duration
	clients  map[*hosts.Host]int32
	director *director.Director
	rec      *history.Recorder
}

// watchWaits begins to watch the lock service's nodes and all clients.
func (r *run) watchWaits() (*starving, error) {
	s := &starving{ttl: r.cfg.Plan.Scenario.TTL.Std(), bound: time.Duration(r.StallBound()),
		clients: map[*hosts.Host]int32{}, director: r.director, rec: r.Recorder}
	var all []*hosts.Host
	for _, n := range r.service.Nodes {
		all = append(all, n.Host)
	}
	for _, w := range append(slices.Clone(r.workers), r.probes...) {
		s.clients[w.proc.Host()] = w.Number
		all = append(all, w.proc.Host())
	}
	var err error
	s.waits, err = hosts.WatchWaits(s.bound, all...)
	return s, err
}

// follow records the waits until its context ends.
func (s *starving) follow(ctx context.Context) error {
	defer s.waits.Close()
	for took := time.Duration(0); clock.Pause(ctx, nil, waitsEvery(s.ttl, took)); {
		began := time.Now()
		long, err := s.waits.Look()
		if err != nil {
			return fmt.Errorf("watch how long processes wait for a processor: %w", err)
		}
		for _, w := range long {
			s.record(w)
		}
		took = time.Since(began)
	}
	return nil
}

// record records that a host was starved.
func (s *starving) record(w hosts.Wait) {
	d := s.director
	// it may have begun before the history did
	from, to := max(1, s.rec.Relative(w.From)), s.rec.Relative(w.To)
	seen := func(time.Duration) string {
		return fmt.Sprintf("%s: thread %d of process %d waited %v of %v for a processor, and nobody injected that",
			w.Host.Name, w.TID, w.PID,
			w.For.Round(time.Millisecond), time.Duration(to-from).Round(time.Millisecond))
	}
	if client := s.clients[w.Host]; client != 0 {
		d.NoteStall(client, from, to, s.bound, seen)
		return
	}
	d.RecordStall(history.FaultInfo{Hosts: []string{w.Host.Name}, Service: true, From: from, To: to, Evidence: seen(0)},
		0)
}
