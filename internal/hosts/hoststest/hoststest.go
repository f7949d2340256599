// Package hoststest lets the tests of a package run on private networks, without root.
//
// TestMain of such a package is one line:
//
//	func TestMain(m *testing.M) { hoststest.Main(m, nil) }
//
// The test binary then runs once more inside a sandbox (see package hosts), where hosts.NewNetwork
// works; flags, output, profiles and the exit status are those of an ordinary test. Processes that
// tests start there die with the tests, whatever happens, a timeout included.
//
// Programs that tests need as processes, such as a worker, are verbs: functions that the test
// binary becomes when its first argument names one (exec.Command("/proc/self/exe", "worker", …)).
//
// Where the machine refuses namespaces all tests of the package are skipped,
// and a line says so; with LOCKCHAOS_REQUIRE=all that is a failure.
package hoststest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
)

// Main runs the tests inside a sandbox, or the verb that the first argument names, and exits.
func Main(m *testing.M, verbs map[string]func(args []string) int) {
	inner := hosts.Stage()
	if len(os.Args) > 1 {
		if verb := verbs[os.Args[1]]; verb != nil {
			os.Exit(verb(os.Args[2:]))
		}
	}
	if inner {
		if err := loopback(); err != nil {
			fmt.Fprintf(os.Stderr, "FAIL: no test of this package can run: %v\n", err)
			os.Exit(1)
		}
		os.Exit(m.Run())
	}
	os.Exit(again())
}

// loopback lets tests reach servers of their own on 127.0.0.1 before they make a network.
func loopback() error {
	lo, err := netlink.LinkByName("lo")
	if err == nil {
		err = netlink.LinkSetUp(lo)
	}
	if err != nil {
		return fmt.Errorf("set lo up: %w", err)
	}
	return nil
}

// perProcessor is how many parallel tests a processor carries. They wait for
// servers and leases most of the time.
const perProcessor = 2

// SideBySide lets more tests that call t.Parallel run at once than there are processors,
// unless -parallel says how many. Call it before Main. A test that measures the machine
// (stalls, starvation, throttling) does not call t.Parallel: it runs before, alone.
func SideBySide() {
	// package testing has defined it
	_ = flag.Set("test.parallel", fmt.Sprint(perProcessor*runtime.GOMAXPROCS(0)))
}

// again runs this test binary inside a sandbox and returns its exit status.
func again() int {
	// Cancelled never: the tests have their own time limit, and signals are passed on as they are.
	in, err := hosts.Sandbox{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}.Start(context.Background(),
		os.Args[1:]...)
	var refusal *hosts.RefusedError
	switch {
	case errors.As(err, &refusal) && !needed.All():
		fmt.Printf("SKIP: every test of this package: %v\n", err)
		return 0
	case err != nil:
		fmt.Fprintf(os.Stderr, "FAIL: no test of this package can run: %v\n", err)
		return 1
	}
	go passOn(in)
	err = in.Wait()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		return exit.ExitCode()
	}
	fmt.Fprintln(os.Stderr, "FAIL:", err)
	return 1
}

// passOn passes signals to the tests: an interrupt, and the SIGQUIT with which
// the go command asks for stacks. What does not end within the grace is killed.
func passOn(in *hosts.Inner) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGHUP)
	var late <-chan time.Time
	for {
		select {
		case s := <-signals:
			_ = in.Signal(s.(syscall.Signal)) // if they have ended, nothing is left to do
			late = time.After(hosts.DefaultGrace)
		case <-late:
			in.Kill()
		case <-in.Done():
			return
		}
	}
}

// networks counts the networks made by Network, so that each has addresses of its own.
var networks atomic.Int32

// linkLimit is how long links may take to come up.
const linkLimit = 5 * time.Minute

// Network makes a network with hosts of the given names, waits until packets flow, and closes it at
// the end of the test. Every call takes another range of addresses, so tests may run in parallel.
func Network(t testing.TB, names ...string) (*hosts.Network, []*hosts.Host) {
	t.Helper()
	i := networks.Add(1)
	n, err := hosts.NewNetwork(netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 88, byte(i), 0}), 24))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	var made []*hosts.Host
	for _, name := range names {
		h, err := n.AddHost(name)
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, h)
	}
	ctx, cancel := context.WithTimeout(t.Context(), linkLimit)
	defer cancel()
	if err := n.Await(ctx, made...); err != nil {
		t.Fatal(err)
	}
	return n, made
}
