package backends

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/internal/hosts/agent"
)

// Kind is the recipe of one service: which nodes it is made of, what each of them runs, and when
// it is ready. The same recipe is launched on hosts of a private network, or in containers.
type Kind struct {
	Name, About string
	// Nodes are in the order in which they are launched.
	Nodes []NodeSpec
	// Notes says in full sentences how the service is set up where that matters to a lock.
	Notes []string

	// Forgets: its nodes keep what they know in memory alone, unless Place.Durable
	// asks for more. Those of other services have written down what they answer for.
	Forgets bool
	// Volatile: its nodes can't keep all that they answer for, whatever Place.Durable asks for.
	Volatile bool
	// Alone: one server can be the whole service, where somebody has no more.
	Alone bool

	// Clusters: where it runs already, it may be a cluster of any number of such nodes, and each
	// knows all of them.
	Clusters bool
	// Shards: such a cluster spreads keys over its nodes, and one that fails over may forget some.
	Shards bool

	// TTL is the shortest lease that is usual there, where the service counts
	// in whole seconds or looks only now and then; 0: as short as one likes.
	TTL time.Duration
	// WallClock: it reckons its leases by the clock on the wall, which can jump.
	WallClock bool
	// Slack is how much longer than its TTL a session may live that the service
	// does not hear, or a lease that nobody renews. It covers a TTL that the
	// service rounds up. Nothing is said of a service that ends none by time.
	Slack time.Duration
	// Doubles: it keeps a session for up to twice its TTL, and Slack.
	Doubles bool

	// office is what the node is called that decides for the others.
	office office
	// expirer ends the sessions of a client.
	expirer expirer
	// refuser has its nodes answer writes with errors.
	refuser refuser
	// election is how its nodes tell of their leader.
	election Election
	// task is what a node runs.
	task func(k Kind, n NodeSpec, p Place) (Task, error)
	// next waits for what must be so before another node is launched beside
	// those; nil: all may be launched at once.
	next func(ctx context.Context, launched []*Node) error
	// ready waits until the service answers as its clients will ask it, and learns the versions.
	ready func(ctx context.Context, nodes []*Node) error
	// back waits until one node that was started again answers as it did before.
	back func(n *Node, ctx context.Context) error
}

// NodeSpec is one node of a recipe.
type NodeSpec struct {
	// Name is "redis-1", "etcd-2"; with the prefix that WithPrefix gave.
	Name string
	// Program is what the node runs.
	Program *Program
	// Port is where clients, or other nodes, connect.
	Port int
	// Behind: clients find this node through others, and are not given its address.
	Behind bool
}

// Place is where a node is to live.
type Place struct {
	// Listen is the address to listen on: the host's own, or 0.0.0.0 in a container.
	Listen string
	// Data is the folder for data, as the node sees it. It must exist, and be the node's own.
	Data string
	// Peers says under which address or host name each node of the service,
	// this one included, is reached by the others.
	Peers map[string]string
	// Durable: before it answers, the node writes down what it answers for, so
	// that a kill loses nothing of it.
	Durable bool
	// Contained: the node runs in a container, from the service's official image or from one
	// of a distribution's packages. Else it runs on this machine, from what is installed here.
	Contained bool
}

// Task is what a node runs.
type Task struct {
	// Args is the command. In the network of a host it is found on this
	// machine; in a container, in the image.
	Args []string
	// Env is added to the environment, as NAME=value.
	Env []string
	// Files are written first: names under Place.Data, and their contents.
	Files map[string]string
	// Before are commands that must have succeeded first, in this order.
	Before [][]string
	// User is the user that a container's processes run as; "": the image's. UID is that user's
	// number in the images, where the server looks its own name up; 0: any but root's will do.
	User string
	UID  int64

	// standIn is what runs in place of the real server; nil: nothing does.
	standIn *standIn
	// account is one with a password that the server lets in; nil: it has none.
	account *Account
}

// Kinds are the services, in the order in which lists show them.
func Kinds() []Kind {
	return []Kind{redisOne, redisFive, redisFailover, etcd, zookeeper, postgres, pgbouncer, memcached, nats, consul,
		mariadb, galera, objectStore, dynamodb, kubernetes}
}

// Names lists the services that Start knows.
func Names() (names []string) {
	for _, k := range Kinds() {
		names = append(names, k.Name)
	}
	return names
}

