package scenarios

import (
	"fmt"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// UnmarshalYAML reads what time.ParseDuration reads; negative durations are refused.
func (d *Duration) UnmarshalYAML(node ast.Node) error {
	v, err := parseDuration(node.GetToken().Value)
	if err != nil {
		return &yaml.SyntaxError{Token: node.GetToken(), Message: err.Error()}
	}
	*d = v
	return nil
}

// UnmarshalYAML reads what time.ParseDuration reads.
func (o *Offset) UnmarshalYAML(node ast.Node) error {
	text := node.GetToken().Value
	v, err := time.ParseDuration(text)
	if err != nil {
		return &yaml.SyntaxError{Token: node.GetToken(),
			Message: fmt.Sprintf("%q is not a duration such as 1h or -30s", text)}
	}
	*o = Offset(v)
	return nil
}

// UnmarshalYAML reads "20ms..40ms" or "30ms".
func (r *Range) UnmarshalYAML(node ast.Node) error {
	v, err := parseRange(node.GetToken().Value)
	if err != nil {
		return &yaml.SyntaxError{Token: node.GetToken(), Message: err.Error()}
	}
	*r = v
	return nil
}

func parseDuration(text string) (Duration, error) {
	v, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a duration such as 500ms or 1.5s", text)
	}
	if v < 0 {
		return 0, fmt.Errorf("%q: a duration here cannot be negative", text)
	}
	return Duration(v), nil
}

func parseRange(text string) (r Range, err error) {
	low, high, two := strings.Cut(text, "..")
	if !two {
		high = low
	}
	if r.Min, err = parseDuration(strings.TrimSpace(low)); err != nil {
		return r, err
	}
	if r.Max, err = parseDuration(strings.TrimSpace(high)); err != nil {
		return r, err
	}
	if r.Min > r.Max {
		return r, fmt.Errorf("%q: the first duration is longer than the second", text)
	}
	return r, nil
}
