package nemesis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hotspot"
)

// KindCollect is the fault that has a Java virtual machine collect its heap.
const KindCollect = "collect"

var collect = Kind{Name: KindCollect, Needs: NeedsNothing, alone: true, single: true, Ours: true, ownLength: true, check: checkProgram,
	Touch: standsStill(history.FaultWords{Did: "collected", Client: "collects its heap, and all its threads stand still",
		Over: "has collected its heap", Plight: "stood still for a garbage collection", Doc: "collect"}),
	About: "has the Java virtual machine of a client's adapter collect its whole heap, from outside; all of its threads stand still meanwhile, by its own safepoint log",
	ready: func(ctx context.Context, c Client) error {
		vm, err := javaOf(c.Proc)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, standstillLimit)
		defer cancel()
		return vm.Able(ctx)
	},
	inject: func(ctx context.Context, s *Site) (InEffect, error) {
		effect, err := collectHeap(ctx, s.Clients[0].Proc, s.Lease)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Kind, err)
		}
		return &Instantaneous{effect}, nil
	}}

// javaOf is the Java virtual machine among a client's processes.
func javaOf(p *hosts.Process) (*hotspot.VM, error) {
	pids, err := p.Group()
	if err != nil {
		return nil, err
	}
	vm, err := hotspot.Find(pids)
	if err != nil {
		return nil, fmt.Errorf("it needs an adapter on a Java virtual machine: client on host %s: %w", p.Host().Name, err)
	}
	return vm, nil
}

// collectHeap has the client's machine collect, and returns when it has.
func collectHeap(ctx context.Context, p *hosts.Process, lease time.Duration) (e Effect, err error) {
	ctx, cancel := context.WithTimeout(ctx, standstillLimit)
	defer cancel()
	vm, err := javaOf(p)
	if err != nil {
		return e, err
	}
	ready, err := vm.Prepare(ctx)
	if err != nil {
		return e, err
	}
	e, err = standStill(ctx, p, vm.PID, func(ctx context.Context) (runtimeStop, error) {
		stop, err := ready.Collect(ctx)
		return runtimeStop{stop.From, stop.To, stopText(stop)}, err
	})
	if err = errors.Join(err, ready.Close(ctx)); err != nil {
		return e, err
	}
	e.exceeds(lease)
	return e, nil
}

// stopText is what the machine's log says of a stop.
func stopText(s hotspot.Stop) string {
	why := ""
	if s.Why != "" {
		why = " (" + s.Why + ")"
	}
	return fmt.Sprintf("all Java threads stopped for %.1f ms%s, by the JVM's safepoint log", ms(s.Length), why)
}
