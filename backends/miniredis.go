package backends

import (
	"context"
	"flag"
	"fmt"
	"os/exec"
	"runtime/debug"

	"github.com/alicebob/miniredis/v2"
)

func startMiniredis(ctx context.Context, l launcher, n *Node) error {
	err := l.launch(n, redisPort, func(string) *exec.Cmd {
		return self("miniredis", "--listen", fmt.Sprintf("%s:%d", n.Host.Addr, redisPort))
	})
	if err != nil {
		return err
	}
	// It cannot be asked for its version; but the node is this program, which knows what it was built from.
	n.Version = "miniredis " + moduleVersion("github.com/alicebob/miniredis/v2")
	return n.await(ctx, func(ctx context.Context) error {
		_, err := askRedis(ctx, n.Addr, "PING")
		return err
	})
}

// moduleVersion returns the version of a module that this program was built with.
func moduleVersion(path string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == path {
				return m.Version
			}
		}
	}
	return "(unknown version)"
}

// miniredisNode is the node: "miniredis --listen ADDR".
func miniredisNode(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("node miniredis", flag.ContinueOnError)
	listen := flags.String("listen", "", "address to serve on, `host:port`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	m := miniredis.NewMiniRedis()
	// Keys expire by the clock, looked at under the server's lock with every command, so never early: a key that expired
	// before its time would be blamed on the lock.
	m.ClockTTL(true)
	if err := m.StartAddr(*listen); err != nil {
		return fmt.Errorf("listen on %s: %w", *listen, err)
	}
	defer m.Close()
	<-ctx.Done()
	return nil
}
