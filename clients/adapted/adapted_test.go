package adapted_test

import (
	"context"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/adapter"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/adapted"
)

// able is a lock that does what a test wants.
type able struct {
	lost chan clients.Loss
	next int64
}

func (l *able) Acquire(_ context.Context, key string) (clients.Grant, error) {
	if key == "taken" {
		return clients.Grant{First: 5}, clients.ErrBusy
	}
	if key == "doubtful" {
		// no word for an acquire
		return clients.Grant{First: 6}, errors.Join(clients.ErrNotHeld, errors.New("connection reset"))
	}
	l.next++
	if key == "early" {
		l.lost <- clients.Loss{Key: key, Token: l.next, Why: "before it was told"}
		l.lost <- clients.Loss{Key: key, Token: l.next + 100, Why: "of nobody"}
		for len(l.lost) > 0 { // they are taken by a goroutine of the server
			time.Sleep(time.Millisecond)
		}
	}
	return clients.Grant{Key: key, Token: l.next, ValidFor: int64(300 * time.Millisecond), HasValidFor: true,
		Attempt: 10, First: 9, Enqueued: 11, Secret: key}, nil
}

func (l *able) Release(_ context.Context, g clients.Grant) error {
	if g.Secret != g.Key {
		return errors.New("another's grant")
	}
	return nil
}

func (l *able) Held(context.Context, clients.Grant) error { return clients.ErrNotHeld }

func (l *able) Renew(_ context.Context, g clients.Grant) (clients.Grant, error) {
	g.Attempt, g.ValidFor = 20, int64(1500*time.Microsecond)
	return g, nil
}

func (l *able) Lost() <-chan clients.Loss { return l.lost }

func (l *able) Close(context.Context) error { return nil }

// plain is a lock with what every lock has.
type plain struct{ clients.Lock }

// process is one that does not end.
type process struct{}

func (process) Exited() <-chan struct{} { return nil }
func (process) How() string             { return "" }
func (process) Log() string             { return "" }

// conversation is one with a served lock; ask asks it.
type conversation struct {
	*testing.T
	conn   *adapter.Conn
	events chan adapter.Event
	opened clients.Config
}

func serve(t *testing.T, l clients.Lock, says clients.Declaration) *conversation {
	t.Helper()
	in, requests := io.Pipe()
	replies, out := io.Pipe()
	c := &conversation{T: t, events: make(chan adapter.Event, 10)}
	served := make(chan error, 1)
	go func() {
		served <- adapted.Lock{Says: says, Open: func(_ context.Context, config clients.Config) (clients.Lock, error) {
			c.opened = config
			return l, nil
		}}.Serve(in, out)
	}()
	c.conn = adapter.NewConn(requests, replies, adapter.Options{Command: "served", Process: process{},
		Lost: func(e adapter.Event) { c.events <- e }})
	t.Cleanup(func() {
		c.conn.Expect()
		requests.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
		out.Close()
	})
	return c
}

func (c *conversation) ask(r adapter.Request) adapter.Reply {
	c.Helper()
	r.TimeoutMS = 1000
	a, err := c.conn.Ask(r)
	if err != nil {
		c.Fatal(err)
	}
	return a
}

func (c *conversation) hello() adapter.Declaration {
	c.Helper()
	a := c.ask(adapter.Request{Op: adapter.OpHello,
		Greeting: &adapter.Greeting{Protocol: adapter.Version, Nodes: []string{"10.88.0.2:6379"}, TTLMS: 500, Client: "c3", Seed: 7,
			Account: &adapter.Account{User: "u", Password: "p", Database: "0"}, Service: "redis", Dir: "/shared"}})
	if !a.OK {
		c.Fatal(a.Error, a.Text)
	}
	return *a.Declaration
}

// TestServed: a client that speaks the protocol hears what the lock says.
func TestServed(t *testing.T) {
	claims := clients.Claims{Validity: "library", Token: "fencing", Confirms: []string{"release"},
		LostGrace: int64(1500 * time.Microsecond), Abandons: int64(2 * time.Second), Permits: 1, Fair: true}
	l := &able{lost: make(chan clients.Loss, 10)}
	c := serve(t, l, clients.Declaration{Name: "mine 1.0", Claims: claims})
	want := adapter.Declaration{Name: "mine 1.0", Validity: "library", Token: "fencing", Confirms: []string{"release"},
		Can:       []string{"held", "renew"},
		LostGrace: 1500 * time.Microsecond, Abandons: 2 * time.Second, Permits: 1, Fair: true}
	if says := c.hello(); !reflect.DeepEqual(says, want) {
		t.Errorf("%+v\nwant %+v", says, want)
	}
	if a := c.opened.Account; a == nil || *a != (clients.Account{User: "u", Password: "p", Database: "0"}) {
		t.Errorf("opened with the account %+v", a)
	}
	if o := c.opened; o.Nodes[0] != "10.88.0.2:6379" || o.TTL != 500*time.Millisecond || o.Client != 3 || o.Seed != 7 {
		t.Errorf("opened with %+v", o)
	}
	got := c.ask(adapter.Request{Op: adapter.OpAcquire, Key: "k0"})
	if id := got.ID; !reflect.DeepEqual(got, adapter.Reply{ID: id, OK: true, Token: 1, ValidFor: 300 * time.Millisecond,
		HasValidFor: true, Attempt: 10, First: 9, Enqueued: 11}) {
		t.Errorf("%+v", got)
	}
	for _, one := range []struct {
		r    adapter.Request
		want adapter.Reply
	}{
		{adapter.Request{Op: adapter.OpAcquire, Key: "taken"}, adapter.Reply{Error: adapter.Busy, Text: "busy", First: 5}},
		{adapter.Request{Op: adapter.OpAcquire, Key: "doubtful"},
			adapter.Reply{Error: "unknown", Text: "not held\nconnection reset", First: 6}},
		{adapter.Request{Op: adapter.OpAcquire, Key: "k0", Mode: adapter.ModeRead},
			adapter.Reply{Error: adapter.Unsupported, Text: "unsupported"}},
		{adapter.Request{Op: adapter.OpHeld, Grant: got.ID}, adapter.Reply{Error: adapter.NotHeld, Text: "not held"}},
		{adapter.Request{Op: adapter.OpRenew, Grant: got.ID},
			adapter.Reply{OK: true, Attempt: 20, ValidFor: 1500 * time.Microsecond, HasValidFor: true}},
		{adapter.Request{Op: adapter.OpRelease, Grant: got.ID}, adapter.Reply{OK: true}},
		{adapter.Request{Op: adapter.OpRelease, Grant: got.ID}, adapter.Reply{Error: adapter.NotHeld, Text: "no grant 2: not held"}},
		{adapter.Request{Op: "dance"}, adapter.Reply{Error: adapter.Unsupported, Text: "unsupported"}},
		{adapter.Request{Op: adapter.OpClose}, adapter.Reply{OK: true}},
	} {
		a := c.ask(one.r)
		if one.want.ID = a.ID; !reflect.DeepEqual(a, one.want) {
			t.Errorf("%s %s: %+v\nwant %+v", one.r.Op, one.r.Key, a, one.want)
		}
	}
}

