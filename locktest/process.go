//go:build linux

package locktest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/harness"
	"github.com/lockchaos/lockchaos/internal/harness/worker"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/netfault"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
)

// init takes over in the copies of the test binary that are no tests, or not
// yet: before main nobody has looked at the arguments, and no test need know.
func init() {
	inside := hosts.Stage() // in the init process of a sandbox this does not return
	given := os.Getenv(roleVar)
	os.Unsetenv(roleVar) // a process that the user starts is none of ours
	role := strings.SplitN(given, " ", 3)
	switch {
	case role[0] == roleRun && inside:
		// Not os.Exit: that waits a second in programs built with the race detector.
		syscall.Exit(carryOut(strings.TrimPrefix(given, roleRun+" "), os.Args[len(os.Args)-1]))
	case given == "" && inside && len(os.Args) == 2 && os.Args[1] == probeArg:
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

func probe() int {
	if err := netfault.WriteProbe(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// becomeClient keeps the pipes to the harness apart from what the test, and the
// testing package, read and print.
func becomeClient(call, test string) (err error) {
	if err := become(call, test); err != nil {
		return err
	}
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

// moved is the file of a descriptor under another number, which no program that
// is started inherits.
func moved(fd int) (*os.File, error) {
	const above = 100 // code that expects the next free descriptor finds it
	to, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, above)
	if err != nil {
		return nil, fmt.Errorf("move descriptor %d: %w", fd, err)
	}
	return os.NewFile(uintptr(to), "harness"), nil
}

// serve is the life of a client that has come to its call of Run. It does not return.
func serve(s Scenario, open Open) {
	kind := s.lock(lockName(me.test)).Kind()
	kind.Open = open.client
	if err := worker.Run(context.Background(), me.in, me.out, []clients.Kind{kind}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		syscall.Exit(1)
	}
	syscall.Exit(0)
}

// carryOut runs the plan of a folder, inside a sandbox, and returns the exit status.
func carryOut(todo, dir string) int {
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
	defer stop()
	var j job
	err := json.Unmarshal([]byte(todo), &j)
	if err == nil { // all that is started from here is a child
		err = os.Setenv(roleVar, fmt.Sprintf("%s %d %s", roleChild, j.Call, j.Test))
	}
	if err == nil {
		err = tool(j.Lock.Kind()).RunInside(ctx, dir, os.Stdout, func(ctx context.Context, cfg harness.Config) error {
			cfg.Worker = append([]string{"/proc/self/exe"}, j.Worker...)
			return harness.Run(ctx, cfg)
		})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return exit.Of(err)
}
