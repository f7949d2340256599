package scenarios

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/goccy/go-yaml/ast"
	"github.com/lockchaos/lockchaos/internal/strictyaml"
)

// group is one entry of a suite's matrix: every lock of a list under every case
// of another. A suite that tries many locks alike would else repeat itself once
// a lock, and hide in the repetition what differs.
type group struct {
	Locks []string `yaml:"locks"`
	// With has the fields that all of the group share, over the suite's defaults.
	With ast.Node `yaml:"with"`
	// Cases are scenarios without a lock; each scenario is named lock/case.
	Cases []ast.Node `yaml:"cases"`
}

// place is a scenario and the YAML path that its mistakes are told at.
type place struct {
	scenario Scenario
	at       string
	// lockAt is the path of its lock's name, and nameAt that of what it is
	// named by: its name or its attack.
	lockAt, nameAt string
}

// expand returns the group's scenarios, lock by lock. i is the group's place in the matrix.
func (v *validator) expand(i int, g group, defaults Scenario) ([]place, error) {
	var out []place
	for l, lock := range g.Locks {
		for c, node := range g.Cases {
			nodes := []ast.Node{node}
			if g.With != nil {
				nodes = []ast.Node{g.With, node}
			}
			p := place{scenario: Scenario{Lock: lock}, at: fmt.Sprintf("$.matrix[%d].cases[%d]", i, c),
				lockAt: fmt.Sprintf("$.matrix[%d].locks[%d]", i, l)}
			p, err := v.read(p, defaults, nodes...)
			if errors.Is(err, errNoMapping) {
				err = fmt.Errorf("case %d of matrix %d, or what it is laid over, %w", c+1, i+1, err)
			}
			if err != nil {
				return nil, err
			}
			out = append(out, p)
		}
	}
	return out, nil
}

var errNoMapping = errors.New("is no mapping of fields (name, lock, …)")

// layer reads mappings of a scenario's fields, each over what the one before has set.
func layer(base Scenario, nodes ...ast.Node) (Scenario, error) {
	sc := base
	sc.Faults = slices.Clone(sc.Faults)
	sc.Expect.Properties = maps.Clone(sc.Expect.Properties)
	sc.App = sc.App.clone()
	for _, node := range nodes {
		if _, ok := node.(ast.MapNode); !ok {
			return sc, errNoMapping // a null has no place to point at
		}
		if err := strictyaml.Node(node, &sc); err != nil {
			return sc, err
		}
	}
	if len(sc.Faults) == 0 {
		sc.Faults = nil // "faults: []" takes the defaults' away
	}
	sc.Needs.complete(sc.Faults)
	return sc, nil
}

// group tells what is wrong with a group as such.
func (v *validator) group(i int, g group) {
	at := fmt.Sprintf("$.matrix[%d]", i)
	if len(g.Locks) == 0 {
		v.fail(at, "a matrix needs locks: a list of their names")
	}
	if len(g.Cases) == 0 {
		v.fail(at, "a matrix needs cases: a list of scenarios without a lock")
	}
}
