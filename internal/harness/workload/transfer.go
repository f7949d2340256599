package workload

import (
	"context"
	"time"

	"github.com/lockchaos/lockchaos/internal/harness/clock"
	"github.com/lockchaos/lockchaos/nemesis"
)

// The orders in which a transfer takes its two locks.
const (
	OrderOrdered   = "ordered"   // one order for all: no cycle of waiting clients can arise
	OrderUnordered = "unordered" // as they come: two clients may each have what the other waits for
	OrderTry       = "try"       // as they come, but the second is waited for only briefly
)

// mostMoved is the largest amount of one transfer.
const mostMoved = 10

// backoffDoublings is how often the backoff of a transfer that tries is doubled at most.
const backoffDoublings = 4

// transfer moves an amount from one account to another under the locks of both: it acquires
// both, reads both, writes both, and gives both back. The sum of all accounts stays the same.
func transfer(ctx context.Context, a *Actor) error {
	from := a.Rand.IntN(len(a.Keys))
	to := a.Rand.IntN(len(a.Keys) - 1)
	if to >= from {
		to++
	}
	if a.Plan.Order == OrderOrdered && from > to {
		from, to = to, from
	}
	amount := 1 + a.Rand.Int64N(mostMoved)
	for attempt := 0; ; attempt++ {
		done, err := a.transferOnce(ctx, a.Keys[from], a.Keys[to], amount)
		if err != nil || done || a.Plan.Order != OrderTry || clock.Closed(a.Done) {
			return err
		}
		if err := a.wait(ctx, a.backoff(attempt)); err != nil {
			return err
		}
	}
}

// backoff is how long a transfer that did not get its second lock stays away: a
// rest, doubled with each attempt, half of it by chance.
func (a *Actor) backoff(attempt int) time.Duration {
	whole := a.Plan.Rest.Draw(a.Rand).Std() << min(attempt, backoffDoublings)
	return whole/2 + time.Duration(a.Rand.Int64N(int64(whole/2)+1))
}

// transferOnce takes both locks, the second within the time for trying, and
// moves the amount; done reports whether it had both.
func (a *Actor) transferOnce(ctx context.Context, from, to string, amount int64) (done bool, err error) {
	second := a.Plan.AcquireTimeout.Std()
	if a.Plan.Order == OrderTry {
		second = a.Plan.TryFor.Std()
	}
	_, err = a.under(ctx, from, a.Plan.AcquireTimeout.Std(), func(source *hold) error {
		done, err = a.under(ctx, to, second, func(target *hold) error { return a.move(ctx, source, target, amount) })
		return err
	})
	return done, err
}

// move reads both accounts and writes both, as far as the answers let it.
func (a *Actor) move(ctx context.Context, source, target *hold, amount int64) error {
	if err := a.at(ctx, nemesis.AfterGrant, target); err != nil {
		return err
	}
	has, ok, err := a.read(ctx, source)
	if !ok {
		return err
	}
	gets, ok, err := a.read(ctx, target)
	if !ok {
		return err
	}
	if ok, err := a.prepare(ctx, source); !ok {
		return err
	}
	if ok, err := a.mayWrite(ctx, target); !ok {
		return err
	}
	if ok, err := a.write(ctx, source, has.Value-amount); !ok {
		return err
	}
	_, err = a.write(ctx, target, gets.Value+amount)
	return err
}
