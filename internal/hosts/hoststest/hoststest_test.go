package hoststest

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
)

// The verbs of this test binary.
var verbs = map[string]func(args []string) int{
	"forever": func([]string) int { <-time.After(time.Hour); return 0 },
	"say":     func(args []string) int { fmt.Println(strings.Join(args, " ")); return 7 },
}

func TestMain(m *testing.M) { Main(m, verbs) }

func TestRunsInside(t *testing.T) {
	if !hosts.Inside() {
		t.Fatal("not inside a sandbox")
	}
	if os.Getppid() != 1 {
		t.Errorf("parent is %d, want init", os.Getppid())
	}
}

func TestNetworkIsReady(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), linkLimit)
	defer cancel()
	_, hs := Network(t, "a", "b")
	l, err := hs[1].Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := hs[0].Dial(ctx, "tcp", netip.MustParseAddrPort(l.Addr().String()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if got, _, _ := strings.Cut(conn.LocalAddr().String(), ":"); got != hs[0].Addr.String() {
		t.Errorf("connected from %s, want %s", got, hs[0].Addr)
	}
}

func TestVerb(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), linkLimit)
	defer cancel()
	_, hs := Network(t, "a")
	var out strings.Builder
	cmd := exec.Command("/proc/self/exe", "say", "hello", "there")
	cmd.Stdout = &out
	p, err := hs[0].Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	err = p.Wait(ctx)
	if err == nil || !strings.Contains(err.Error(), "exit status 7") {
		t.Errorf("ended with %v, want exit status 7", err)
	}
	if got := out.String(); got != "hello there\n" {
		t.Errorf("said %q", got)
	}
}

// modeVar makes TestVictim do something special in the runs of this binary that
// the tests below start.
const modeVar = "HOSTSTEST_MODE"

func TestVictim(t *testing.T) {
	switch os.Getenv(modeVar) {
	case "fail":
		t.Error("failed on purpose")
	case "exit":
		os.Exit(9)
	case "hang":
		// Started like this, the process is in another session and keeps our
		// output open: only the end of the PID namespace ends it.
		cmd := exec.Command("/proc/self/exe", "forever")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Hour)
	}
}

// run runs this binary once more, in a sandbox inside ours.
func run(t *testing.T, mode, require string, flags ...string) (status int, out string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), linkLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/proc/self/exe", append([]string{"-test.run=^TestVictim$"}, flags...)...)
	cmd.Env = append(os.Environ(), modeVar+"="+mode, needed.RequireVar+"="+require)
	text, err := cmd.CombinedOutput() // to the end of file: so nobody is left who writes
	if ctx.Err() != nil {
		t.Fatalf("mode %s: did not end: %v\n%s", mode, err, text)
	}
	return cmd.ProcessState.ExitCode(), string(text)
}

func TestExitStatusAndOutput(t *testing.T) {
	for _, c := range []struct {
		mode, flag string
		status     int
		out        string
	}{
		{"pass", "-test.v", 0, "--- PASS: TestVictim"},
		{"fail", "-test.v", 1, "failed on purpose"},
		{"exit", "-test.v", 9, ""},
		{"hang", "-test.timeout=300ms", 2, "panic: test timed out"},
		{"pass", "-test.nonsense", 2, "flag provided but not defined"},
	} {
		if status, out := run(t, c.mode, "all", c.flag); status != c.status || !strings.Contains(out, c.out) {
			t.Errorf("%s %s: status %d, want %d, with %q in\n%s", c.mode, c.flag, status, c.status, c.out, out)
		}
	}
}

// Where /proc is masked, as in a container, the kernel refuses a sandbox.
func TestRefusal(t *testing.T) {
	if err := unix.Mount("mask", "/proc/driver", "tmpfs", unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Unmount("/proc/driver", 0); err != nil {
			t.Error(err)
		}
	}()
	for require, want := range map[string]struct {
		status int
		out    string
	}{"": {0, "SKIP: every test of this package: this machine refuses to"},
		"all": {1, "FAIL: no test of this package can run: this machine refuses to"}} {
		if status, out := run(t, "fail", require); status != want.status || !strings.Contains(out, want.out) {
			t.Errorf("LOCKCHAOS_REQUIRE=%q: status %d, want %d, with %q in\n%s", require, status, want.status, want.out, out)
		}
	}
}

// BenchmarkSixHosts makes a network with six hosts through which packets flow, and removes it.
func BenchmarkSixHosts(b *testing.B) {
	var ready time.Duration
	for b.Loop() {
		begun := time.Now()
		n, err := hosts.NewNetwork(hosts.DefaultPrefix)
		if err != nil {
			b.Fatal(err)
		}
		var hs []*hosts.Host
		for i := range 6 {
			h, err := n.AddHost(fmt.Sprint("h", i))
			if err != nil {
				b.Fatal(err)
			}
			hs = append(hs, h)
		}
		if err := n.Await(b.Context(), hs...); err != nil {
			b.Fatal(err)
		}
		ready += time.Since(begun)
		if err := n.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(ready.Microseconds())/1000/float64(b.N), "ms-until-ready")
}

// BenchmarkStop freezes a process until /proc shows every thread stopped, and resumes it.
func BenchmarkStop(b *testing.B) {
	_, hs := Network(b, "a")
	p, err := hs[0].Start(exec.Command("/proc/self/exe", "forever"))
	if err != nil {
		b.Fatal(err)
	}
	var took time.Duration
	for b.Loop() {
		pause, err := p.Stop(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		took += time.Duration(pause.Stopped - pause.Signalled)
		if err := pause.Resume(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(took.Microseconds())/float64(b.N), "µs-until-stopped")
}

// A namespace that is kept is inhabited as long as somebody lives in it, and
// its number is nobody else's afterwards.
func TestKeptNamespaces(t *testing.T) {
	_, hs := Network(t, "a")
	p, err := hs[0].Start(exec.Command("/proc/self/exe", "forever"))
	if err != nil {
		t.Fatal(err)
	}
	own := KeepNamespaces(t, os.Getpid())
	if found := own.Inhabited(); len(found) > 0 {
		t.Errorf("our own namespaces are kept: %v", found)
	}
	theirs := KeepNamespaces(t, p.PID())
	name := fmt.Sprintf("of process %d ", p.PID())
	if found := theirs.Inhabited(); !slices.ContainsFunc(found, func(s string) bool { return strings.Contains(s, name) }) {
		t.Errorf("inhabited: %v", found)
	}
	if err := p.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if found := theirs.Inhabited(); slices.ContainsFunc(found, func(s string) bool { return strings.Contains(s, name) }) {
		t.Errorf("inhabited after the end: %v", found)
	}
}
