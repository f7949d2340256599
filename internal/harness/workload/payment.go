package workload

import (
	"context"
	"sync"

	"github.com/lockchaos/lockchaos/nemesis"
)

// payment charges orders. Each order, a key, is delivered to two clients at about the same time, as
// a queue that delivers at least once may do. Who has the order's lock reads its record and charges
// (writes 1) if nobody has; else it skips. An order that was charged twice is the violation. When
// all orders have been delivered, they are delivered again, and nobody should charge them any more.
type payment struct {
	mu   sync.Mutex
	next int       // the number of the next delivery
	open *delivery // one that a client has, and waits for another to get
}

// delivery is an order on its way to two clients; both is closed when both have it.
type delivery struct {
	number int
	both   chan struct{}
}

// charged is the value of the record of an order that was charged; that of a new one is 0.
const charged = 1

func (p *payment) Run(ctx context.Context, a *Actor) error { return a.repeat(ctx, p.round) }

func (p *payment) round(ctx context.Context, a *Actor) error {
	number, ok := p.deliver(ctx, a)
	if !ok {
		return context.Cause(ctx)
	}
	order := a.Keys[number%len(a.Keys)]
	_, err := a.under(ctx, order, a.Plan.AcquireTimeout.Std(), func(h *hold) error {
		if err := a.at(ctx, nemesis.AfterGrant, h); err != nil {
			return err
		}
		r, ok, err := a.read(ctx, h)
		if !ok || r.Version != 0 {
			return err
		}
		_, err = a.act(ctx, h, charged)
		return err
	})
	return err
}

// deliver waits until another client asks for an order too, and gives both the
// same. It is false when the workload is over first.
func (p *payment) deliver(ctx context.Context, a *Actor) (number int, ok bool) {
	p.mu.Lock()
	if d := p.open; d != nil {
		p.open = nil
		close(d.both)
		p.mu.Unlock()
		return d.number, true
	}
	d := &delivery{number: p.next, both: make(chan struct{})}
	p.next++
	p.open = d
	p.mu.Unlock()
	select {
	case <-d.both:
		return d.number, true
	case <-a.Done:
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open != d {
		return d.number, true // the other has just got it
	}
	p.open = nil
	return 0, false
}
