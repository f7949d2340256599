package clock

import (
	"context"
	"sync"
	"testing"
	"time"
)

// TestAfterIsCalledOnceOrStopped: of stop and the end of the time one comes first, and stop says
// which.
func TestAfterIsCalledOnceOrStopped(t *testing.T) {
	for range 200 {
		called := make(chan bool, 2)
		stop := Real{}.After(t.Context(), time.Microsecond, func(whole bool) { called <- whole })
		if stop() {
			if stop() {
				t.Fatal("it was stopped twice")
			}
			continue
		}
		if whole := <-called; !whole {
			t.Fatal("the time was not whole")
		}
	}
}

// TestAfterEndsWithItsContext: what is to be done is done at once when the run is canceled.
func TestAfterEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	called := make(chan bool)
	Real{}.After(ctx, Forever, func(whole bool) { called <- whole })
	cancel()
	if <-called {
		t.Error("a time that was cut short is said to be whole")
	}
}

// TestAwait: a wait ends by a wake that makes it ready, by its time, by what ends it early and with
// its context; a wake alone does not end it.
func TestAwait(t *testing.T) {
	closed := make(chan struct{})
	close(closed)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	never := func() bool { return false }
	all := make(chan struct{})
	Real{}.Go(func(w Waiter) {
		w.Await(t.Context(), nil, time.Millisecond, never)
		w.Await(t.Context(), closed, Forever, never)
		w.Await(over, nil, Forever, never)
		close(all)
	})
	<-all
	var mu sync.Mutex
	looks, ended := 0, make(chan struct{})
	waiters := make(chan Waiter)
	Real{}.Go(func(w Waiter) {
		waiters <- w
		w.Await(t.Context(), nil, Forever, func() bool {
			mu.Lock()
			defer mu.Unlock()
			looks++
			return looks > 3
		})
		close(ended)
	})
	for w := <-waiters; ; {
		w.Wake()
		select {
		case <-ended:
			return
		case <-t.Context().Done():
			t.Fatal("it was not woken")
		default:
		}
	}
}
