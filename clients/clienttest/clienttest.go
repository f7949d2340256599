// Package clienttest is the conformance suite that every lock passes against its real service.
//
// It tests the promises of package clients, not the safety of the lock: that a
// definite error is really definite, that a call ends with its context, that a wait
// which is given up leaves nothing behind, that a stale grant frees nobody else's
// hold, that a lock dies with its holder. A lock that fails here would make a run's
// verdict worthless, since the verdict is drawn from what the lock answers.
//
// A holder that dies or is frozen is a process of its own, killed or stopped by
// a real signal. So the test binary must be able to play that holder:
//
//	func TestMain(m *testing.M) {
//		clienttest.Child(redis.Setnx, redis.SetnxFenced)
//		os.Exit(m.Run())
//	}
//
// Durations appear only as upper bounds, which a broken lock overruns by far;
// what is waited for is a condition.
package clienttest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
)

// Service is the real service that the suite runs against.
type Service struct {
	// Nodes are its addresses, host:port.
	Nodes []string
	// TTL is what locks are opened with. A session lock's service must be able
	// to grant it as it is. It must leave time to ask whether a leased key is
	// taken: a second, where tests run side by side.
	TTL time.Duration
	// Slack is how much longer than promised anything may take before it counts
	// as never; 0 means DefaultSlack.
	Slack time.Duration
	// Strict: a complaint counts on a machine that stalls, too. So a lock that
	// is known to be broken is found out at once.
	Strict bool
	// Stop freezes the service (SIGSTOP of every process), Continue thaws it.
	// Stop has taken effect when it returns.
	Stop, Continue func(t *testing.T)
}

// DefaultSlack is generous: a test that fails because the machine was busy is
// worse than one that takes ten seconds longer to find a hang.
const DefaultSlack = 15 * time.Second

// brief is how long a call that is meant to run out of time is given.
const brief = 250 * time.Millisecond

// test is one test of the suite, for locks of which suits is true.
type test struct {
	name  string
	run   func(*suite)
	suits func(clients.Claims) bool
}

func exclusive(c clients.Claims) bool    { return c.Permits == 1 }
func shared(c clients.Claims) bool       { return c.Permits > 1 }
func fair(c clients.Claims) bool         { return c.Fair && c.Permits == 1 }
func noticesAlone(c clients.Claims) bool { return c.Notices == "alone" }
func each(clients.Claims) bool           { return true }

var tests = []test{
	{"grants and takes back", grantAndRelease, each},
	{"excludes a second client", exclusion, exclusive},
	{"grants as many as it has permits", permits, shared},
	{"grants several permits together or none", severalPermits, several},
	{"grants several keys together or none", severalKeys, sets},
	{"a wait given up leaves nothing behind", cancelledWait, each},
	{"a waiter gets the key soon after its release", handover, each},
	{"waiters are granted in their order", order, fair},
	{"readers hold together, and a writer alone", readersTogether, readWrite},
	{"clients read and write by turns", readersAndWriters, readWrite},
	{"ten clients count to a hundred", counting, exclusive},
	{"ten clients never hold more than it has permits", crowding, shared},
	{"a stale grant frees nobody else's hold", staleRelease, each},
	{"a killed holder's lock expires", killedHolder, each},
	{"a frozen holder's lock expires, and it learns of it", frozenHolder, exclusive},
	{"a frozen holder's permit expires, and it learns of it", frozenPermit, shared},
	{"a frozen waiter is granted only what it holds", frozenWaiter, each},
	{"a holder that hears nothing of the service learns of its loss alone", cutOff, noticesAlone},
	{"a frozen service is an open question", frozenService, each},
	{"a context that is over ends every call", overContext, each},
	{"close gives everything up", closing, each},
}

// Run runs the suite.
func Run(t *testing.T, kind clients.Kind, s Service) {
	if kind.Claims.Permits < 1 || kind.Control != "" {
		t.Fatalf("%s: the suite is for locks that exclude, and are not broken on purpose", kind.Name)
	}
	checkClaims(t, newSuite(t, kind, s))
	for _, test := range tests {
		if test.suits(kind.Claims) {
			t.Run(test.name, func(t *testing.T) { newSuite(t, kind, s).whole(test.run) })
		}
	}
}

