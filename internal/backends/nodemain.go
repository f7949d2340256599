//go:build linux

package backends

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/lockchaos/lockchaos/internal/hosts/remote"
)

// NodeMain is what this program does when it is started again as a node: "lockchaos node
// etcd …", with the arguments after "node". It returns the exit status when the node has
// ended: 0 after SIGTERM or SIGINT, 1 when it failed, 64 when it was called wrongly.
func NodeMain(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "node: which one? there are", strings.Join(nodeNames(), ", "))
		return 64
	}
	for _, n := range nodePrograms {
		if n.name != args[0] {
			continue
		}
		err := n.run(ctx, args[1:])
		if errors.Is(err, flag.ErrHelp) {
			return 64
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "node %s: %v\n", n.name, err)
			return 1
		}
		return 0
	}
	fmt.Fprintf(os.Stderr, "node: no %q; there are %s\n", args[0], strings.Join(nodeNames(), ", "))
	return 64
}

var nodePrograms = append(compiled,
	nodeProgram{"miniredis", miniredisNode},
	nodeProgram{"relay", remote.Relay},
	nodeProgram{"store", storeNode},
)

func nodeNames() (names []string) {
	for _, n := range nodePrograms {
		names = append(names, n.name)
	}
	return names
}
