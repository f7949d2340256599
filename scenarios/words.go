package scenarios

import (
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// Schedule tells in the scenario's own words what a fault's plan says beyond kind, target and moment: "for 1.5s, after 200ms, every 800ms..1.2s".
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
		if err != nil || slices.Contains([]string{"kind", "target", "when"}, name) || slices.Contains([]string{"0s", "0", "null", ""}, word) {
			continue
		}
		parts = append(parts, name+" "+word)
	}
	return strings.Join(parts, ", ")
}
