//go:build linux

package netfault

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/hosts/hoststest"
	"golang.org/x/sys/unix"
)

// A cut drops what it matches and nothing else: one direction, one peer, every
// packet counted; after the healing packets flow.
func TestDropOneWay(t *testing.T) {
	_, hs := hoststest.Network(t, "a", "b", "c")
	a, b, c := mailbox(t, hs[0]), mailbox(t, hs[1]), mailbox(t, hs[2])
	for _, dir := range []Direction{In, Out} {
		t.Run(dir.String(), func(t *testing.T) {
			at, match := hs[1], Match{Dir: In, Peer: hs[0].Addr} // a → b, on either of them
			if dir == Out {
				at, match = hs[0], Match{Dir: Out, Peer: hs[1].Addr}
			}
			f := open(t, at)
			rule := must[*Rule](t)(f.Drop("cut", match))
			const n = 5
			for range n {
				_, err := a.WriteToUDPAddrPort([]byte("cut"), netip.AddrPortFrom(hs[1].Addr, udpPort))
				if told := errors.Is(err, syscall.EPERM); told != (dir == Out) {
					t.Errorf("the sender's error is %v", err)
				}
			}
			send(t, b, hs[0], "back")
			send(t, c, hs[1], "other")
			if got := receive(t, a); got != "back" {
				t.Errorf("a received %q", got)
			}
			if got := receive(t, b); got != "other" {
				t.Errorf("b received %q", got)
			}
			counts := must[[]Count](t)(rule.Remove())
			const bytes = 20 + 8 + 3
			if len(counts) != 1 || counts[0] != (Count{match, n, n * bytes}) {
				t.Errorf("counted %+v, want %d packets of %d bytes", counts, n, bytes)
			}
			send(t, a, hs[1], "healed")
			if got := receive(t, b); got != "healed" {
				t.Errorf("after the healing b received %q", got)
			}
			if again := must[[]Count](t)(rule.Remove()); again[0] != counts[0] {
				t.Errorf("removed twice: %+v, the first time %+v", again, counts)
			}
		})
	}
}

// Ports of both sides choose the connection.
func TestPorts(t *testing.T) {
	_, hs := hoststest.Network(t, "redis", "client")
	startRedis(t, hs[0])
	one, two := connect(t, hs[1], hs[0]), connect(t, hs[1], hs[0])
	f := open(t, hs[0])
	rule := must[*Rule](t)(f.Drop("one connection", Match{Peer: hs[1].Addr, Port: redisPort, PeerPort: port(one)},
		Match{Dir: In, Port: redisPort + 1}))
	if err := one.ask("SET", "k", "v"); err != nil {
		t.Fatal(err)
	}
	decided.Await(t, "the request is dropped", func() bool { return must[[]Count](t)(rule.Counts())[0].Packets > 0 })
	if answer := must[string](t)(two.do(limit, "GET", "k")); answer != "" {
		t.Errorf("k is %q", answer)
	}
	counts := must[[]Count](t)(rule.Remove())
	if counts[1].Packets != 0 {
		t.Errorf("the other match has met %d packets", counts[1].Packets)
	}
	two.awaitValue(t, "k", "v") // TCP sends it again
}

func port(c *redisConn) uint16 { return netip.MustParseAddrPort(c.LocalAddr().String()).Port() }

func TestReject(t *testing.T) {
	_, hs := hoststest.Network(t, "redis", "client", "other")
	startRedis(t, hs[0])
	old, other := connect(t, hs[1], hs[0]), connect(t, hs[2], hs[0])
	rule := must[*Rule](t)(open(t, hs[0]).Reject("reject", Match{Peer: hs[1].Addr}))
	if _, err := old.do(limit, "PING"); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("an old connection: %v", err)
	}
	if _, err := dial(t, hs[1], hs[0]); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a new connection: %v", err)
	}
	must[string](t)(other.do(limit, "PING"))
	if packets, _ := Total(must[[]Count](t)(rule.Remove())); packets != 2 {
		t.Errorf("%d packets were rejected, want 2", packets)
	}
	must[string](t)(connect(t, hs[1], hs[0]).do(limit, "PING"))
}

