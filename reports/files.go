package reports

import (
	"encoding/json"
	"fmt"
	"io"
)

// saved is the form of verdict.json: the scenario, and its result in a word for those who read only that.
type saved struct {
	Format int    `json:"lockchaos_verdict"`
	Result Result `json:"result"`
	Scenario
}

// WriteVerdict writes verdict.json: the scenario with its verdict, without the history.
func WriteVerdict(w io.Writer, s Scenario) error {
	if err := writeJSON(w, saved{1, s.Result(), s}); err != nil {
		return fmt.Errorf("write verdict of %s: %w", s.Name, err)
	}
	return nil
}

// ReadVerdict reads what WriteVerdict wrote.
func ReadVerdict(r io.Reader) (Scenario, error) {
	var v saved
	if err := json.NewDecoder(r).Decode(&v); err != nil {
		return Scenario{}, fmt.Errorf("read verdict: %w", err)
	}
	if v.Format != 1 {
		return Scenario{}, fmt.Errorf("read verdict: format %d, want 1: judge the history again with `lockchaos check`", v.Format)
	}
	return v.Scenario, nil
}

// savedSuite is the form of suite.json: what is known of the run, and where its scenarios are.
type savedSuite struct {
	Format int `json:"lockchaos_suite"`
	Suite
	Dirs []string `json:"dirs"`
}

// WriteSuite writes suite.json: the run, without its scenarios, whose folders it names.
func WriteSuite(w io.Writer, s Suite) error {
	dirs := make([]string, 0, len(s.Scenarios))
	for _, x := range s.Scenarios {
		dirs = append(dirs, x.Dir)
	}
	if err := writeJSON(w, savedSuite{1, s, dirs}); err != nil {
		return fmt.Errorf("write suite %s: %w", s.Name, err)
	}
	return nil
}

// ReadSuite reads what WriteSuite wrote. The folders of the scenarios come in the suite's order; each holds a verdict.json.
func ReadSuite(r io.Reader) (s Suite, dirs []string, err error) {
	var v savedSuite
	if err := json.NewDecoder(r).Decode(&v); err != nil {
		return Suite{}, nil, fmt.Errorf("read suite: %w", err)
	}
	if v.Format != 1 {
		return Suite{}, nil, fmt.Errorf("read suite: format %d, want 1: it was written by another version of lockchaos", v.Format)
	}
	return v.Suite, v.Dirs, nil
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
