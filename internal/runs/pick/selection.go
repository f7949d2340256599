package pick

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/spelling"
	"github.com/lockchaos/lockchaos/nemesis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Selection says which scenarios of those that are named are meant. The zero value takes all.
type Selection struct {
	// Locks and Faults are names; a scenario has one of each.
	Locks, Faults []string
	// LastFailed: only those of the latest run that did not come out as they should.
	LastFailed bool
}

// NoFault is the word for scenarios in which nothing is disturbed.
const NoFault = "none"

// FaultWords are those that Faults takes.
func FaultWords() []string {
	words := []string{NoFault}
	for _, k := range nemesis.Kinds() {
		words = append(words, k.Name)
	}
	return words
}

// Check refuses words that no scenario could have.
func (s Selection) Check(known scenarios.Catalogue) error {
	for _, w := range []struct {
		sort         string
		words, known []string
	}{{"lock", s.Locks, known.Locks}, {"fault", s.Faults, FaultWords()}} {
		for _, word := range w.words {
			if !slices.Contains(w.known, word) {
				return exit.Misuse(fmt.Errorf("--%s: there is no %[1]s named %q%s (all: lockchaos list %[1]ss)", w.sort,
					word, spelling.Suggest(word, w.known)))
			}
		}
	}
	return nil
}

// Takes reports whether a scenario has one of the locks and one of the faults.
func (s Selection) Takes(sc scenarios.Scenario) bool {
	return (len(s.Locks) == 0 || slices.Contains(s.Locks, sc.Lock)) &&
		(len(s.Faults) == 0 || slices.ContainsFunc(s.Faults, func(kind string) bool { return strikes(sc, kind) }))
}

// strikes reports whether a fault of the kind is among those of the scenario, alone or as a part of
// a combination.
func strikes(sc scenarios.Scenario, kind string) bool {
	if kind == NoFault {
		return len(sc.Faults) == 0
	}
	return slices.ContainsFunc(sc.Faults, func(f scenarios.Fault) bool {
		return slices.ContainsFunc(f.Singles(), func(one scenarios.Fault) bool { return one.Kind == kind })
	})
}

// of leaves the scenarios that are meant.
func (s Selection) of(all []scenarios.Scenario) ([]scenarios.Scenario, error) {
	left := slices.DeleteFunc(slices.Clone(all), func(sc scenarios.Scenario) bool { return !s.Takes(sc) })
	if len(left) == 0 && len(all) > 0 {
		return nil, exit.Misuse(fmt.Errorf("none of %d scenarios is left by %s", len(all),
			strings.Join(s.Words(), " ")))
	}
	return left, nil
}

// Words are those of the command line that say it again.
func (s Selection) Words() (line []string) {
	if len(s.Locks) > 0 {
		line = append(line, "--lock", strings.Join(s.Locks, ","))
	}
	if len(s.Faults) > 0 {
		line = append(line, "--fault", strings.Join(s.Faults, ","))
	}
	if s.LastFailed {
		line = append(line, "--last-failed")
	}
	return line
}
