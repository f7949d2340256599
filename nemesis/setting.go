package nemesis

import "slices"

// Setting is where a fault is to strike.
type Setting struct {
	// Lock and Service are the names of the lock and of its service.
	Lock, Service string
	// Nodes are the names of the service's nodes, Has is what it and the lock have.
	Nodes []string
	Has   []Trait
}

func (at Setting) has(t Trait) bool { return slices.Contains(at.Has, t) }

// Trait is something that only some lock services have, and some faults need.
type Trait string

// The traits.
const (
	// Sessions: the service knows its clients by sessions, which it can be asked to end.
	Sessions Trait = "sessions of its clients that can be ended from outside (etcd, zookeeper, postgres, mariadb, consul)"
	// Untold: they can only be ended by their numbers, and the lock has no way to tell those.
	Untold Trait = "sessions whose numbers the lock does not tell"
	// Promotes: when a primary is gone, a replica takes its place.
	Promotes Trait = "a replica that is promoted"
	// Forgets: a node that is killed knows nothing any more.
	Forgets Trait = "nodes that lose what they know"
	// Volatile: it can't be made to know all that it answered for.
	Volatile Trait = "nodes that can't keep all that they answer for"
	// Refuses: its nodes can be made to answer writes with errors.
	Refuses Trait = "nodes that can be made to refuse writes (redis, redis-five, etcd, postgres, mariadb) and on which no guarded store lies"
	// OwnProgram: the lock is a program of the user's own.
	OwnProgram Trait = "a program of its own"
	// Renews: the lock renews by itself, and its renewals can be held up.
	Renews Trait = "renewals of its own"
)
