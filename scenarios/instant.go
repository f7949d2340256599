package scenarios

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// Instant is a time of the run with a jitter; it reads and writes as
// "2s±200ms", or as one duration. "2s+-200ms" is read too.
type Instant struct{ At, Jitter Duration }

func (i Instant) String() string {
	if i.Jitter == 0 {
		return i.At.String()
	}
	return i.At.String() + "±" + i.Jitter.String()
}

// MarshalText writes the instant as it is read.
func (i Instant) MarshalText() ([]byte, error) { return []byte(i.String()), nil }

// Instants are times of the run; one may be written without a list.
type Instants []Instant

// Numbers are numbers of grants; one may be written without a list.
type Numbers []int64

// MarshalYAML writes a single one as it may be written.
func (all Instants) MarshalYAML() (any, error) {
	if len(all) == 1 {
		return all[0].String(), nil
	}
	var words []string
	for _, i := range all {
		words = append(words, i.String())
	}
	return words, nil
}

// MarshalYAML writes a single one as it may be written.
func (all Numbers) MarshalYAML() (any, error) {
	if len(all) == 1 {
		return all[0], nil
	}
	return []int64(all), nil
}

// UnmarshalYAML reads "2s±200ms", or a list of such.
func (all *Instants) UnmarshalYAML(node ast.Node) (err error) {
	*all, err = items(node, parseInstant)
	return err
}

// UnmarshalYAML reads a number, or a list of such.
func (all *Numbers) UnmarshalYAML(node ast.Node) (err error) {
	*all, err = items(node, func(text string) (int64, error) {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%q is not the number of a grant, such as 5", text)
		}
		return n, nil
	})
	return err
}

// items reads one value or a list of such, and points at the one that is none.
func items[T any](node ast.Node, parse func(string) (T, error)) ([]T, error) {
	nodes := []ast.Node{node}
	if list, ok := node.(*ast.SequenceNode); ok {
		nodes = list.Values
	}
	var all []T
	for _, n := range nodes {
		v, err := parse(n.GetToken().Value)
		if err != nil {
			return nil, &yaml.SyntaxError{Token: n.GetToken(), Message: err.Error()}
		}
		all = append(all, v)
	}
	return all, nil
}

func parseInstant(text string) (i Instant, err error) {
	at, jitter, two := strings.Cut(strings.Replace(text, "+-", "±", 1), "±")
	if i.At, err = parseDuration(strings.TrimSpace(at)); err != nil || !two {
		return i, err
	}
	i.Jitter, err = parseDuration(strings.TrimSpace(jitter))
	return i, err
}
