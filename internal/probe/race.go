package probe

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockchaos/lockchaos/internal/endpoint"
	"golang.org/x/sync/errgroup"
)

// The primitives that locks stand on.
const (
	CreateIfAbsent = "create-if-absent"
	CompareAndSet  = "compare-and-set"
	Expiry         = "expiry"
)

// Trial is what a race for a primitive has shown.
type Trial struct {
	Primitive string
	// Did says how much was tried.
	Did string
	// Broken says how the server broke it; "": it held.
	Broken string
}

// Racers is how many clients race.
const Racers = 50

// Race has clients race for each primitive, the first two for so long. What it writes it deletes.
func (s Service) Race(ctx context.Context, at endpoint.Endpoint, dial endpoint.Dial, each time.Duration) (trials []Trial, err error) {
	r := &race{key: newKey(), ttl: s.ttl, late: s.late, clients: make([]server, Racers)}
	defer func() { err = errors.Join(err, r.close(ctx)) }()
	if err := r.connect(ctx, s, at, dial); err != nil {
		return nil, s.Explain(at, err)
	}
	if err := r.clients[0].prepare(ctx, r.key); err != nil {
		return nil, s.Explain(at, err)
	}
	for _, try := range []func(context.Context, time.Duration) (Trial, error){r.creates, r.swaps, r.expiries} {
		t, err := try(ctx, each)
		if err != nil {
			return trials, s.Explain(at, err)
		}
		if t.Did != "" {
			trials = append(trials, t)
		}
	}
	return trials, nil
}

// race is one: its clients, each with a connection of its own.
type race struct {
	key       string
	ttl, late time.Duration
	clients   []server

	mu   sync.Mutex
	made []string // keys to delete
}

func (r *race) connect(ctx context.Context, s Service, at endpoint.Endpoint, dial endpoint.Dial) error {
	if !s.shares {
		return r.all(func(i int, _ server) (err error) {
			r.clients[i], err = s.open(ctx, at, dial)
			return err
		})
	}
	one, err := s.open(ctx, at, dial)
	for i := range r.clients {
		r.clients[i] = one
	}
	return err
}

// all has every client do something at the same time.
func (r *race) all(do func(i int, one server) error) error {
	var up errgroup.Group
	start := make(chan struct{})
	for i, one := range r.clients {
		up.Go(func() error {
			<-start
			return do(i, one)
		})
	}
	close(start)
	return up.Wait()
}

func (r *race) named(name string) string {
	key := r.key + name
	r.mu.Lock()
	defer r.mu.Unlock()
	r.made = append(r.made, key)
	return key
}

// creates has all clients make one key, again and again: each is made once.
func (r *race) creates(ctx context.Context, length time.Duration) (Trial, error) {
	t := Trial{Primitive: CreateIfAbsent}
	rounds := 0
	for began := time.Now(); time.Since(began) < length && t.Broken == ""; rounds++ {
		key := r.named("c" + strconv.Itoa(rounds))
		var winners atomic.Int32
		if err := r.all(func(i int, one server) error {
			made, err := one.create(ctx, key, strconv.Itoa(i), rehearseTTL)
			if made {
				winners.Add(1)
			}
			return err
		}); err != nil {
			return t, err
		}
		if n := winners.Load(); n != 1 {
			t.Broken = fmt.Sprintf("%d of %d clients that made the key %s at the same time were told that it was absent; want 1", n, Racers, key)
		}
	}
	t.Did = fmt.Sprintf("%d clients, %d keys", Racers, rounds)
	return t, nil
}

// swaps has all clients count on one key: no swap that the server confirmed may be lost.
func (r *race) swaps(ctx context.Context, length time.Duration) (Trial, error) {
	t := Trial{Primitive: CompareAndSet}
	key := r.named("s")
	if _, err := r.clients[0].create(ctx, key, "0", rehearseTTL); err != nil {
		return t, err
	}
	var done atomic.Int64
	began := time.Now()
	if err := r.all(func(_ int, one server) error {
		for time.Since(began) < length {
			value, err := one.get(ctx, key)
			if err != nil {
				return err
			}
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return fmt.Errorf("the key %s holds %q, which no client wrote", key, value)
			}
			swapped, err := one.swap(ctx, key, value, strconv.FormatInt(n+1, 10))
			if err != nil {
				return err
			}
			if swapped {
				done.Add(1)
			}
		}
		return nil
	}); err != nil {
		return t, err
	}
	value, err := r.clients[0].get(ctx, key)
	if err != nil {
		return t, err
	}
	t.Did = fmt.Sprintf("%d clients, %d swaps", Racers, done.Load())
	if want := strconv.FormatInt(done.Load(), 10); value != want {
		t.Broken = fmt.Sprintf("the server confirmed %s swaps of the key %s, each by 1, and it holds %s", want, key, value)
	}
	return t, nil
}

// expiryPoll is the pause between two looks whether a key has expired.
const expiryPoll = 20 * time.Millisecond

// expiries has each client make a key that expires: it must not be gone before its time, nor be
// there long after it.
func (r *race) expiries(ctx context.Context, _ time.Duration) (Trial, error) {
	t := Trial{Primitive: Expiry}
	if r.ttl == 0 {
		return t, nil // the service lets nothing expire
	}
	var mu sync.Mutex
	var longest time.Duration
	err := r.all(func(i int, one server) error {
		lived, broken, err := r.expiry(ctx, one, r.named("e"+strconv.Itoa(i)))
		mu.Lock()
		defer mu.Unlock()
		longest = max(longest, lived)
		if broken != "" {
			t.Broken = broken
		}
		return err
	})
	t.Did = fmt.Sprintf("%d keys for %v, the last gone after %v", Racers, r.ttl, longest.Round(time.Millisecond))
	return t, err
}

// expiry awaits the end of one key. It was made after its creation was asked for and before that
// was answered; a look sees the key as it was between question and answer.
func (r *race) expiry(ctx context.Context, one server, key string) (lived time.Duration, broken string, err error) {
	asked := time.Now()
	if _, err := one.create(ctx, key, "x", r.ttl); err != nil {
		return 0, "", err
	}
	made := time.Now()
	for {
		look := time.Now()
		value, err := one.get(ctx, key)
		switch {
		case err != nil:
			return 0, "", err
		case value == "" && time.Since(asked) < r.ttl:
			return time.Since(asked), fmt.Sprintf("the key %s, made for %v, was gone after %v", key, r.ttl, time.Since(asked).Round(time.Millisecond)), nil
		case value == "":
			return time.Since(asked), "", nil
		case look.Sub(made) > r.ttl+r.late:
			return look.Sub(made), fmt.Sprintf("the key %s, made for %v, was still there after %v", key, r.ttl, look.Sub(made).Round(time.Millisecond)), nil
		}
		select {
		case <-ctx.Done():
			return 0, "", ctx.Err()
		case <-time.After(expiryPoll):
		}
	}
}

// cleanLimit bounds the deletion of keys. Those that stay expire.
const cleanLimit = 5 * time.Second

// close deletes what was made, and disconnects.
func (r *race) close(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanLimit)
	defer cancel()
	if one := r.clients[0]; one != nil {
		if err = one.clear(ctx, r.key, r.made); err != nil {
			err = fmt.Errorf("delete what begins with %s: %w", r.key, err)
		}
	}
	return errors.Join(err, r.all(func(_ int, one server) error {
		if one != nil {
			one.close()
		}
		return nil
	}))
}
