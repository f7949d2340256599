package nemesis

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// Target says whom a fault hits, as a scenario words it: a client ("holder" and the other
// words below); the name of a node of the lock service ("redis-2"); or so many nodes of it,
// drawn anew for each strike: "nodes:3", "minority" (the greatest number that leaves a
// majority) or "majority" (the least that is one); "service", all nodes of it, for a partition
// to split. It stays such a word in the plan; whom it means is found out at the strike.
type Target string

// The clients.
const (
	// Holder is the client that holds a lock, or acquires it, at moment Acquiring.
	Holder Target = "holder"
	// NextWaiter is the client that the lock service will serve next, as far as the harness knows:
	// of those that wait for a key which another holds, the one whose acquire was sent first.
	NextWaiter Target = "next-waiter"
	// RandomClient is any client, whatever it does just then.
	RandomClient Target = "random-client"
	// AllClients are all of them.
	AllClients Target = "all-clients"
)

// Service is the lock service as a whole.
const Service Target = "service"

const (
	minority Target = "minority"
	majority Target = "majority"
	some            = "nodes:"
)

// clientTargets lists the words that mean clients.
var clientTargets = []Target{Holder, NextWaiter, RandomClient, AllClients}

// Client reports whether the target is clients; else it is nodes.
func (t Target) Client() bool { return slices.Contains(clientTargets, t) || t.Number() != 0 }

// Drawn reports whether the target is nodes that are drawn anew for each strike.
func (t Target) Drawn() bool {
	_, err := t.count(0)
	return err == nil
}

// errNoService: there is no node that a fault could strike.
var errNoService = errors.New("the lock has no service of its own")

// Nodes chooses the nodes that are hit, in the order of all. It is an error if
// the service has no such nodes.
func (t Target) Nodes(all []string, rng *rand.Rand) ([]string, error) {
	if names := t.listed(all); names != nil {
		return names, nil
	}
	if t == Service {
		return slices.Clone(all), nil
	}
	n, err := t.count(len(all))
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, errNoService
	}
	if n < 1 || n > len(all) {
		return nil, fmt.Errorf("target %q is %d of %d nodes (%s)", t, n, len(all), strings.Join(all, ", "))
	}
	drawn := rng.Perm(len(all))[:n]
	slices.Sort(drawn)
	var names []string
	for _, i := range drawn {
		names = append(names, all[i])
	}
	return names, nil
}

// count is how many of so many nodes are meant.
func (t Target) count(all int) (int, error) {
	switch t {
	case minority:
		return (all - 1) / 2, nil
	case majority:
		return all/2 + 1, nil
	}
	digits, counted := strings.CutPrefix(string(t), some)
	n, err := strconv.Atoi(digits)
	if !counted || err != nil {
		return 0, fmt.Errorf("unknown target %q: one of holder, next-waiter, random-client, all-clients, client-1, the name of a node, nodes:2 (any number), minority, majority", t)
	}
	return n, nil
}

// Number is the number of the client that the target names, as its host is
// called: 3 for "client-3"; 0: it names none.
func (t Target) Number() int32 {
	digits, named := strings.CutPrefix(string(t), "client-")
	n, err := strconv.ParseInt(digits, 10, 32)
	if !named || err != nil || n < 1 || digits != strconv.FormatInt(n, 10) {
		return 0
	}
	return int32(n)
}

// listed are the nodes that the target names, one or several with commas
// between them, in the order of all; nil: it is another word.
func (t Target) listed(all []string) (names []string) {
	said := strings.Split(string(t), ",")
	for _, name := range said {
		if !slices.Contains(all, name) {
			return nil
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(n string) bool { return !slices.Contains(said, n) })
}
