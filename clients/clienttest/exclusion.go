package clienttest

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

func grantAndRelease(s *suite) {
	l, key := s.open(), s.key()
	var before int64
	for range 5 {
		start := monotime.Now()
		g := s.acquire(l, key)
		end := monotime.Now()
		if g.Key != key || g.Attempt < start || g.Attempt > end || g.First < start || g.First > g.Attempt {
			s.Errorf("called in [%d, %d], granted %+v", start, end, g)
		}
		if g.Enqueued != 0 && (g.Enqueued < g.Attempt || g.Enqueued > end) {
			s.Errorf("called in [%d, %d], enqueued at %d", start, end, g.Enqueued)
		}
		s.tokenRises(&before, g)
		if h, ok := l.(clients.Holder); ok {
			if err := h.Held(s.patience(), g); err != nil {
				s.Errorf("held: %v", err)
			}
		}
		s.release(l, g)
		if h, ok := l.(clients.Holder); ok {
			if err := h.Held(s.patience(), g); !errors.Is(err, clients.ErrNotHeld) {
				s.Errorf("held after the release: %v", err)
			}
		}
	}
}

// tokenRises demands what the lock claims of its tokens, of grants in their order.
func (s *suite) tokenRises(before *int64, g clients.Grant) {
	s.Helper()
	switch s.kind.Claims.Token {
	case "fencing":
		if g.Token <= *before {
			s.Errorf("token %d after %d", g.Token, *before)
		}
		*before = g.Token
	case "none", "":
		if g.Token != 0 {
			s.Errorf("token %d of a lock that claims to have none", g.Token)
		}
	}
}

func exclusion(s *suite) {
	a, b, key := s.open(), s.open(), s.key()
	g := s.acquire(a, key)
	// Busy is the answer only while the holder's lease lasts, and only when the service was asked.
	s.busy(b, key, "the key is taken", g.Attempt)
	other := s.key()
	s.release(b, s.acquire(b, other)) // other keys are free
	s.release(a, g)
	g = s.acquire(b, key)
	s.busy(a, key, "the key is taken by the second client", g.Attempt)
	s.release(b, g)
}

func cancelledWait(s *suite) {
	a, b, c, key := s.open(), s.open(), s.open(), s.key()
	g := s.acquire(a, key)
	rest := s.fill(key, s.spare())
	// A machine that is too busy for an answer in time leaves an attempt open,
	// which is no lie. It must not be so every time, and each waits longer.
	const attempts = 5
	wait := brief / 5
	late, err := s.giveUp(b, key, wait)
	for range attempts - 1 {
		if errors.Is(err, clients.ErrBusy) {
			break
		}
		wait *= 2
		late, err = s.giveUp(b, key, wait)
	}
	if !errors.Is(err, clients.ErrBusy) || late > s.Slack/3 {
		s.Errorf("cancelled after a wait of %v, answered %v later: %v", wait, late, err)
	}
	s.drain(append(rest, ownedGrant{a, g}))
	// b's client is alive, and would keep alive whatever it had left in the queue: for ever, with
	// a session. A waiter left behind that polls may come too late once, but not every time.
	for range 20 {
		started := time.Now()
		s.release(c, s.acquire(c, key))
		if took := time.Since(started); took > s.TTL/2+2*time.Second {
			s.Fatalf("a free key was granted after %v only", took)
		}
	}
	s.release(b, s.acquire(b, key))
}

// giveUp gives a key up that is taken, after a wait, and returns what the lock
// says of that, and how much later.
func (s *suite) giveUp(l clients.Lock, key string, wait time.Duration) (late time.Duration, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	result := make(chan error, 1)
	go func() {
		_, err := l.Acquire(ctx, key)
		result <- err
	}()
	select {
	case err = <-result:
		s.Fatalf("returned while the key was taken and the context stood: %v", err)
	case <-time.After(wait): // nothing else can show that it waits
	}
	cancel()
	start := time.Now()
	err = <-result
	return time.Since(start), err
}

func handover(s *suite) {
	a, b, key := s.open(), s.open(), s.key()
	for range 3 {
		g := s.acquire(a, key)
		rest := s.fill(key, s.spare())
		result := make(chan error, 1)
		var got clients.Grant
		go func() {
			var err error
			got, err = b.Acquire(s.patience(), key)
			result <- err
		}()
		released := monotime.Now()
		s.release(a, g)
		if err := <-result; err != nil {
			s.Fatalf("the waiter: %v", err)
		}
		if took := monotime.Since(released); took > s.TTL/2+2*time.Second {
			s.Errorf("granted %v after the release", took)
		}
		s.drain(append(rest, ownedGrant{b, got}))
	}
}

// whileItMoves is a context that lasts while a counter rises. A lock need not be
// fair: who waits may be overtaken until all others have had their turns, and nothing
// is stuck. It ends when nobody had a turn within the patience for a single one.
func (s *suite) whileItMoves(counter *atomic.Int64) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer cancel()
		for seen, since := int64(-1), monotime.Now(); ctx.Err() == nil && monotime.Since(since) < s.patient(); {
			if n := counter.Load(); n != seen {
				seen, since = n, monotime.Now()
			}
			_ = clients.Wait(ctx, 100*time.Millisecond)
		}
	}()
	return ctx, cancel
}

// counting increments a counter that nothing but the lock protects. (Loads and
// stores are atomic for the race detector's sake, which cannot see a lock that
// works through a network; an increment of load, pause and store is not.)
func counting(s *suite) {
	const workers, each = 10, 10
	key := s.key()
	var holder, counter, last, since atomic.Int64
	moving, stop := s.whileItMoves(&counter)
	defer stop()
	// a lease was over while its holder waited for the machine, or it is not
	// known whether it was given back
	var cut atomic.Bool
	var group sync.WaitGroup
	for w := range workers {
		l := s.open()
		group.Go(func() {
			for range each {
				g, err := l.Acquire(moving, key)
				if err != nil {
					s.Errorf("client %d: %v", w, err)
					return
				}
				if !holder.CompareAndSwap(0, int64(w+1)) {
					if s.mayBeOver(since.Load()) {
						cut.Store(true)
						return
					}
					s.Errorf("client %d was granted while %d held", w+1, holder.Load())
				}
				since.Store(g.Attempt)
				n := counter.Load()
				before := last.Load()
				s.tokenRises(&before, g)
				last.Store(before)
				runtime.Gosched()
				counter.Store(n + 1)
				holder.CompareAndSwap(int64(w+1), 0)
				if err := l.Release(s.patience(), g); err != nil {
					// on a busy machine an answer may come too late for its client
					if !errors.Is(err, clients.ErrNotHeld) || s.mayBeOver(g.Attempt) {
						s.Logf("client %d: release: %v", w+1, err)
						cut.Store(true)
						return
					}
					s.Errorf("client %d: release: %v", w+1, err)
					return
				}
			}
		})
	}
	group.Wait()
	if cut.Load() {
		decided.Lacks("answers within a lease of %v", s.TTL)
	}
	if n := counter.Load(); n != workers*each {
		s.Errorf("the counter stands at %d, %d grants were given", n, workers*each)
	}
}
