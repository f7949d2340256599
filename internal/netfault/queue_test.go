//go:build linux

package netfault

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/hoststest"
	"github.com/lockchaos/lockchaos/internal/monotime"
)

func seeded() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// sides are the two places of a fault on packets from a to b: on their way out
// of a, and on their way in to b.
func sides(a, b *hosts.Host) map[string]struct {
	at    *hosts.Host
	match Match
} {
	return map[string]struct {
		at    *hosts.Host
		match Match
	}{"out": {a, Match{Dir: Out, Peer: b.Addr}}, "in": {b, Match{Dir: In, Peer: a.Addr}}}
}

// Packets of one direction are late by the delay at least; those of the other
// direction and of other pairs do not pass the queue.
func TestDelay(t *testing.T) {
	_, hs := hoststest.Network(t, "a", "b", "c")
	a, b, c := mailbox(t, hs[0]), mailbox(t, hs[1]), mailbox(t, hs[2])
	for side, s := range sides(hs[0], hs[1]) {
		t.Run(side, func(t *testing.T) {
			const delay, n = 30 * time.Millisecond, 10
			d := must[*Diversion](t)(open(t, s.at).Degrade("delay", Conditions{Delay: delay}, seeded(), s.match))
			for i := range n {
				begun := monotime.Now()
				send(t, a, hs[1], fmt.Sprint(i))
				if got := receive(t, b); got != fmt.Sprint(i) {
					t.Errorf("received %q", got)
				}
				if took := monotime.Since(begun); took < delay {
					t.Errorf("packet %d took %v, want %v at least", i, took, delay)
				}
				send(t, b, hs[0], "back")
				receive(t, a)
				send(t, a, hs[2], "other")
				receive(t, c)
			}
			if got := must[Stats](t)(d.Remove()); got.Seen != n || got.Delayed != n || got.First == 0 || got.Last <= got.First {
				t.Errorf("evidence: %+v", got)
			}
		})
	}
}

// What waits when a fault is healed goes on at once, in its order.
func TestHealingLetsGo(t *testing.T) {
	_, hs := hoststest.Network(t, "a", "b")
	a, b := mailbox(t, hs[0]), mailbox(t, hs[1])
	d := must[*Diversion](t)(open(t, hs[1]).Degrade("delay", Conditions{Delay: time.Hour}, seeded(), Match{}))
	const n = 50
	for i := range n {
		send(t, a, hs[1], fmt.Sprint(i))
	}
	if _, err := d.Await(within(t), func(s Stats) bool { return s.Delayed == n }); err != nil {
		t.Fatal(err)
	}
	must[Stats](t)(d.Remove())
	for i := range n {
		if got := receive(t, b); got != fmt.Sprint(i) {
			t.Fatalf("packet %d is %q", i, got)
		}
	}
}

// Packets that the kernel has queued, and that nobody has read yet when the filter closes, go on.
func TestCloseLosesNone(t *testing.T) {
	_, hs := hoststest.Network(t, "a", "b")
	a, b, f := mailbox(t, hs[0]), mailbox(t, hs[1]), open(t, hs[1])
	busy, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	d := must[*Diversion](t)(f.Divert("busy", func(*Packet) Fate {
		once.Do(func() { close(busy); <-goOn })
		return Fate{}
	}, Match{}))
	const n = 50
	for i := range n {
		send(t, a, hs[1], fmt.Sprint(i))
	}
	<-busy
	decided.Await(t, "all packets are queued", func() bool {
		packets, _ := Total(must[[]Count](t)(d.rule.Counts()))
		return packets >= n
	})
	closed := make(chan error, 1)
	go func() { closed <- f.Close() }()
	decided.Await(t, "the rules are removed", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return d.rule.removed
	})
	close(goOn)
	if err := <-closed; err != nil {
		t.Error(err)
	}
	for i := range n {
		if got := receive(t, b); got != fmt.Sprint(i) {
			t.Fatalf("packet %d is %q", i, got)
		}
	}
}

