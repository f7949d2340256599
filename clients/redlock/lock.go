package redlock

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// Redlock is the lock redlock.
var Redlock = clients.Kind{
	Name:    "redlock",
	About:   "the textbook algorithm: SET NX PX on five independent Redis, held with a majority, valid for the TTL less elapsed time and drift",
	Service: "redis-five",
	Claims: clients.Claims{Validity: "library", Tolerates: "minority", Token: "none",
		Confirms: []string{"release", "held"}, Permits: 1},
	Open: clients.With(Open, Rules{}),
}

// Rules are what may be changed in the algorithm, to see what each is good for.
// The zero value is the algorithm as it is described.
type Rules struct {
	// Quorum is how many servers must have taken the key; 0: a majority.
	Quorum int
	// Patient: a server's answer is waited for as long as the caller has time,
	// however little is then left of the TTL.
	Patient bool
	// Whole: a grant is said to be good for the whole TTL, whatever asking took.
	Whole bool
}

type lock struct {
	rules  Rules
	nodes  []node
	quorum int
	ttl    time.Duration
	drift  time.Duration
	number int // the client's, for values that a human can read in the servers
	jitter *mathrand.Rand
	// patience is how long a node may take to answer an attempt, and lastly how
	// long to answer anything else.
	patience, lastly time.Duration
}

// The documentation suggests 5 to 50 ms for a TTL of 10 s.
const (
	shortestPatience = 5 * time.Millisecond
	longestPatience  = 50 * time.Millisecond
)

// longestWait is how long a patient client without a deadline waits.
const longestWait = time.Minute

// minTTL is the shortest TTL of which the drift and an attempt leave something.
const minTTL = 20 * time.Millisecond

// Open makes the clients. They connect with the first call.
func Open(c clients.Config, rules Rules) (clients.Lock, error) {
	ttl := c.TTL
	if len(c.Nodes) < 3 {
		return nil, fmt.Errorf("redlock was given %d servers (%s); a majority that outlives a server needs three or more", len(c.Nodes), strings.Join(c.Nodes, ","))
	}
	if ttl < minTTL {
		return nil, fmt.Errorf("redlock at %s: a TTL of %v; drift and attempts use up less than %v, configure more",
			strings.Join(c.Nodes, ","), ttl, minTTL)
	}
	l := &lock{rules: rules, quorum: len(c.Nodes)/2 + 1, ttl: ttl, drift: ttl/100 + 2*time.Millisecond,
		number:   c.Client,
		jitter:   mathrand.New(mathrand.NewPCG(c.Seed, uint64(c.Client))),
		patience: min(max(ttl/10, shortestPatience), longestPatience)}
	l.lastly = 2 * l.patience
	if rules.Quorum > 0 {
		l.quorum = rules.Quorum
	}
	for _, addr := range c.Nodes {
		n, err := newNode(addr, l.lastly)
		if err != nil {
			return nil, err
		}
		l.nodes = append(l.nodes, n)
	}
	return l, nil
}

// secret is what recognises a grant: its value, and which nodes were known to
// have taken the key for it.
type secret struct {
	value string
	taken []bool
}

// Acquire tries until it has a majority or ctx is done.
func (l *lock) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	refused := clients.Grant{Key: key}
	err := ctx.Err()
	longest := l.ttl / 10
	for limit := min(8*time.Millisecond, longest); ctx.Err() == nil; limit = min(2*limit, longest) {
		start := monotime.Now()
		g, open, failed := l.attempt(ctx, key)
		if failed == nil {
			g.Attempt, g.First = start, start
			return g, nil
		}
		if err = failed; open && refused.First == 0 {
			refused.First = start
		}
		// Clients that got a part of the servers each must not come back in step.
		_ = clients.Wait(ctx, time.Duration(l.jitter.Int64N(int64(limit)))+time.Millisecond)
	}
	if refused.First != 0 && errors.Is(err, clients.ErrBusy) {
		err = fmt.Errorf("another has the key, and an earlier attempt was not answered; it may hold keys until their TTL of %v ends", l.ttl)
	}
	return refused, fmt.Errorf("acquire %q from a majority of %s: %w", key, l.addrs(), err)
}

