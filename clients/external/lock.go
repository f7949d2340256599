package external

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/adapter"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

// Name is that of every adapter's lock in the workers' catalogue; what the lock
// itself is called, the adapter says.
const Name = "adapter"

// Declared is Kind with what an adapter says of itself.
func Declared(service string, says adapter.Declaration) clients.Kind {
	k := Kind(service)
	k.Claims, k.TellsNoSession = Claims(says), !says.Sessions
	if says.Job == "" {
		k.Claims.Permits = max(1, k.Claims.Permits)
	}
	return k
}

// Kind returns the kind of a lock that is an adapter, for the service. What it
// claims, and whether it tells its sessions, is known when it is open.
func Kind(service string) clients.Kind {
	return clients.Kind{
		Name:    Name,
		About:   "a program of the user's own, which speaks JSON lines",
		Service: service,
		Claims:  clients.Claims{Token: "none", Permits: 1},
		Open:    Open,
	}
}

// usualLimit is the time limit of a call whose context has none.
const usualLimit = 30 * time.Second

// Conversation is a connection to an adapter: an *adapter.Conn, or that to a simulated program.
type Conversation interface {
	Ask(r adapter.Request) (adapter.Reply, error)
	AskUntil(ctx context.Context, r adapter.Request) (adapter.Reply, error)
	NextID() int64
	Break(format string, args ...any) error
	Broken() error
	Expect()
}

// Times are what a lock knows of time.
type Times struct {
	// Now is the clock of stamps.
	Now func() int64
	// Left is how long a call may take; 0: the context does not say.
	Left func(context.Context) time.Duration
}

// realTimes are those of a lock whose adapter is a process.
var realTimes = Times{Now: monotime.Now, Left: func(ctx context.Context) time.Duration {
	t, ok := ctx.Deadline()
	if !ok {
		return 0
	}
	return max(time.Until(t), 1)
}}

// lock is an adapter, seen as a lock.
type lock struct {
	conn    Conversation
	process *process // nil: it is simulated
	times   Times
	says    adapter.Declaration
	// blind: the adapter's clock may be made wrong, so its stamps are not used.
	blind bool
	lost  chan clients.Loss
	// notes, if set, is told of losses in the place of lost.
	notes func(clients.Loss)
	// opened is told of the lock's sessions; session is the last that it was told of.
	opened  func(clients.Session)
	session int64

	once   sync.Once
	closed error // by the first Close

	mu sync.Mutex
	// grants is, for each key, the ID of the acquire that granted it last, or that is under way.
	grants map[string]int64
}

// Simulated says hello to a simulated adapter. tells hands over the function that takes its
// lost-events; those of present grants go to notes.
func Simulated(ctx context.Context, conn Conversation, t Times, c clients.Config, tells func(func(adapter.Event)),
	notes func(clients.Loss)) (clients.Lock, error) {
	l := &lock{conn: conn, times: t, opened: c.Open, blind: c.Adapter.ClockFaults, notes: notes,
		grants: map[string]int64{}}
	tells(l.tell)
	if err := l.hello(ctx, c); err != nil {
		return nil, err
	}
	return l.able(), nil
}

func (l *lock) hello(ctx context.Context, c clients.Config) error {
	const largest = 1<<53 - 1                                       // that a double holds exactly
	name := fmt.Sprintf("c%d", cmp.Or(c.Identity.Number, c.Client)) // twins have that of the first
	greeting := &adapter.Greeting{Protocol: adapter.Version, Service: c.Adapter.Service,
		Account: (*adapter.Account)(c.Account), TTLMS: c.TTL.Milliseconds(),
		EveryMS: c.Every.Milliseconds(), Client: name, Seed: int64(c.Seed & largest), Dir: c.Adapter.Shared}
	switch {
	case c.Every != 0:
		greeting.Kind = adapter.KindJob
	case c.Adapter.Leader:
		greeting.Kind = adapter.KindLeader
	}
	if err := greeting.Locate(c.Nodes); err != nil {
		return err
	}
	r, err := l.conn.Ask(adapter.Request{Op: adapter.OpHello, TimeoutMS: l.limit(ctx), Greeting: greeting})
	if err != nil {
		return err
	}
	if !r.OK {
		return l.conn.Break("answered hello with the error %q: %s", r.Error, r.Text)
	}
	l.says = *r.Declaration
	if why := l.says.Mismatch(greeting.Kind); why != "" {
		return l.conn.Break("%s", why)
	}
	l.tellSession(r.Session)
	return nil
}

