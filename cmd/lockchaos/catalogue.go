package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/etcd"
	"github.com/lockchaos/lockchaos/clients/noop"
	"github.com/lockchaos/lockchaos/clients/redis"
	"github.com/lockchaos/lockchaos/scenarios"
)

// locks is the catalogue: every lock that a scenario can name.
func locks() []clients.Kind { return []clients.Kind{redis.Setnx, redis.SetnxFenced, etcd.Lease} }

// workerLocks are those that a worker knows: the catalogue, and the lock that does nothing, for measuring the harness.
func workerLocks() []clients.Kind { return append(locks(), noop.Noop) }

// service is what `list services` tells of one service; package backends knows how each is started.
type service struct {
	name  string
	nodes int
	about string
}

func services() []service {
	return []service{
		{"redis", 1, "redis-server of this machine, nothing on disk; where it is missing, miniredis stands in, and every output says so"},
		{"etcd", 3, "the real server, compiled into lockchaos"},
	}
}

// nodesOf is how many nodes a service has; 0 if there is no such service.
func nodesOf(name string) int {
	for _, s := range services() {
		if s.name == name {
			return s.nodes
		}
	}
	return 0
}

// fault is what `list faults` tells of one fault.
type fault struct{ name, about, targets, needs string }

func faults() []fault {
	return []fault{{"pause", "stops every thread of a client's process group (SIGSTOP), as a stop-the-world collection or a suspended virtual machine does",
		"holder; at after-grant, between-read-and-write, before-write, random", "local runtime"}}
}

func catalogue() scenarios.Catalogue {
	c := scenarios.Catalogue{Tokens: map[string]bool{}}
	for _, k := range locks() {
		c.Locks = append(c.Locks, k.Name)
		c.Tokens[k.Name] = k.Claims.Token == "fencing"
	}
	for _, f := range faults() {
		c.Faults = append(c.Faults, f.name)
	}
	for _, p := range checker.Properties() {
		c.Properties = append(c.Properties, p.Name)
	}
	return c
}

func lockKind(name string) (clients.Kind, error) {
	for _, k := range locks() {
		if k.Name == name {
			return k, nil
		}
	}
	return clients.Kind{}, fmt.Errorf("there is no lock named %q", name)
}

// choose turns the words of a command line into scenarios, in the order of the suites. A word is a suite, a scenario, a prefix of scenario names
// that ends with a slash or at one, or a YAML file. The name is the suite's, or the word's where it is only a part of one.
func choose(words []string) (name, about string, chosen []scenarios.Scenario, err error) {
	suites, err := scenarios.Builtin(catalogue())
	if err != nil {
		return "", "", nil, err
	}
	if len(words) == 0 {
		words = []string{"quick"}
	}
	seen := map[string]bool{}
	add := func(list ...scenarios.Scenario) {
		for _, s := range list {
			if !seen[s.Name] {
				seen[s.Name] = true
				chosen = append(chosen, s)
			}
		}
	}
	for _, word := range words {
		if isFile(word) {
			s, err := scenarios.Load(word, catalogue())
			if err != nil {
				return "", "", nil, usage(err)
			}
			about = s.About
			add(s.Scenarios...)
			continue
		}
		found, suite := find(suites, word)
		if len(found) == 0 {
			return "", "", nil, usage(fmt.Errorf("there is no suite and no scenario named %q%s (all names: lockchaos list scenarios)", word, suggest(word, known(suites))))
		}
		if suite != nil {
			about = suite.About
		}
		add(found...)
	}
	if len(words) != 1 {
		about = ""
	}
	return strings.Join(words, " "), about, chosen, nil
}

func isFile(word string) bool {
	if !strings.HasSuffix(word, ".yaml") && !strings.HasSuffix(word, ".yml") {
		return false
	}
	_, err := os.Stat(word)
	return err == nil
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
			names = append(names, sc.Name)
		}
	}
	return names
}