// Lookup finds a service by its name.
func Lookup(name string) (Kind, bool) {
	for _, k := range Kinds() {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{}, false
}

// UsualTTL returns the TTL of a lock on a service of which nothing else is known; "": on none.
func UsualTTL(service string) time.Duration {
	k, _ := Lookup(service)
	return max(k.TTL, 500*time.Millisecond)
}

// SlackOf is how much longer than this TTL a session may live that the service does not hear.
func (k Kind) SlackOf(ttl time.Duration) time.Duration {
	if k.Doubles {
		return ttl + k.Slack
	}
	return k.Slack
}

// WithPrefix returns the same service under node names that begin with the
// prefix, so that it can stand beside another of its kind.
func (k Kind) WithPrefix(prefix string) Kind {
	k.Nodes = slices.Clone(k.Nodes)
	for i := range k.Nodes {
		k.Nodes[i].Name = prefix + k.Nodes[i].Name
	}
	return k
}

// of returns the service with these nodes in place of its own; none: with its own.
func (k Kind) of(members []string) Kind {
	if len(members) == 0 {
		return k
	}
	recipe := k.Nodes
	k.Nodes = nil
	for _, name := range members {
		like := slices.IndexFunc(recipe, func(n NodeSpec) bool { return n.Name == name })
		if like < 0 {
			like = slices.IndexFunc(recipe, func(n NodeSpec) bool { return stem(n.Name) == stem(name) })
		}
		one := recipe[max(like, 0)]
		one.Name = name
		k.Nodes = append(k.Nodes, one)
	}
	return k
}

// Members are the names of nodes that run already, which may be others than those of a recipe.
func Members(attached []agent.Attached) (names []string) {
	for _, a := range attached {
		names = append(names, a.Name)
	}
	return names
}

// stem is the name of a node without its number.
func stem(name string) string { return strings.TrimRight(name, "0123456789") }

// Entry is the node by which clients find the others, where they are given no others.
func (k Kind) Entry() NodeSpec {
	return k.Nodes[max(slices.IndexFunc(k.Nodes, func(n NodeSpec) bool { return !n.Behind }), 0)]
}

// Speaks is what the node is a server of, as probes call it.
func (n NodeSpec) Speaks() string {
	if n.Port == sentinelPort {
		return "redis-sentinel"
	}
	return n.Program.Name
}

// Numbered are the names of its nodes, where it is a cluster of so many.
func (k Kind) Numbered(nodes int) (names []string) {
	for i := range nodes {
		names = append(names, stem(k.Nodes[0].Name)+strconv.Itoa(i+1))
	}
	return names
}

// Task returns what the node runs at the place. It fails if a program is
// missing on this machine, and says what to install.
func (k Kind) Task(node string, p Place) (Task, error) {
	i := k.index(node)
	if i < 0 {
		return Task{}, fmt.Errorf("service %s has no node named %q", k.Name, node)
	}
	for _, n := range k.Nodes {
		if p.Peers[n.Name] == "" {
			return Task{}, fmt.Errorf("service %s: %s is not told where %s is", k.Name, node, n.Name)
		}
	}
	return k.task(k, k.Nodes[i], p)
}

// Has reports whether the service has a node of the name.
func (k Kind) Has(node string) bool { return k.index(node) >= 0 }

// index is the node's place in the order, -1 if the service has none of that name.
func (k Kind) index(node string) int {
	return slices.IndexFunc(k.Nodes, func(n NodeSpec) bool { return n.Name == node })
}

// Command is the task as one command, for a container: a shell writes the files, runs what comes
// before and becomes the server. Without any of that it is Args alone, which needs no shell.
func (t Task) Command(p Place) []string {
	if len(t.Files) == 0 && len(t.Before) == 0 {
		return t.Args
	}
	script := "set -e\ncd " + quote(p.Data) + "\n"
	for _, name := range slices.Sorted(maps.Keys(t.Files)) {
		script += "printf %s " + quote(t.Files[name]) + " > " + quote(name) + "\n"
	}
	for _, command := range t.Before {
		script += words(command) + "\n"
	}
	return []string{"sh", "-c", script + "exec " + words(t.Args)}
}

// words is a command as a shell reads it.
func words(command []string) string {
	var quoted []string
	for _, w := range command {
		quoted = append(quoted, quote(w))
	}
	return strings.Join(quoted, " ")
}

// quote is a word as a shell reads it.
func quote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
