package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// outlet is a standard output whose reader may go, as in `lockchaos run | head -1`. The kernel would
// then end the program at once, and what it has made in containers and networks would stay. So it is
// interrupted instead: it heals, records and cleans up.
type outlet struct {
	out       io.Writer
	interrupt context.CancelFunc
	broken    atomic.Bool
}

// outlive returns the context that ends when nobody reads out any more.
func outlive(ctx context.Context, out io.Writer) (context.Context, *outlet) {
	ctx, cancel := context.WithCancel(ctx)
	// Not ignored: programs that are started would inherit that. Nobody has to receive it.
	signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE)
	return ctx, &outlet{out: out, interrupt: cancel}
}

// Under is the output itself.
func (o *outlet) Under() io.Writer { return o.out }

func (o *outlet) Write(p []byte) (int, error) {
	n, err := o.out.Write(p)
	if errors.Is(err, unix.EPIPE) {
		o.broken.Store(true)
		o.interrupt()
	}
	return n, err
}
