//go:build linux

package hosts_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/hosts"
)

// Every host reaches every other at the first attempt, in far less than the
// second after which a lost ARP request is repeated.
func TestReach(t *testing.T) {
	if !inside(t) {
		return
	}
	decided.Run(t, func() { reach(t) })
}

func reach(t *testing.T) {
	_, hs := network(t, "a", "b", "c", "d", "e", "f")
	for i, to := range hs {
		if want := at(byte(i+2), 0).Addr(); to.Addr != want {
			t.Errorf("host %s has %s, want %s", to.Name, to.Addr, want)
		}
		l, err := to.Listen(7000)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		for _, from := range hs {
			begun := time.Now()
			conn, err := from.Dial(within(t), "tcp", netip.AddrPortFrom(to.Addr, 7000))
			if err != nil {
				t.Fatal(err)
			}
			if took := time.Since(begun); took > time.Second {
				decided.Lacks("connections without a first packet that is lost: %s to %s took %v", from.Name, to.Name, took)
			}
			if got := netip.MustParseAddrPort(conn.LocalAddr().String()).Addr(); got != from.Addr {
				t.Errorf("%s comes from %s", from.Name, got)
			}
			conn.Close()
		}
	}
}

// Packets flow as soon as Await says so: each new host dials at once.
func TestAwait(t *testing.T) {
	if !inside(t) {
		return
	}
	decided.Run(t, func() { awaits(t) })
}

func awaits(t *testing.T) {
	n, hs := network(t, "first")
	l, err := hs[0].Listen(7000)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for i := range 10 {
		h, err := n.AddHost(fmt.Sprint("h", i))
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Await(within(t), h); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		conn, err := h.Dial(within(t), "tcp", netip.AddrPortFrom(hs[0].Addr, 7000))
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
		if took := time.Since(begun); took > 900*time.Millisecond {
			decided.Lacks("connections without a first packet that is lost: %v until %s was connected", took, h.Name)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	late, err := n.AddHost("late")
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Await(ctx, late); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// A process of a host has the host's address, and what it prints is its own.
func TestProcessLivesOnItsHost(t *testing.T) {
	if !inside(t) {
		return
	}
	_, hs := network(t, "a", "b")
	p, k := verb(t, hs[0], "echo")
	k.say("hello")
	if got := k.hear(); got != "hello" {
		t.Errorf("got %q", got)
	}
	for i, want := range [][]int{{p.PID()}, nil} {
		if got, err := hs[i].PIDs(); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("host %s has processes %v (%v), want %v", hs[i].Name, got, err, want)
		}
	}
}

// rival serves its name on the second address of the usual network and prints what it reads there.
func rival(args []string) int {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	_, hs, err := makeNetwork(ctx, "server", "client")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	l, err := hs[0].Listen(7000)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprintln(conn, args[0])
			conn.Close()
		}
	}()
	fmt.Println("ready")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		conn, err := hs[1].Dial(ctx, "tcp", at(2, 7000))
		if err != nil {
			fmt.Println(err)
			return 1
		}
		answer, _ := bufio.NewReader(conn).ReadString('\n')
		conn.Close()
		fmt.Print(answer)
	}
	return 0
}

func TestSandboxesDoNotSeeEachOther(t *testing.T) {
	names := []string{"one", "two"}
	talkers := map[string]*talker{}
	for _, name := range names {
		k := newTalker(t)
		start(t, hosts.Sandbox{Stdin: k.childIn, Stdout: k.childOut}, "rival", name)
		k.begun()
		talkers[name] = k
	}
	for _, name := range names { // both serve the same address before either is asked
		if got := talkers[name].hear(); got != "ready" {
			t.Fatal(got)
		}
	}
	for range 20 {
		for _, name := range names {
			talkers[name].say("ask")
			if got := talkers[name].hear(); got != name {
				t.Fatalf("in sandbox %s the server answered %q", name, got)
			}
		}
	}
}

func TestNetworkErrors(t *testing.T) {
	if !hosts.Inside() {
		if _, err := hosts.NewNetwork(hosts.DefaultPrefix); !errors.Is(err, hosts.ErrOutside) {
			t.Fatalf("outside a sandbox: %v", err)
		}
	}
	if !inside(t) {
		return
	}
	for _, bad := range []string{"fd00::/64", "10.1.0.0/30"} {
		if _, err := hosts.NewNetwork(netip.MustParsePrefix(bad)); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
	n, err := hosts.NewNetwork(netip.MustParsePrefix("10.1.0.8/29"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hosts.NewNetwork(netip.MustParsePrefix("10.1.0.0/24")); err == nil || !strings.Contains(err.Error(), "overlaps") {
		t.Errorf("an overlapping network: %v", err)
	}
	for i := range 5 {
		h, err := n.AddHost(fmt.Sprint("h", i))
		if err != nil {
			t.Fatal(err)
		}
		if want := netip.AddrFrom4([4]byte{10, 1, 0, byte(10 + i)}); h.Addr != want {
			t.Errorf("host %d has %s, want %s", i, h.Addr, want)
		}
	}
	if _, err := n.AddHost("one too many"); err == nil || !strings.Contains(err.Error(), "no address left") {
		t.Errorf("a full network: %v", err)
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	if err := n.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
	if _, err := n.AddHost("late"); !errors.Is(err, hosts.ErrClosed) {
		t.Errorf("a closed network: %v", err)
	}
	again, err := hosts.NewNetwork(netip.MustParsePrefix("10.1.0.0/24"))
	if err != nil {
		t.Fatalf("the addresses of a closed network: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

func TestClosedHost(t *testing.T) {
	if !inside(t) {
		return
	}
	_, hs := network(t, "a", "b")
	l, err := hs[0].Listen(7000)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := hs[0].Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := hs[1].Dial(ctx, "tcp", netip.AddrPortFrom(hs[0].Addr, 7000)); err == nil {
		t.Error("a closed host still answers")
	}
	if err := hs[0].Do(func() error { return nil }); !errors.Is(err, hosts.ErrClosed) {
		t.Errorf("Do: %v", err)
	}
	if _, err := hs[0].Listen(1); !errors.Is(err, hosts.ErrClosed) {
		t.Errorf("Listen: %v", err)
	}
}

// A call that waits for the network must not hold up the host's thread.
func TestDialDoesNotBlockTheHost(t *testing.T) {
	if !inside(t) {
		return
	}
	_, hs := network(t, "a")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := hs[0].Dial(ctx, "tcp", at(200, 1)) // nobody is there
		done <- err
	}()
	for range 10 {
		if err := hs[0].Do(func() error { return nil }); err != nil {
			t.Error(err)
		}
	}
	select {
	case err := <-done:
		t.Errorf("the dial ended by itself: %v", err)
	default:
	}
	cancel()
	if err := <-done; err == nil {
		t.Error("connected to nobody")
	}
}
