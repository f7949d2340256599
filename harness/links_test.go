package harness

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/nftables"
	"github.com/lockchaos/lockchaos/backends"
	"github.com/lockchaos/lockchaos/hosts"
	"github.com/lockchaos/lockchaos/hosts/hoststest"
	"github.com/lockchaos/lockchaos/nemesis"
)

// linkLimit bounds every wait of these tests; it is reached only when something is broken.
const linkLimit = 30 * time.Second

// question is what a client asks a real server, over and over, on one connection where the server keeps it open.
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

// linkEffects are the faults of links, and what each does to a client of a real server. The node is the target, since clients and nodes see the same links.
var linkEffects = []struct {
	spec  nemesis.Spec
	shows func(t *testing.T, a *asker)
	proof []string
}{
	{nemesis.Spec{Kind: nemesis.KindDelay, Delay: 60 * time.Millisecond, Jitter: 10 * time.Millisecond}, slow(100 * time.Millisecond), []string{"delayed", "round trip between ", " during"}},
	{nemesis.Spec{Kind: nemesis.KindDelay, Delay: 60 * time.Millisecond, Way: nemesis.WayIn}, slow(60 * time.Millisecond), []string{"delayed", "client-1 → "}},
	{nemesis.Spec{Kind: nemesis.KindLoss, Probability: 1}, silent, []string{"dropped"}},
	{nemesis.Spec{Kind: nemesis.KindDuplicate, Probability: 1}, slow(0), []string{"copies sent"}},
	{nemesis.Spec{Kind: nemesis.KindReorder, Probability: .5, Delay: 5 * time.Millisecond}, often, []string{"delayed"}},
	{nemesis.Spec{Kind: nemesis.KindRate, BytesPerSecond: 2000}, slow(40 * time.Millisecond), []string{"delayed"}}, // packets of 40 bytes and more, both ways
}

// slow expects an answer that takes so long at least.
func slow(least time.Duration) func(*testing.T, *asker) {
	return func(t *testing.T, a *asker) {
		took, err := a.once(linkLimit)
		if err != nil || took < least {
			t.Errorf("an answer after %v, %v; want one, and %v at least", took, err, least)
		}
	}
}

// silent expects no answer.
func silent(t *testing.T, a *asker) {
	if took, err := a.once(200 * time.Millisecond); err == nil {
		t.Errorf("an answer after %v", took)
	}
}

// often expects twenty answers.
func often(t *testing.T, a *asker) {
	for range 20 {
		slow(0)(t, a)
	}
}

// Each fault of links does to clients of real servers what it says, proves it, and leaves nothing behind: the round trip is back, and there is no rule
// and no queue.
func TestLinkFaultsOnRealServers(t *testing.T) {
	alone.Lock()
	t.Cleanup(alone.Unlock)
	for _, q := range questions {
		t.Run(q.service, func(t *testing.T) {
			t.Parallel()
			network, all := hoststest.Network(t, "client-1", "store")
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
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
			n := nemesis.NewNet(nodes, []nemesis.Place{{Name: "client-1", Host: all[0]}}, nemesis.Place{Name: "store", Host: all[1]})
			slow(0)(t, a)
			for _, e := range linkEffects {
				t.Run(e.spec.Kind+string(e.spec.Way), func(t *testing.T) {
					e.spec.Aim, e.spec.Peers = nemesis.Aim{Target: nemesis.Target(node.Name), When: nemesis.Random}, nemesis.PeersClients
					bad, err := n.Degrade("test", e.spec, []string{node.Name}, rand.New(rand.NewPCG(1, 2)))
					if err != nil {
						t.Fatal(err)
					}
					e.shows(t, a)
					effect, err := bad.Heal()
					if err != nil || !effect.Bit || effect.From == 0 || effect.To <= effect.From {
						t.Errorf("%+v, %v", effect, err)
					}
					for _, w := range e.proof {
						if !strings.Contains(effect.Proof, w) {
							t.Errorf("the proof does not tell of %q: %s", w, effect.Proof)
						}
					}
					t.Log(effect.Proof)
					quick(t, a)
				})
			}
			if err := n.Close(); err != nil {
				t.Error(err)
			}
			untouched(t, all[0], node.Host)
		})
	}
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
