//go:build linux

package locktest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/lockchaos/lockchaos/backends"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/harness"
	"github.com/lockchaos/lockchaos/history"
	"github.com/lockchaos/lockchaos/hosts"
	"github.com/lockchaos/lockchaos/netfault"
	"github.com/lockchaos/lockchaos/scenarios"
	"golang.org/x/sys/unix"
)

// roleVar tells a copy of the test binary which of a run's processes it is. It is taken away before any code of the user runs.
const roleVar = "LOCKCHAOS_LOCKTEST"

const (
	roleRun   = "run"   // inside the sandbox: its argument is the run's folder
	roleChild = "child" // "child CALL TEST": a node or a client
)

// me is what this process is to a run; the zero value: the one that go test started.
var me struct {
	client bool
	test   string
	call   int
	// in and out are where the harness speaks with the client.
	in, out *os.File
}

// init takes over in the copies of the test binary that are no tests, or not yet: before main nobody has looked at the arguments, and no test need know.
func init() {
	inside := hosts.Stage() // in the init process of a sandbox this does not return
	role := strings.SplitN(os.Getenv(roleVar), " ", 3)
	os.Unsetenv(roleVar) // a process that the user starts is none of ours
	switch {
	case role[0] == roleRun && inside:
		// Not os.Exit: that waits a second in programs built with the race detector.
		syscall.Exit(carryOut(os.Args[len(os.Args)-1]))
	case role[0] == "" && inside && len(os.Args) == 2 && os.Args[1] == probeArg:
		syscall.Exit(probe())
	case role[0] == roleChild && len(role) == 3 && len(os.Args) > 1 && os.Args[1] == "node":
		syscall.Exit(backends.NodeMain(os.Args[2:]))
	case role[0] == roleChild && len(role) == 3:
		if err := becomeClient(role[1], role[2]); err != nil {
			fmt.Fprintln(os.Stderr, "locktest:", err)
			syscall.Exit(1)
		}
	}
}

// probeArg is the argument of a copy that tries, in a sandbox of its own, what faults of a network need.
const probeArg = "-lockchaos-probe"

func probe() int {
	if err := netfault.WriteProbe(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// becomeClient keeps the pipes to the harness apart from what the test, and the testing package, read and print.
func becomeClient(call, test string) (err error) {
	if me.call, err = strconv.Atoi(call); err != nil {
		return fmt.Errorf("%s: which call of Run? %w", roleVar, err)
	}
	me.client, me.test = true, test
	if me.in, err = moved(unix.Stdin); err != nil {
		return err
	}
	if me.out, err = moved(unix.Stdout); err != nil {
		return err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer null.Close()
	return errors.Join(unix.Dup3(int(null.Fd()), unix.Stdin, 0), unix.Dup3(unix.Stderr, unix.Stdout, 0))
}

// moved is the file of a descriptor under another number, which no program that is started inherits.
func moved(fd int) (*os.File, error) {
	const above = 100 // whoever expects the next free descriptor finds it
	to, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, above)
	if err != nil {
		return nil, fmt.Errorf("move descriptor %d: %w", fd, err)
	}
	return os.NewFile(uintptr(to), "harness"), nil
}

// serve is the life of a client that has come to its call of Run. It does not return.
func serve(s Scenario, open Open) {
	kind := s.kind(lockName(me.test))
	kind.Open = func(_ context.Context, c clients.Config) (clients.Lock, error) {
		l, err := open(Nodes{Addrs: c.Nodes, TTL: time.Duration(c.TTL), Client: c.Client, Seed: c.Seed, Config: c})
		if err == nil && l == nil {
			err = errors.New("the test's function returned neither a lock nor an error")
		}
		return l, err
	}
	if err := harness.Work(context.Background(), me.in, me.out, []clients.Kind{kind}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		syscall.Exit(1)
	}
	syscall.Exit(0)
}

// carryOut runs the plan of a folder, inside a sandbox, and returns the exit status.
func carryOut(dir string) int {
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
	defer stop()
	err := runPlan(ctx, dir)
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, err)
	if err := os.WriteFile(filepath.Join(dir, errorFile), []byte(err.Error()), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return 3
}

func runPlan(ctx context.Context, dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, jobFile))
	if err != nil {
		return err
	}
	var j job
	if err := json.Unmarshal(text, &j); err != nil {
		return fmt.Errorf("%s: %w", jobFile, err)
	}
	plan, err := scenarios.LoadPlan(filepath.Join(dir, planFile), catalogue(j.Given, j.Lock))
	if err != nil {
		return err
	}
	// All that is started from here is a child.
	if err := os.Setenv(roleVar, fmt.Sprintf("%s %d %s", roleChild, j.Call, j.Test)); err != nil {
		return err
	}
	err = harness.Run(ctx, harness.Config{Plan: *plan, Lock: j.Given.kind(j.Lock), History: filepath.Join(dir, historyFile), Logs: filepath.Join(dir, logFolder),
		Worker: append([]string{"/proc/self/exe"}, j.Worker...), Versions: []history.Part{{Name: "kernel", Version: hosts.Kernel()}}})
	return err
}
