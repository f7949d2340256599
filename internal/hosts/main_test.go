//go:build linux

package hosts_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/hoststest"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
	"golang.org/x/sys/unix"
)

// limit bounds every wait of these tests; it is reached only when something is broken.
const limit = decided.Limit

// verbs are what this test binary becomes when its first argument names one.
var verbs = map[string]func(args []string) int{
	"burn":     hoststest.Burn,
	"echo":     echo,
	"cells":    cells,
	"cell":     cell,
	"closer":   closer,
	"die":      die,
	"family":   family,
	"forever":  forever,
	"holder":   holder,
	"nothing":  func([]string) int { return 0 },
	"exit":     func([]string) int { return 42 },
	"polite":   polite,
	"resource": resource,
	"rival":    rival,
	"seccomp":  filtered,
	"stage":    func([]string) int { fmt.Println(hosts.Inside(), os.Getenv("LOCKCHAOS_STAGE")); return 0 },
	"stubborn": stubborn,
	"suicide":  func([]string) int { _ = unix.Kill(os.Getpid(), unix.SIGKILL); return forever(nil) },
	"traced":   traced,
}

func TestMain(m *testing.M) {
	hosts.Stage()
	if len(os.Args) > 1 && verbs[os.Args[1]] != nil {
		os.Exit(verbs[os.Args[1]](os.Args[2:]))
	}
	if os.Getenv("GORACE") == "" {
		// for the processes that we start: else each takes a second to end
		os.Setenv("GORACE", "atexit_sleep_ms=0")
	}
	os.Exit(m.Run())
}

// inside runs the rest of the test that calls it in a sandbox of its own: it
// returns true there, and false outside when that has been done.
func inside(t *testing.T) bool {
	t.Helper()
	if hosts.Inside() {
		return true
	}
	var out bytes.Buffer
	in := start(t, hosts.Sandbox{Stdout: &out, Stderr: &out}, "-test.run=^"+regexp.QuoteMeta(t.Name())+"$", "-test.v", "-test.timeout=60s")
	if err := in.Wait(); err != nil || !strings.Contains(out.String(), "--- PASS: "+t.Name()) {
		t.Errorf("in the sandbox: %v\n%s", err, out.String())
	}
	return false
}

// start starts a sandbox that ends with the test at the latest. Where the
// machine refuses it, the test is skipped, or fails if nothing may be missing.
func start(t testing.TB, s hosts.Sandbox, args ...string) *hosts.Inner {
	t.Helper()
	in, err := s.Start(t.Context(), args...)
	if refusal := (*hosts.RefusedError)(nil); errors.As(err, &refusal) && !needed.All() {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Kill(); <-in.Done() })
	return in
}

// within returns a context for one wait.
func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	return ctx
}

// talker is a program that is spoken to in lines.
type talker struct {
	t        testing.TB
	in, out  *os.File // our ends
	lines    *bufio.Reader
	childIn  *os.File
	childOut *os.File
}

func newTalker(t testing.TB) *talker {
	t.Helper()
	k := &talker{t: t}
	for _, p := range []struct{ r, w **os.File }{{&k.childIn, &k.in}, {&k.out, &k.childOut}} {
		var err error
		if *p.r, *p.w, err = os.Pipe(); err != nil {
			t.Fatal(err)
		}
	}
	k.lines = bufio.NewReader(k.out)
	t.Cleanup(func() { k.in.Close(); k.out.Close() })
	return k
}

// begun closes our copies of the child's ends.
func (k *talker) begun() { k.childIn.Close(); k.childOut.Close() }

func (k *talker) say(line string) {
	k.t.Helper()
	if _, err := fmt.Fprintln(k.in, line); err != nil {
		k.t.Fatal(err)
	}
}

func (k *talker) hear() string {
	k.t.Helper()
	_ = k.out.SetReadDeadline(time.Now().Add(limit))
	line, err := k.lines.ReadString('\n')
	if err != nil {
		k.t.Fatalf("hear: %v (after %q)", err, line)
	}
	return strings.TrimSuffix(line, "\n")
}

// verb starts one of our verbs on a host and speaks to it.
func verb(t testing.TB, h *hosts.Host, args ...string) (*hosts.Process, *talker) {
	t.Helper()
	k := newTalker(t)
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Stdin, cmd.Stdout = k.childIn, k.childOut
	p, err := h.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	k.begun()
	return p, k
}

// echo repeats what it reads.
func echo([]string) int {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		fmt.Println(lines.Text())
	}
	return 0
}

func forever([]string) int {
	select {
	case <-make(chan struct{}):
	case <-time.After(time.Hour): // else the runtime calls it a deadlock
	}
	return 0
}

// die logs more than an error message shows, and fails.
func die(args []string) int {
	for i := range 5000 {
		fmt.Fprintln(os.Stderr, "line", i)
	}
	fmt.Fprintln(os.Stderr, "cannot bind to", args[0])
	return 3
}

// family has a child in its group and one that leaves group and session; it
// prints their numbers and echoes.
func family([]string) int {
	for _, attr := range []*syscall.SysProcAttr{{}, {Setsid: true}} {
		cmd := exec.Command("/proc/self/exe", "forever")
		cmd.SysProcAttr = attr
		if err := cmd.Start(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Println(cmd.Process.Pid)
	}
	return echo(nil)
}

// traced has a child that a debugger (we) holds in state t: no SIGSTOP brings it to T.
func traced([]string) int {
	runtime.LockOSThread()
	cmd := exec.Command("/proc/self/exe", "nothing")
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("ready")
	return echo(nil)
}

// polite ends when it is interrupted, and says so.
func polite([]string) int {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt)
	fmt.Println("ready")
	fmt.Println((<-signals).String())
	return 5
}

// stubborn does not care, nor does its child in another session.
func stubborn([]string) int {
	signal.Ignore(os.Interrupt)
	cmd := exec.Command("/proc/self/exe", "forever")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return 1
	}
	fmt.Println("ready")
	return forever(nil)
}

// resource reads descriptor 3 and says what it got, where it is, and what is in its environment.
func resource([]string) int {
	var text [64]byte
	n, err := os.NewFile(3, "extra").Read(text[:])
	dir, _ := os.Getwd()
	fmt.Println(string(text[:n]), err, dir, os.Getenv("RESOURCE"))
	return 0
}

// closer closes descriptor 3, says so, or that another pipe has come with it, and echoes.
func closer([]string) int {
	answer := "closed"
	if err := os.NewFile(3, "extra").Close(); err != nil {
		answer = err.Error()
	}
	for fd := 4; fd < 10; fd++ {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFIFO {
			answer = fmt.Sprintf("descriptor %d is a pipe that nobody gave us", fd)
		}
	}
	fmt.Println(answer)
	return echo(nil)
}

// network makes a network on the usual addresses with hosts of the given names.
func network(t testing.TB, names ...string) (*hosts.Network, []*hosts.Host) {
	t.Helper()
	n, hs, err := makeNetwork(within(t), names...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n, hs
}

func makeNetwork(ctx context.Context, names ...string) (*hosts.Network, []*hosts.Host, error) {
	n, err := hosts.NewNetwork(hosts.DefaultPrefix)
	if err != nil {
		return nil, nil, err
	}
	var hs []*hosts.Host
	for _, name := range names {
		h, err := n.AddHost(name)
		if err != nil {
			return nil, nil, err
		}
		hs = append(hs, h)
	}
	return n, hs, n.Await(ctx, hs...)
}

// at is an address of the usual network.
func at(last byte, port uint16) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 88, 0, last}), port)
}
