//go:build !wasip1

package locktest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/runs"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// network is the private network, which knows what of the machine keeps a run from it.
type network struct {
	runs.PrivateNetwork
	// refused is why there can be no sandbox; nil: there can.
	refused *hosts.RefusedError
}

// Skip says what is missing for the service, and what the machine can't do; "": nothing.
func (n *network) Skip(p scenarios.Plan) string {
	if runtime.GOOS != "linux" {
		return "private networks need Linux, and locktest.Simulate does not"
	}
	if err := n.Startable(p); err != nil {
		return err.Error()
	}
	if why := n.PrivateNetwork.Skip(p); why != "" {
		return "this machine cannot do its faults: " + why
	}
	return ""
}

// Run runs the plan in a sandbox, and notes whether there can be one.
func (n *network) Run(ctx context.Context, p scenarios.Plan, dir string, stdout, stderr io.Writer) error {
	err := n.PrivateNetwork.Run(ctx, p, dir, stdout, stderr)
	errors.As(err, &n.refused)
	return err
}

// probeArg is the argument of a copy that tries, in a sandbox of its own, what
// faults of a network need.
const probeArg = "-lockchaos-probe"

// able says which needs of faults this machine does not meet. It is tried once,
// when a fault first needs something.
var able = sync.OnceValue(func() func(nemesis.Need) string { return nemesis.UnmetNeeds(context.Background(), probeArg) })

// checkService reports whether there is such a service.
func checkService(name string) error {
	if _, known := backends.Lookup(name); known || name == scenarios.NoService {
		return nil
	}
	return fmt.Errorf("there is no service %q: one of %s, or %s", name, strings.Join(backends.Names(), ", "),
		scenarios.NoService)
}

// missing skips the test because of what the machine lacks; where everything is required, it fails.
func missing(t *testing.T, why string) {
	t.Helper()
	if os.Getenv(requireVar) == "all" {
		t.Fatal(shown("locktest: %s", why))
	}
	t.Skip(shown("locktest: %s", why))
}
