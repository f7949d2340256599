package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// claimPoll is how often a claim is tried.
const claimPoll = 100 * time.Millisecond

// Claim takes a name for itself until it is closed, and waits for its holder. It is a
// socket of the abstract namespace (unix(7)): that leaves no file, the kernel frees it when we die,
// and everybody in the same network namespace sees it. The error is unix.EADDRINUSE if the name is
// another's.
func Claim(ctx context.Context, name string, wait time.Duration) (*net.UnixListener, error) {
	for began := time.Now(); ; {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: "@lockchaos-" + name, Net: "unix"})
		if !errors.Is(err, unix.EADDRINUSE) || time.Since(began) >= wait {
			return l, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", ctx.Err(), err)
		case <-time.After(claimPoll):
		}
	}
}
