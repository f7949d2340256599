package backends

import (
	"context"
	"flag"
	"fmt"
	"net"
	"runtime/debug"
	"strconv"

	"github.com/alicebob/miniredis/v2"
)

// miniredisTask runs the stand-in. It cannot be asked for its version; but the
// node is this program, which knows what it was built from.
func miniredisTask(n NodeSpec, p Place) Task {
	_, missing, _ := FindRedis()
	return Task{
		Args:    self("miniredis", "--listen", net.JoinHostPort(p.Listen, strconv.Itoa(n.Port))),
		standIn: &standIn{"miniredis", moduleVersion("github.com/alicebob/miniredis/v2"), "Redis", missing, redisFix()},
	}
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
	// Keys expire by the clock, looked at under the server's lock with every command,
	// so never early: a key that expired before its time would be blamed on the lock.
	m.ClockTTL(true)
	if err := m.StartAddr(*listen); err != nil {
		return fmt.Errorf("listen on %s: %w", *listen, err)
	}
	defer m.Close()
	<-ctx.Done()
	return nil
}

// MiniredisVersion is the version of the stand-in.
func MiniredisVersion() string { return moduleVersion("github.com/alicebob/miniredis/v2") }
