package main

import (
	"fmt"
	"maps"
	"reflect"
	"strings"

	"github.com/lockchaos/lockchaos/backends"
	"github.com/lockchaos/lockchaos/clients"
	"github.com/lockchaos/lockchaos/clients/broken"
	"github.com/lockchaos/lockchaos/clients/etcd"
	"github.com/lockchaos/lockchaos/clients/external"
	"github.com/lockchaos/lockchaos/clients/memcached"
	"github.com/lockchaos/lockchaos/clients/nats"
	"github.com/lockchaos/lockchaos/clients/noop"
	"github.com/lockchaos/lockchaos/clients/postgres"
	"github.com/lockchaos/lockchaos/clients/redis"
	"github.com/lockchaos/lockchaos/clients/redislock"
	"github.com/lockchaos/lockchaos/clients/redlock"
	"github.com/lockchaos/lockchaos/clients/redsync"
	"github.com/lockchaos/lockchaos/clients/zookeeper"
	"github.com/lockchaos/lockchaos/harness"
	"github.com/lockchaos/lockchaos/runs/exit"
	"github.com/lockchaos/lockchaos/scenarios"
)

// locks is the catalogue: every lock that a scenario can name.
func locks() []clients.Kind {
	honest := []clients.Kind{
		redis.Setnx, redis.SetnxFenced, redis.Watchdog, redis.Fair, redislock.Redislock, redis.Semaphore, redis.Queue,
		redis.Failover,
		redlock.Redlock, redsync.Redsync,
		etcd.Lease, etcd.LockAPI, etcd.Semaphore, etcd.ReadWrite,
		zookeeper.Recipe, zookeeper.Gozk,
		postgres.Advisory, postgres.AdvisoryXact, postgres.Row, postgres.Lease,
		postgres.AdvisoryXactPooled, postgres.LeasePooled,
		memcached.Add,
		nats.KV,
		etcd.Txn, noop.Cas, noop.ConditionalUpdate, // no locks: the store refuses what is stale
	}
	return append(append(honest, broken.Kinds()...), redis.WatchdogDeaf, redis.RenewLate, etcd.WaiterBlind, etcd.QueueStayer, etcd.TokenLease, zookeeper.SessionBlind, zookeeper.Herd, postgres.AdvisoryPooled,
		memcached.BrokenDelete, memcached.BrokenBrief, nats.BrokenUpdate)
}

// workerLocks are those that a worker knows: the catalogue, the lock that does nothing, for measuring the harness, and programs of the user's own.
func workerLocks() []clients.Kind { return append(locks(), noop.Noop, external.Kind("")) }

// nodesOf is how many nodes a service has; 0 if there is no such service.
func nodesOf(name string) int {
	k, _ := backends.Lookup(name)
	return len(k.Nodes)
}

func catalogue() scenarios.Catalogue {
	return harness.Catalogue(locks(), kindOf)
}

func lockKind(name string) (clients.Kind, error) {
	for _, k := range locks() {
		if k.Name == name {
			return k, nil
		}
	}
	return clients.Kind{}, fmt.Errorf("there is no lock named %q", name)
}

// kindOf is the scenario's lock: one of the catalogue, an adapter, or that of the user's own application, of which nothing is known.
func kindOf(s *scenarios.Scenario) (clients.Kind, error) {
	if s.Own() {
		return clients.Kind{Name: s.Lock}, nil
	}
	if !s.External() {
		return lockKind(s.Lock)
	}
	return external.Kind(scenarios.ServiceNamed(s.Adapter.Service)), nil
}

// choice is what the words of a command line name.
type choice struct {
	name, about string
	scenarios   []scenarios.Scenario
}

// choose turns words into scenarios, in the order in which they are named. A word is a suite, a scenario, the beginning of scenario names up to
// a slash, or a YAML file; none means the suite quick.
func choose(words []string) (choice, error) {
	suites, err := scenarios.Builtin(catalogue())
	if err != nil {
		return choice{}, err
	}
	if len(words) == 0 {
		words = []string{"quick"}
	}
	c := choice{name: strings.Join(words, " ")}
	for _, word := range words {
		found, about, err := named(suites, word)
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
func named(suites []scenarios.Suite, word string) (found []scenarios.Scenario, about string, err error) {
	if isFile(word) {
		s, err := scenarios.Load(word, catalogue())
		if err != nil {
			return nil, "", err
		}
		return s.Scenarios, s.About, nil
	}
	found, suite := find(suites, word)
	if len(found) == 0 {
		hint := suggest(word, known(suites))
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
func placesOf(words []string, plan string) map[string]scenarios.Place {
	places := map[string]scenarios.Place{}
	if plan != "" {
		if p, err := scenarios.LoadPlan(plan, catalogue()); err == nil {
			places[p.Scenario.Name] = scenarios.Place{File: plan, Line: 1}
		}
		return places
	}
	suites, _ := scenarios.Builtin(catalogue())
	for _, s := range suites {
		maps.Copy(places, s.Places)
	}
	for _, word := range words {
		if !isFile(word) {
			continue
		}
		if s, err := scenarios.Load(word, catalogue()); err == nil {
			maps.Copy(places, s.Places)
		}
	}
	return places
}
