package scenarios

import (
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// Planned is a single fault of a plan, with the plan's own words for the rest of it.
type Planned struct {
	Fault
	Text string
}

// Planned are the single faults that it is made of, in the order of Singles. Of
// a part of a combination the words say how it is combined, and when the whole
// comes: "for 900ms (together, grant 10)".
func (f Fault) Planned() (all []Planned) {
	parts, how := f.Parts(), "mix"
	if len(parts) == 0 {
		return []Planned{{f, f.Schedule()}}
	}
	if len(f.Sequence) > 0 {
		how = "sequence"
	} else if len(f.Together) > 0 {
		how = "together"
	}
	whole := f
	whole.Sequence, whole.Together, whole.Mix, whole.For = nil, nil, nil, 0
	if when := whole.Schedule(); when != "" {
		how += ", " + when
	}
	for _, p := range parts {
		for _, one := range p.Within(f).Planned() {
			one.Text = strings.TrimSpace(one.Text + " (" + how + ")")
			all = append(all, one)
		}
	}
	return all
}

// Schedule tells in the scenario's own words what a fault's plan says beyond
// kind, target and moment: "for 1.5s, after 200ms, every 800ms..1.2s".
func (f Fault) Schedule() string {
	text, err := yaml.Marshal(f)
	if err != nil {
		return ""
	}
	var fields yaml.MapSlice
	if err := yaml.Unmarshal(text, &fields); err != nil {
		return ""
	}
	var parts []string
	for _, field := range fields {
		name, _ := field.Key.(string)
		value, err := yaml.MarshalWithOptions(field.Value, yaml.Flow(true))
		word := strings.TrimSpace(string(value))
		if err != nil || slices.Contains([]string{"kind", "target", "when"}, name) ||
			slices.Contains([]string{"0s", "0", "null", ""}, word) {
			continue
		}
		parts = append(parts, name+" "+word)
	}
	return strings.Join(parts, ", ")
}
