package runs

import (
	"slices"

	"github.com/lockchaos/lockchaos/clients"
)

// GoTest is what there is to know of a run that is a test in Go (package locktest): the lock
// is the test's own, and no program that judges or renders the run later knows it by name.
type GoTest struct {
	Lock    string         `json:"lock"`
	Service string         `json:"service"` // "": the lock needs none
	Claims  clients.Claims `json:"claims"`
}

// Kind is the test's lock as the harness knows it.
func (g GoTest) Kind() clients.Kind {
	return clients.Kind{Name: g.Lock, Service: g.Service, Claims: g.Claims}
}

// runFolder is the folder of a scenario that lies in the run's own.
const runFolder = "."

// knowing is the program, as if it knew the lock of the test, too; nil: there is no test.
func (t *Tool) knowing(g *GoTest) *Tool {
	if g == nil {
		return t
	}
	return NewTool(t.Version, t.Program, append(slices.Clip(t.locks), g.Kind()))
}
