package clienttest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// Calmly makes runs of a test until one is decided. A complaint of a run in which the machine
// was late by more than the bound decides nothing: a lock, its service and the test itself
// may all have been late through no fault of theirs. A lock that never comes through fails.
func Calmly(t testing.TB, bound time.Duration, run func(testing.TB)) {
	t.Helper()
	decided.Run(t, func() {
		said, stall := complaints(t, run)
		if len(said) > 0 && stall > bound {
			decided.Lacks("a machine that does not stall (%v); it said: %q", stall.Round(time.Millisecond), said)
		}
		for _, one := range said {
			t.Error(one)
		}
	})
}

// whole makes runs of a test until one is decided. A session asks its service several times a TTL,
// so a small part of that is a stall.
func (s *suite) whole(run func(*suite)) {
	s.Helper()
	bound := s.TTL / 20
	if s.Strict {
		bound = math.MaxInt64
	}
	Calmly(s.TB, bound, func(t testing.TB) { s.with(t, run) })
}

// with makes a run whose complaints are told to another.
func (s *suite) with(t testing.TB, run func(*suite)) {
	observed := *s
	observed.TB, observed.losses = t, &losses{}
	run(&observed)
}

// complaints makes a run, and returns what it complained of instead of failing,
// and by how much the machine was late at the worst. A run that lacks something
// has nothing to say, unless it complained before.
func complaints(t testing.TB, run func(testing.TB)) (said []string, stall time.Duration) {
	r := &recorder{TB: t}
	worst := watchStalls()
	defer func() {
		e := recover()
		r.clean()
		stall = worst()
		said = r.said
		if e != nil && e != any(errOver) && !(decided.Lacking(e) && len(said) > 0) {
			panic(e)
		}
	}()
	run(r)
	return nil, 0
}

// beat is how often the machine is looked at.
const beat = 5 * time.Millisecond

// watchStalls watches how late the machine is, until the returned function is called, which returns
// the worst.
func watchStalls() (worst func() time.Duration) {
	var most atomic.Int64
	stop := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		tick := time.NewTicker(beat)
		defer tick.Stop()
		for last := monotime.Now(); ; {
			select {
			case <-stop:
				return
			case <-tick.C:
			}
			now := monotime.Now()
			most.Store(max(most.Load(), now-last-int64(beat)))
			last = now
		}
	})
	return func() time.Duration {
		close(stop)
		watch.Wait()
		return time.Duration(most.Load())
	}
}

// errOver is panicked with by a run that ends itself by Fatal.
var errOver = errors.New("the run is over")

// recorder is a test that takes note of failures and does not fail.
type recorder struct {
	testing.TB
	mu       sync.Mutex
	said     []string
	cleanups []func()
}

// Cleanup has the function called when the run is over: what it complains of is the run's.
func (r *recorder) Cleanup(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cleanups = append(r.cleanups, f)
}

// clean calls what Cleanup was given, the last first.
func (r *recorder) clean() {
	for _, f := range slices.Backward(r.cleanups) {
		f()
	}
}

func (r *recorder) note(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said = append(r.said, what)
}

func (r *recorder) Error(args ...any)                 { r.note(fmt.Sprint(args...)) }
func (r *recorder) Errorf(format string, args ...any) { r.note(fmt.Sprintf(format, args...)) }

func (r *recorder) Fatal(args ...any) {
	r.Error(args...)
	panic(errOver)
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	panic(errOver)
}
