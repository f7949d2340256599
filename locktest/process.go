//go:build !wasip1

package locktest

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lockchaos/lockchaos/backends"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/harness"
	"github.com/lockchaos/lockchaos/hosts"
	"github.com/lockchaos/lockchaos/netfault"
	"github.com/lockchaos/lockchaos/runs"
	"github.com/lockchaos/lockchaos/runs/exit"
)

// init takes over in the copies of the test binary that are no tests, or not yet: before main nobody has looked at the arguments, and no test need know.
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
	kind := s.lock(lockName(me.test)).Kind()
	kind.Open = open.client
	if err := harness.Work(context.Background(), me.in, me.out, []clients.Kind{kind}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		syscall.Exit(1)
	}
	syscall.Exit(0)
}

// job is what the process inside must know beside the plan. It comes behind roleRun.
type job struct {
	Lock   runs.GoTest
	Test   string
	Call   int
	Worker []string // the arguments of a client
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

// tool is this program, as package runs knows it. Go does not write the versions of modules into test binaries.
func tool(lock clients.Kind) *runs.Tool {
	return runs.NewTool("(version unknown)", "lockchaos", []clients.Kind{lock})
}

// clientArgs are the arguments with which this test binary comes to the same call of Run again.
func clientArgs(test string) []string {
	args := []string{"-test.run=" + exactly(test), "-test.count=1", "-test.timeout=0"}
	if testing.Short() {
		args = append(args, "-test.short")
	}
	// Of the user's own flags all, of those of go test none: they are about output, profiles and caches of the one test that the user runs.
	flag.Visit(func(f *flag.Flag) {
		if !strings.HasPrefix(f.Name, "test.") {
			args = append(args, "-"+f.Name+"="+f.Value.String())
		}
	})
	return append(args, flag.Args()...)
}

// exactly is the pattern of -test.run that matches this test and no other.
func exactly(test string) string {
	parts := strings.Split(test, "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	return strings.Join(parts, "/")
}
