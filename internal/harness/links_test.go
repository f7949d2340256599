package harness

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/nftables"
	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/hoststest"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
	"github.com/lockchaos/lockchaos/internal/monotime"
	"github.com/lockchaos/lockchaos/nemesis"
)

// linkLimit bounds every wait of these tests; it is reached only when something is broken.
const linkLimit = decided.Limit

// question is what a client asks a real server, over and over, on one
// connection where the server keeps it open.
type question struct {
	service, ask string
	// answered tells from what came so far whether the answer is whole.
	answered func(text string) bool
}

var questions = []question{
	{"redis", "PING\r\n", func(text string) bool { return text == "+PONG\r\n" }},
	{"etcd", "GET /version HTTP/1.1\r\nHost: etcd\r\n\r\n", func(text string) bool { return strings.HasSuffix(text, "}") }},
	{"zookeeper", "srvr", func(text string) bool { return strings.Contains(text, "Node count") }},
}

// asker is a client host that asks a server.
type asker struct {
	question
	from *hosts.Host
	addr netip.AddrPort
	conn net.Conn // nil: the next question opens one
}

// open connects, if there is no connection.
func (a *asker) open(deadline time.Time) error {
	if a.conn != nil {
		return nil
	}
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	conn, err := a.from.Dial(ctx, "tcp", a.addr)
	if err == nil {
		a.conn = conn
	}
	return err
}

// once asks and returns how long the answer took; the connection's beginning is not counted.
func (a *asker) once(limit time.Duration) (took time.Duration, err error) {
	deadline := time.Now().Add(limit)
	if err := a.open(deadline); err != nil {
		return 0, err
	}
	begun := time.Now()
	if err = a.conn.SetDeadline(deadline); err == nil {
		_, err = io.WriteString(a.conn, a.ask)
	}
	text := ""
	for in := bufio.NewReader(a.conn); err == nil && !a.answered(text); {
		var b byte
		if b, err = in.ReadByte(); err == nil {
			text += string(b)
		}
	}
	took = time.Since(begun)
	if err != nil || a.service == "zookeeper" { // which answers one question a connection
		a.close()
	}
	return took, err
}

func (a *asker) close() {
	if a.conn != nil {
		a.conn.Close()
		a.conn = nil
	}
}

// inject puts a fault on the links between the client and a node.
type inject func(n *nemesis.Net, node string) (nemesis.InEffect, error)

// linkEffect is a fault of links, and what it does to a client of a real
// server. What it returns is done after the healing.
type linkEffect struct {
	name   string
	inject inject
	shows  func(t *testing.T, a *asker, in nemesis.InEffect) (after func())
	proof  []string
}

const client1 = "client-1"

func seeded() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

// degrades makes the links bad. The node is the target, since clients and nodes see the same links.
func degrades(s nemesis.Spec) inject {
	return func(n *nemesis.Net, node string) (nemesis.InEffect, error) {
		s.Aim, s.Peers = nemesis.Aim{Target: nemesis.Target(node), When: nemesis.Random}, nemesis.PeersClients
		return nemesis.Inject(context.Background(),
			nemesis.Site{Part: nemesis.Part{Spec: s}, Victims: nemesis.Victims{Nodes: []nemesis.Place{{Name: node}}},
				Resources: nemesis.Resources{Net: n}, Tag: "test", Rand: seeded()})
	}
}

// asked is what the traps of these tests are told: the client is always asked
// for its release, whatever its packets look like.
func asked() (nemesis.Request, string) { return nemesis.RequestRelease, "" }

func holds(way nemesis.Way) inject {
	return func(n *nemesis.Net, node string) (nemesis.InEffect, error) {
		return n.Hold("test", nemesis.Spec{Kind: nemesis.KindHold,
			Aim: nemesis.Aim{Target: nemesis.Holder, When: nemesis.BeforeWrite}, Way: way,
			Request: nemesis.RequestRelease, Peers: nemesis.Peers(node)}, client1, asked, seeded())
	}
}

func cuts(point nemesis.Point, silent bool) inject {
	return func(n *nemesis.Net, node string) (nemesis.InEffect, error) {
		return n.CutRequest("test", nemesis.Spec{Kind: nemesis.KindCut,
			Aim: nemesis.Aim{Target: nemesis.Holder, When: nemesis.BeforeWrite}, Point: point,
			Silent: silent, Request: nemesis.RequestRelease, Peers: nemesis.Peers(node)}, client1, asked, seeded())
	}
}