// A reset hits all connections of the pair, the process on the host and its
// peers learn of it, and others stay.
func TestReset(t *testing.T) {
	_, hs := hoststest.Network(t, "redis", "client", "other")
	startRedis(t, hs[0])
	for _, side := range []string{"server", "client"} {
		t.Run(side, func(t *testing.T) {
			conns := []*redisConn{connect(t, hs[1], hs[0]), connect(t, hs[1], hs[0]), connect(t, hs[1], hs[0])}
			for _, c := range conns {
				// accepted by the server, not only by its kernel
				must[string](t)(c.do(limit, "PING"))
			}
			other := connect(t, hs[2], hs[0])
			f, match, want := open(t, hs[0]), Match{Peer: hs[1].Addr, Port: redisPort}, syscall.ECONNRESET
			if side == "client" {
				f, match, want = open(t, hs[1]), Match{Peer: hs[0].Addr, PeerPort: redisPort}, syscall.ECONNABORTED
			}
			hit := must[[]Connection](t)(f.Reset(match))
			if len(hit) != len(conns) {
				t.Errorf("hit %v, want %d connections", hit, len(conns))
			}
			for _, c := range conns {
				_ = c.SetDeadline(time.Now().Add(limit))
				if _, err := c.Read(make([]byte, 1)); !errors.Is(err, want) {
					t.Errorf("%v, want %v", err, want)
				}
			}
			must[string](t)(other.do(limit, "PING"))
			if again := must[[]Connection](t)(f.Reset(match)); len(again) != 0 {
				t.Errorf("hit %v once more", again)
			}
			must[string](t)(connect(t, hs[1], hs[0]).do(limit, "PING"))
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// leftTables counts the tables in a host's namespace.
func leftTables(t testing.TB, fd int) int {
	t.Helper()
	conn := must[*nftables.Conn](t)(nftables.New(nftables.WithNetNSFd(fd)))
	return len(must[[]*nftables.Table](t)(conn.ListTables()))
}

// Closing heals everything, and so does the end of the context. The evidence survives.
func TestCloseHeals(t *testing.T) {
	_, hs := hoststest.Network(t, "a", "b")
	a, b := mailbox(t, hs[0]), mailbox(t, hs[1])
	for _, how := range []string{"close", "cancel"} {
		t.Run(how, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			f := must[*Filter](t)(Open(ctx, hs[1]))
			hold := must[*Diversion](t)(f.Divert("hold", Hold(Contains("late"), 0), Match{Peer: hs[0].Addr}))
			send(t, a, hs[1], "late")
			if _, err := hold.Await(within(t), func(s Stats) bool { return s.Held == 1 }); err != nil {
				t.Fatal(err)
			}
			rule := must[*Rule](t)(f.Drop("cut", Match{Peer: hs[0].Addr}))
			send(t, a, hs[1], "cut")
			decided.Await(t, "dropped", func() bool { return must[[]Count](t)(rule.Counts())[0].Packets == 1 })
			if how == "close" {
				if err := f.Close(); err != nil {
					t.Fatal(err)
				}
			} else {
				cancel()
				decided.Await(t, "no table is left", func() bool { return leftTables(t, hs[1].NetNS) == 0 })
			}
			if got := receive(t, b); got != "late" {
				t.Errorf("received %q, want what was held", got)
			}
			send(t, a, hs[1], "healed")
			if got := receive(t, b); got != "healed" {
				t.Errorf("received %q", got)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
			if n := leftTables(t, hs[1].NetNS); n != 0 {
				t.Errorf("%d tables are left", n)
			}
			if counts := must[[]Count](t)(rule.Remove()); counts[0].Packets != 1 {
				t.Errorf("after the end the evidence is %+v", counts)
			}
			if s := must[Stats](t)(hold.Remove()); s.Held != 1 || s.Released != 1 {
				t.Errorf("after the end the evidence is %v", s)
			}
			if _, err := f.Drop("late", Match{}); !errors.Is(err, ErrClosed) {
				t.Errorf("a fault after the end: %v", err)
			}
			if _, err := f.Divert("late", Hold(HasPayload, 0), Match{}); !errors.Is(err, ErrClosed) {
				t.Errorf("a diversion after the end: %v", err)
			}
		})
	}
}

// One filter a host; a second is refused, and a sweep leaves alone what lives.
func TestInUse(t *testing.T) {
	_, hs := hoststest.Network(t, "a")
	f := open(t, hs[0])
	must[*Rule](t)(f.Drop("cut", Match{}))
	if _, err := Open(t.Context(), hs[0]); !errors.Is(err, errInUse) {
		t.Errorf("a second filter: %v", err)
	}
	if f.Outlived() {
		t.Skip("this kernel has no owners of tables")
	}
	if found, err := Sweep(hs[0].NetNS); found || err != nil {
		t.Errorf("a sweep of what lives: %v, %v", found, err)
	}
	if n := leftTables(t, hs[0].NetNS); n != 1 {
		t.Errorf("%d tables after the sweep", n)
	}
}

// When this program dies, the kernel closes its sockets, and the table goes;
// where nobody owns the table, a sweep removes it.
func TestNothingIsLeft(t *testing.T) {
	_, hs := hoststest.Network(t, "a")
	owned := must[*table](t)(openTable(hs[0].NetNS, ends))
	if !owned.owned {
		t.Skip("this kernel has no owners of tables")
	}
	if err := owned.conn.CloseLasting(); err != nil {
		t.Fatal(err)
	}
	decided.Await(t, "the kernel has removed the table", func() bool { return leftTables(t, hs[0].NetNS) == 0 })

	conn := must[*nftables.Conn](t)(nftables.New(nftables.WithNetNSFd(hs[0].NetNS)))
	mine := conn.AddTable(&nftables.Table{Name: "mine", Family: nftables.TableFamilyIPv4})
	chain := conn.AddChain(&nftables.Chain{Name: "c",
		Table: conn.AddTable(&nftables.Table{Name: tableName, Family: nftables.TableFamilyIPv4})})
	conn.AddRule(&nftables.Rule{Table: chain.Table, Chain: chain, Exprs: []expr.Any{&expr.Verdict{Kind: expr.VerdictDrop}}})
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), hs[0]); !errors.Is(err, errInUse) {
		t.Errorf("with leftovers: %v", err)
	}
	for _, want := range []bool{true, false} {
		if found, err := Sweep(hs[0].NetNS); found != want || err != nil {
			t.Errorf("sweep: %v, %v; want %v", found, err, want)
		}
	}
	if n := leftTables(t, hs[0].NetNS); n != 1 {
		t.Errorf("%d tables, want the one that is not ours", n)
	}
	conn.DelTable(mine)
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
}

// A killed lockchaos leaves no cut in a namespace that goes on, as a container's does.
func TestKilled(t *testing.T) {
	_, hs := hoststest.Network(t, "a", "b")
	a, b := mailbox(t, hs[0]), mailbox(t, hs[1])
	fd := must[int](t)(unix.Dup(hs[1].NetNS))
	namespace := os.NewFile(uintptr(fd), "netns")
	defer namespace.Close()
	cmd := exec.Command("/proc/self/exe", "cut")
	cmd.ExtraFiles, cmd.Stderr = []*os.File{namespace}, os.Stderr
	out := must[io.ReadCloser](t)(cmd.StdoutPipe())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	if line := must[string](t)(bufio.NewReader(out).ReadString('\n')); line != "cut <nil>\n" {
		t.Fatal(line)
	}
	send(t, a, hs[1], "cut")
	if found, err := Sweep(hs[1].NetNS); found || err != nil {
		t.Errorf("while it lives, a sweep: %v, %v", found, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	decided.Await(t, "the kernel has removed the table", func() bool { return leftTables(t, hs[1].NetNS) == 0 })
	send(t, a, hs[1], "healed")
	if got := receive(t, b); got != "healed" {
		t.Errorf("received %q", got)
	}
}

// Packets pass when nobody listens to the queue any more, as when this program
// dies on a kernel that keeps the rule.
func TestQueueWithoutListener(t *testing.T) {
	_, hs := hoststest.Network(t, "a", "b")
	a, b := mailbox(t, hs[0]), mailbox(t, hs[1])
	f := must[*Filter](t)(Open(t.Context(), hs[1]))
	must[*Diversion](t)(f.Divert("drop", DropFrom(1, HasPayload), Match{}))
	f.queue.cancel()
	if err := f.queue.nf.Close(); err != nil {
		t.Fatal(err)
	}
	send(t, a, hs[1], "nobody decides")
	if got := receive(t, b); got != "nobody decides" {
		t.Errorf("received %q", got)
	}
	_ = f.Close() // its queue is broken already
	if n := leftTables(t, hs[1].NetNS); n != 0 {
		t.Errorf("%d tables are left", n)
	}
}

func TestRefusals(t *testing.T) {
	_, hs := hoststest.Network(t, "a")
	f := open(t, hs[0])
	for _, c := range []struct {
		want string
		err  error
	}{
		{"no packets are matched", second(f.Drop("x"))},
		{"only IPv4", second(f.Drop("x", Match{Peer: netip.MustParseAddr("fd00::1")}))},
		{"unknown direction", second(f.Divert("x", Hold(HasPayload, 0), Match{Dir: 7}))},
		{"only IPv4", second(f.Reset(Match{Peer: netip.MustParseAddr("fd00::1")}))},
		{"nothing would happen", second(f.Degrade("x", Conditions{}, nil, Match{}))},
		{"sender's side", second(f.Degrade("x", Conditions{Duplicate: 1}, nil, Match{}))},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) || !strings.Contains(c.err.Error(), "on host a") {
			t.Errorf("got %v, want a host and %q", c.err, c.want)
		}
	}
	if err := hs[0].Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), hs[0]); err == nil {
		t.Error("a closed host was taken")
	}
}

func second[T any](_ T, err error) error { return err }

// Many faults at once, made and healed by many goroutines.
func TestConcurrentFaults(t *testing.T) {
	_, hs := hoststest.Network(t, "a")
	f := open(t, hs[0])
	errs := make(chan error)
	const n = 20
	for i := range n {
		go func() {
			peer := netip.AddrFrom4([4]byte{10, 99, 0, byte(i)})
			rule, err := f.Drop(fmt.Sprint("cut ", i), Both(peer)...)
			if err == nil {
				_, err = rule.Remove()
			}
			d, other := f.Divert("pass", func(*Packet) Fate { return Fate{} }, Both(peer)...)
			if other == nil {
				_, other = d.Remove()
			}
			errs <- errors.Join(err, other)
		}()
	}
	for range n {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	left := 0
	err := f.table.each([]*nftables.Chain{f.table.cut[In], f.table.cut[Out], f.table.divert[In]}, "",
		func(string, *nftables.Rule, Count) error { left++; return nil })
	if err != nil || left > 0 || len(f.rules) > 0 {
		t.Errorf("%d rules are left, %d known: %v", left, len(f.rules), err)
	}
}
