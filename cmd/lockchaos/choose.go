package main

import (
	"fmt"
	"maps"
	"reflect"
	"strings"

	"github.com/lockchaos/lockchaos/runs/exit"
	"github.com/lockchaos/lockchaos/scenarios"
	"github.com/lockchaos/lockchaos/spelling"
)

// choice is what the words of a command line name.
type choice struct {
	name, about string
	scenarios   []scenarios.Scenario
}

// choose turns words into scenarios, in the order in which they are named. A word is a suite, a scenario, the beginning of scenario names up to
// a slash, or a YAML file; none means the suite quick.
func (t *tool) choose(words []string) (choice, error) {
	suites, err := scenarios.Builtin(t.catalogue())
	if err != nil {
		return choice{}, err
	}
	if len(words) == 0 {
		words = []string{"quick"}
	}
	c := choice{name: strings.Join(words, " ")}
	for _, word := range words {
		found, about, err := t.named(suites, word)
		if err != nil {
			return choice{}, exit.Misuse(err)
		}
		if len(words) == 1 {
			c.about = about
		}
		for _, s := range found {
			if err := c.add(s); err != nil {
				return choice{}, exit.Misuse(err)
			}
		}
	}
	return c, nil
}

// add takes a scenario once. Two different ones under one name can't be told apart in a report.
func (c *choice) add(s scenarios.Scenario) error {
	for _, known := range c.scenarios {
		if known.Name == s.Name {
			if !reflect.DeepEqual(known, s) {
				return fmt.Errorf("two different scenarios are named %s: run them apart, or rename one", s.Name)
			}
			return nil
		}
	}
	c.scenarios = append(c.scenarios, s)
	return nil
}

// named returns what one word names, and what that is about if it is a whole suite.
func (t *tool) named(suites []scenarios.Suite, word string) (found []scenarios.Scenario, about string, err error) {
	if isFile(word) {
		s, err := scenarios.Load(word, t.catalogue())
		if err != nil {
			return nil, "", err
		}
		return s.Scenarios, s.About, nil
	}
	found, suite := find(suites, word)
	if len(found) == 0 {
		hint := spelling.Suggest(word, known(suites))
		if hint == "" {
			hint = "; the suite is quick, a scenario is redis-setnx/pause-holder/unfenced"
		}
		return nil, "", fmt.Errorf("there is no suite and no scenario named %q%s (all names: lockchaos list scenarios)", word, hint)
	}
	if suite != nil {
		about = suite.About
	}
	return found, about, nil
}

// isFile tells whether a word names a scenario file. One that is not there is told by its own error, when it is read.
func isFile(word string) bool {
	return strings.HasSuffix(word, ".yaml") || strings.HasSuffix(word, ".yml")
}

// find returns the scenarios that a word names, and the suite if it is a whole one.
func find(suites []scenarios.Suite, word string) (found []scenarios.Scenario, suite *scenarios.Suite) {
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

func known(suites []scenarios.Suite) []string {
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

// placesOf tells where the scenarios that the words name are written; of a saved plan, its file. What can't be read has been told before.
func (t *tool) placesOf(words []string, plan string) map[string]scenarios.Place {
	places := map[string]scenarios.Place{}
	if plan != "" {
		if p, err := scenarios.LoadPlan(plan, t.catalogue()); err == nil {
			places[p.Scenario.Name] = scenarios.Place{File: plan, Line: 1}
		}
		return places
	}
	suites, _ := scenarios.Builtin(t.catalogue())
	for _, s := range suites {
		maps.Copy(places, s.Places)
	}
	for _, word := range words {
		if !isFile(word) {
			continue
		}
		if s, err := scenarios.Load(word, t.catalogue()); err == nil {
			maps.Copy(places, s.Places)
		}
	}
	return places
}