// resets opens a connection and breaks it. Before that there is none to break,
// and that is no fault.
func resets(a *asker) inject {
	return func(n *nemesis.Net, node string) (nemesis.InEffect, error) {
		reset := func() (*nemesis.Instantaneous, error) {
			return n.Reset(nemesis.Spec{Kind: nemesis.KindReset,
				Aim: nemesis.Aim{Target: nemesis.Holder, When: nemesis.Random}, Peers: nemesis.Peers(node)},
				[]string{client1}, seeded())
		}
		a.close()
		limit := time.Now().Add(linkLimit)
		for { // what was closed just now is still there for a moment
			if _, err := reset(); errors.Is(err, nemesis.ErrMissed) {
				break
			} else if err != nil || time.Now().After(limit) {
				return nil, fmt.Errorf("without a connection, a reset came to: %w", err)
			}
		}
		if err := a.open(limit); err != nil {
			return nil, err
		}
		return reset()
	}
}

func linkEffects(a *asker) []linkEffect {
	const ms = time.Millisecond
	all := []linkEffect{
		{"delay", degrades(nemesis.Spec{Kind: nemesis.KindDelay, Delay: 60 * ms, Jitter: 10 * ms}), slow(100 * ms),
			[]string{"delayed", "round trip between ", " during"}},
		{"delay in", degrades(nemesis.Spec{Kind: nemesis.KindDelay, Delay: 60 * ms, Way: nemesis.WayIn}), slow(60 * ms),
			[]string{"delayed", "client-1 → "}},
		{"loss", degrades(nemesis.Spec{Kind: nemesis.KindLoss, Probability: 1}), silent, []string{"dropped"}},
		{"duplicate", degrades(nemesis.Spec{Kind: nemesis.KindDuplicate, Probability: 1}), slow(0), []string{"copies sent"}},
		{"reorder", degrades(nemesis.Spec{Kind: nemesis.KindReorder, Probability: .5, Delay: 5 * ms}), often, []string{"delayed"}},
		// packets of 40 bytes and more, both ways
		{"rate", degrades(nemesis.Spec{Kind: nemesis.KindRate, BytesPerSecond: 2000}), slow(40 * ms), []string{"delayed"}},
		// a bare acknowledgement has 52 bytes, the shortest question 58
		{"black hole", degrades(nemesis.Spec{Kind: nemesis.KindBlackHole, MaxBytes: 52}), silent, []string{"dropped"}},
		{"hold request", holds(""), late(80 * ms), []string{"release, client-1 → ", "then delivered"}},
		{"hold reply", holds(nemesis.WayIn), late(80 * ms), []string{"the reply to release, ", " → client-1", "then delivered"}},
		{"cut before request", cuts("before-request", false), broken, []string{"reset before-request of release", "1 connections reset"}},
		{"cut after request", cuts("after-request", false), broken, []string{"reset after-request of release", "1 connections reset"}},
		{"cut silently", cuts("after-request", true), silent, []string{"silenced after-request of release", "dropped"}},
		{"reset", resets(a), broken, []string{"connections reset: ", "(client-1 – "}},
	}
	if a.service != "zookeeper" { // whose own end of the connection comes with the answer
		all = append(all, linkEffect{"cut after reply", cuts("after-reply", false), answeredThenBroken,
			[]string{"reset after-reply of release"}})
	}
	return all
}

// slow expects an answer that takes so long at least.
func slow(least time.Duration) func(*testing.T, *asker, nemesis.InEffect) func() {
	return func(t *testing.T, a *asker, _ nemesis.InEffect) func() {
		took, err := a.once(linkLimit)
		if err != nil || took < least {
			t.Errorf("an answer after %v, %v; want one, and %v at least", took, err, least)
		}
		return nil
	}
}

// often expects twenty answers.
func often(t *testing.T, a *asker, in nemesis.InEffect) func() {
	for range 20 {
		slow(0)(t, a, in)
	}
	return nil
}

// silent expects no answer.
func silent(t *testing.T, a *asker, in nemesis.InEffect) func() {
	if took, err := a.once(200 * time.Millisecond); !timedOut(err) {
		t.Errorf("after %v: %v; want silence", took, err)
	}
	return nil
}

func timedOut(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// broken expects a connection that does not outlive the question.
func broken(t *testing.T, a *asker, _ nemesis.InEffect) func() {
	took, err := a.once(linkLimit)
	if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.ECONNABORTED) && !errors.Is(err, syscall.EPIPE) {
		t.Errorf("after %v: %v; want a reset", took, err)
	}
	return nil
}

func answeredThenBroken(t *testing.T, a *asker, in nemesis.InEffect) func() {
	slow(0)(t, a, in)
	sprung(t, in)
	return broken(t, a, in)
}