// limit is the time (ms) that a call may take.
func (l *lock) limit(ctx context.Context) int64 {
	left := cmp.Or(l.times.Left(ctx), usualLimit)
	return max(int64(left/time.Millisecond), 1)
}

// Declares returns what the adapter said of itself.
func (l *lock) Declares() clients.Declaration {
	return clients.Declaration{Name: l.says.Name, Claims: Claims(l.says), Sessions: l.says.Sessions,
		Lease: l.says.Lease}
}

// Claims is what an adapter claims by its declaration.
func Claims(s adapter.Declaration) clients.Claims {
	if s.Job != "" {
		return clients.Claims{Token: "tick", LostGrace: int64(s.LostGrace), Notices: s.Notices, Job: s.Job, Overlap: s.Overlap,
			Misfire: s.Misfire, Stops: int64(s.Stops), Handover: int64(s.Handover), StopHandover: int64(s.StopHandover)}
	}
	return clients.Claims{Validity: s.Validity, Token: s.Token, Confirms: slices.Clone(s.Confirms),
		StopHandover: int64(s.StopHandover),
		LostGrace:    int64(s.LostGrace), Notices: s.Notices, Tolerates: s.Tolerates, Identity: s.Identity,
		Abandons: int64(s.Abandons), Fair: s.Fair, Permits: s.Permits, PerAcquire: s.PerAcquire, MultiKey: s.MultiKey,
		Reentrant: s.Reentrant, ReadWrite: s.ReadWrite, NoExpiry: s.NoExpiry}
}

// Lost returns the channel of lost-events.
func (l *lock) Lost() <-chan clients.Loss { return l.lost }

// tell passes on a lost-event of a present grant. If nobody reads, the event is
// dropped: a reader that is a hundred behind knows enough.
func (l *lock) tell(e adapter.Event) {
	l.mu.Lock()
	now, known := l.grants[e.Key]
	l.mu.Unlock()
	if !known || e.Grant != 0 && e.Grant != now {
		return
	}
	loss := clients.Loss{Key: e.Key, Why: e.Why}
	if l.notes != nil {
		l.notes(loss)
		return
	}
	select {
	case l.lost <- loss:
	default:
	}
}

// Acquire asks the adapter for the key, as a writer where the lock has readers.
func (l *lock) Acquire(ctx context.Context, key string) (clients.Grant, error) {
	return l.acquire(ctx, adapter.Request{Key: key, Mode: l.says.Asks(false), Permits: min(l.says.PerAcquire, 1)})
}

// AcquireRead asks the adapter for the key as a reader.
func (l *lock) AcquireRead(ctx context.Context, key string) (clients.Grant, error) {
	if !l.says.ReadWrite {
		return clients.Grant{Key: key}, fmt.Errorf("acquire %q as a reader: the adapter does not declare read_write: %w", key, clients.ErrUnsupported)
	}
	return l.acquire(ctx, adapter.Request{Key: key, Mode: l.says.Asks(true)})
}

// AcquirePermits asks the adapter for so many permits of the key.
func (l *lock) AcquirePermits(ctx context.Context, key string, n int) (clients.Grant, error) {
	if n > max(l.says.PerAcquire, 1) {
		return clients.Grant{Key: key}, fmt.Errorf("acquire %d permits of %q: the adapter declares no so many permits_per_acquire: %w", n, key, clients.ErrUnsupported)
	}
	return l.acquire(ctx, adapter.Request{Key: key, Permits: n})
}

// AcquireSet asks the adapter for several keys at once.
func (l *lock) AcquireSet(ctx context.Context, keys []string) (clients.Grant, error) {
	if len(keys) > max(l.says.MultiKey, 1) {
		return clients.Grant{Key: keys[0]},
			fmt.Errorf("acquire %q together: the adapter declares no so many in multi_key: %w", keys,
				clients.ErrUnsupported)
	}
	return l.acquire(ctx, adapter.Request{Key: keys[0], Keys: keys})
}

