package nemesis

import (
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/hosts"
)

// bad is a fault that makes the links between the holder and its peers bad.
func bad(kind string, change func(*Spec)) Spec {
	s := Spec{Kind: kind, Aim: Aim{Holder, Random}}
	change(&s)
	return s
}

func TestCheckRefusesImpossibleConditions(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		spec Spec
		want string // "": it can be
	}{
		{bad(KindDelay, func(s *Spec) { s.Delay, s.Jitter = 50*ms, 10*ms }), ""},
		{bad(KindDelay, func(s *Spec) { s.Delay, s.Peers, s.Way = 50*ms, PeersStore, WayOut }), ""},
		{bad(KindDelay, func(s *Spec) { s.Delay, s.Target, s.Peers = 50*ms, "minority", PeersService }), ""},
		{bad(KindLoss, func(s *Spec) { s.Probability = 1 }), ""},
		{bad(KindDuplicate, func(s *Spec) { s.Probability = .5 }), ""},
		{bad(KindReorder, func(s *Spec) { s.Probability, s.Delay = .5, ms }), ""},
		{bad(KindRate, func(s *Spec) { s.BytesPerSecond = 1 }), ""},
		{bad(KindBlackHole, func(s *Spec) { s.MaxBytes = 60 }), ""},
		{bad(KindDelay, func(s *Spec) {}), "a delay needs delay: how late"},
		{bad(KindDelay, func(s *Spec) { s.Delay, s.Jitter = ms, 2*ms }), "0 ≤ jitter ≤ delay"},
		{bad(KindDelay, func(s *Spec) { s.Delay, s.Probability = ms, .5 }), "a delay takes no probability, only peers, way, delay, jitter"},
		{bad(KindDelay, func(s *Spec) { s.Delay, s.Peers = ms, PeersClients }), "no link of holder leads there"},
		{bad(KindDelay, func(s *Spec) { s.Delay, s.Way = ms, "up" }), `unknown way "up"`},
		{bad(KindDelay, func(s *Spec) { s.Delay, s.Target = ms, Service }), "target service is for a partition"},
		{bad(KindLoss, func(s *Spec) {}), "a loss needs probability"},
		{bad(KindLoss, func(s *Spec) { s.Probability = 1.5 }), "a probability from 0 to 1"},
		{bad(KindLoss, func(s *Spec) { s.Probability = -.5 }), "a loss needs probability"},
		{bad(KindReorder, func(s *Spec) { s.Probability = .5 }), "a reorder needs delay, and the probability"},
		{bad(KindReorder, func(s *Spec) { s.Probability, s.Delay = 1, ms }), "a reorder needs delay, and the probability"},
		{bad(KindRate, func(s *Spec) { s.BytesPerSecond = -1 }), "a rate needs bytes_per_second"},
		{bad(KindBlackHole, func(s *Spec) { s.MaxBytes = -1 }), "a black-hole needs max_bytes"},
		{bad(KindRate, func(s *Spec) { s.BytesPerSecond, s.MaxBytes = 1, 60 }), "a rate takes no max_bytes"},
	} {
		err := Check(c.spec, Setting{Nodes: five})
		if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.spec, err, c.want)
		}
	}
}

// A bad network lies between those that were named and nobody else; where
// nobody sends anything it has hit nobody; and a second healing tells the same.
func TestDegradeLiesOnItsLinksOnly(t *testing.T) {
	n, node, client, store := newNet(t)
	const delay = 100 * time.Millisecond
	s := bad(KindDelay, func(s *Spec) { s.Delay, s.Peers = delay, PeersService })
	connect := func(to *hosts.Host) time.Duration {
		l, err := to.Listen(0)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		begun := time.Now()
		conn, err := client.Dial(t.Context(), "tcp", netip.MustParseAddrPort(l.Addr().String()))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		return time.Since(begun)
	}
	site := Site{Part: Part{Spec: s}, Victims: Victims{Nodes: []Place{{Name: "client-1"}}}, Resources: Resources{Net: n},
		Tag: "test", Rand: rand.New(rand.NewPCG(1, 2))}
	// Now, since what ends a connection may be sent once more long after it was closed.
	d, err := Inject(t.Context(), site)
	if err != nil {
		t.Fatal(err)
	}
	if effect, err := d.Heal(); err != nil || effect.Bit {
		t.Errorf("a bad link that nobody used: %+v, %v", effect, err)
	}
	if d, err = Inject(t.Context(), site); err != nil {
		t.Fatal(err)
	}
	if took := connect(node); took < 2*delay {
		t.Errorf("a connection over the bad link took %v", took)
	}
	connect(store)
	effect, err := d.Heal()
	if err != nil || !effect.Bit || effect.From != d.From() || effect.Lasted() < 2*delay {
		t.Errorf("%+v, %v", effect, err)
	}
	for _, w := range []string{"client-1 → n1 ", "n1 → client-1 ", "round trip between client-1 and n1: "} {
		if !strings.Contains(effect.Proof, w) || strings.Contains(effect.Proof, "store") {
			t.Errorf("the proof does not tell of %q alone: %s", w, effect.Proof)
		}
	}
	if again, err := d.Heal(); err != nil || again != effect {
		t.Errorf("healed again: %+v, %v", again, err)
	}
}