// TestUnclaimed: what a lock does not claim is not said of it, and it can do no more than it has.
func TestUnclaimed(t *testing.T) {
	c := serve(t, plain{&able{}}, clients.Declaration{Name: "mine"})
	if says := c.hello(); !reflect.DeepEqual(says,
		adapter.Declaration{Name: "mine", Token: "none", Permits: 1, Confirms: []string{}, Can: []string{}}) {
		t.Errorf("%+v", says)
	}
	if a := c.ask(adapter.Request{Op: adapter.OpAcquire, Key: "k0"}); !a.OK || a.Token != 0 || a.HasValidFor {
		t.Errorf("%+v", a)
	}
	for _, op := range []string{adapter.OpHeld, adapter.OpRenew} {
		for _, grant := range []int64{2, 99} { // one that there is, and one that there never was
			if a := c.ask(adapter.Request{Op: op, Grant: grant}); a.Error != adapter.Unsupported {
				t.Errorf("%s of grant %d: %+v", op, grant, a)
			}
		}
	}
}

// TestFixedLease: a lease that can't be set is declared, so that every fault goes by it.
func TestFixedLease(t *testing.T) {
	c := serve(t, plain{&able{}}, clients.Declaration{Name: "mine", Lease: 1700 * time.Millisecond})
	if says := c.hello(); says.Lease != 1700*time.Millisecond {
		t.Errorf("%+v", says)
	}
	if a := c.opened.Adapter; a == nil || a.Service != "redis" || a.Shared != "/shared" {
		t.Errorf("opened with the adapter %+v", a)
	}
}

// TestLosses: a loss is told of the grant that it is of, and of no other.
func TestLosses(t *testing.T) {
	l := &able{lost: make(chan clients.Loss, 10)}
	c := serve(t, l, clients.Declaration{Name: "mine", Claims: clients.Claims{Validity: "session", Token: "fencing"}})
	c.hello()
	first := c.ask(adapter.Request{Op: adapter.OpAcquire, Key: "k0"})
	c.ask(adapter.Request{Op: adapter.OpRelease, Grant: first.ID})
	second := c.ask(adapter.Request{Op: adapter.OpAcquire, Key: "k0"})
	l.lost <- clients.Loss{Key: "k0", Token: first.Token, Why: "over"} // late: nobody holds that
	l.lost <- clients.Loss{Key: "k0", Token: second.Token, Why: "cut off"}
	l.lost <- clients.Loss{Key: "k0", Why: "no token"}
	for _, want := range []adapter.Event{{Kind: adapter.EventLost, Key: "k0", Grant: second.ID, Why: "cut off"},
		{Kind: adapter.EventLost, Key: "k0", Why: "no token"}} {
		if e := <-c.events; e != want {
			t.Errorf("%+v, want %+v", e, want)
		}
	}
	early := c.ask(adapter.Request{Op: adapter.OpAcquire, Key: "early"})
	if e := <-c.events; e != (adapter.Event{Kind: adapter.EventLost, Key: "early", Grant: early.ID, Why: "before it was told"}) {
		t.Errorf("%+v, and the grant is %d", e, early.ID)
	}
}

// TestRefused: a lock that can't be opened says why, and a line that is none ends the conversation.
func TestRefused(t *testing.T) {
	l := adapted.Lock{Open: func(context.Context, clients.Config) (clients.Lock, error) { return nil, errors.New("no licence") }}
	var out strings.Builder
	err := l.Serve(strings.NewReader(`{"id":1,"op":"acquire","key":"k0"}`+"\n"+`{"id":2,"op":"hello","client":"c1"}`+"\nwhat\n"), &out)
	if err == nil || !strings.Contains(err.Error(), `the request "what"`) {
		t.Error(err)
	}
	if said := out.String(); !strings.Contains(said,
		`{"id":1,"ok":false,"error":"unknown","text":"acquire before hello"}`) || !strings.Contains(said, "no licence") {
		t.Error(said)
	}
}
