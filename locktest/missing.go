//go:build linux

package locktest

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/backends"
	"github.com/lockchaos/lockchaos/scenarios"
)

// unavailable skips the test where a program of its service is missing.
func (r *run) unavailable() {
	r.t.Helper()
	if why := lacking(r.given.Service); why != "" {
		missing(r.t, fmt.Sprintf("%s was not run: service %s: %s", r.plan.Scenario.Name, r.given.Service, why))
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
		t.Fatal("locktest: " + why)
	}
	t.Skip("locktest: " + why)
}