// checkClaims demands that what a lock claims to confirm can be asked of it: a
// claim that nothing can break passes in silence.
func checkClaims(t *testing.T, s *suite) {
	l := s.open()
	_, holder := l.(clients.Holder)
	_, renewer := l.(clients.Renewer)
	if _, reads := l.(clients.ReadLocker); reads != s.kind.Claims.ReadWrite {
		t.Errorf("%s claims to have readers: %t; it can be acquired as a reader: %t", s.kind.Name,
			s.kind.Claims.ReadWrite, reads)
	}
	if _, takes := l.(clients.PermitLocker); takes != several(s.kind.Claims) {
		t.Errorf("%s claims that an acquire may ask for %d permits; it can ask for several: %t", s.kind.Name,
			s.kind.Claims.PerAcquire, takes)
	}
	if _, takes := l.(clients.SetLocker); takes != sets(s.kind.Claims) {
		t.Errorf("%s claims that an acquire may ask for %d keys; it can ask for several: %t", s.kind.Name,
			s.kind.Claims.MultiKey, takes)
	}
	can := map[string]bool{"release": true, "held": holder, "renew": renewer}
	for _, op := range s.kind.Claims.Confirms {
		if !can[op] {
			t.Errorf("%s claims that %q confirms a hold, and has no such operation", s.kind.Name, op)
		}
	}
}

func newSuite(t *testing.T, kind clients.Kind, s Service) *suite {
	if s.Slack == 0 {
		s.Slack = DefaultSlack
	}
	return &suite{TB: t, t: t, kind: kind, Service: s, losses: &losses{}}
}

type suite struct {
	testing.TB
	Service
	t      *testing.T
	kind   clients.Kind
	losses *losses // that holders of the run have told of
}

var opened atomic.Int64

// key returns a key that no other test uses.
func (s *suite) key() string {
	return fmt.Sprintf("clienttest/%s/%d/%d", s.kind.Name, time.Now().UnixNano(), opened.Add(1))
}

// open opens a client, and closes it at the end of the test.
func (s *suite) open() clients.Lock {
	s.Helper()
	l, _ := s.openClosable()
	return l
}

func (s *suite) openClosable() (l clients.Lock, closeOnce func()) {
	s.Helper()
	return s.openAs(int(opened.Add(1)))
}

// openAs opens the client of a number.
func (s *suite) openAs(n int) (l clients.Lock, closeOnce func()) {
	s.Helper()
	l, err := s.kind.Open(s.patience(), clients.Config{Nodes: s.Nodes, TTL: s.TTL, Client: n,
		Identity: clients.IdentityOf(n, 0), Seed: uint64(n)})
	if err != nil {
		s.Fatalf("open: %v", err)
	}
	s.losses.watch(func() bool { return toldLoss(l) })
	var closed atomic.Bool
	closeOnce = func() {
		if closed.Swap(true) {
			return
		}
		if err := l.Close(s.patience()); err != nil {
			s.Errorf("close: %v", err)
		}
	}
	s.Cleanup(closeOnce)
	return l, closeOnce
}

// patience is a context for a call that must succeed: even an abandoned lock has expired within it.
func (s *suite) patience() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), s.patient())
	s.Cleanup(cancel)
	return ctx
}

func (s *suite) patient() time.Duration { return s.TTL + s.Slack }

func (s *suite) acquire(l clients.Lock, key string) clients.Grant {
	s.Helper()
	g, err := l.Acquire(s.patience(), key)
	if err != nil {
		s.Fatalf("acquire: %v", err)
	}
	return g
}

// release gives a grant back. On a busy machine the answer may be an open
// question; then it is asked again, and the key may be gone by then.
func (s *suite) release(l clients.Lock, g clients.Grant) {
	s.Helper()
	open := false
	for ctx := s.patience(); ; open = true {
		err := l.Release(ctx, g)
		switch {
		case err == nil, open && errors.Is(err, clients.ErrNotHeld):
			return
		case errors.Is(err, clients.ErrNotHeld):
			s.overtaken(g.Attempt)
			s.Fatalf("release: %v", err)
		case clients.Definite(err) || ctx.Err() != nil:
			s.Fatalf("release: %v", err)
		}
		s.Logf("release, an open question: %v", err)
	}
}

// limited runs a call with a context of the given length and demands that it ends soon after.
func (s *suite) limited(d time.Duration, call func(context.Context) error) error {
	s.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	start := time.Now()
	err := call(ctx)
	if took := time.Since(start); took > d+s.Slack/3 {
		s.Errorf("a call with %v to go returned after %v: %v", d, took, err)
	}
	return err
}

// eventually waits until the condition holds.
func (s *suite) eventually(what string, condition func() bool) {
	s.Helper()
	s.eventuallyOr(what, condition, func() string { return "" })
}

// eventuallyOr is eventually with more to say when it never comes.
func (s *suite) eventuallyOr(what string, condition func() bool, more func() string) {
	s.Helper()
	ctx := s.patience()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			s.Fatalf("it never came that %s\n%s", what, more())
		}
	}
}
