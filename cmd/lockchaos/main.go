// Command lockchaos tests distributed locks: it runs real lock services, breaks
// what they rely on, and judges what happened.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	_ "time/tzdata" // a log's zone means the same on every machine

	"golang.org/x/sys/unix"

	_ "github.com/lockchaos/lockchaos/cmd/lockchaos/crash" // a crash is no result
	"github.com/lockchaos/lockchaos/internal/harmless"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/hosts/kubernetes"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
)

func main() {
	defer func() {
		// Go would end with status 2, which means inconclusive; a defect of ours is never a result.
		if p := recover(); p != nil {
			harmless.Fprintf(os.Stderr, "lockchaos: a defect in lockchaos itself, please report it: %v\n%s", p,
				debug.Stack())
			os.Exit(exit.Failed)
		}
	}()
	hosts.Stage()      // in the init process of a sandbox this does not return
	kubernetes.Stage() // nor this in a pod of ours
	os.Exit(execute(interruptible(), os.Args[1:], os.Stdout, os.Stderr))
}

// interruptible is a context that the first interrupt ends. The code that has it
// heals, records and reports. The second interrupt, no longer caught, ends the
// program at once. A shell starts what runs in the background with SIGINT
// ignored, and so it would be again: there the second is caught, too.
func interruptible() context.Context {
	background := signal.Ignored(unix.SIGINT)
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
	context.AfterFunc(ctx, func() {
		if background {
			second := make(chan os.Signal, 1)
			signal.Notify(second, unix.SIGINT)
			defer func() { <-second; os.Exit(endedBySIGINT) }()
		}
		stop()
	})
	return ctx
}

// endedBySIGINT is the exit status that shells give to what SIGINT has ended.
const endedBySIGINT = 128 + int(unix.SIGINT)
