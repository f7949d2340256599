//go:build linux

package locktest

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/lockchaos/lockchaos/backends"
	"github.com/lockchaos/lockchaos/harness"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// unavailable skips the test where a program of its service is missing.
func (r *run) unavailable() {
	r.t.Helper()
	if why := lacking(r.given.Service); why != "" {
		missing(r.t, fmt.Sprintf("%s was not run: service %s: %s", r.plan.Scenario.Name, r.given.Service, why))
	}
}

// able says which needs of faults this machine does not meet. It is tried once, when a fault first needs something.
var able = sync.OnceValue(func() func(nemesis.Need) string { return nemesis.Able(context.Background(), probeArg) })

// incapable skips the test where the machine can't do its faults.
func (r *run) incapable() {
	r.t.Helper()
	if why := harness.Incapable(r.plan, able); why != "" {
		missing(r.t, fmt.Sprintf("%s was not run: this machine cannot do its faults: %s", r.plan.Scenario.Name, why))
	}
}

// lacking says what of a service is missing on this machine, and how to install it; "": nothing.
func lacking(service string) string {
	if service == scenarios.NoService {
		return ""
	}
	k, _ := backends.Lookup(service)
	place := backends.Place{Listen: "127.0.0.1", Data: "/", Peers: map[string]string{}}
	for _, n := range k.Nodes {
		place.Peers[n.Name] = place.Listen
	}
	for _, n := range k.Nodes {
		if _, err := k.Task(n.Name, place); err != nil {
			return err.Error()
		}
	}
	return ""
}

// checkService tells whether there is such a service.
func checkService(name string) error {
	if _, known := backends.Lookup(name); known || name == scenarios.NoService {
		return nil
	}
	return fmt.Errorf("there is no service %q: one of %s, or %s", name, strings.Join(backends.Names(), ", "), scenarios.NoService)
}

// missing skips the test because of what the machine lacks; where everything is required, it fails.
func missing(t *testing.T, why string) {
	t.Helper()
	if os.Getenv(requireVar) == "all" {
		t.Fatal(shown("locktest: %s", why))
	}
	t.Skip(shown("locktest: %s", why))
}
