package nemesis

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/netfault"
)

func held(request Request, when Moment, change func(*Spec)) Spec {
	s := Spec{Kind: KindHold, Aim: Aim{Holder, when}, Request: request}
	if change != nil {
		change(&s)
	}
	return s
}

func TestCheckRefusesRequestsThatAreNotMet(t *testing.T) {
	cutAt := func(p Point) func(*Spec) { return func(s *Spec) { s.Kind, s.Point = KindCut, p } }
	to := func(p Peers) func(*Spec) { return func(s *Spec) { s.Peers = p } }
	for _, c := range []struct {
		spec Spec
		want string // "": it can be
	}{
		{held(RequestAcquire, Acquiring, nil), ""},
		{held(RequestAcquire, Acquiring, to("minority")), ""},
		{held(RequestRenew, AfterGrant, nil), ""},
		{held(RequestRelease, BeforeWrite, to(PeersService)), ""},
		{held(RequestRead, AfterGrant, nil), ""},
		{held(RequestWrite, Random, to(PeersStore)), ""},
		{held(RequestRead, Random, nil), ""},
		{held(RequestWrite, BeforeWrite, cutAt("before-request")), ""},
		{held(RequestWrite, BeforeWrite, func(s *Spec) { cutAt("after-reply")(s); s.Silent = true }), ""},
		{held("hello", BeforeWrite, nil), `needs a request: one of acquire, give-up, renew, release, read, write, any; not "hello"`},
		{held("", BeforeWrite, nil), "needs a request"},
		{held(RequestAny, Random, func(s *Spec) { s.Target, s.Peers = "client-1", "n2" }), ""},
		{held(RequestAny, Random, func(s *Spec) { s.Target, s.Peers = "client-1", PeersStore }), ""},
		{held(RequestAny, Random, nil), "request any: it strikes a client by its number"},
		{held(RequestAny, BeforeWrite, func(s *Spec) { s.Target = "client-1" }), "request any: it strikes a client by its number"},
		{held(RequestAny, Random, func(s *Spec) { s.Target, s.Peers = "client-1", PeersAll }), "its service or its store"},
		{held(RequestAcquire, AfterGrant, nil), "an acquire is met at acquiring"},
		{held(RequestRelease, Acquiring, nil), "an acquire is met at acquiring"},
		{held(RequestRead, BeforeWrite, nil), "request read at before-write: it has been sent by then"},
		{held(RequestWrite, BeforeWrite, to(PeersService)), "it goes to the store, not to service"},
		{held(RequestRelease, BeforeWrite, to(PeersStore)), "it goes to the lock service, not to store"},
		{held(RequestRelease, BeforeWrite, to(PeersAll)), "it goes to the lock service, not to all"},
		{held(RequestRelease, BeforeWrite, to("n9")), `unknown target "n9"`},
		{held(RequestRelease, BeforeWrite, func(s *Spec) { s.Way = WayBoth }), "a hold of both ways"},
		{held(RequestRelease, Random, func(s *Spec) { s.Target = "n1" }), "a hold strikes clients only"},
		{held(RequestRelease, BeforeWrite, func(s *Spec) { s.Silent = true }), "a hold takes no silent"},
		{held(RequestWrite, BeforeWrite, cutAt("")), "needs a point: one of after-reply, after-request, before-request"},
		{held(RequestWrite, BeforeWrite, func(s *Spec) { cutAt("after-reply")(s); s.Way = WayIn }), "a cut takes no way"},
		{Spec{Kind: KindKillAtReply, Aim: Aim{Holder, Acquiring}, Request: RequestAcquire, InTurn: true}, ""},
		{Spec{Kind: KindKillAtReply, Aim: Aim{Holder, Acquiring}}, "needs a request"},
		{Spec{Kind: KindKill, Aim: Aim{Holder, Acquiring}, InTurn: true}, "a kill takes no in_turn"},
		{Spec{Kind: KindReset, Aim: Aim{"n1", Random}, Peers: PeersClients}, ""},
		{Spec{Kind: KindReset, Aim: Aim{Holder, BeforeWrite}, Way: WayIn}, "a reset takes no way"},
	} {
		err := Check(c.spec, Setting{Nodes: five})
		if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.spec, err, c.want)
		}
	}
}

