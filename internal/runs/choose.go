package runs

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/lockchaos/lockchaos/internal/harness/possible"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
	"github.com/lockchaos/lockchaos/internal/spelling"
	"github.com/lockchaos/lockchaos/scenarios"
)

// Choice is what the words of a command line name.
type Choice struct {
	Name, About string
	Scenarios   []scenarios.Scenario
}

// Choose turns words into scenarios, in the order in which they are named. A
// word is a suite, a scenario, the beginning of scenario names up to a slash,
// or a YAML file; none means the suite quick. given: the servers are the user's, and only they know
// which nodes there are.
func (t *Tool) Choose(words []string, given bool) (Choice, error) {
	if len(words) == 0 {
		words = []string{"quick"}
	}
	suites, err := t.suitesOf(words)
	if err != nil {
		return Choice{}, err
	}
	c := Choice{Name: strings.Join(words, " ")}
	known := map[string]int{} // where in c.Scenarios a name is
	seen := map[string]bool{}
	for _, word := range words {
		if seen[word] {
			continue
		}
		seen[word] = true
		found, about, err := t.named(suites, word, given)
		if err != nil {
			return Choice{}, exit.Misuse(err)
		}
		if len(words) == 1 {
			c.About = about
		}
		for _, s := range found {
			if err := c.add(s, known); err != nil {
				return Choice{}, exit.Misuse(err)
			}
		}
	}
	return c, nil
}

// suitesOf are the suites among which the words are looked up: all; where a single
// suite is named, that one, which is read in a tenth of the time; where all words are
// files, none.
func (t *Tool) suitesOf(words []string) ([]scenarios.Suite, error) {
	if len(words) > 0 && !slices.ContainsFunc(words, func(w string) bool { return !IsFile(w) }) {
		return nil, nil
	}
	if len(words) == 1 {
		if s, err := t.library().Suite(words[0]); err != nil {
			return nil, err
		} else if s != nil {
			return []scenarios.Suite{*s}, nil
		}
	}
	return t.Suites()
}

// add takes a scenario once. Two different ones under one name can't be told apart in a report.
func (c *Choice) add(s scenarios.Scenario, known map[string]int) error {
	if i, there := known[s.Name]; there {
		if !reflect.DeepEqual(c.Scenarios[i], s) {
			return fmt.Errorf("two different scenarios are named %s: run them apart, or rename one", s.Name)
		}
		return nil
	}
	known[s.Name] = len(c.Scenarios)
	c.Scenarios = append(c.Scenarios, s)
	return nil
}

// named returns what one word names, and what that is about if it is a whole suite.
func (t *Tool) named(suites []scenarios.Suite, word string, given bool) (found []scenarios.Scenario, about string, err error) {
	if IsFile(word) {
		known := t.Catalogue()
		if !given {
			known = possible.Catalogue(t.locks, t.KindOf, possible.CheckOurs)
		}
		s, err := scenarios.Load(word, known)
		if err != nil {
			return nil, "", err
		}
		return s.Scenarios, s.About, nil
	}
	found, suite := Find(suites, word)
	if len(found) == 0 {
		hint := spelling.Suggest(word, Names(suites))
		if hint == "" {
			hint = "; the suite is quick, a scenario is redis-setnx/pause-holder/unfenced"
		}
		return nil, "", fmt.Errorf("there is no suite and no scenario named %q%s (all names: lockchaos list scenarios)",
			word, hint)
	}
	if suite != nil {
		about = suite.About
	}
	return found, about, nil
}

// IsFile reports whether a word names a scenario file. One that is not there is
// told by its own error, when it is read.
func IsFile(word string) bool {
	return strings.HasSuffix(word, ".yaml") || strings.HasSuffix(word, ".yml")
}

// Find returns the scenarios that a word names, and the suite if it is a whole one.
func Find(suites []scenarios.Suite, word string) (found []scenarios.Scenario, suite *scenarios.Suite) {
	for i, s := range suites {
		if s.Name == word {
			return s.Scenarios, &suites[i]
		}
	}
	prefix := strings.TrimSuffix(word, "/") + "/"
	for _, s := range suites {
		for _, sc := range s.Scenarios {
			if sc.Name == word || strings.HasPrefix(sc.Name, prefix) {
				found = append(found, sc)
			}
		}
	}
	return found, nil
}

// Names are the names that a user can choose scenarios by.
func Names(suites []scenarios.Suite) []string {
	var names []string
	for _, s := range suites {
		names = append(names, s.Name)
		for _, sc := range s.Scenarios {
			lock, _, _ := strings.Cut(sc.Name, "/")
			names = append(names, lock, sc.Name)
		}
	}
	return names
}

// PlacesOf tells where the scenarios that the words name are written; of a
// saved plan, its file. What can't be read has been told before.
func (t *Tool) PlacesOf(words []string, plan string) map[string]scenarios.Place {
	places := map[string]scenarios.Place{}
	if plan != "" {
		if p, err := scenarios.LoadPlan(plan, t.Catalogue()); err == nil {
			places[p.Scenario.Name] = scenarios.Place{File: plan, Line: 1}
		}
		return places
	}
	suites, _ := t.suitesOf(words)
	for _, s := range suites {
		maps.Copy(places, s.Places)
	}
	for _, word := range words {
		if !IsFile(word) {
			continue
		}
		if s, err := scenarios.Load(word, t.Catalogue()); err == nil {
			maps.Copy(places, s.Places)
		}
	}
	return places
}
