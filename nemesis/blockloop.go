package nemesis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/inspector"
)

// KindBlockLoop is the fault that blocks the event loop of a program on Node.
const KindBlockLoop = "block-loop"

var blockLoop = Kind{Name: KindBlockLoop, Needs: NeedsNothing, alone: true, single: true, Ours: true, check: checkProgram,
	Touch: standsStill(history.FaultWords{Did: "blocked", Client: "runs on, and its event loop is blocked",
		Over: "has its event loop turn again", Plight: "had its event loop blocked", Doc: "block-loop"}),
	About: "blocks the event loop of a client's adapter on Node, by its inspector: the process runs, and no timer, reply or renewal is dealt with",
	ready: func(ctx context.Context, c Client) error {
		_, s, err := nodeOf(ctx, c.Proc)
		if err != nil {
			return err
		}
		return s.Close()
	},
	inject: func(ctx context.Context, s *Site) (InEffect, error) {
		b, err := startBlock(ctx, s.Clients[0].Proc, s.For)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Kind, err)
		}
		return b, nil
	}}

// nodeOf is the program on Node among a client's processes, with a connection to its inspector.
func nodeOf(ctx context.Context, p *hosts.Process) (*inspector.Node, *inspector.Session, error) {
	ctx, cancel := context.WithTimeout(ctx, standstillLimit)
	defer cancel()
	pids, err := p.Group()
	if err != nil {
		return nil, nil, err
	}
	node, err := inspector.Find(pids)
	if err != nil {
		return nil, nil, fmt.Errorf("it needs an adapter on Node: client on host %s: %w", p.Host().Name, err)
	}
	s, err := node.Open(ctx, func(ctx context.Context, network, address string) (net.Conn, error) {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return nil, err
		}
		return p.Host().Dial(ctx, network, at)
	})
	return node, s, err
}

// block is an event loop that is blocked, while the rest of its client is stopped.
type block struct {
	others *hosts.Pause
	over   chan runtimeStop // of the loop
	failed error            // set before over is closed
	heal   sync.Once
	effect Effect
	err    error
}

// startBlock has the loop blocked for that long, and returns when the rest of the client is stopped
// and the loop has been told.
func startBlock(ctx context.Context, p *hosts.Process, d time.Duration) (*block, error) {
	node, session, err := nodeOf(ctx, p)
	if err != nil {
		return nil, err
	}
	stopping, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	b := &block{over: make(chan runtimeStop, 1)}
	if b.others, err = p.StopOthers(stopping, node.PID); err != nil {
		return nil, errors.Join(err, session.Close())
	}
	go func() {
		defer close(b.over)
		// It ends by itself, also when the run is broken off.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), d+standstillLimit)
		defer cancel()
		from, to, err := session.Block(ctx, d)
		_ = session.Close() // all was said
		if b.failed = err; err == nil {
			b.over <- runtimeStop{from, to, fmt.Sprintf("the event loop ran nothing else for %.1f ms, by its own readings",
				ms(time.Duration(to-from)))}
		}
	}()
	return b, nil
}

// From is when the rest of the client was stopped. The loop was told just after.
func (b *block) From() int64 { return b.others.Stopped }

// Heal waits until the loop turns again, and lets the rest of the client go on.
func (b *block) Heal() (Effect, error) {
	b.heal.Do(func() {
		stop, blocked := <-b.over
		b.err = b.others.Resume()
		if !blocked {
			b.err = errors.Join(b.failed, b.err)
			b.effect = Effect{From: b.others.Stopped, To: b.others.Stopped, Proof: "the event loop did not tell of a standstill"}
			return
		}
		b.effect = stop.effectWith(b.others)
		b.effect.Bit = b.err == nil
	})
	return b.effect, b.err
}
