// Package adapted makes an adapter of a lock in Go: it speaks the protocol of package
// adapter for a clients.Lock. It is the other end of package external, and is built
// for wasip1 too: so the tests of a lock become the programs that a simulation runs.
package adapted

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/lockchaos/lockchaos/adapter"
	"github.com/lockchaos/lockchaos/clients"
)

// Lock is what is served.
type Lock struct {
	// Open opens the client of the lock.
	Open func(context.Context, clients.Config) (clients.Lock, error)
	// Says is what the lock is called, and claims; a lock that is a
	// clients.Declarer says it itself.
	Says clients.Declaration
}

// Serve answers the requests of in, one after the other, until there are no
// more. Its error says that the conversation broke.
//
// What protocol and simulation have no word for is not claimed: WakesOne, and sessions.
func (l Lock) Serve(in io.Reader, out io.Writer) error {
	s := &server{Lock: l, out: out, grants: map[int64]clients.Grant{}}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var r adapter.Request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return fmt.Errorf("the request %.80q: %w", lines.Bytes(), err)
		}
		if r.Op == adapter.OpCancel {
			continue // it was not declared
		}
		a, err := s.answer(r)
		if err != nil {
			a = failed(r.Op, a, err)
		}
		a.ID, a.OK = r.ID, err == nil
		if err := s.send(a); err != nil {
			return err
		}
	}
	return lines.Err()
}

// server is one client of the lock.
type server struct {
	Lock
	lock clients.Lock
	says adapter.Declaration

	mu     sync.Mutex // guards what follows: losses are told at any time
	out    io.Writer
	grants map[int64]clients.Grant // by the acquires
	// of grants that are not known: the lock may be faster than its Acquire
	early []clients.Loss
}

// reply is a line. Of a member that was not asked for there is none.
type reply struct {
	ID    int64  `json:"id"`
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
	Text  string `json:"text,omitempty"`
	*declaration
	Token      any      `json:"token,omitempty"` // of a hello its kind, of a grant its number
	ValidForMS *float64 `json:"valid_for_ms,omitempty"`
	Attempt    int64    `json:"attempt_ns,omitempty"`
	First      int64    `json:"first_ns,omitempty"`
	Enqueued   int64    `json:"enqueued_ns,omitempty"`
}

// declaration is an adapter.Declaration with its times.
type declaration struct {
	adapter.Declaration
	LostGraceMS float64 `json:"lost_grace_ms,omitempty"`
	AbandonsMS  float64 `json:"abandons_ms,omitempty"`
	LeaseMS     float64 `json:"lease_ms,omitempty"`
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// failed is the reply to an op that failed: that nothing happened is said only
// in answer to what it can be said of.
func failed(op string, a reply, err error) reply {
	a.Error, a.Text = "unknown", err.Error()
	for word, definite := range map[string]error{adapter.Busy: clients.ErrBusy, adapter.NotHeld: clients.ErrNotHeld,
		adapter.Unsupported: clients.ErrUnsupported} {
		if errors.Is(err, definite) && adapter.Definite(op, word) {
			a.Error = word
		}
	}
	return a
}

func (s *server) send(line any) error {
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err = s.out.Write(append(text, '\n'))
	return err
}

func (s *server) answer(r adapter.Request) (reply, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(r.TimeoutMS)*time.Millisecond)
	defer cancel()
	if s.lock == nil && r.Op != adapter.OpHello {
		return reply{}, fmt.Errorf("%s before hello", r.Op)
	}
	switch r.Op {
	case adapter.OpHello:
		return s.hello(ctx, r)
	case adapter.OpAcquire:
		return s.acquire(ctx, r)
	case adapter.OpRelease:
		return reply{}, s.on(r, func(g clients.Grant) error { return s.lock.Release(ctx, g) })
	case adapter.OpHeld:
		l, can := s.lock.(clients.Holder)
		if !can {
			return reply{}, clients.ErrUnsupported
		}
		return reply{}, s.on(r, func(g clients.Grant) error { return l.Held(ctx, g) })
	case adapter.OpRenew:
		return s.renew(ctx, r)
	case adapter.OpClose:
		return reply{}, s.lock.Close(ctx)
	}
	return reply{}, clients.ErrUnsupported
}

func (s *server) hello(ctx context.Context, r adapter.Request) (a reply, err error) {
	if r.Greeting == nil || s.lock != nil {
		return a, errors.New("hello comes once, first, and says where the service is")
	}
	number, err := strconv.Atoi(strings.TrimPrefix(r.Client, "c"))
	if err != nil {
		return a, fmt.Errorf("the client %q: %w", r.Client, err)
	}
	nodes, err := r.Addresses()
	if err != nil {
		return a, err
	}
	s.lock, err = s.Open(ctx, clients.Config{Nodes: nodes, Account: (*clients.Account)(r.Account),
		TTL: time.Duration(r.TTLMS) * time.Millisecond, Client: number, Seed: uint64(r.Seed),
		Identity: clients.IdentityOf(number, 0), // twins have one number here
		Adapter:  &clients.Adapter{Service: r.Service, Shared: r.Dir}})
	if err != nil {
		return a, err
	}
	says := s.Says
	if l, ok := s.lock.(clients.Declarer); ok {
		says = l.Declares()
	}
	c := says.Claims
	s.says = adapter.Declaration{Name: says.Name, Validity: c.Validity, Token: c.Token,
		Confirms: append([]string{}, c.Confirms...), Can: s.abilities(c.Confirms),
		Notices: c.Notices, Tolerates: c.Tolerates, Identity: c.Identity,
		Fair: c.Fair, Permits: max(1, c.Permits), PerAcquire: c.PerAcquire,
		MultiKey: c.MultiKey, Reentrant: c.Reentrant, ReadWrite: c.ReadWrite, NoExpiry: c.NoExpiry}
	if s.says.Token == "" {
		s.says.Token = "none"
	}
	a.Token, a.declaration = s.says.Token, &declaration{s.says, ms(time.Duration(c.LostGrace)),
		ms(time.Duration(c.Abandons)), ms(says.Lease)}
	if l, ok := s.lock.(clients.Watcher); ok && l.Lost() != nil {
		go s.watch(l.Lost())
	}
	return a, nil
}