// Whom a fault touches that is aimed at a request follows from where that goes.
func TestWhomRequestsTouch(t *testing.T) {
	for _, r := range Requests() {
		s := held(r, AfterGrant, nil)
		if !s.OnLinks() || !s.Waits() || s.HitsStore() != r.ofStore() || s.HitsLock() == r.ofStore() {
			t.Errorf("%s: lock %v, store %v", r, s.HitsLock(), s.HitsStore())
		}
	}
	if (Spec{Kind: KindReset}).Waits() || (Spec{Kind: KindPartition}).Waits() {
		t.Error("a reset and a partition wait for nothing")
	}
}

// A request is found by what the client is doing: an acquire by its key as
// well, a renewal also when the client does nothing with the lock.
func TestRequestsAreFound(t *testing.T) {
	peer, local := netip.MustParseAddrPort("10.0.0.2:6379"), netip.MustParseAddrPort("10.0.0.1:40000")
	packet := func(payload string) *netfault.Packet {
		return &netfault.Packet{Dir: netfault.Out, Src: local, Dst: peer, TCP: true, Payload: []byte(payload)}
	}
	for _, c := range []struct {
		wanted, doing Request
		payload       string
		want          bool
	}{
		{RequestAcquire, RequestAcquire, "SET k0", true},
		{RequestAcquire, RequestAcquire, "HELLO", false},
		{RequestAcquire, "", "SET k0", false},
		{RequestAcquire, RequestRelease, "DEL k0", false},
		{RequestRelease, RequestRelease, "COMMIT", true},
		{RequestRelease, RequestRelease, "", false},
		{RequestRelease, RequestWrite, "renewal", false},
		{RequestWrite, RequestWrite, "write", true},
		{RequestWrite, RequestRead, "read", false},
		{RequestRenew, RequestRenew, "renewal", true},
		{RequestRenew, "", "renewal", true},
		{RequestRenew, RequestWrite, "renewal", true},
		{RequestRenew, "held", "question", false},
		{RequestRenew, RequestRelease, "release", false},
	} {
		f := requestFinder{request: c.wanted, asked: func() (Request, string) { return c.doing, "k0" }}
		if got := f.is(packet(c.payload)); got != c.want || got != (f.found.Load() != nil) {
			t.Errorf("%s while the client does %q, sent %q: %v", c.wanted, c.doing, c.payload, got)
		}
		in := packet(c.payload)
		in.Dir = netfault.In
		if f.is(in) {
			t.Error("what comes in is no request")
		}
	}
}

// A trap that nothing falls into says so, and has had no effect.
func TestTrapInVain(t *testing.T) {
	n, _, _, _ := newNet(t)
	asked := func() (Request, string) { return "", "" }
	trap, err := n.Hold("test", held(RequestWrite, BeforeWrite, nil), "client-1", asked, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := trap.Await(ctx); !errors.Is(err, context.DeadlineExceeded) ||
		!strings.Contains(err.Error(), "no packet came that it is aimed at") {
		t.Errorf("got %v", err)
	}
	if effect, err := trap.Heal(); err != nil || effect.Bit || effect.From != 0 || trap.From() != 0 {
		t.Errorf("%+v, %v", effect, err)
	}
}

// Requests of a call are counted over all connections: what is sent until
// something comes back is one of them.
func TestRequestsAreCounted(t *testing.T) {
	local := netip.MustParseAddrPort("10.0.0.1:40000")
	one, two := netip.MustParseAddrPort("10.0.0.2:6379"), netip.MustParseAddrPort("10.0.0.3:6379")
	out := func(to netip.AddrPort) *netfault.Packet {
		return &netfault.Packet{Dir: netfault.Out, Src: local, Dst: to, TCP: true, Payload: []byte("x")}
	}
	in := func(from netip.AddrPort) *netfault.Packet {
		return &netfault.Packet{Dir: netfault.In, Src: from, Dst: local, TCP: true, Payload: []byte("y")}
	}
	packets := []*netfault.Packet{out(one), out(one), out(two), in(one), out(one), in(one), in(two), out(two)}
	// number of the request → place of the packet that begins it
	meant := map[int]int{1: 0, 2: 2, 3: 4, 4: 7}
	for nth := 1; nth <= 5; nth++ {
		count := &requestCounter{}
		links := map[netip.AddrPort]*requestFinder{}
		for _, peer := range []netip.AddrPort{one, two} {
			links[peer] = Spec{Request: RequestAcquire, Nth: nth}.requestFinder(func() (Request, string) { return RequestAcquire, "k0" }, count)
		}
		for i, p := range packets {
			want, some := meant[nth]
			if got := links[p.Connection().Peer].is(p); got != (some && i == want) {
				t.Errorf("request %d: packet %d is %v", nth, i, got)
			}
		}
	}
}
