package scenarios

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/goccy/go-yaml"
	"github.com/lockchaos/lockchaos/internal/outside"
	"github.com/lockchaos/lockchaos/internal/strictyaml"
)

// Plan is a scenario with its seed: all that a run needs to know. It is saved
// beside the history, and running it again repeats every planned draw.
type Plan struct {
	Seed     uint64   `yaml:"seed"`
	Scenario Scenario `yaml:"scenario"`
	// Simulation is what the plan was simulated with; nil: it was not, or not
	// yet. With anything else it would run differently, and is refused.
	Simulation *Simulation `yaml:"simulation,omitempty"`
}

// Simulation names what, beside a plan, decides each byte of a simulated run: SHA-256, in
// hexadecimal, of the compiled adapter and of the simulator.
type Simulation struct {
	Program   string `yaml:"program"`
	Simulator string `yaml:"simulator"`
	// Steady names draws of the scheduler that are not drawn, but always the middle
	// (simulated.Draws).
	Steady []string `yaml:"steady,omitempty"`
	// Order is another order of the events of one instant; nil: they come in the order in which
	// they were caused. It needs a run in which nothing is drawn.
	Order *Order `yaml:"order,omitempty"`
}

// Order is an order of events of one simulated instant.
type Order struct {
	// At is the instant, from the workload's start.
	At Duration `yaml:"at"`
	// Events are the numbers, from 1, of events that wait when the instant begins. They come in
	// this order, at the turns that they have among the others.
	Events []int `yaml:"events,flow"`
}

// Same reports whether two simulations are of the same adapter and simulator,
// so that one plan runs the same in both.
func (s Simulation) Same(o Simulation) bool {
	return s.Program == o.Program && s.Simulator == o.Simulator
}

// Stream returns the random stream of one part of the run ("client 3", "fault 0"). Streams of
// different names are independent of each other and of the order in which they are asked for.
func (p Plan) Stream(name string) *rand.Rand {
	return rand.New(rand.NewPCG(p.Seed, p.StreamSeed(name)))
}

// StreamSeed is the number that a stream is seeded with beside the plan's own:
// for processes that draw for themselves.
func (p Plan) StreamSeed(name string) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d/%s/%s", p.Seed, p.Scenario.Name, name)
	return h.Sum64()
}

// Draw takes a duration evenly from the range.
func (r Range) Draw(rng *rand.Rand) Duration {
	if r.Max <= r.Min {
		return r.Min
	}
	return r.Min + Duration(rng.Int64N(int64(r.Max-r.Min)+1))
}

// Save writes the plan as YAML.
func (p Plan) Save(file string) error {
	var text bytes.Buffer
	if err := p.Write(&text); err != nil {
		return err
	}
	if err := os.WriteFile(file, text.Bytes(), 0o644); err != nil {
		return fmt.Errorf("save plan: %w", err)
	}
	return nil
}

// Write writes the plan as YAML.
func (p Plan) Write(w io.Writer) error {
	text, err := yaml.Marshal(p)
	if err != nil {
		return fmt.Errorf("plan of %s: %w", p.Scenario.Name, err)
	}
	again := "the same draws, not the same schedule"
	if p.Simulation != nil {
		again = "in virtual time, to the same history"
	}
	if _, err := fmt.Fprintf(w, "# lockchaos plan: `lockchaos run --plan FILE` runs it again (%s).\n%s", again,
		text); err != nil {
		return fmt.Errorf("save plan: %w", err)
	}
	return nil
}

// LoadPlan reads a saved plan.
func LoadPlan(file string, c Catalogue) (*Plan, error) {
	text, err := strictyaml.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read plan: %w", err)
	}
	return readPlan(text, file, c)
}

// LoadPlanIn reads a saved plan in a folder that somebody else may have made.
func LoadPlanIn(folder, name string, c Catalogue) (*Plan, error) {
	text, err := outside.Read(folder, name, strictyaml.Most)
	if err != nil {
		return nil, fmt.Errorf("read plan: %w", err)
	}
	return readPlan(text, filepath.Join(folder, name), c)
}

func readPlan(text []byte, file string, c Catalogue) (*Plan, error) {
	var p Plan
	mistakes, err := strictyaml.Read(text, file, &p)
	if err != nil {
		return nil, err
	}
	p.Scenario.Needs.complete(p.Scenario.Faults)
	v := &validator{mistakes: mistakes, catalogue: c}
	v.scenario("$.scenario", "$.scenario.lock", &p.Scenario)
	if err := v.mistakes.First(); err != nil {
		return nil, err
	}
	return &p, nil
}