// abilities are the ops that the lock has, and that are not among those that confirm.
func (s *server) abilities(confirms []string) []string {
	can := []string{}
	if _, ok := s.lock.(clients.Holder); ok && !slices.Contains(confirms, adapter.OpHeld) {
		can = append(can, adapter.OpHeld)
	}
	if _, ok := s.lock.(clients.Renewer); ok && !slices.Contains(confirms, adapter.OpRenew) {
		can = append(can, adapter.OpRenew)
	}
	return can
}

func (s *server) acquire(ctx context.Context, r adapter.Request) (a reply, err error) {
	take := s.lock.Acquire
	if r.Mode == adapter.ModeRead {
		l, can := s.lock.(clients.ReadLocker)
		if !can {
			return a, clients.ErrUnsupported
		}
		take = l.AcquireRead
	}
	if l, can := s.lock.(clients.PermitLocker); can && r.Permits > 0 {
		take = func(ctx context.Context, key string) (clients.Grant, error) {
			return l.AcquirePermits(ctx, key, r.Permits)
		}
	} else if r.Permits > 1 {
		return a, clients.ErrUnsupported
	}
	if len(r.Keys) > 0 {
		l, can := s.lock.(clients.SetLocker)
		if !can {
			return a, clients.ErrUnsupported
		}
		take = func(ctx context.Context, _ string) (clients.Grant, error) { return l.AcquireSet(ctx, r.Keys) }
	}
	g, err := take(ctx, r.Key)
	a.First = g.First
	if err != nil {
		return a, err
	}
	var early []clients.Loss
	s.note(func() {
		s.grants[r.ID] = g
		early, s.early = s.early, nil
	})
	for _, loss := range early {
		if err := s.tell(loss); err != nil {
			return a, err
		}
	}
	a.Attempt, a.Enqueued, a.ValidForMS = g.Attempt, g.Enqueued, s.validFor(g)
	if s.says.Token != "none" && g.Token != 0 {
		a.Token = g.Token
	}
	return a, nil
}

func (s *server) note(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// validFor is what is declared to be told, if the lock tells it.
func (s *server) validFor(g clients.Grant) *float64 {
	if s.says.Validity != "library" || !g.HasValidFor {
		return nil
	}
	left := ms(time.Duration(g.ValidFor))
	return &left
}

// on carries an op on a grant out. A grant that was given back is not asked about again.
func (s *server) on(r adapter.Request, op func(clients.Grant) error) error {
	s.mu.Lock()
	g, known := s.grants[r.Grant]
	s.mu.Unlock()
	if !known {
		return fmt.Errorf("no grant %d: %w", r.Grant, clients.ErrNotHeld)
	}
	err := op(g)
	if r.Op == adapter.OpRelease && err == nil {
		s.note(func() { delete(s.grants, r.Grant) })
	}
	return err
}

func (s *server) renew(ctx context.Context, r adapter.Request) (a reply, err error) {
	l, can := s.lock.(clients.Renewer)
	if !can {
		return a, clients.ErrUnsupported
	}
	err = s.on(r, func(old clients.Grant) error {
		g, err := l.Renew(ctx, old)
		if err == nil {
			s.note(func() { s.grants[r.Grant] = g })
			a.Attempt, a.ValidForMS = g.Attempt, s.validFor(g)
		}
		return err
	})
	return a, err
}

// event is a line that tells of a lost grant.
type event struct {
	Event string `json:"event"`
	Key   string `json:"key"`
	Grant int64  `json:"grant,omitempty"`
	Why   string `json:"why,omitempty"`
}

func (s *server) watch(lost <-chan clients.Loss) {
	for loss := range lost {
		if s.tell(loss) != nil {
			return // nobody listens any more
		}
	}
}

// tell tells of a loss. One that names a token is of that grant, and no other.
func (s *server) tell(loss clients.Loss) error {
	e := event{Event: "lost", Key: loss.Key, Why: loss.Why}
	s.note(func() {
		for id, g := range s.grants {
			if loss.Token != 0 && g.Key == loss.Key && g.Token == loss.Token {
				e.Grant = id
			}
		}
		if loss.Token != 0 && e.Grant == 0 {
			s.early = append(s.early, loss)
		}
	})
	if loss.Token != 0 && e.Grant == 0 {
		return nil
	}
	return s.send(e)
}
