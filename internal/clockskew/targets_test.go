//go:build linux

package clockskew

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockchaos/lockchaos/internal/decided"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
)

// verbs are what the test binary becomes when its first argument names one: the
// processes that tests need.
var verbs = map[string]func(args []string) error{}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && verbs[os.Args[1]] != nil {
		if err := verbs[os.Args[1]](os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// patience is how long tests wait for what must happen: it says that something
// hangs, and measures nothing.
const patience = decided.Limit

// needs skips the test where a program is missing that the machine could have.
func needs(t testing.TB, program string) {
	t.Helper()
	needed.Program(t, program)
}

// child is a process that answers each line with a line.
type child struct {
	t   testing.TB
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// start starts a child, which ends with the test, or when it does not answer for too long.
func start(t testing.TB, program string, args ...string) *child {
	t.Helper()
	return startCmd(t, exec.CommandContext(t.Context(), program, args...))
}

func startCmd(t testing.TB, cmd *exec.Cmd) *child {
	t.Helper()
	c := &child{t: t, cmd: cmd}
	var err error
	if c.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewReader(out)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.end)
	return c
}

// end kills the child, stopped or not, and waits for it.
func (c *child) end() {
	_ = c.cmd.Process.Kill() // it may have ended
	_ = c.cmd.Wait()         // by our kill
}

// verb starts the test binary as one of its verbs.
func verb(t testing.TB, name string, args ...string) *child {
	t.Helper()
	return start(t, "/proc/self/exe", append([]string{name}, args...)...)
}

// answer reads a line of the child.
func (c *child) answer() string {
	c.t.Helper()
	// a fork of it ends with its input
	late := time.AfterFunc(patience, func() { _ = c.cmd.Process.Kill(); _ = c.in.Close() })
	defer late.Stop()
	line, err := c.out.ReadString('\n')
	if err != nil {
		c.t.Fatalf("%s does not answer: %v", filepath.Base(c.cmd.Path), err)
	}
	return strings.TrimSpace(line)
}

// ask sends a line and scans the answer.
func (c *child) ask(question string, into ...any) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, question+"\n"); err != nil {
		c.t.Fatal(err)
	}
	answer := c.answer()
	if _, err := fmt.Sscan(answer, into...); err != nil {
		c.t.Fatalf("%q was answered with %q: %v", question, answer, err)
	}
}

// open opens a process.
func open(t testing.TB, pid int) *Target {
	t.Helper()
	target, err := Open(pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(target.Close)
	return target
}

func (c *child) open() *Target { c.t.Helper(); return open(c.t, c.cmd.Process.Pid) }

// install opens a process and installs, neutrally.
func install(t testing.TB, pid int) *Target {
	t.Helper()
	target := open(t, pid)
	must(t)(target.Install(t.Context()))
	return target
}

// must fails the test at an error.
func must(t testing.TB) func(Change, error) Change {
	return func(c Change, err error) Change {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
}

// ok fails the test at an error.
func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newProbe starts a probe with nothing installed.
func newProbe(t testing.TB) *probe {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	p, err := startProbe(ctx)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); p.stop() })
	return p
}

// expect checks that a clock of the probe is ahead of the true one by d, as
// exactly as it can be read.
func (p *probe) expect(t testing.TB, what string, id int, d time.Duration) {
	t.Helper()
	least, most, err := p.differs(id)
	if err != nil {
		t.Fatal(err)
	}
	if d < least || d > most {
		t.Errorf("%s: clock %d is ahead by %v to %v, want %v", what, id, least, most, d)
	}
}