// late asks, and expects the answer for after the healing, which comes after so long at least.
func late(least time.Duration) func(*testing.T, *asker, nemesis.InEffect) func() {
	return func(t *testing.T, a *asker, in nemesis.InEffect) func() {
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			slow(least)(t, a, in)
		}()
		sprung(t, in)
		<-time.After(least - time.Duration(monotime.Since(in.From())))
		return func() { <-answered }
	}
}

// sprung waits for a trap.
func sprung(t *testing.T, in nemesis.InEffect) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), linkLimit)
	defer cancel()
	if err := in.(*nemesis.Trap).Await(ctx); err != nil {
		t.Error(err)
	}
}

// Each fault of links does to clients of real servers what it says, proves it, and
// leaves nothing behind: the round trip is back, and there is no rule and no queue.
func TestLinkFaultsOnRealServers(t *testing.T) {
	t.Parallel()
	for _, q := range questions {
		t.Run(q.service, func(t *testing.T) {
			installed(t, q.service)
			t.Parallel()
			network, all := hoststest.Network(t, client1, "store")
			ctx, cancel := context.WithTimeout(t.Context(), linkLimit)
			defer cancel()
			s, err := backends.Start(ctx, network, backends.Spec{Service: q.service, Logs: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
			node := s.Nodes[0]
			a := &asker{question: q, from: all[0], addr: netip.MustParseAddrPort(s.Addrs()[0])}
			t.Cleanup(a.close)
			var nodes []nemesis.Place
			for _, n := range s.Nodes {
				nodes = append(nodes, nemesis.Place{Name: n.Name, Host: n.Host})
			}
			n := nemesis.NewNet(nodes, []nemesis.Place{{Name: client1, Host: all[0]}}, nemesis.Place{Name: "store", Host: all[1]})
			quick(t, a)
			for _, e := range linkEffects(a) {
				t.Run(e.name, func(t *testing.T) { injected(t, n, node.Name, a, e) })
			}
			if err := n.Close(); err != nil {
				t.Error(err)
			}
			untouched(t, all[0], node.Host)
		})
	}
}

// injected injects a fault, looks at what it does and how it proves that, heals
// it, and waits until the server answers as before.
func injected(t *testing.T, n *nemesis.Net, node string, a *asker, e linkEffect) {
	in, err := e.inject(n, node)
	if err != nil {
		t.Fatal(err)
	}
	after := e.shows(t, a, in)
	effect, err := in.Heal()
	if err != nil || !effect.Bit || effect.From == 0 || effect.To <= effect.From {
		t.Errorf("%+v, %v", effect, err)
	}
	for _, w := range e.proof {
		if !strings.Contains(effect.Proof, w) {
			t.Errorf("the proof does not tell of %q: %s", w, effect.Proof)
		}
	}
	if again, err := in.Heal(); err != nil || again != effect {
		t.Errorf("healed again: %+v, %v", again, err)
	}
	if after != nil {
		after()
	}
	quick(t, a)
}

// quick waits until the server answers as on a good network.
func quick(t *testing.T, a *asker) {
	t.Helper()
	for end := time.Now().Add(linkLimit); ; {
		took, err := a.once(linkLimit)
		if err == nil && took < 40*time.Millisecond {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("after the healing an answer takes %v, %v", took, err)
		}
	}
}

// untouched fails the test if a host has a packet filter or a queue left.
func untouched(t *testing.T, all ...*hosts.Host) {
	t.Helper()
	for _, h := range all {
		err := h.Do(func() error {
			conn, err := nftables.New()
			if err != nil {
				return err
			}
			tables, err := conn.ListTables()
			if err != nil || len(tables) > 0 {
				return fmt.Errorf("%d tables are left, %v", len(tables), err)
			}
			queues, err := os.ReadFile("/proc/thread-self/net/netfilter/nfnetlink_queue")
			if errors.Is(err, fs.ErrPermission) && len(queues) == 0 {
				return nil // an ordinary user may not see the list
			}
			if err != nil || len(queues) > 0 {
				return fmt.Errorf("queues are left: %s, %v", queues, err)
			}
			return nil
		})
		if err != nil {
			t.Errorf("host %s: %v", h.Name, err)
		}
	}
}

// installed skips a test of a service whose servers are not on this machine.
func installed(t *testing.T, service string) {
	t.Helper()
	var errs []error
	switch service {
	case "zookeeper":
		_, java := backends.FindJava()
		_, zookeeper := backends.FindZooKeeper()
		errs = append(errs, java, zookeeper)
	case "postgres":
		_, err := backends.FindPostgres()
		errs = append(errs, err)
	}
	needed.Be(t, errs...)
}
