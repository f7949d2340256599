// Command lockchaos tests distributed locks: it runs real lock services, breaks what they rely on, and judges what happened.
package main

import (
	"context"
	"os"
	"os/signal"

	"github.com/lockchaos/lockchaos/hosts"
	"golang.org/x/sys/unix"
)

func main() {
	hosts.Stage() // in the init process of a sandbox this does not return
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
	// The first interrupt heals, records and reports; the second one, no longer caught, ends the program at once.
	context.AfterFunc(ctx, stop)
	os.Exit(execute(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