// A filter can be closed however long ago its queue's last verdict was, whose time limit is over.
func TestCloseLongAfterTheLastPacket(t *testing.T) {
	_, hs := hoststest.Network(t, "a")
	f := open(t, hs[0])
	must[*Diversion](t)(f.Divert("idle", func(*Packet) Fate { return Fate{} }, Match{}))
	if err := f.queue.nf.Con.SetWriteDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

// numbered sends n numbered datagrams, one after the other, and returns what
// came of them, in the order of arrival. The queue must see every one.
func numbered(t *testing.T, n int, f *Filter, c Conditions, match Match, from, to *hosts.Host) (arrived []string, s Stats) {
	t.Helper()
	a, b := mailbox(t, from), mailbox(t, to)
	d := must[*Diversion](t)(f.Degrade("chaos", c, seeded(), match))
	for i := range n {
		send(t, a, to, fmt.Sprint(i))
		if i%50 == 49 { // not more at once than the sockets can take
			if _, err := d.Await(within(t), func(s Stats) bool { return s.Seen == uint64(i+1) }); err != nil {
				t.Fatal(err)
			}
		}
	}
	s = must[Stats](t)(d.Remove()) // everything is on its way
	send(t, a, to, "end")
	for {
		got := receive(t, b)
		if got == "end" {
			return arrived, s
		}
		arrived = append(arrived, got)
	}
}

// fates replays the decisions about n datagrams: they depend on the seed alone.
func fates(n int, c Conditions) (all []Fate) {
	decide := Degrade(c, seeded())
	for range n {
		all = append(all, decide(&Packet{At: 1, Size: 30}))
	}
	return all
}

func TestLossIsSeeded(t *testing.T) {
	_, hs := hoststest.Network(t, "a", "b")
	for side, s := range sides(hs[0], hs[1]) {
		t.Run(side, func(t *testing.T) {
			const n = 500
			c := Conditions{Loss: .1}
			arrived, stats := numbered(t, n, open(t, s.at), c, s.match, hs[0], hs[1])
			var want []string
			for i, f := range fates(n, c) {
				if !f.Drop {
					want = append(want, fmt.Sprint(i))
				}
			}
			if fmt.Sprint(arrived) != fmt.Sprint(want) || len(want) == n {
				t.Errorf("%d of %d arrived, want %d: other ones than the seed says", len(arrived), n, len(want))
			}
			if stats.Dropped != uint64(n-len(want)) {
				t.Errorf("evidence: %v", stats)
			}
		})
	}
}

func TestDuplicates(t *testing.T) {
	_, hs := hoststest.Network(t, "a", "b")
	const n = 500
	c := Conditions{Duplicate: .1}
	arrived, stats := numbered(t, n, open(t, hs[0]), c, Match{Dir: Out, Peer: hs[1].Addr}, hs[0], hs[1])
	var want []string
	for i, f := range fates(n, c) {
		for range 1 + f.Copies {
			want = append(want, fmt.Sprint(i))
		}
	}
	if fmt.Sprint(arrived) != fmt.Sprint(want) || len(want) == n {
		t.Errorf("%d arrived, want %d", len(arrived), len(want))
	}
	if stats.Copied != uint64(len(want)-n) || stats.Errors != 0 {
		t.Errorf("evidence: %v", stats)
	}
}

// Packets that skip the delay overtake those that do not; all arrive.
func TestReorder(t *testing.T) {
	_, hs := hoststest.Network(t, "a", "b")
	const n = 500
	// the delayed ones leave when the fault is healed
	c := Conditions{Delay: time.Hour, Reorder: .5}
	arrived, stats := numbered(t, n, open(t, hs[1]), c, Match{Peer: hs[0].Addr}, hs[0], hs[1])
	var first, later []string
	for i, f := range fates(n, c) {
		if f.Delay == 0 {
			first = append(first, fmt.Sprint(i))
		} else {
			later = append(later, fmt.Sprint(i))
		}
	}
	if fmt.Sprint(arrived) != fmt.Sprint(append(first, later...)) || len(first) == 0 || len(later) == 0 {
		t.Errorf("%d overtook %d, but not as the seed says: %v", len(first), len(later), arrived)
	}
	if stats.Delayed != uint64(len(later)) {
		t.Errorf("evidence: %v", stats)
	}
}

// A rate bounds how fast bytes pass.
func TestRate(t *testing.T) {
	_, hs := hoststest.Network(t, "a", "b")
	a, b := mailbox(t, hs[0]), mailbox(t, hs[1])
	const rate, n, size = 200_000, 20, 1000 + 28
	must[*Diversion](t)(open(t, hs[0]).Degrade("rate", Conditions{Rate: rate}, seeded(), Match{Dir: Out, Peer: hs[1].Addr}))
	begun := monotime.Now()
	for range n {
		send(t, a, hs[1], strings.Repeat("x", 1000))
	}
	for range n {
		receive(t, b)
	}
	if took, least := monotime.Since(begun), time.Second*n*size/rate; took < least {
		t.Errorf("%d packets of %d bytes took %v, want %v at least", n, size, took, least)
	}
}

// The packet of a client that has given up: its request is held, the client times out and
// closes, another sets the key; then the request arrives and takes effect all the same.
func TestLateRequest(t *testing.T) {
	_, hs := hoststest.Network(t, "late", "redis", "other")
	startRedis(t, hs[1])
	for side, s := range sides(hs[0], hs[1]) {
		t.Run(side, func(t *testing.T) {
			late, other := connect(t, hs[0], hs[1]), connect(t, hs[2], hs[1])
			d := must[*Diversion](t)(open(t, s.at).Divert("hold",
				Hold(All(RedisCommand("set", "key"), Contains("late-"+side)), 0), s.match))
			must[string](t)(late.do(limit, "SET", "key", "early")) // does not match
			if err := late.ask("set", "key", "late-"+side); err != nil {
				t.Fatal(err)
			}
			if _, err := d.Await(within(t), func(s Stats) bool { return s.Held == 1 }); err != nil {
				t.Fatal(err)
			}
			_ = late.SetDeadline(time.Now().Add(10 * time.Millisecond)) // the client's timeout
			if _, err := late.in.ReadByte(); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatalf("the request was answered: %v", err)
			}
			late.Close()
			must[string](t)(other.do(limit, "SET", "key", "newer"))
			if side == "in" { // the sender's TCP tries again; that must not get through
				if _, err := d.Await(within(t), func(s Stats) bool { return s.Repeated > 0 }); err != nil {
					t.Fatal(err)
				}
			}
			if got := must[string](t)(other.do(limit, "GET", "key")); got != "newer" {
				t.Fatalf("before the release key is %q", got)
			}
			if held := d.Held(); len(held) != 1 || !strings.Contains(string(held[0].Payload), "late-") ||
				held[0].Connection().Peer.Addr() != s.match.Peer {
				t.Errorf("held: %+v", held)
			}
			if n := d.Release(); n != 1 {
				t.Errorf("released %d", n)
			}
			other.awaitValue(t, "key", "late-"+side)
			if got := must[Stats](t)(d.Remove()); got.Held != 1 || got.Released != 1 || got.Dropped != 0 {
				t.Errorf("evidence: %v", got)
			}
		})
	}
}

