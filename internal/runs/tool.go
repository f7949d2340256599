package runs

import (
	"fmt"
	"sync"

	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/external"
	"github.com/lockchaos/lockchaos/internal/harness/possible"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Tool is the program that runs scenarios: how it is called, and which locks it knows.
type Tool struct {
	// Version is recorded with every run, and so is Program, the word by which
	// the program is called: it is part of the commands that a user can paste.
	Version, Program string
	// Build tells one build of the program from all others; "": nothing does.
	Build   string
	locks   []clients.Kind
	library func() *scenarios.Library
}

// NewTool returns a program that knows the locks.
func NewTool(version, program string, locks []clients.Kind) *Tool {
	t := &Tool{Version: version, Program: program, locks: locks}
	t.library = sync.OnceValue(func() *scenarios.Library { return scenarios.NewLibrary(t.Catalogue()) })
	return t
}

// Suites are those that come with lockchaos, read once. Change none of them.
func (t *Tool) Suites() ([]scenarios.Suite, error) { return t.library().All() }

// Catalogue is what scenarios can name, wherever they run.
func (t *Tool) Catalogue() scenarios.Catalogue {
	return possible.Catalogue(t.locks, t.KindOf, possible.CheckSomewhere)
}

// Locks are those that the program knows.
func (t *Tool) Locks() []clients.Kind { return append([]clients.Kind(nil), t.locks...) }

// Lock is the lock of a name.
func (t *Tool) Lock(name string) (clients.Kind, error) {
	for _, k := range t.locks {
		if k.Name == name {
			return k, nil
		}
	}
	return clients.Kind{}, fmt.Errorf("there is no lock named %q", name)
}

// KindOf is the scenario's lock: one of the catalogue, an adapter, or that of
// the user's own application, of which nothing is known.
func (t *Tool) KindOf(s *scenarios.Scenario) (clients.Kind, error) {
	if s.Own() {
		return clients.Kind{Name: s.Lock}, nil
	}
	if !s.External() {
		return t.Lock(s.Lock)
	}
	return external.Kind(scenarios.ServiceNamed(s.Adapter.Service)), nil
}