// acquire asks for what the request names.
func (l *lock) acquire(ctx context.Context, ask adapter.Request) (clients.Grant, error) {
	key := ask.Key
	g := clients.Grant{Key: key}
	if err := ctx.Err(); err != nil {
		return g, err // nothing is sent
	}
	l.mu.Lock()
	for _, one := range append([]string{key}, ask.Keys...) {
		l.grants[one] = l.conn.NextID()
	}
	l.mu.Unlock()
	sent := l.times.Now()
	g.First = sent
	until := context.Background()
	if l.says.Does(adapter.OpCancel) {
		until = ctx
	}
	ask.Op, ask.TimeoutMS = adapter.OpAcquire, l.limit(ctx)
	r, err := l.conn.AskUntil(until, ask)
	if err != nil {
		return g, err
	}
	if err := l.stamps(&g, r, sent); err != nil {
		return g, err
	}
	l.tellSession(r.Session)
	if !r.OK {
		return g, failure(adapter.OpAcquire, r)
	}
	if what := l.says.Contradiction(adapter.OpAcquire, r); what != "" {
		return g, l.conn.Break("%s", what)
	}
	g.Session = r.Session.ID
	g.Token, g.ValidFor, g.HasValidFor, g.Secret = r.Token, int64(r.ValidFor), r.HasValidFor, r.ID
	return g, nil
}

// tellSession passes a new session on.
func (l *lock) tellSession(s adapter.Session) {
	if s.ID != 0 && s.ID != l.session {
		l.session = s.ID
		l.opened(clients.Session(s))
	}
}

// stamps takes over when the adapter says that things happened, if its clock can be trusted.
func (l *lock) stamps(g *clients.Grant, r adapter.Reply, sent int64) error {
	if l.blind {
		return nil
	}
	if what := r.Misstamped(sent, l.times.Now()); what != "" {
		return l.conn.Break("%s", what)
	}
	g.Attempt, g.Enqueued = r.Attempt, r.Enqueued
	if r.First != 0 {
		g.First = r.First
	}
	return nil
}

// failure turns a reply that is not ok into an error, definite or not.
func failure(op string, r adapter.Reply) error {
	if adapter.Definite(op, r.Error) {
		definite := map[string]error{adapter.Busy: clients.ErrBusy, adapter.NotHeld: clients.ErrNotHeld,
			adapter.Unsupported: clients.ErrUnsupported}[r.Error]
		if r.Text == "" {
			return definite
		}
		return fmt.Errorf("%w: %s", definite, r.Text)
	}
	if r.Text == "" {
		return errors.New(r.Error)
	}
	return fmt.Errorf("%s: %s", r.Error, r.Text)
}

// on asks about a grant.
func (l *lock) on(ctx context.Context, op string, g clients.Grant) (adapter.Reply, error) {
	if err := ctx.Err(); err != nil {
		return adapter.Reply{}, err
	}
	id, ok := g.Secret.(int64)
	if !ok {
		return adapter.Reply{}, fmt.Errorf("%s %q: the grant is not one of this lock's: %w", op, g.Key,
			clients.ErrNotHeld)
	}
	r, err := l.conn.Ask(adapter.Request{Op: op, Key: g.Key, Grant: id, TimeoutMS: l.limit(ctx)})
	if err == nil && !r.OK {
		err = failure(op, r)
	}
	return r, err
}

// Release gives the grant back.
func (l *lock) Release(ctx context.Context, g clients.Grant) error {
	_, err := l.on(ctx, adapter.OpRelease, g)
	l.mu.Lock()
	defer l.mu.Unlock()
	if id, _ := g.Secret.(int64); err == nil {
		// a lost-event that comes now is of no interest
		maps.DeleteFunc(l.grants, func(_ string, now int64) bool { return now == id })
	}
	return err
}

// Close lets the adapter close, and end. One that does not end is killed, and its log tells.
func (l *lock) Close(ctx context.Context) error {
	l.once.Do(func() { l.closed = l.close(ctx) })
	return l.closed
}

func (l *lock) close(ctx context.Context) error {
	r, err := l.conn.Ask(adapter.Request{Op: adapter.OpClose, TimeoutMS: l.limit(ctx)})
	if err == nil && l.process != nil {
		err = l.checkReachable()
	}
	if err == nil && !r.OK {
		err = failure(adapter.OpClose, r)
	}
	l.conn.Expect()
	if l.process == nil {
		return err
	}
	if l.conn.Broken() != nil {
		now, cancel := context.WithTimeout(ctx, 0)
		defer cancel()
		_ = l.process.end(now) // how it broke says more
		return err
	}
	if endErr := l.process.end(ctx); endErr != nil {
		fmt.Fprintf(os.Stderr, "[the adapter %v]\n", endErr)
	}
	return err
}