// A hold with a limit ends by itself; a reply can be held as well as a request.
func TestHoldForAWhile(t *testing.T) {
	_, hs := hoststest.Network(t, "client", "redis")
	startRedis(t, hs[1])
	const longest = 50 * time.Millisecond
	for name, decide := range map[string]func() Decide{
		"request": func() Decide { return Hold(RedisCommand("incr"), longest) },
		"reply":   func() Decide { return HoldReply(RedisCommand("incr"), nil, longest) },
	} {
		for i, h := range hs {
			t.Run(name+" at "+h.Name, func(t *testing.T) {
				c := connect(t, hs[0], hs[1])
				f := open(t, h)
				d := must[*Diversion](t)(f.Divert("hold", decide(), Both(hs[1-i].Addr)...))
				begun := time.Now()
				must[string](t)(c.do(limit, "INCR", "n"))
				if took := time.Since(begun); took < longest {
					t.Errorf("it took %v, want %v at least", took, longest)
				}
				if s := must[Stats](t)(d.Remove()); s.Held != 1 || s.Released != 1 {
					t.Errorf("evidence: %v", s)
				}
				if err := f.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// A cut aimed at one request of one client, at each of its moments, on either
// side: what has happened, and what the client can know.
func TestCutAt(t *testing.T) {
	_, hs := hoststest.Network(t, "client", "redis", "other")
	startRedis(t, hs[1])
	other := connect(t, hs[2], hs[1])
	for _, how := range []Cutting{Reset, Silence} {
		reset := how == Reset
		for i, h := range hs[:2] {
			for _, when := range []Moment{BeforeRequest, AfterRequest, AfterReply} {
				t.Run(fmt.Sprintf("%v at %s, reset %v", when, h.Name, reset), func(t *testing.T) {
					key := strings.ReplaceAll(t.Name(), "/", "-")
					c := connect(t, hs[0], hs[1])
					must[string](t)(c.do(limit, "PING"))
					f := open(t, h)
					d := must[*Diversion](t)(f.Divert("cut", CutAt(when, RedisCommand("SET", key), nil, how), Both(hs[1-i].Addr)...))
					must[string](t)(c.do(limit, "SET", "another", "v"))

					timeout := limit
					if !reset && when != AfterReply {
						// silence: only the client's own timeout ends it
						timeout = 100 * time.Millisecond
					}
					answer, err := c.do(timeout, "SET", key, "v")
					if answered := when == AfterReply; answered != (err == nil) || answered && answer != "OK" {
						t.Errorf("the client got %q, %v", answer, err)
					}
					if when != AfterReply {
						checkCut(t, err, reset)
					} else {
						if reset {
							if _, err := d.Await(within(t), func(s Stats) bool { return s.Reset == 1 }); err != nil {
								t.Fatal(err)
							}
						} else {
							timeout = 100 * time.Millisecond
						}
						_, err := c.do(timeout, "GET", key)
						checkCut(t, err, reset)
					}
					want := "v"
					if when == BeforeRequest {
						want = ""
					}
					if got := must[string](t)(other.do(limit, "GET", key)); got != want {
						t.Errorf("the key is %q, want %q", got, want)
					}
					if reset {
						if _, err := d.Await(within(t), func(s Stats) bool { return s.Reset == 1 }); err != nil {
							t.Fatal(err)
						}
					}
					s := must[Stats](t)(d.Remove())
					if s.First == 0 || (s.Reset == 1) != reset || s.Errors > 0 {
						t.Errorf("evidence: %v", s)
					}
					if err := f.Close(); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}

// checkCut checks what a client sees of a connection that was cut.
func checkCut(t *testing.T, err error, reset bool) {
	t.Helper()
	if reset && !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.ECONNABORTED) && !errors.Is(err, syscall.EPIPE) {
		t.Errorf("the client sees %v, want a reset", err)
	}
	if !reset && !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the client sees %v, want silence", err)
	}
}

// From the k-th packet on nothing arrives, until the fault is healed.
func TestDropFrom(t *testing.T) {
	_, hs := hoststest.Network(t, "a", "b")
	a, b := mailbox(t, hs[0]), mailbox(t, hs[1])
	d := must[*Diversion](t)(open(t, hs[1]).Divert("drop", DropFrom(3, HasPayload), Match{Peer: hs[0].Addr}))
	for i := range 5 {
		send(t, a, hs[1], fmt.Sprint(i))
	}
	if _, err := d.Await(within(t), func(s Stats) bool { return s.Seen == 5 }); err != nil {
		t.Fatal(err)
	}
	if s := must[Stats](t)(d.Remove()); s.Dropped != 3 {
		t.Errorf("evidence: %v", s)
	}
	send(t, a, hs[1], "healed")
	for _, want := range []string{"0", "1", "healed"} {
		if got := receive(t, b); got != want {
			t.Errorf("received %q, want %q", got, want)
		}
	}
}

// Faults on the same packets add up, and end one by one: a hold outlives the
// delay that was healed, a cut comes first of all.
func TestFaultsCombine(t *testing.T) {
	_, hs := hoststest.Network(t, "a", "b")
	a, b := mailbox(t, hs[0]), mailbox(t, hs[1])
	f := open(t, hs[1])
	from := Match{Peer: hs[0].Addr}
	const delay = 20 * time.Millisecond
	late := must[*Diversion](t)(f.Degrade("delay", Conditions{Delay: delay}, seeded(), from))
	more := must[*Diversion](t)(f.Degrade("more delay", Conditions{Delay: delay}, seeded(), from))
	hold := must[*Diversion](t)(f.Divert("hold", Hold(Contains("held"), 0), from))
	begun := monotime.Now()
	send(t, a, hs[1], "one")
	if got := receive(t, b); got != "one" || monotime.Since(begun) < 2*delay {
		t.Errorf("received %q after %v", got, monotime.Since(begun))
	}
	send(t, a, hs[1], "held")
	if _, err := hold.Await(within(t), func(s Stats) bool { return s.Held == 1 }); err != nil {
		t.Fatal(err)
	}
	send(t, a, hs[1], "two")
	if got := receive(t, b); got != "two" {
		t.Errorf("received %q: a delay has ended the hold", got)
	}
	must[Stats](t)(late.Remove())
	must[Stats](t)(more.Remove())
	if n := len(hold.Held()); n != 1 {
		t.Errorf("%d packets are held", n)
	}
	cut := must[*Rule](t)(f.Drop("cut", from))
	send(t, a, hs[1], "cut")
	decided.Await(t, "dropped", func() bool { return must[[]Count](t)(cut.Counts())[0].Packets == 1 })
	if s := hold.Stats(); s.Seen != 3 {
		t.Errorf("the queue has seen what was cut: %v", s)
	}
	must[[]Count](t)(cut.Remove())
	must[Stats](t)(hold.Remove())
	if got := receive(t, b); got != "held" {
		t.Errorf("received %q", got)
	}
}