// attempt asks all nodes once. open: it failed, and something of it may be left.
func (l *lock) attempt(ctx context.Context, key string) (g clients.Grant, open bool, err error) {
	value := l.newValue()
	began := time.Now()
	asked := l.all(ctx, l.patienceOf(ctx), func(ctx context.Context, n node) (bool,
		error) {
		return n.take(ctx, lockKey(key), value, l.ttl)
	})
	validity := l.ttl - time.Since(began) - l.drift
	if l.rules.Whole {
		validity = l.ttl
	}
	taken := make([]bool, len(asked))
	for i, a := range asked {
		taken[i] = a.yes
	}
	yes := count(asked, func(_ int, a answer) bool { return a.yes })
	if yes >= l.quorum && validity > 0 {
		return clients.Grant{Key: key, ValidFor: int64(validity), HasValidFor: true, Secret: secret{value, taken}},
			false, nil
	}
	dropped := l.all(ctx, l.lastly, func(ctx context.Context, n node) (bool,
		error) {
		return n.drop(ctx, lockKey(key), value)
	})
	left := count(asked, func(i int, a answer) bool {
		// what was deleted has arrived before
		return !dropped[i].yes && a.unknown() || a.yes && dropped[i].err != nil
	})
	no := count(asked, func(_ int, a answer) bool { return !a.yes && a.err == nil })
	switch {
	case left > 0:
		return g, true, fmt.Errorf("%d of %d servers may hold the key for a failed attempt until its TTL of %v ends: %w",
			left, len(asked), l.ttl, errors.Join(errs(asked), errs(dropped)))
	case no > len(l.nodes)-l.quorum:
		return g, false, clients.ErrBusy
	case yes >= l.quorum:
		return g, false, fmt.Errorf("a majority took longer than the TTL of %v allows; its keys were deleted again",
			l.ttl)
	}
	return g, false, fmt.Errorf("%d of %d servers took the key, %d are needed: %w", yes, len(asked), l.quorum,
		errs(asked))
}

// patienceOf is how long a server may take to answer an attempt.
func (l *lock) patienceOf(ctx context.Context) time.Duration {
	if !l.rules.Patient {
		return l.patience
	}
	if deadline, limited := ctx.Deadline(); limited {
		return max(l.patience, time.Until(deadline))
	}
	return longestWait
}

// Release deletes the value from all nodes.
func (l *lock) Release(ctx context.Context, g clients.Grant) error {
	s, ok := g.Secret.(secret)
	if !ok {
		return fmt.Errorf("release %q: the grant is not one of this lock's: %w", g.Key, clients.ErrNotHeld)
	}
	if err := ctx.Err(); err != nil { // over already: nothing is sent
		return fmt.Errorf("release %q at %s: %w", g.Key, l.addrs(), err)
	}
	answers := l.all(ctx, l.lastly, func(ctx context.Context, n node) (bool,
		error) {
		return n.drop(ctx, lockKey(g.Key), s.value)
	})
	if err := l.majority(answers, s); err != nil {
		return fmt.Errorf("release %q at %s: %w", g.Key, l.addrs(), err)
	}
	return nil
}

// Held asks all nodes whether they still have the grant's value.
func (l *lock) Held(ctx context.Context, g clients.Grant) error {
	s, ok := g.Secret.(secret)
	if !ok {
		return fmt.Errorf("%q: the grant is not one of this lock's: %w", g.Key, clients.ErrNotHeld)
	}
	answers := l.all(ctx, l.lastly, func(ctx context.Context, n node) (bool,
		error) {
		return n.has(ctx, lockKey(g.Key), s.value)
	})
	if err := l.majority(answers, s); err != nil {
		return fmt.Errorf("ask %s who holds %q: %w", l.addrs(), g.Key, err)
	}
	return nil
}

// majority tells what the answers of the nodes that took the key say about the
// grant: nil when a majority had it still, ErrNotHeld when there can have been none.
func (l *lock) majority(answers []answer, s secret) error {
	had := count(answers, func(i int, a answer) bool { return s.taken[i] && a.yes })
	silent := count(answers, func(i int, a answer) bool { return s.taken[i] && a.err != nil })
	switch {
	case had >= l.quorum:
		return nil
	case had+silent < l.quorum:
		return fmt.Errorf("%d servers still had the grant's value, %d are a majority: %w", had, l.quorum,
			clients.ErrNotHeld)
	}
	return fmt.Errorf("%d servers still had the grant's value, %d are a majority: %w", had, l.quorum, errs(answers))
}

// Close gives up the connections. What is held stays so until it expires.
func (l *lock) Close(context.Context) error {
	var failed []error
	for _, n := range l.nodes {
		if err := n.client.Close(); err != nil {
			failed = append(failed, fmt.Errorf("close the connections to redis at %s: %w", n.addr, err))
		}
	}
	return errors.Join(failed...)
}

func lockKey(key string) string { return "lock:{" + key + "}" }

// newValue is random beyond any plan's seed: no two attempts must ever share a value.
func (l *lock) newValue() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails, by its documentation
	return fmt.Sprintf("c%d-%s", l.number, hex.EncodeToString(b[:]))
}

func (l *lock) addrs() string {
	var addrs []string
	for _, n := range l.nodes {
		addrs = append(addrs, n.addr)
	}
	return strings.Join(addrs, ",")
}
