package worker

import (
	"bufio"
	"context"
	"io"
	"math"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/harness/wire"
	"github.com/lockchaos/lockchaos/internal/hosts/hoststest"
	"github.com/lockchaos/lockchaos/internal/store"
)

// scripted is a lock whose lost-events the test decides; its tokens count up.
type scripted struct {
	token int64
	bare  bool // the grants carry no token
	lost  chan clients.Loss
	gone  bool // renewals are refused
	// before, if set, is called when a grant has been made and the application
	// has not been given it yet.
	before func(token int64)
}

func (s *scripted) Acquire(_ context.Context, key string) (clients.Grant, error) {
	s.token++
	if s.before != nil {
		s.before(s.token)
	}
	if s.bare {
		return clients.Grant{Key: key}, nil
	}
	return clients.Grant{Key: key, Token: s.token}, nil
}
func (s *scripted) Release(context.Context, clients.Grant) error { return nil }
func (s *scripted) Held(context.Context, clients.Grant) error    { return clients.ErrNotHeld }
func (s *scripted) Close(context.Context) error                  { return nil }
func (s *scripted) Lost() <-chan clients.Loss                    { return s.lost }

func (s *scripted) Renew(_ context.Context, g clients.Grant) (clients.Grant, error) {
	if s.gone {
		return g, clients.ErrNotHeld
	}
	s.token++
	return clients.Grant{Key: g.Key, Token: s.token, ValidFor: 500, HasValidFor: true, Attempt: 9}, nil
}

// application is a worker in this process, with a real store.
type application struct {
	t    *testing.T
	lock *scripted
	in   io.Writer
	out  *bufio.Scanner
	ids  int64
	can  wire.Reply   // the answer to open
	said []wire.Reply // events so far
	addr string       // of the store
}

func startApplication(t *testing.T, decline bool) *application {
	t.Helper()
	return startWriter(t, decline, "")
}

// startWriter starts an application whose lock wants the store to be written to in its way.
func startWriter(t *testing.T, decline bool, writes string) *application {
	t.Helper()
	hoststest.Network(t) // the loopback device comes up with it
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ledger, err := store.OpenSQLite(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), store.Fencing{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- store.Serve(ctx, l, ledger) }()
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	a := &application{t: t, lock: &scripted{lost: make(chan clients.Loss)}, in: inWrite, out: bufio.NewScanner(outRead),
		addr: l.Addr().String()}
	kind := clients.Kind{Name: "scripted", Writes: writes,
		Open: func(context.Context, clients.Config) (clients.Lock, error) { return a.lock, nil }}
	worked := make(chan error, 1)
	go func() { worked <- Run(ctx, inRead, outWrite, []clients.Kind{kind}) }()
	t.Cleanup(func() {
		inWrite.Close()
		if err := <-worked; err != nil {
			t.Error(err)
		}
		cancel()
		<-served
		ledger.Close()
	})
	a.can = a.ok(wire.Command{Op: "open", Open: &wire.Opening{Lock: "scripted", Store: l.Addr().String(), Client: 1, Decline: decline}})
	return a
}

// ask sends a command and returns its answer; events that come before it are kept.
func (a *application) ask(c wire.Command) wire.Reply {
	a.t.Helper()
	a.ids++
	c.ID, c.Timeout = a.ids, int64(time.Minute)
	line, err := c.AppendLine(nil)
	if err != nil {
		a.t.Fatal(err)
	}
	if _, err := a.in.Write(line); err != nil {
		a.t.Fatal(err)
	}
	for {
		if r := a.next(); r.Event == "" {
			return r
		}
	}
}

func (a *application) next() wire.Reply {
	a.t.Helper()
	if !a.out.Scan() {
		a.t.Fatal("the worker has ended")
	}
	var r wire.Reply
	if err := r.Parse(a.out.Bytes()); err != nil {
		a.t.Fatal(err)
	}
	if r.Event != "" {
		a.said = append(a.said, r)
	}
	return r
}

func (a *application) ok(c wire.Command) wire.Reply {
	a.t.Helper()
	r := a.ask(c)
	if r.Result != wire.ResultOK {
		a.t.Fatalf("%s: %+v", c.Op, r)
	}
	return r
}

// With guard "check" the application stops when it has been told; with guard
// "none" it goes on, for it trusts its acquire.
func TestToldOfALoss(t *testing.T) {
	for _, decline := range []bool{true, false} {
		a := startApplication(t, decline)
		a.ok(wire.Command{Op: "acquire", Key: "k0", Grant: 7})
		a.ok(wire.Command{Op: "write", Key: "k0", Grant: 7, Value: 1})
		a.lock.lost <- clients.Loss{Key: "k0", Token: 1, Why: "session expired"}
		if e := a.next(); e.Event != wire.EventLost || e.Grant != 7 || e.Error != "session expired" || e.From == 0 {
			t.Fatalf("event %+v", e)
		}
		r := a.ask(wire.Command{Op: "write", Key: "k0", Grant: 7, Value: 2})
		if r.Declined != decline || (r.Result == wire.ResultOK) == decline {
			t.Errorf("decline %v: %+v", decline, r)
		}
		if r := a.ask(wire.Command{Op: "held", Key: "k0", Grant: 7}); r.Result != wire.ResultFail || !r.NotHeld {
			t.Errorf("held: %+v", r)
		}
	}
}

