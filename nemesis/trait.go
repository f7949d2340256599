package nemesis

// Trait is something that only some lock services have, and some faults need.
type Trait string

// The traits.
const (
	// Sessions: the service knows its clients by sessions, which it can be asked to end.
	Sessions Trait = "sessions of its clients that can be ended from outside (etcd, zookeeper, postgres)"
)