// A late event for an older grant says nothing about a newer one of the same key.
func TestLateLossIsNotTheNewerGrants(t *testing.T) {
	a := startApplication(t, true)
	a.ok(wire.Command{Op: "acquire", Key: "k0", Grant: 1})
	a.ok(wire.Command{Op: "release", Key: "k0", Grant: 1})
	a.ok(wire.Command{Op: "acquire", Key: "k0", Grant: 2})
	a.lock.lost <- clients.Loss{Key: "k0", Token: 1, Why: "late"}
	a.lock.lost <- clients.Loss{Key: "other", Token: 9, Why: "when this is taken, the one before is done"}
	a.ok(wire.Command{Op: "write", Key: "k0", Grant: 2, Value: 1})
	if len(a.said) > 0 {
		t.Errorf("told of %+v", a.said)
	}
}

// A grant that is lost before the application has been given it is told as lost all the same.
func TestLossBeforeTheGrantIsKnown(t *testing.T) {
	a := startApplication(t, true)
	a.lock.before = func(token int64) {
		a.lock.lost <- clients.Loss{Key: "k0", Token: token, Why: "at once"}
		a.lock.lost <- clients.Loss{Key: "other", Token: 9, Why: "when this is taken, the one before is done"}
	}
	a.ok(wire.Command{Op: "acquire", Key: "k0", Grant: 5})
	if r := a.ask(wire.Command{Op: "write", Key: "k0", Grant: 5, Value: 1}); !r.Declined {
		t.Errorf("the write was not declined: %+v", r)
	}
	if len(a.said) != 1 || a.said[0].Grant != 5 {
		t.Errorf("told of %+v", a.said)
	}
}

// So it is for a lock without tokens, whose events tell only when they came:
// one from before the acquire is of an older grant.
func TestLossWithoutTokenBeforeTheGrantIsKnown(t *testing.T) {
	for _, during := range []bool{true, false} {
		a := startApplication(t, true)
		a.lock.bare = true
		lose := func(int64) {
			a.lock.lost <- clients.Loss{Key: "k0", Why: "at once"}
			a.lock.lost <- clients.Loss{Key: "other", Why: "when this is taken, the one before is done"}
		}
		if during {
			a.lock.before = lose
		} else {
			lose(0)
		}
		a.ok(wire.Command{Op: "acquire", Key: "k0", Grant: 5})
		if r := a.ask(wire.Command{Op: "write", Key: "k0", Grant: 5, Value: 1}); r.Declined != during {
			t.Errorf("lost during the acquire %t: %+v", during, r)
		}
		if told := len(a.said) == 1 && a.said[0].Grant == 5; told != during || len(a.said) > 1 {
			t.Errorf("lost during the acquire %t: told of %+v", during, a.said)
		}
	}
}

// A renewal is told with its validity, and what it grants takes the place of
// what was held; a refused one changes nothing.
func TestRenew(t *testing.T) {
	a := startApplication(t, false)
	if !a.can.CanRenew || !a.can.CanAsk {
		t.Errorf("the worker does not tell what its lock can do: %+v", a.can)
	}
	a.ok(wire.Command{Op: "acquire", Key: "k0", Grant: 7})
	r := a.ok(wire.Command{Op: "renew", Key: "k0", Grant: 7})
	if r.ValidFor == nil || *r.ValidFor != 500 || r.Attempt != 9 {
		t.Errorf("renewed: %+v", r)
	}
	a.lock.lost <- clients.Loss{Key: "k0", Token: 2, Why: "the renewed grant is lost"}
	if e := a.next(); e.Event != wire.EventLost || e.Grant != 7 {
		t.Errorf("event %+v", e)
	}
	a.lock.gone = true
	if r := a.ask(wire.Command{Op: "renew", Key: "k0", Grant: 7}); r.Result != wire.ResultFail || !r.NotHeld {
		t.Errorf("refused: %+v", r)
	}
	if r := a.ask(wire.Command{Op: "renew", Key: "k0", Grant: 8}); !r.Declined {
		t.Errorf("under a grant that is not the newest: %+v", r)
	}
}

// TestTokensOfGrants: a token that has no place in a history is refused, and not told as another
// one. Those below 0 are told: a counter may run over.
func TestTokensOfGrants(t *testing.T) {
	a := startApplication(t, true)
	for i, token := range []int64{math.MaxInt64 - 1, -7} {
		a.lock.token = token - 1
		if r := a.ok(wire.Command{Op: "acquire", Key: "k0", Grant: int64(i + 1)}); r.Token != token {
			t.Errorf("%d: %+v", token, r)
		}
	}
	a.lock.token = math.MaxInt64 - 1
	if r := a.ask(wire.Command{Op: "acquire", Key: "k1", Grant: 3}); r.Result == wire.ResultOK || !r.Broken || !strings.Contains(r.Error, "the token 9223372036854775807: the greatest") {
		t.Errorf("%+v", r)
	}
}
